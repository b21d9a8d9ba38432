"""What a person wants with a turn of the conversation; knows no model of language and no notebook.

A turn is cut into sentences, and each is read by Co's own encoder (`meaning/turns.py`). What only
looks like speech (code, logs, long texts) is left alone, and what must not be kept is never kept.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from co_cli.knowledge.meaning.turns import STATEMENTS, Heard, hear
from co_cli.learning.amend import SWITCHED, change
from co_cli.learning.own_words import MOST, is_speech, own_words
from co_cli.learning.voice import third_person

_SENTENCES, _TURNS = 40, 12  # of one turn
_MINE = 8.0  # what a sentence that does not name the person must score to be about them
_SURE = 0.7  # how likely a statement must be one
_PERHAPS, _FEWEST = 0.12, 4  # and one that is only offered, of so many words at least
_DATED = 0.018  # and one that names a day or a time
_CLEAR = 0.5  # how likely a request must be one that is read in what may be a statement
_CUT = r"[.!?…]\s+|\n+|,? and also,? (?=\S)"  # perhaps between sentences
_GOES_ON = (  # what no dot ends that stands at the bar: a shortened word, a number, a day
    r"(?i)(?:^|[\s(])(?:mrs?|ms|dr|prof|st|jr|sr|vs|cf|\w*str|[^\W\d]|(?:[^\W\d]{1,2}\.)+\w{1,2})\|"
    r"|\|\d|^\s*\d+\||\d\|(?:jan|feb|m[aä]r|apr|ma[iy]|ju[nl]|aug|sep|o[ck]t|nov|de[cz])[a-zä]{0,6}\b"
    r"|(?:[\s.]\d+\.\d+|\b(?:approx|ca|incl|excl|inkl|max|min|tel|ext|nr|etc|bzw|resp|evtl|dept|est"
    r"|ave|fig|vol|hrs?))\|(?-i:[a-zß-ÿ])"
    r"|\b(?:jan|feb|mar|apr|ju[nl]|aug|sept?|o[ck]t|nov|de[cz]|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun"
    r"|(?:am|vo[mnr]|zum|bis|ab|seit|de[rmns]|und|jede[mnr]) \d\d?)\|"
    r"(?!(?:the|that|this|we|i|you|it|s?he|they|my|our|his|her|their|wir|ich|es|er|sie|die|das)\b)"
    r"(?-i:[a-zß-ÿ])"
)
_ITEM = r"^\s*(?:[-*•]|\d{1,2}[.)])\s+"
_FOLLOWS = (
    r"(?i)(?:it|that|they|he|she|his|her|their|which|because|except|otherwise|these(?! days)|those"
    r"|this(?= (?:is|was|means)))\b"
)
_TAGGED = (
    r"(?i)[,;.]? (?:and |please )?tag(?:ged|s)?(?: it| this| that)?(?: with| as|:) "
    r"([\w#, -]{1,80})$"
)
_ASKED_TO_KEEP = (  # nothing that follows these words is left out
    r"(?i)(?:(?:please|pls|hey co|co|ok|also|and|can you|could you)[, ]{1,2}){0,3}"
    r"(?:remember|remind me|(?:keep|bear) in mind|don'?t forget)(?: that)? ?[:,-]? {0,2}"
    r"(?:to )?(?=\S)"
)
_ASKS = (
    r"(?i)(?:what|which|who|whose|where|when|why|how|do|does|did|is|are|am|was|were|can|has|have)"
    r"(?:'s)? .*|.*\?$"
)
_INTRODUCES = (  # who greets and says who they are says their name
    r"^(?P<hi>(?i:hi|hey|hello|good (?:morning|afternoon|evening))(?i: co| there| all)?[,.!]?) "
    r"(?i:i'?m|i am|this is) (?P<name>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)"
    r"(?:(?P<of> from\b)|(?=[,.!]|$| (?:and|here)\b))"
)
_ASKS_THAT = (  # a question without its mark, perhaps about what was just told
    r"(?i)(?:what|which|who|whose|where|when|why|how) (?:did|do|does|is|are|was|were|has|have)\b"
    r"(?:.{0,200}\b(?P<that>it|that|this|them)\??$)?"
)
_ASKS_OWN = r"(?i)(?:what|which|who|where|when)(?:'?s| is| are) (?:my|our) \w"
# Who did something, and not who said what was just told.
_ASKS_WHO = (
    r"(?i)(?:and |so )?who(?! sa(?:ys?|id)\b| else)(?!.{0,200}\b(?:so|that|this|it|you|me)\b)"
)
_ASKS_ABROAD = (  # a question in German, French or Spanish
    r"(?i)¿?(?:(?:in|auf|mit|à|de|a|en|por) )?(?:wo|wann|wer|wie(?! gesagt| besprochen| immer)"
    r"|warum|welche[mnrs]?|was(?= (?:ist|sind|war) )|où|quand|qui|quel(?:le)?s?|pourquoi"
    r"|comment(?= s'?appel)|c'est quand|d[oó]nde|cu[aá]ndo|qui[eé]n|qué|cuál|cómo)"
    r"(?: est-ce qu(?:e |')| )(?=\w)"
)
_NO_ABROAD = (
    r"(?:(?:nein|nee|falsch|stimmt nicht|entschuldigung|non|pardon|désolée?|faux|perd[oó]na?"
    r"|mejor dicho)\b[,:;.!]|ich meint?e\b|je voulais dire\b|quise decir\b)"
    r"(?: (?:es ist|es sind|c'est|er|sie|il|elle)\b)?"
)
_TAKES_BACK = (  # how a sentence begins that only says what is wrong
    r"(?i)(?:no|nope|nah|wait|sorry|oops|whoops|ups|actually|wrong|scratch|scrap|strike|i meant?"
    r"|nein|non|make that|not|hm+|er+|my bad|my mistake|correction|typo|it|they|he|she"
    rf"|that(?:'s| is| was))\b|(?i:{_NO_ABROAD})"
)
_CORRECTS = (
    r"(?i)(?:(?:(?:no|nope|sorry|oops|whoops|my bad|correction)[,:;.!]"
    rf"|(?P<abroad>{_NO_ABROAD})) ?){{1,3}}(?=\w)"
)
_LEADS_ON = (  # what a person begins with, and what they end with; no part of what they say
    r"(?i)(?:(?:btw|by the way|fyi|hey(?: co)?|hi|hello|co|ok|okay|so|well|oh|and|also|plus|but"
    r"|actually|hold on|hang on|wait|sorry|oops|hm+)\b(?: also)?[,:;.!]{0,2} (?:- )?){1,4}"
    r"(?=[\w']+ \w)"
)
_ENDS = r"(?i)[,;.! -]{0,3}(?:\b(?:thx|thanks|thank you|please|pls|btw|by the way|fyi)[.! ]{0,3})?$"
_DO = r"(?i)(?:use|keep|put|run|call|send|ask|take|deploy|write|always|never|do ?n'?t) $"
_HALF = r"(?i)\b(?:and|but|so|because|while|is|are),? {0,3}$"  # how a first half ends
_SOMEBODY = r"(?i)(?:s?he|they|her|his|their|we)\b"  # who begins a statement, never a lead to it
_HOLDS = r"\b(?:is|are|was|were|has|have|had)\b"
_I = r"(?i)\b(?:i|me|my|mine|ich|mir|mich|meine?[mnrs]?|je|j'|moi|mon|ma|mes|yo|soy|mis?)\b"
_THEIR_OWN = (  # somebody close to the person, who is no matter of a project
    r"(?i)my (?:\w+ )?(?:wife|husband|partner|fiancée?|mother|mom|mum|father|dad|parents|sister"
    r"|brother|son|daughter|kids?|child|children|aunt|uncle|cousin|niece|nephew|grand\w+|friend"
    r"|girlfriend|boyfriend|neighbou?r|advisor|adviser|supervisor|doctor|dentist|therapist"
    r"|landlord)\b"
)
_TO_ME = (  # how the person wants to be answered
    r"(?i)(?<!'s )\b(?:answers|replies|responses|explanations)\b(?! (?:from|of|to)\b)"
    r"|\b(?:write|talk|speak|reply|respond|explain \w+) to me\b|\b(?:answer|address) me\b"
)
_KEEPS = r"(?i)(?:please )?(?:keep|make) \w"
_AGREES = r"(?i)(?:yes|yeah|yep|exactly|indeed|correct|ja|oui|sí)\b"
_OBJECTS = r"(?i)\b(?:but|no|not|never|actually|instead|rather|wrong|meant?|now)\b|n't\b"
_FORGETS = (  # what was told, or what is named, in German, French or Spanish
    r"(?i)(?:no,? |oh,? |sorry,? |ok,? ){0,2}(?:scratch|strike|scrap|forget) (?:that|it|this)[.!]?"
    r"|(?:bitte |por favor,? )?(?:vergiss(?! nicht)|lösche?|oublie|supprime|efface|olvida|borra)"
    r"(?: bitte)?(?: (?:das|ça|eso)[.!]?$|(?: (?:das mit|ce que j'ai dit sur|lo)\b)?"
    r"(?: (?:de[mnrl]?|das|die|les?|la|el))?(?: nota del?)? (?P<what>\w.{0,80}?)[.!]?)"
)
_CALLED = (
    r"(?i:please |just )*(?P<not>(?i:do ?n'?t|do not|stop|never) )?(?i:call(?:ing)?) me "
    r"(?!(?i:mon|tues|wednes|thurs|fri|satur|sun)day)([A-Z][\w.'-]*(?: [A-Z][\w'-]*){0,2}?)[.!]?"
)
_FORGOTTEN = r"(?i)you (?:keep|always|are|'re) ?(?:on )?forget(?:ting)? (?:that )?(?=\w+'?\w* \w)"
_LOOKS = r"(?i)(?:please |can you |co,? ){0,2}(?:recall|find|search|look|show|retrieve)\b"
LAST_NOTE = (  # is to be put right, or what was told
    r"(?i)^(?:(?:please|no|sorry),? )?(?:(?P<do>(?:correct|fix|change|update|edit) )?(?:(?:the"
    r"|my|your) (?P<last>last|latest|newest|previous)|that|this) (?:note|memory|entry)(?(do)(?: to"
    r"(?: say| read)?\b|[:;,.-]|$)|(?:(?: is| was|'s) (?:wrong|incorrect|not right)| should (?:say"
    r"|read))\b)|you (?:got|have|had) (?:that|it|this) wrong\b)[:;,.! -]{0,3}"
)
_SPELT = (
    r"(?i)(?:no,? )?it'?s ([\w-]{2,40}),? with(?:out)? (?:an? |no |two )?\w{1,2}['s]{0,2}[.!]?$"
)
_PHRASES = {
    "followup": r"(?i)(?:and |but |so )?(?:how come|how so|what for)\?{0,2}",
    "list": r"(?i)(?:and |so,? )?what do you (?:already )?know(?: so far| now)?\?{0,2}"
    r"|(?:please )?sort (?:all )?(?:the |our )?(?:notes|memories|entries)\b.{0,40}",
    "wrong": r"no,",
    "what": r"(?i)(?:please )?(?:remember|note|save|keep)[.!:]*",
    "help": r"(?i)¡?(?:hilfe|hilf mir|à l'aide|aide(?:[- ]moi)?|ayuda(?:me)?|ayúdame)[ .!?]{0,3}",
    "stay": (  # what was to go
        r"(?i)(?:(?:no|wait|actually|oh|sorry|hold on|on second thoughts?)[,.! ]{1,3}){1,4}"
        r"(?:keep|leave|don'?t (?:forget|delete|remove)) (?:it|that|this)(?: one| note)?[.!]?"
    ),
}
_STATES = (  # somebody or something, and what it is or does
    r"(?i)(?:the|our|their|every|each|all) (?:\w+(?:'s)? ){1,6}?"
    r"(?:is|are|has|have|must|\w{2,20}[^\Ws]s)\b(?!['’]| (?:\w+ing|down|up|broken|back)\b)"
)
_DID = (  # what somebody did is told, and asks for nothing
    r"(?i)(?!(?:that|this|no+|oh|oops|wait|please|ok|restore|un-?\w+)\b)(?:(?:the|my|our|h\w+) )?"
    r"[\w'-]+ (?:just )?(?:got|put|gave|took|brought|undid|\w{2,20}ed)\b"
)
_PASSES = (  # a guess, a thought, or what is over tomorrow
    r"(?i)\b(?:think|thinking|guess|might|may|maybe|perhaps|could|would|should|suppose|imagine|if"
    r"|consider|considering|dunno|probably|seems?|someday|eventually|again|now|just|today|tonight"
    r"|tomorrow|yesterday|currently|still|finally|ugh|brb|lol|sure|i)\b|[?!\"“]|\b\w{1,10}n'?t\b|\.{2}"
)
_WHEN = (  # a day or a time
    r"(?i)\b(?:today|tonight|tomorrow|yesterday|noon|now|these days|(?:this|next|last) \w+|until"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|at \d|\d\d?[:.]\d\d|\d ?[ap]m)\b"
)
_SHOWS = (  # a note by its number
    r"(?i)(?:(?:please|pls|can you|could you|co),? ){0,2}(?:show|open|display|print|view|read)"
    r"(?: me)?(?: the)?(?: (?:note|memory|number|entry|no\.?))? #?(g?\d{1,9})(?: please)?[.!?]?"
)
_WHOLE = ("keep", *STATEMENTS)  # of lines that belong together
KEPT = (*_WHOLE, "correct", "amend")  # wants that may become a note


class Turn(NamedTuple):
    """What is wanted, and the words it is about: what to keep, what to look for, the new value.

    `sure` is a statement that surely is worth keeping; another is only offered. `mine` says that
    it is about the person rather than their work. `whole` is what a new value was said in, where
    that makes sense alone ("we've switched to Django").
    """

    want: str
    text: str = ""
    tags: tuple[str, ...] = ()
    mine: bool = False
    sure: bool = True
    whole: str = ""


def understand(said: str) -> list[Turn]:
    """What each sentence of the person's own wants, in order; nothing where a text is no speech."""
    said = own_words(re.sub(LAST_NOTE, "no, ", said.strip().replace("’", "'")))
    if not is_speech(said):
        return []
    if one := re.match(_INTRODUCES, said):
        of = ", I'm from" if one["of"] else ""
        said = f"{one['hi']} my name is {one['name']}{of}{said[one.end() :]}"
    tagged = re.search(_TAGGED, said)
    asked = re.split(r"[#, ]+(?:and )?", tagged[1].strip()) if tagged else []
    said = said[: tagged.start()] if tagged else said
    found, told, last = list[Turn](), list[str](), ""
    sentences = [re.sub(_ITEM, "", one) for one in _sentences(said)]
    if len(sentences) > 1:  # what stands over a list says nothing by itself
        sentences = [one for one in sentences if not one.rstrip().endswith(":")]
    for sentence in filter(None, map(str.strip, sentences)):
        turn = _read(sentence, asked)
        if (
            last == "nothing"
            and turn.want in (*STATEMENTS, "amend")
            and re.match(_FOLLOWS, sentence)
        ):
            turn = _read(f"{told[-1]} {sentence}", asked)  # of what was said just before
        told.append(turn.text if turn.want == "keep" else sentence)
        follows = found and re.match(_FOLLOWS, sentence) and turn.want in (*STATEMENTS, "nothing")
        if follows and last in KEPT:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}. {sentence.rstrip('.!')}")
            continue
        if last in ("correct", "amend") and turn.want in STATEMENTS:
            found[-1] = turn._replace(want="correct", sure=True)  # it only said what is wrong
        elif turn.want != "nothing" or re.match(_ASKS, sentence):
            found.append(turn)
        last = turn.want
    kept = [turn for turn in found if turn.want in _WHOLE]
    whole = "\n" in said and kept and {turn.want for turn in found} <= {*_WHOLE, "recall"}
    if whole and len(kept) < len(told) and not any(re.match(_ASKS, one) for one in told):
        found = [kept[0]._replace(text=third_person("\n".join(told)))]  # no line is lost
    return list({(turn.want, turn.text.casefold()): turn for turn in found}.values())[:_TURNS]


