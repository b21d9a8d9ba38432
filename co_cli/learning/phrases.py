"""The rules by which Co tells what is worth keeping, as tables of patterns; `signals` reads them.

A row is a name, then for a rule what a sentence that fits is ("no" and "asks" store nothing), then
a pattern; it goes on where a line is indented. `<NAME>` stands for the words of that name. Every
repetition is bounded.
"""

# Words that several rules share; `! ` before a sentence stands for "actually" and the like.
WORDS = r"""
START ^(! )?
ADV ((also|really|always|usually|often|still|much|just|only|never|now|even|all|do|quite|rarely|been
    |here|kind of|sort of|as an? [a-z]+|[a-z]{2,12}ly) ){0,3}
WE (we|(our|the|my) ([a-z]{1,12} )?(team|company|squad|group|board|lead|committee)|every(one|body)
    |no(body|[ -]one)|management|product)
BE (is|are|am|was|were|does|did|has)
MODAL (can|could|should|would|will)
NAMED (i|we|you|he|she|it|they|th[eio][a-z]{0,3}|an?|my|our|your|(any|some|every)[a-z]{0,5}|people)
TELL (says?|said|claim(s|ed)?|told|tells|reads?|states?|suggests?|insists?|writes?|wrote|types?
    |answered|asked|thinks)
THINK (i|we)('m| am| was|'re| are| were|'d| would|'ve been| don't| can)? <ADV>(think(?! in\b)
    |thought|guess|guessing|suppose|believe(?! in)|assume|assuming|suspect|imagine|reckon|doubt
    |wonder(ed|ing)?|hope|hoping|wish|bet|feel like|expect)\b
ANSWER (answers?|explanations?|repl(y|ies)|responses?|snippets?|examples?|diffs|code|summar(y|ies)
    |reviews?|comments?|emojis?|lists|bullets?|details|version|plan|commands?|german|english|short)
LASTING (always|never|ever|every|each|any|anything|everything|whenever|wherever|everywhere
    |by default|from now on|going forward|in general|in future|no matter|at all times|unless|without
    |for all|all (of )?(my|our)|most of the time|in this (repo|project|codebase)|in our|new)
PIECE (file|line|function|class|test|run|branch|pr|commit|snippet|loop|error|message|answer|version
    |one|bit|part|block|change|diff|variable|query|call|import|script|time|approach|option|output
    |session|handle|section|fix|name|warning|regex|column|field|suggestion|patch|solution|tab|window
    |edit|command|sentence)
CHOSE (decided|chose|chosen|opted|settled|agreed|voted|resolved|committed (to|on)|picked (?!up)
    |(went|gone) (with|for|back to|all in)|switched|migrated|ended up|landed on|stuck (with|to)
    |standardi[sz]ed|adopted|ruled|rejected|signed|made (up (my|our)|(my|our|the|a) (call|choice
    |decision|switch))|moved (to|from|off|away|over)|approved|implemented|g(ave|iven) up on
    |said (yes|no|goodbye)|dropped (?!it|that|the wrong)|replaced|retired|deprecated|cancell?ed
    |ditched|killed|abandoned|turned down|got rid of|kept|(stopped|started) using)
DOING (going (to|with|for|back|all)\b|(us|mov|migrat|switch|standardi[sz]|keep|dropp|adopt|stick
    |sunsett|deprecat|retir|replac|ditch|kill|stay|bett)ing\b|rolling out)
LEARN (missing|looking after|living|happening|learning|studying|preparing|teaching|leading
    |maintaining|building|running on|doing|meeting|writing (my|an?) (thesis|book)|working (at|as|for
    |in|from))
TASTE ((prefer|like|love|hate|dislike|enjoy|favou?r|despise|loathe|detest|adore|value|choose
    |appreciate|avoid|refuse)s?|hated|loved)
PAST ((?!need)[a-z]{2,12}ed|was|were|had|did|went|got|made|took|saw|ran|found|came|gave|told|said
    |left|sent|built|kept|knew|wrote|broke|lost|met|paid|forgot)
STATE ((is|are|has|have|does|do)(n't)?|can|can't|cannot|won't|(live|run|sit|use|own|handle|hold|need
    |require|talk|point|listen|take|block|target|contain|support|depend|ship|deploy|serve|store|call
    |belong|come|stay|work|lead|maintain|cost|want|read|write|host|connect|include|start|end|expire
    |accept|allow|default|follow|get|keep|know|understand|log|track|review|share)s?|goe?s?|means
    |applies|relies)
ORDER (fix|add|remove|delete|write|create|generate|make|open|run|rename|refactor|move|use|change
    |update|revert|undo|try|rerun|show|print|apply|go|check|look|format|translate|convert|commit
    |push|pull|merge|rebase|install|build|deploy|test|put|set|replace|rewrite|ignore|skip|keep|give
    |take|start|stop|read|list|find|search|tell|wait|do|restore|roll|split|extract|copy|paste|fetch
    |call|send|clean|close|implement|debug|simplify|shorten|review|explain|drop|bump|sort|save
    |finish|forget|see|let|leave|wrap|compile|worry|bother|touch|return|switch|pick|choose|enable
    |disable|turn|measure|squash|indent|swap|verify|retry|repeat|cancel|restart|reset|upgrade|answer
    |using)
DAY (mon|tues|wednes|thurs|fri|satur|sun)day
OFTEN (other |second )?(day|week|month|sprint|quarter|year|morning|night|release|time|<DAY>)
"""
# Name, kind and pattern of each rule; these are asked of a whole utterance.
WHOLE = r"""
keep-out no \b(don't|do not|never|no need to|not to|rather not|(should|must)(n't| not)) (ever )?
    (save|store|remember|record|memori[sz]e|keep|note|write|log|add|put|learn) (this|that|it|any
    |these|those|what|my|down|a (note|record))|off the record|\b(not|nothing) ([a-z]{1,12} ){0,2}
    (to (remember|save)|worth (saving|remembering))|keep (this|that|it) (out|between|private)
    |(?<!n't )\bforget (this|that|it|what i|everything|about|i said)\b
    |\bdelete (everything|what|all) you|\bstrike (this|that) from|between us\b
hypothetical no ^([a-z]{1,9},? )?(imagine|suppos(e|ing)\b|assum(e|ing)\b|pretend|what if|let's (say
    |pretend|assume|imagine)|say (we|i|our|the|you|an?|someone)\b|in an? (perfect |ideal )?world
    |if only)|hypothetical|for the sake of argument|^if (?!.{0,40}choice)(i|we|they|he|she|it|you
    |the|our|my|every)[^.]{1,200}\b(would|wouldn't|could|[a-z]{1,9}'d)\b|^(had|were) (we|i)\b
"""
# These are asked of each sentence, in this order.
SENTENCE = r"""
question-mark asks \?[\"')\]!.… ]*$
question-word asks <START>((what|how|where)(?! (i|we|my|our) | you (have|said|wrote|know
    |noted) | [a-z]+s (best )?(for|with) (me|us)\b)|why|which|who(se|m)?|wdym)('s|'re|'d|'ll)?\b
    |<START>when('s| (<BE>|<MODAL>|do|have))\b
question-inverted asks <START>((do|don't|have|haven't|can't|won't|may|might|shall) <NAMED>|had (i|we
    |you)|<BE>|(is|are|does|did|has|was|were)n't|<MODAL>(?!'| have| you (please )?(always|never)))\b
question-inside asks ([,:;-]|\bbut|\band|\bso|\bor) ((<MODAL>|<BE>)(n't)? (i|we|you|it|they|there
    |this|that|the|an?|my|our|anyone|someone)\b|do(n't)? (i|we|you|they|the)\b|(what|how
    |why)\b(?! (i|we) ))|, ((when|where) (<BE>|do)|which (one|of))\b|: (which|where|<BE>|<MODAL>
    |do)\b|<START>(in|on|for|with) ([\w-]+ ){1,4}(?<!person )(?<!people )(who|which|how|why
    |what(?='s| <BE>| do))\b|\b(is|are) there (an?|any|some)\b|\bwhat happens\b|<START>if\b.{1,120}
    \b(how|why|which|who)\b
question-asked asks \b(quick|one|another) question\b|\bdifference between\b|<START>(ever (heard
    |tried|used|seen)|(need|want) (an? |some )?(hint|help|advice|tips?)|thoughts on|want to (know
    |understand)|any(one|body) (know|knows|here|have|has|got|tried|seen|else)|(got )?any ((good )?
    (recommendation|suggestion|advice|idea|chance|way|reason|clue|tip|thought)s?|[a-z]+ (on|about
    |for))(?!.{0,200}\b(must|needs?|has|have|is|are|goes|gets)\b))\b
question-tag asks ,? (right|correct|(is|are|do|does|was|has|did)n't (it|they|we|that|he|she|you|i)
    |(?<=, )no|huh|or (not|what))\W*$
asks-to-tell asks <START>(please |could you |can you |just )?(explain|describe|define|compare
    |clarify|elaborate|summari[sz]e|(tell|teach|show|help|remind|walk|give) (me|us)|curious
    |wondering|look up|i('m| am| was| have been)? <ADV>(wonder|wondering|curious|confused|lost
    |don't (understand|get|know|see)|(can't|cannot) (tell|figure|remember|recall|find)|need (help
    |to know)|want to (know|understand))|remember (what|which|where|who|how|when|why|if|whether
    |the name))\b(?!.{0,200}\b(first|only if|<LASTING>)\b)
reported no <START>\"x\" (is|was|<TELL>|,)|\b(<TELL>|string|text|example)( that)?[:,]? \"x\"
    |<START>(the|an?|this|that|his|her) ((?!called |named )[\w']+ ){1,9}\"x\"|<START>(?!i |we )
    ([\w']+ ){0,3}(docs?|articles?|books?|guides?|posts?|readme|blogs?|tutorials?|papers?|comments?
    |wiki|vendors?|he|she|they|users?|someone|people|colleagues?|friends?|boss|rfc|spec|standard)
    ( [a-z]{1,12}){0,3} <TELL>\b|\b(?!i |we |you |just |had |have |nobody |every)[\w']+ (said
    |says)\b(?! (yes|no|goodbye))|\btold me\b|\basked (me )?if\b|\baccording to\b|\bthe saying\b
    |\bi (read|heard|saw) (that|about|in|on|somewhere|an?)\b|<START>in (the|an?|that|this) (book
    |article|talk|post|video|paper|blog|movie|tutorial)|<START>(he|she) [a-z]+s\b|\b<TELL> (that )?
    (he|she|they)\b|<START>(example|sample|test|input)\b[\w ]{0,20}:
this-one no ^.{0,60}?\b((this|that|the (first|second|third|last|previous)) ([a-z]{1,12} )?<PIECE>
    (?! of)|the next (query|run|call|step|test|answer|one)|(these|those) ([a-z]{1,12} )?<PIECE>s
    |the other (file|function|branch|one\W*$))\b|\byour (?!own)([a-z]{1,12} )?(?!answer)<PIECE>\b
    |(?<!as )(?<!like )(?<!what )(?<!than )(?<!if )\byou (just |have |had |'ve )?(gave|wrote
    (?! that)|made|suggested|showed|did|proposed|sent|added|changed|removed|broke|used|found|forgot
    |missed)\b(?!.{1,80}(,|but) (it's|it is|we)\b)|\b(line|row|step|item|point|page|column) \d
    |\blook (there|at)\b|<START>(can't|cannot|couldn't) (?!stand|live|do without|get on)
    |<START>not (that|this)\b|\b(prefer|take|use|like) option [a-d1-9]\b|<START>(today|tonight
    |tomorrow)\b|\b(for now|for the moment|right now|at the moment|as we speak|just now|just this
     once|this time|and now (it|i|the)|here instead|i love how)\b|\b(above|below)\W*$|\b(that|this
    |it) then\W*$|<START>i (want|need) (it|this|that|them)\b|<START>i (like|love|prefer|hate
    |want) ((this|these|those|your) |(it|this|that|them)( (now|better|more|a lot|one))?(\W*$|,))
    |\bi meant\b.{1,60}\bthere\b
correction-said correction (?<!if )(?<!did )(?<!do )\byou('ve)? (just |had |have |still |keep |kept
     )?(said|saying|told|think|thought|mentioned|wrote|claim|claimed|assumed?|noted|have it
    |remember (it|that|this)|mixed|confused|swapped|got|have the (wrong|[a-z]+ (swapped|mixed
    |wrong))|(mis)?remembered|calling)\b|\byou('re (confusing|mixing|thinking of)| were (right
    |wrong))|\b(like|as|than|to|what|when|why) (what )?i (just |had )?(said|told|wrote|mentioned)\b
    |\bi (said|told you|wrote|mentioned|thought|gave you)\b.{1,150}\b(but|however|actually|turns out
    |it('s| is| has)|rather|wrong)\b|\bi (really |actually )?meant\b(?! to (?!say|write))
    |\bshould have said\b|\bi (misspoke|mixed|confused|was confusing|mistyped|misremembered)|\b(had
    |got|have|has|was|were|'s|is) (it |that |this |them )?(wrong|backwards|mistaken|a mistake
    |mixed up|confused|incorrect)\b(?=.{0,200}([,;:.]|because|but|where|\bthe\b) ?\S+ \S+)
    |\bturns out\b|\byour (memory|notes)\b|\bto correct (something|myself)|\bwas never (?!updated)
guess no <START>([\w'-]+,? ){0,3}(?<!our )(?<!the )(?<!a )(maybe|perhaps|possibly|probably
    |presumably|supposedly|apparently|hopefully|ideally|conceivably|potentially|likely|chances are)
    \b|<START>([\w'-]+,? ){0,2}<THINK>|<START>(guess|suppose|hoping|wonder|doubt|reckon)\b
    |\bmy (guess|feeling|hunch|gut|impression|bet|theory|understanding)\b|\b(an?|the) (hunch|feeling
    |impression)\b
taste-plain preference <START>([\w ,]{1,30} )?(i|we) <ADV>(prefer|love|hate|can't stand|favou?r
    |dislike|enjoy) (?!it\b|this|that|these|those|them\b|the (first|second|last|idea|other)|option
    |your|how|if\b)
undecided no (?<!you're )(?<!you are )(\b(not|never|nothing|nobody|no one|yet to)|n't|nothing's)
    ( [\w'%]{1,12}){0,3} (sure|certain|settled|decided|final|agreed|convinced|clear|concrete|checked
    |measured|confirmed|chosen|picked(?! up)|made up)\b|(?<!you're )\bun(sure|decided)|\bno (clue
    |idea|decision)\b|\b(dunno|idk|torn|tbd|iirc|afaik|chance|inclined|rumou?r|candidate|leaning
    |possibility)\b|%\W+sure|\b(have|need|has) to (check|verify|think|ask|decide|figure|choose
    |discuss)\b|\b(will|'ll) see\b|don't (hold|quote) me|on the fence|up in the air|open (question
    |point|issue)|\bstill (open|debating|deciding|discussing|thinking|up)|let me (sleep|think|check)
    |\btalk(ing|ed)? (of|about)\b|\boptions? (is|would|are)\b|\bas far as i\b(?!'m)|(be|i'm) wrong\b
    |correct me if|if i remember|who knows(?=$|[,.]| (if|what|whether|maybe|how))|can't (really )?
    (say|decide|remember)|just an idea|(like|love|with|about) the idea of|remains to be|hard to (say
    |tell)|\bdepends on (what|whether|how|if)|for all i know|half a mind|it's (conceivable|likely
    |unclear|possible)|\binterest in\b|^if (we|i) ever|<START>if (this|that|it) (works|goes|turns|is
    |helps)\b|<START>if\b[^,]{1,80}, (i|we|they)('ll| will)|(no|don't ([a-z]{1,9} )?have an?y?)
     (strong |real )?(preference|opinion|favou?rite)
decided-at-last decision \b(in the end|finally|after all|eventually|ended up|so|and) <ADV>(i|we
    |the team)?('ve|'re)? ?(went|gone|chose|choosing|picked|picking|settled|decided|landed|stuck
    |going|using|kept)(?! to (try|check|see|be))\b|, (so |but |and )?(i|<WE>)('ve| have| has)? <ADV>
    <CHOSE>\b
perhaps no \bwhether\b|\b(i|we|it|they) (might|could|may(?! only))\b|\bto guess\b|\b(theory that
    |hypothesis|ideas?:)|(?<!our )(?<!the )(?<!a )\b(maybe|perhaps|possibly|probably)\b|\b(seems?
    |(looks|sounds|feels?) (like|as|to|that))\b|\b<THINK>|\b(thinkin|thinking|wondering)\b(?! in\b)
rather preference \b(i|we)('d| would|) <ADV>(rather|sooner|(?<!i )(?<!we )prefer)\b(?! (the (first
    |second|last|other)|that one|this one))(?!.{1,200}\bif (the|we|i|it|they)\b.{1,99}(knew|had|were
    |was|could|[a-z]{3}ed)\b)|\b(i|we)('d|'ll| would| will) <ADV>(take|pick|choose|go)\b.{0,99}\b
    (over|any ?day|any ?time|every ?time)\b|\b(give me|given|have|had) (a|the) choice\b|\bi'd (love
    |like) it if\b|\bi'd (like|appreciate|love|want) (?!to\b)(?=.{0,200}\b(all|to|<LASTING>
    |<ANSWER>)\b)(?! the)|\bwould never\b
modal no <START>(?!only\b)([\w'./-]+ ){0,6}(might|could|would|wouldn't|couldn't|ought to)\b
    |<START>(it|that|this|there|they|he|she|[\w-]+ it)'d\b|\b(i|we|you|someone|they)( really
    | probably)? should(?! (always|never|not))\b|\b(i|we|you|they)'d (?!rather|sooner|better|been
    |decided|agreed|had|already|chosen)[a-z]+\b|<START>(?!only\b)([\w'-]+ ){1,4}(?<!in )(?<!since )
    (?<!until )may (?!only|\d|not leave)[a-z]+\b
plan no (?<!after )\b(considering|consider|toying|tempt(ed|ing)|planning (to|on)|evaluating
    |exploring|weighing|debating|contemplating|pondering|playing with|looking (at|into|for)|keen to
    |interested in|worth (looking|trying|a try)|some ?day|one day|at some (point|stage)|sooner or
     later|on the verge|asking ourselves|down the line|let'?s(?! us| you| me| the| people)|how about
    |what about|going to try)\b
chatter no <START>((thanks?|thx|ty|cool|great|nice|perfect|awesome|excellent|ok|okay|hello|hi|hey
    |bye|wow|ugh|lol|ha+|yes|yep|yeah|sure|continue|next|done|stop|ready|back|wait|sorry
    |fine)(?=\W*$|[,.!]|,? (a lot|again|cool|ok|done|for|guys|i|idea|it|job|let|much|nice|now|one
    |please|so|that|the|then|there|thing|this|to|when|with|work|wrong|you)\b)|got it|makes sense
    |lgtm|ship it|good (morning|evening|night|job|work|point|catch|idea)|go ahead|never ?mind|nvm
    |brb|afk|hold on|hang on|one (sec|moment|minute)|wrong (window|file|branch|tab|one)|(nope?|still
    |not) (still |not |the )?(broken|failing|working|there|red|wrong|work|same|getting)\b)|\b(grab
    |get|getting|grabbing|need|having|take|taking|have|lunch|coffee) (an? |some )?(coffee|lunch|tea
    |beer|dinner|break|nap)\b|\b(accidentally|by accident|battery|gotta|brb|fingers crossed
    |on a call|back (at \w+|in (an?|\d+|ten|five)|soon|later))\b
decided decision \b(i|<WE>|they)('ve| have| has|'s)? <ADV><CHOSE>\b|<START>(finally |just
     |officially )?<CHOSE>\b|\b(we|i)('re| are|'m| am)( not)? (?!using|going to (see|check|try|get
    |grab|be (late|out)))<DOING>|\b(we|i)('ll| will| won't)( not| only| never)? (be )?(us(e|ing)
    |support(ing)?|go(ing)? with|stick(ing)?|stay(ing)?|keep(ing)?|drop(ping)?|mov(e|ing) to|doing
    |accept)\b|<START>(as of|starting|from (next|v\d|now on)|going (with|for|forward)) |, (decided
    |agreed|confirmed|approved)\b|'s ([a-z]+ )?(meeting|sync|standup|retro)\b
decision-told decision \b(decision|verdict|outcome|upshot|bottom line|consensus|agreement|vote
    |(?<!of )choice)\b[^.]{0,60}(:|\b(is|was|fell|went)\b)|\b(final (call|answer|word|say)|it('s
    | is) (settled|decided|official|final|agreed)|(is|was|been|were|got|are) (agreed|decided|settled
    |accepted|approved|chosen|rejected|voted|postponed|cancelled)|vote('s| is) in|(debate|discussion
    |argument|question) ([\w ]{1,30} )?is (over|closed)|signed off|that's (final|that)|(?<!as )it is
    \W*$|('s|is|are) going to be|becomes?|off the table|(won't|will|(?<=it)'ll) be (?!back|ready
    |late|there|out|right|quick|fine|great)[a-z]+|won( out)?)\b
doing no \b(i'm|we're|i am|we are|i've been|am|is|are|keeps?|kept|currently|still|it's)( currently
    | just| still| now| all| also)* (?!<DOING>|<LEARN>)[a-z]{2,12}ing\b(?!.{0,60}\byears\b)
    |<START>(?!using|(no|some|any|every)thing)[a-z]{3,12}ing(,|$| (now|again|the|this|that|it|my|for
    |an?|on|branches)\b| (?!.{0,200}\b(<STATE>|must|should)\b))(?!.{0,200}\b(is|are) (forbidden|our
    |not))|\b(i'm|i am|we're|we are) (([io]n|at) (an?|the|my) (meeting|call|train|bus|plane|break
    |phone|middle)|stuck(?! on [a-z]+ \d)|back|off|out|done(?! with)|tired|late|hungry|ready
    |about to|blocked|sorry|live|\w+ \w+ late)\b|<START>here('s| is| are)\b|\b(hours?|minutes?|days
    |tests?) left\b|\bthere('s| is| are) (an?|some|still|two|another) (typo|bug|error|problem|issue
    |conflict|mistake)s?\b
just-done no <START>(i|we|it|that|(the|my) [a-z]{1,14})?('ve| have|'s| has)? ?just <PAST>\b
    |\btook (forever|ages|so long)|\b(i|we) can (do|try|use) (it|that|this)\b|<START>(found|fixed
    |solved|pushed|merged|tried|ran|deployed)\b|<START>i('ve)? <ADV>(ran|changed|deleted|tried
    |pasted|restarted|pushed|fixed|opened|added|checked|renamed|reverted|uploaded|attached
    |(?<!never )got)\b(?! an?\b)|\bi <PAST> the wrong\b
broken no ('s|\b(is|are|was|were|been|went|goes|gets|got|be|stays|looks?|still|keeps?))( now| all
    | still| totally)? (down|red|green|broken|failing|failed|crash(ed|ing)|stuck(?! on [a-z]+ \d)
    |flaky|hanging|hung|on fire|dead|offline|frozen|not working|acting up|slow|back up|up again
    |wrong|done|gone|weird|ready|blank|empty|missing|undefined|null|unreachable|late|queued
    |live(?=\W*$)|(back|up)(?=$|,)|out(?=$| sick| of))\b(?=$|[,.!;]| (again|today|now|since|because
    |right|at|for|so|and|but|ugh|tonight|after|with|sick|of|on))(?!,? (and )?(we|i)\b)|<START>
    ([\w'-]+ ){0,4}(again|crashed|failed|segfault(ed|s)?|throws?|threw|timed out|won't (start|build
    |compile|load|run)|errors?(?= in | on | at |:|$))\b|\b(one|two|three|some|more|\d) failing\b
    |\bi('ve)? (got|have|see|get) ([a-z0-9]+ ){0,2}(failing|errors?|failures?|warnings?|demo|meeting
    |call)\b
how-to-answer preference <START>((can|could|would) you (please )?)?(when(ever)? you [\w ,']{1,60})?
    (keep|give|show|write|use|avoid|skip|leave|make|be|answer|reply|explain|stop|no|don't|do not
    |never|always|format|include|add|put|drop|just|cut|spare|suggest|assume|talk|default)\b
    (?=.{0,200}\b(<ANSWER>|me|you|your)\b)(?=.{0,200}\b(<LASTING>|please|when|(for|with) me|don't|no
    |every time|first|stop [a-z]+ing|i (only|always|never|skim|hate))\b)(?!.{0,200}\b(before you
    |in this repo|commit|push|deploy|files|yet|without tests|env)\b)|<START>call me\b|<START>you
     (can|don't (need|have) to) (skip|stop|leave|explain|assume|drop)\b
order-lasting pattern <START>you (don't|never|always|only) [a-z]+ (?!it|that|this|need|have)
    |<START>(remember to |make sure (to |you )?|you (should|must|have to) )?(always|never
    |don't ever)(, ever)? (?!mind|been|again|so|do that|the same|(return|get|fail|show)s
    |[a-z]+ed\b)[a-z]|<START>(don't|do not) (?!worry|bother|mind|need|wait|forget|i |you|we|change
    |touch it)[a-z]{2,14}\b(?! (it|that|this|them|the|yet|my|now|anything)\b)(?!.{0,200}\b(yet|now
    |here)\b)|<START>remember to (?!.{0,200}\b(that|this|you|the file)\b)|<START>(run|use|ask|write
    |add|keep|put|check|make sure|name|prefix|tag|format|test|document|squash|rebase|review|commit
    |pin|prefer|avoid|leave|wrap|include|follow|bump|sort|open|start|treat|update|link)\b
    (?=.{0,200}\b(<LASTING>|before (any )?[a-z]+ing|before you|after every)\b)|<START>(prefix|name
    |pin|sign|squash|document|indent|annotate|branch|tag) (?!the|this|that|it|an? )(?!.{0,200}\b(is
    |are)\b)
order no <START>((now|then|just|quickly|can you|could you|rather than|instead of|remember to|don't
    |do not|let me|lemme|make sure|to|you) )*<ORDER>\b(?!-)(?!( (?!th[aeio]|an?|it|my|your|all|up|to
    |me|and|you|i|we)[\w-]+){0,2} (<STATE>|must|should|always|never|only)\b)|<START>(?!(in|on|at|for
    |with|by|from|to|of|as|after|before|when|whenever|while|if|since|because|once|until|unless
    |without|all|both|half|only|not|about|under|over|between|behind|and|but|or|so|than|is|are|be
    |like|love|hate|prefer|dislike|enjoy|given|inside|outside|during|instead|per|via|such|what|how
    |even|that|this|there|here|where|every|each|any|no|our|my|the|into|near|across|just|quite|rather
    |imh?o|[a-z]+(ed|ing|ly|s))\b)[a-z]{3,14} (the|an?|this|that|these|those|it|them|me|your)\b
need no \bi (need|want|have|'ve got) (an?|some|the) ([a-z]{1,12} )?(<PIECE>|way|list|hand|second
    |minute|question|problem)\b|\b(i|we) (need|want|have|got) to (?!support|correct)(?!.{0,200}\b
    (<LASTING>|by law)\b)|<START>i want to\b|\bi'll\b(?! take)
correction correction ^! (?!i (was (away|out|late|gone|busy)|forgot|missed)\b|(the|your|this) (test
    |function|error|output|loop|regex|line|variable|fix|diff)\b)(\S+ ){1,99}\S+
correction-not correction <START>not (?!an? |fond|really|every|all)[^,]{2,40}, |\b(it's|it is|isn't
    |aren't|we're|is|are)\b[^.]{2,80}(, (and )?not |, rather than )|\b(isn't|aren't|is not|are not
    |it's not|wasn't)\b[^.]{2,60}([,;] (it's|they're|it is|we're)| but)\b|\bused to be\b.{1,60}\bnow
    \b|\b(any ?more|no longer)\b.{0,80}\b(it's|we're|now|stale|outdated)\b
taste preference \b(i|<WE>)('d| would| do|'ve| have)? <ADV>(<TASTE>|swear by|can't (stand|get on)
    |tend to|don't (like|enjoy|care for|want|mind)|lean|reach for|go for|go with|stick (to|with)
    |come to (love|like))\b|\b(i|<WE>)('m|'re| am| are| is|'ve| have)( not)? <ADV>(an? (big |huge )?
    (fan|[\w-]{1,20} (person(?! \w)|guy|user|fan))|fans|more of an?|(grown )?fond|partial|allergic
    |into|comfortable|happiest|big on|(more|most) (comfortable|productive)|used to)\b
taste-use preference \bi <ADV>(?<!always )(?<!never )(use|take|pick|work (best|better|in|with)
    |code in|write in|read best|sort(?! of)|format)\b|\bi <ADV>want\b(?! to\b)(?=.{0,200}\b
    (<LASTING>|<ANSWER>|when|for me|no|all|nothing|every time)\b)|\bi always want|\bi('m
    | am) using\b|\bi find\b.{1,99}\b(more|less|better|[a-z]+er|easy|hard|annoying|ugly|useful)\b
taste-told preference \bmy ([\w-]{1,20} )?(favou?rite|preferred|preference|go-to|default|usual|limit
    |ideal|taste|thing|take|stance|approach)\b|\bof choice\b|\b(how|what|the way) i (like|prefer
    |want|reach|work|use|enjoy)\b|\bany ?day\b|\bnothing (beats|but)\b|\bimh?o\b|\bas far as i'm
     concerned|\bthat's (just )?how i\b|\b(for|bother|suits?|annoys?|bothers?|drives?|gives
    |scare) me\b(?! an?\b| to know)|<START>to me\b|\b(than|better|nicer|worse) ([a-z]{1,9} )?to me\b
    |<START>(favou?rite|preferred) [\w ]{2,30}:|<START>(prefer|love|hate|like|dislike|can't stand
    |big (fan|believer)|huge fan|not an? (big |huge )?fan|fan of|not (too |very )?fond|never (liked
    |been able)|not really an?) |\b(is|are|beats?|feels?|reads?|looks?) (so much |much |way |far )?
    (better|nicer|cleaner|easier|best)\b|<START>[\w./-]{2,20}( [\w-]+)? (over|>) [\w./-]{2,20}
    |<START>[\w ]{2,30} (only|all the way)(?=$|[,.])|\bplease\W*$
moment no \b(today(?!'s)|tonight|tomorrow|yesterday|this (morning|afternoon|evening|week)|(hours?
    |minutes?) ago|(in|been .{1,30} for|another|next|past) (\w+ ){0,3}(minutes?|hours?|secs?|mins?)
    |for \d+ (seconds|minutes) now|again|in a (minute|sec|bit|moment)|so far|yet|(?<!as )soon|(is
    |are|be|demo|call) (at|until) \d|since this|almost|meanwhile|temporarily|somehow|suddenly
    |in the middle of|in progress|halfway|queued|pending|at epoch|is at \d|by now)\b|<START>(the
    |this|that|your|my)( [a-z]{1,12})? (error|output|traceback|exception|diff|patch|regex|loop|line
    |snippet|function|method|variable|result|answer|response|bug|leak|problem|issue|fix|change|page
    |status|download|upload|imports|file(?= is| has| was))\b|<START>now (we have|it|the|there|i)\b
    |<START>(the|my)( [\w-]+){1,3} (hangs?|crash(es)?|freezes|fails?|passes|terminates|leaks?
    |responds|complains?)\b|\b(returns?|prints?|shows?|gives?)\b.{1,40}\binstead of\b|\bwe need
     (this|that|it)\b|\bcommits (behind|ahead)\b|\bat (\w+ )?\d+ ?(%|percent|of \d)|\b(wrong
    |messed up|weird)\W*$|\bisn't running\b|\bexcept (for )?one\b
habit pattern \b(i|<WE>) (also )?(always|never|usually|typically|generally|normally|mostly
    |only( ever)?|make sure|don't|do not|require|expect|insist|enforce|try to|(start|begin
    |end) (every|each))\b(?! have| really have)
rule pattern \b(our|the|an?|my|house|team|general|one|only|hard) ([a-z]{1,12} )?(rule|convention
    |policy|practice|standard|guideline|workflow|habit|agreement|deal)s?\b|<START>(as a (rule
    |matter)|by (convention|default|policy)|convention)\b|\bthat's (how (we|this|the)|our)\b
    |\bno exceptions\b|\ba must\b|\bfollows? (the|a|this|our)\b|(?<!we )\b(is|are) (forbidden|banned
    |mandatory|required|not allowed|off limits|optional)\b
whenever pattern <START>(when(ever)?|every ?time|any ?time|each time|(after|before) (each|every|any
    |we|you|an?|[a-z]+ing)|as soon as|once (an?|every|per)|twice a|every <OFTEN>|on <DAY>s?
    |for (every|each|all|any)|if (an?|the|you|we|it|something|someone|anything|ci|[a-z]+ (is|fails?
    |breaks?))|unless|whoever)\b|\b(every|each) <OFTEN>\b|\b<DAY>s\b|\bwhenever\b|\bfor everything\b
    |\bwith (each|every)\b
must pattern \b(must|have to|has to|needs? to be|should|shall|may only|can only|may not|never|always
    |usually|normally|typically|needs? ([a-z]{1,8} ){0,3}(approvals?|sign-?off|reviews?|tests?
    |tickets?|docstrings?|owners?|permission|entry)|gets? (an?|its|their|[a-z]{3,12}ed)|(is
    |are) ([a-z]{1,12} )?(named|prefixed|tagged|squashed|reviewed|merged|formatted|sorted|signed
    |deleted|versioned|wrapped)|live next|defaults? to|(start|end)s? with)\b(?! (say|be (in|fine|ok)
    |work))|<START>(every|each|all|any|anything|everything|no|nothing|nobody|everyone) (?=(\S+ ){2})
    (?!([\w-]+ ){1,4}(has|have|is|are|runs?|lives?|knows?|here)\b)
others no <START>(most|some|many|few|other) (people|companies|teams|devs|developers|projects
    |folks)\b(?!.{0,200}\b(our|here|we|us|my)\b)|<START>(the|this|that) (tutorial|book|article
    |example|course|video|sample|song|novel)\b
we-do pattern \bwe <ADV>(?!<PAST>\b|<STATE>\b|sell|build|pay|will|may|ll\b)[a-z]{2,14}\b
    |\bi <ADV>(?!<PAST>\b|<STATE>\b|teach|study|print)[a-z]{2,14}\b(?=.{0,200}\b(first|then|before
    |after|when|every|each|morning|often)\b)
we-did decision \bwe('ve| have)? <ADV>(?!was|were|had|got|lost|met|told|knew|forgot|tried|ran|fixed
    |found|saw)<PAST>\b
about-me context \bmy ([\w'-]+ ){1,5}(is|are|has|have|runs?|uses?|was|lives?)\b|\bmy [\w'-]+'s\b
    |<START>([\w ]{1,30}, )?i('m| am|'ve( been| got)| have| work| live| run| maintain| own| manage
    | lead| study| know| come| speak| teach| started| need| got| report| do| wrote the| studied
    | worked| grew up| joined| moved| learned)\b|<START>i (can't|cannot|can only|don't have)
     (?!reproduce|find|see|figure|tell|open|connect|get)(?=.{0,200}\b(my|our|without|because|access
    |sudo)\b)
about-us context \bwe (were|had) (\S+ ){2}|\b<WE>('re|'ve) (\S+ ){1,99}\S|\bwe <ADV>(?!<PAST>
    \b)[a-z]+|\b(our|ours|us)\b
fact context <START>(?!(i|you|it|he|she|they|this|that|those|these)\b)([\w'./@#-]+,? ){1,8}?<STATE>
    \b|<START>(there (is|are|used to be)|there's|([\w-]+ )?[\w-]+'s (our|the|in|on|an?|at|written
    |built|called)\b)|\bth(is|e) ([\w-]+ ){0,2}(project|repo|codebase|app|service|tool|company
    |code)('s| <STATE>|)\b|\bwas (founded|written|built|started|created)\b|<START>it's (called
    |spelled|written|built|hosted|named) \S+ \S+|<START>(this is|it's|it is|they're) (an?|our
    |my) ([\w-]+ ){0,5}(project|product|app|codebase|service|company|tool|library|monolith|repo
    |startup|platform|shop|site|fork|game|team)\b|<START>you (can only|can't|must|need|only
    |can .{1,60} only)\b
statement context <START>(?!((the|my|your|our) ([\w-]+ ){1,3}|[\w-]+ )(?!was|were|had)<PAST>\b)(?!
    (it|that|this|those|these|you|he|she|they|looks?|sounds?|seems?|feels?|got|instead|still|there
    |can't|couldn't)\b|it's|that's|i (<PAST>|print|cannot|can't|couldn't|see|get|don't see)\b)
    (\S+ ){4,99}\S+
"""
# What leads up to a statement and is dropped; the last kind says that something was wrong.
WRAPS = r"""
ASIDE ((hey|hi|hello|yo)( co| there| again)?(?=[ ,!.:])|co(?=[,:!])|ok(ay)?|so(?! far| that| long
    | much| many)|oh|ah+|um+|uh|hm+|also|and|but|anyway|yeah|please|pls|by the way|for what it'?s
     worth|fwiw|honestly|frankly|tbh|one more thing|alright|(well|though|right|look|listen|fine
    |great|cool|careful|all right|side note|good news|update|p\.?s\.?)(?=[,:]))(?=[ ,:;.!—-])[
     ,:;.!—-]{1,5}
TELLING ((btw|fyi|for your information|just so you know( wh[\w' ]{1,40}(?=,))?|for (the record
    |(your |future )?reference)|(just )?(a )?(quick )?heads[- ]up|(quick |side )?note( to self)?
    (?=[:,])|(reminder|fun fact|context|background)(?=:)|(it'?s )?(worth|good) (noting|knowing
    |mentioning|remembering|to know)|(i think )?you (should|need to) know|(should be )?(in
    |for) your (notes|memory|records?)(?=[:,])|(i )?forgot to (mention|say)|i want you to (know
    |remember))( that\b)?|(do |just |always |also |can you |could you )?((keep|bear) in mind( that)?
    (?=[ :,])|(remember|note|be aware|know|don'?t forget|make a note|take note|memori[sz]e)( for (me
    |later|next time))?( this| the following)?( that\b|(?=[:,])|(?= (i|i'?m|i'?ve|i'?d|we|we're
    |we've|my|our)\b))|(save|store|record|write down|learn)( this| that)?(?=[:,]| (i|we|my
    |our)\b)))[ ,:;—-]{1,5}
PUTTING (no(?=[,.!:;]| wait| no\b| -)|nope|nah|wait(?=[,.!:]| no\b| that's| i\b| it's)|(hold
    |hang) on(?=[,.])|sorry|oops|whoops|err(?=,)|actually|correction|my (bad|mistake)|(scratch
    |strike) (that|the [\w ]{1,25})(?=[,.:;!])|let me (correct|rephrase|clarify|fix)( myself
    | that)?(?=[,:;.! ]|$)|(a )?(small|minor|quick|slight|one|tiny) (correction|fix|clarification)
    ( to what you have)?|(that|this|it)('?s| is| was|isn'?t|wasn'?t)( not)? (quite |just |actually
     |all |totally )?(right|correct|true|wrong|(in)?accurate|incorrect|false|outdated|out of date
    |backwards|a mistake|stale|old info)|(that|this|it) (isn|wasn)'?t (quite |actually )?(right
    |correct|true|accurate)|(that|this|the|your) (info|information|note|memory|entry) (is
    |was) (wrong|stale|old|out of date|outdated)|i (made a mistake|was off)( earlier| before
    | by [a-z]+)?|not (quite|exactly|true|correct|right)|wrong( again)?(?=[,:;.!])|that was last
     (year|month|week)|you('ve| have)? (got|have|had) (that|it|this) (wrong|backwards|mixed up
    |the wrong way [a-z]{2,6})|you('re| are) (wrong|mistaken)|that'?s not how [\w ]{1,30}(?=[,.])
    |(ignore|disregard) my (last|previous|earlier) [a-z]+(?=[,.])|correct (that|this)(?=[:,])
    |i misspoke|i (have to |must )?take that back|to set the record straight|(fix|correct|update
    |change) (your|the|that|this) (notes?|memory|memories|record|entry))(?=[ ,:;.!—-]|$)[
     ,:;.!—-]{0,5}
"""