def _sentences(said: str) -> list[str]:
    """A text, cut where a sentence surely ends."""
    found, start = list[str](), 0
    for cut in re.finditer(_CUT, said):
        at, end = cut.span()
        beside = f"{said[max(start, at - 20) : at]}|{said[end : end + 12]}"
        if len(found) < _SENTENCES and not (said[at] == "." and re.search(_GOES_ON, beside)):
            found.append(said[start : at + (said[at] in ".!?…")])
            start = end
    return [*found, said[start:]]


def _read(sentence: str, asked: list[str]) -> Turn:
    if turn := _phrase(sentence):
        return turn
    heard = _hear(sentence)
    if heard.want == "keep" and (sentence.endswith("?") or re.match(_LOOKS, sentence)):
        return Turn("recall", heard.meant)  # "remember that?"
    unclear = heard.want == "restore" and heard.likely < _CLEAR and re.match(_ASKS, sentence)
    unclear = unclear or (heard.want in ("followup", "changes") and re.match(_ASKS_WHO, sentence))
    if unclear or (heard.want == "nothing" and re.match(_ASKS_OWN, sentence)):
        return Turn("recall", sentence)
    if (corrects := re.match(_CORRECTS, sentence)) and sentence[-1] != "?":
        meant, abroad = _bare(sentence[corrects.end() :]), corrects["abroad"]
        many = meant.count(" ") - 2 * bool(abroad)
        whole = many > 0 or (many == 0 and abroad and hear(meant).want in STATEMENTS)
        if (whole and heard.want in STATEMENTS) or (abroad and heard.want in (*KEPT, "recall")):
            heard = heard._replace(want="correct" if whole else "amend", meant=meant)
    if heard.want in STATEMENTS and (asks := re.match(_ASKS_THAT, sentence)):
        return Turn("followup" if asks["that"] else "recall", sentence)
    lead = re.match(_ASKED_TO_KEEP, sentence) if heard.want == "nothing" else None
    if lead and re.search(r"(?:that|:) {0,2}$", lead[0]):
        heard = heard._replace(want="keep", meant=sentence[lead.end() :])
    elif heard.want not in KEPT and _may_state(heard, sentence):
        heard = heard._replace(want=heard.kind, likely=0.0, meant=sentence)
    if heard.want in KEPT:
        return _kept(heard, sentence, asked)
    named = heard.want in ("forget", "restore", "recall", "earlier", "nothing")
    return Turn(heard.want, heard.meant if named else sentence, sure=len(sentence) > 1)


def _hear(sentence: str) -> Heard:
    """How a sentence is read, where a few that are plain are not left to the encoder."""
    heard = hear(sentence)
    agrees = re.match(_AGREES, sentence) and not re.search(_OBJECTS, sentence)
    if agrees and heard.want == "correct":  # who says yes puts nothing right
        return heard._replace(want=heard.kind)
    if forgotten := re.match(_FORGOTTEN, sentence):  # what Co is to know is told, not forgotten
        meant = sentence[forgotten.end() :]
        return hear(meant)._replace(want="keep", meant=meant)
    if heard.want == "nothing" and re.match(_KEEPS, sentence) and re.search(_TO_ME, sentence):
        return heard._replace(want="preference", likely=1.0, meant=sentence)
    return heard


def _may_state(heard: Heard, sentence: str) -> bool:
    """Whether what is read as something else may be a statement, to be offered."""
    if re.match(_ASKS, sentence):
        return False
    if heard.want in ("undo", "restore") and re.match(_DID, re.split(r"[,;.!] ", sentence)[-1]):
        return True
    if heard.want == "nothing" and re.match(_STATES, sentence) and not re.search(_PASSES, sentence):
        return True
    unclear = heard.want == "nothing" or heard.likely < _CLEAR
    dated = re.search(_WHEN, sentence) and not re.match(r"(?i)(?:i|it|that|let|see)\b", sentence)
    least = _DATED if dated else _PERHAPS
    return unclear and heard.states >= least and len(sentence.split()) >= _FEWEST


def _phrase(sentence: str) -> Turn | None:
    """What a sentence of few words means, whatever it is read as."""
    for want, form in _PHRASES.items():
        if re.fullmatch(form, sentence):
            return Turn(want, want)
    if shows := re.fullmatch(_SHOWS, sentence):
        return Turn("show", shows[1])
    if called := re.fullmatch(_CALLED, sentence):
        text = third_person(f"I {'do not ' if called['not'] else ''}want to be called {called[2]}")
        return Turn("preference", text, ("preference",), mine=True)
    if forgets := re.fullmatch(_FORGETS, sentence):
        return Turn("forget", forgets["what"] or "that")
    if abroad := re.match(_ASKS_ABROAD, sentence):
        return Turn("recall", sentence[abroad.end() :])
    spelt = re.match(_SPELT, sentence)
    return Turn("amend", spelt[1], ("correction",)) if spelt else None


def _kept(heard: Heard, sentence: str, asked: list[str]) -> Turn:
    """What a sentence says that may become a note."""
    if heard.want == "amend" and re.search(rf"\w {_HOLDS} \w|^(?:I|[Ww]e) \w+ \w", heard.meant):
        heard = heard._replace(want="correct")  # it says all of it anew
    kind = heard.want if heard.want in STATEMENTS else heard.kind
    kind = "correction" if heard.want in ("correct", "amend") else kind
    close = re.match(_THEIR_OWN, heard.meant)
    kind = "context" if close and kind == "preference" else kind
    tags = tagged([kind, *filter(None, asked)], heard.meant)
    meant, at = heard.meant, sentence.rfind(heard.meant)
    if heard.want == "keep" and (lead := re.match(_ASKED_TO_KEEP, sentence)):
        left_out = sentence[lead.end() : at]
        meant = meant if ":" in left_out else left_out + meant
    sure = heard.want not in STATEMENTS or heard.likely >= _SURE
    alone = heard.want == "amend" and not re.match(_TAKES_BACK, sentence)
    whole = third_person(_bare(sentence)) if alone else ""
    if heard.want == "correct" and (do := re.search(_DO, sentence[:at])):
        meant = do[0] + meant  # what to do with it
    if heard.want in STATEMENTS:
        meant = _both_halves(sentence, at, meant)
    meant = meant if heard.want == "amend" else _bare(meant)
    text = meant if heard.want == "amend" else third_person(meant)
    mine = heard.mine > (0 if re.search(_I, meant) else _MINE)
    mine = mine or bool(close or (kind == "preference" and re.search(_TO_ME, meant)))
    return Turn(heard.want, text, tuple(tags), mine, sure, whole)


def _bare(said: str) -> str:
    """What is said, without what a person begins and ends with."""
    said = re.sub(_ENDS, "", said)
    return said[lead.end() :] if (lead := re.match(_LEADS_ON, said)) else said


def _both_halves(sentence: str, at: int, meant: str) -> str:
    """What is meant, and what else the sentence says before or after it."""
    before, after = sentence[:at], sentence[at + len(meant) :]
    half = before.rstrip().endswith((",", ";")) and re.search(_HOLDS, before)
    half = half or change(sentence) or re.search(SWITCHED, sentence)
    first = 0 if half or re.search(_HALF, before) or re.match(_SOMEBODY, before) else at
    last = len(sentence) if re.search(r"\w", re.sub(_ENDS, "", after)) else at + len(meant)
    return sentence[first:last]


def tags_for(text: str) -> list[str]:
    """The tags of a text that is kept as it stands, as of one that is said."""
    return tagged([hear(text[:MOST]).kind], text)


def tagged(tags: Iterable[str], text: str) -> list[str]:
    """The signal, the domains that a text speaks of, two at most, and the tags beside them."""
    kind, *others = tags
    words = re.findall(r"\w+", re.sub(r"\b\w+://\S+", " ", text.lower()))
    domains = dict.fromkeys(_DOMAINS[word] for word in words if word in _DOMAINS)
    return [*dict.fromkeys([kind, *list(domains)[:2], *others])]


_DOMAINS = {word: tag for tag, *words in map(str.split, """
python python pytest pip poetry uv ruff mypy django flask fastapi pandas numpy pydantic
javascript javascript typescript js ts npm pnpm yarn react vue svelte vite eslint deno
rust rust cargo clippy
go golang goroutines gofmt
java java kotlin gradle maven
concurrency async await asyncio callbacks threads coroutines concurrency
testing test tests testing pytest jest vitest mocks coverage fixtures tdd
database database databases db postgres postgresql mysql mariadb sqlite mongodb sql orm redis
deployment deploy deploys deployment kubernetes k8s docker terraform aws gcp azure prod staging
deployment ci pipeline pipelines jenkins release releases
editor editor vim neovim emacs vscode helix jetbrains ide
git git commit commits branches rebase squash merge pr prs github gitlab
style tabs spaces indent formatting formatter naming snake_case camelcase lint linter style
security security secret secrets password passwords tokens auth vault
documentation docs documentation readme docstring docstrings changelog comments
team team sprint standup retro manager colleagues
""".strip().splitlines()) for word in words}  # fmt: skip
