"""What is worth remembering in what a person says, told by rule; knows no model and no notebook.

An utterance is cut into sentences, each is freed of its wrapping ("btw", "no wait"), and the first
rule of a table that fits a sentence decides. Every repetition in a pattern is bounded.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from co_cli.learning import phrases

MOST = 2000  # characters of an utterance that may hold a signal
_SENTENCES, _SIGNALS = 40, 5  # of one utterance
_CODE = (
    r"(?i)(?:(?:def|class|import|from|return|func|fn|const|let|var|public|private|package|using"
    r"|#include|if|for|while|select|insert|create|update)\b.*[:;{)]|[})\]];?|\$ .*|.*[;{])$"
)
_LOG = (
    r"(?i)\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?:error|warn(?:ing)?|info|debug|fatal)\b)"
    r"|at [\w.$<>]+\(|file \"[^\"]{1,200}\", line \d|traceback \(|caused by:|>{1,3} "
)


class Signal(NamedTuple):
    """What to store, in the third person, and the rule that saw it."""

    kind: str
    text: str
    tags: list[str]
    rule: str


class Rule(NamedTuple):
    """A name, what a sentence that fits is, and the test."""

    name: str
    kind: str
    test: Callable[[str], object]
    whole: bool = False  # asked of the whole utterance, not of a sentence


class Request(NamedTuple):
    """What a person asks Co to do with its memory: list it, forget a number or save a text."""

    verb: Literal["list", "forget", "save"]
    what: str = ""


def _several_lines(pattern: str, text: str) -> bool:
    return sum(1 for line in text.splitlines() if re.match(pattern, line.strip())) > 1


def _rows(text: str, columns: int) -> Iterator[list[str]]:
    """The rows of a table; a row goes on where a line is indented."""
    for row in re.findall(r"^\S.*\n(?: .*\n)*", text, re.MULTILINE):
        yield re.sub(r"\n {4}|\n", "", row).split(" ", columns - 1)


def _table(text: str, *, whole: bool) -> Iterator[Rule]:
    words = dict(_rows(phrases.WORDS, 2))
    for name, kind, pattern in _rows(text, 3):
        flat = pattern
        while found := re.search(r"<([A-Z]+)>", flat):
            flat = flat.replace(found[0], words[found[1]])
        yield Rule(name, kind, partial(re.search, flat), whole)  # compiled when first asked


RULES: tuple[Rule, ...] = (
    Rule("too-long", "no", lambda text: len(text) > MOST, True),
    Rule("code-block", "no", lambda text: "```" in text or "~~~" in text, True),
    Rule("code-lines", "no", partial(_several_lines, _CODE), True),
    Rule("log-lines", "no", partial(_several_lines, _LOG), True),
    *_table(phrases.WHOLE, whole=True),
    *_table(phrases.SENTENCE, whole=False),
)
_SILENT = ("no", "asks")  # kinds of sentences in which there is nothing to store
_WRAP = "(?i)" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _rows(phrases.WRAPS, 2))
_BARE = (
    r"\b(?:(?:do|does|did|is|are|ca|wo|would|could|should|have|has|was|were)n(?=t\b)"
    r"|i(?=(?:m|ve|d (?:rather|prefer))\b)|(?:that|what|where|how|who|there)(?=s\b)"
    r"|(?:we|you)(?=ve\b)|(?:you|they)(?=re\b))"
)
_QUOTED = r"(\"[^\"]{1,300}\"|“[^”]{1,300}”|`[^`]{1,300}`|(?<!\w)'[^']{3,300}'(?!\w))"
_CUT = r"(?<=[.!?…])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)\s+|\n+|,? and also,? (?=\S)"
_FOLLOWS = (
    r"(?i)(?:it|that|they|he|she|which|because|except|otherwise|these(?! days)|those"
    r"|this(?= (?:is|was|means)))\b"
)


def detect_all(utterance: str, rules: Sequence[Rule] = RULES) -> list[Signal]:
    """Everything worth remembering in an utterance, each statement once.

    What follows a statement and says nothing by itself ("It was too slow.") belongs to it.
    """
    if _left_alone(utterance, rules):
        return []
    judged = list(_judged(utterance, rules))
    asked = bool(judged) and judged[-1].kind == "asks"
    found: list[tuple[_Judged, list[str]]] = []
    before = ""
    for one in judged:
        follows = not one.kind or re.match(_FOLLOWS, one.kept) is not None
        if one.kind in _SILENT:
            before = "no"
        elif follows and before == "yes":
            found[-1][1].append(one.sentence)
        elif one.kind and not (one.kind == "context" and (asked or (follows and before))):
            found.append((one, [one.kept]))
            before = "yes"
    signals = [_signal(one.kind, one.rule, " ".join(kept)) for one, kept in found]
    return list({signal.text.casefold(): signal for signal in signals}.values())[:_SIGNALS]


def _left_alone(utterance: str, rules: Sequence[Rule]) -> bool:
    """Whether a rule about whole utterances keeps Co from reading this one."""
    said = _plain(utterance[: MOST + 1])
    return any(rule.whole and rule.test(said) for rule in rules)


class _Judged(NamedTuple):
    """A sentence without its wrapping and with it, and the first rule that fits, if any does."""

    kept: str
    sentence: str
    kind: str = ""
    rule: str = ""


def _judged(utterance: str, rules: Sequence[Rule]) -> Iterator[_Judged]:
    carried = False
    sentences = re.split(_CUT, utterance.replace("’", "'"), maxsplit=_SENTENCES)
    for sentence in map(str.strip, sentences):
        kept, corrects = _unwrapped(sentence)
        carried = carried or corrects
        if not kept:
            continue
        said = "! " * carried + re.sub(_QUOTED, '"x"', _plain(kept))
        fits = ((rule.kind, rule.name) for rule in rules if not rule.whole and rule.test(said))
        kind, name = next(fits, ("", ""))
        corrected = carried and kind and kind not in _SILENT
        yield _Judged(kept, sentence, "correction" if corrected else kind, name)
        carried = False


def _unwrapped(sentence: str) -> tuple[str, bool]:
    """A sentence without what leads up to it, and whether that says that something is wrong."""
    corrects = False
    while match := re.match(_WRAP, sentence):
        sentence = sentence[match.end() :].lstrip()
        corrects = corrects or match["PUTTING"] is not None
    return sentence, corrects


def _plain(text: str) -> str:
    """A text for the rules: in lower case, with the apostrophes that were left out."""
    return re.sub(_BARE, r"\g<0>'", text.replace("’", "'").strip().lower())


_DOMAINS = {word: tag for tag, *words in map(str.split, """
python python pytest pip poetry uv ruff mypy django flask fastapi pandas numpy pydantic
javascript javascript typescript js ts node npm pnpm yarn react vue svelte vite eslint deno bun
rust rust cargo clippy
go golang goroutines gofmt
java java kotlin gradle maven spring
concurrency async await asyncio callbacks threads coroutines concurrency
testing test tests testing pytest jest vitest mocks mock coverage fixtures tdd
database database databases db postgres postgresql mysql mariadb sqlite mongodb sql orm redis
deployment deploy deploys deployment kubernetes k8s docker terraform aws gcp azure prod staging
deployment ci pipeline pipelines jenkins release releases
editor editor vim neovim emacs vscode helix jetbrains ide
git git commit commits branch branches rebase squash merge pr prs github gitlab
style tabs spaces indent formatting formatter naming snake_case camelcase lint linter style
security security secret secrets password passwords token tokens auth vault
documentation docs documentation readme docstring docstrings changelog comments
team team sprint standup retro manager colleagues
""".strip().splitlines()) for word in words}  # fmt: skip
_ELIDED = r"(?i)(?:prefer|love|hate|dislike|can'?t stand) "
_FIRST = (
    r"(?i)(?<![\w/.'-])(?:(?P<i>I)(?:'?(?P<tail>m|ve|ll|d(?= rather| prefer))\b|'(?P<had>d)\b)?"
    r"(?P<adverbs>(?: (?:also|really|always|usually|often|still|much|just|only|never|now|even|quite"
    r"|rarely|[a-z]{3,12}ly)){0,3})(?: (?P<verb>[a-z]+(?:'t)?))?|(?P<my>my|mine)|me"
    r"|(?P<self>myself))(?![\w/-]|\.\w)"
)
_ALSO = r"(?<=User )([^.;]{1,200} (?:and|but) )(prefer|love|hate|dislike)\b"
_TAILS = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
_VERBS = {"am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't"}
_FIXED = frozenset(
    "can can't cannot could couldn't will won't would wouldn't should shouldn't may might must was "
    "wasn't were had hadn't did didn't went got made took saw ran found came gave told said left "
    "sent built kept thought knew wrote brought broke lost met paid forgot meant chose felt began "
    "grew spent bought taught stuck and or in of to as at is for with the a not who".split()
)
_CAPITAL = (
    r"(?:we|we're|we've|our|the|this|that|there|all|every|each|any|no|never|always|when|whenever"
    r"|for|in|on|if|it|it's|not|don't|keep|use|after|before|as|a|an)\b"
)


def _signal(kind: str, rule: str, said: str) -> Signal:
    words = re.findall(r"[a-z0-9_]+", re.sub(r"\w+://\S+", " ", said.lower()))
    domains = dict.fromkeys(_DOMAINS[word] for word in words if word in _DOMAINS)
    elided = "I " if kind == "preference" and re.match(_ELIDED, said) else ""
    text = third_person(f"{elided}{said[:1].lower()}{said[1:]}" if elided else said)
    return Signal(kind, text, [kind, *list(domains)[:2]], rule)


def third_person(said: str) -> str:
    """The person's own words, about "User": I prefer tabs -> User prefers tabs."""
    pieces = re.split(_QUOTED, said)
    pieces[::2] = [re.sub(_FIRST, _renamed, piece) for piece in pieces[::2]]
    text = re.sub(r"[\s.,;:!]+$", "", "".join(pieces))
    text = re.sub(_ALSO, lambda also: also[1] + _conjugated(also[2]), text)
    return text[:1].upper() + text[1:] if re.match(_CAPITAL, text) else text


def _renamed(match: re.Match[str]) -> str:
    if not match["i"]:
        return "User's" if match["my"] else "themselves" if match["self"] else "User"
    adverbs, verb, tail = match["adverbs"], match["verb"] or "", match["tail"] or match["had"]
    if tail:
        return f"User {_TAILS[tail.lower()]}{adverbs} {verb}".rstrip()
    if match["i"] == "i" and verb in ("", "in", "is", "and", "or", "as", "to", "of"):
        return match[0]  # a variable of that name
    return f"User{adverbs} {_conjugated(verb)}".rstrip()


def _conjugated(verb: str) -> str:
    low = re.sub(r"^(do|have)nt$", r"\1n't", verb.lower())
    if low in _VERBS:
        return _VERBS[low]
    past = low.endswith("ed") and not low.endswith(("eed", "mbed"))
    if past or low in _FIXED or not low.isalpha():
        return verb
    if re.search(r"[^aeiou]y$", low):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if re.search(r"(?:[sxzo]|ch|sh)$", low) else f"{verb}s"


_POLITE = r"(?i)^(?:please )?(?:(?:can|could|would|will) you )?(?:please )?"
_FRAME = _POLITE + (
    r"(?:quick question[,:]? )?(?:do you (?:know|remember) )?"
    r"(?:(?:tell|remind|show) me (?:about |again )?|remember )?(?=\S)"
)
_REQUEST = _POLITE + (
    r"(?:(?P<list>(?:list|show)(?: me)?(?: all)?(?: of)?(?: my| your| the)? (?:memories|notes)"
    r"|what (?:do|have) you (?:know|remember(?:ed)?|stored|saved|learned)"
    r"(?: (?:about|of) (?:me|us))?(?: so far)?|what(?:'s| is) in your (?:memory|notes))\W*$"
    r"|(?:(?:forget|delete|remove|archive)(?: (?:my|the|your))? (?:memory|note)"
    r"(?: number| no\.?)? ?#?|(?:forget|delete|remove|archive) #|forget )"
    r"(?P<forget>g?\d{1,9})\W*$"
    r"|(?:(?:remember|memori[sz]e|save|store|note|(?:make|take) a note|(?:write|jot) (?:this )?"
    r"down)(?: this| the following)?(?: that |[:,] ?)|don'?t (?:let me )?forget(?: that| to|[:,])? "
    r"|(?:keep|bear) in mind(?: that|[:,])? |remember to |remember (?!when|how|what|why|where|who"
    r"|which|if|the time|that time|me\b|us\b|it\b|this\b|everything|nothing))(?P<save>\S(?s:.*))$)"
)


def question(utterance: str) -> str:
    """What to ask recall for: the question as it is, without what leads up to it; else nothing.

    Recall takes a question apart by itself; fewer words find no more and mistake more.
    """
    asking = [one.kept for one in _judged(utterance[:MOST], RULES) if one.kind == "asks"]
    return re.sub(_FRAME, "", " ".join(asking), count=1)


def request(utterance: str) -> Request | None:
    """What is asked for in so many words: to list, to forget, to save."""
    said = utterance.strip().replace("’", "'")
    if _left_alone(said, RULES):
        return None
    while (match := re.match(_WRAP, said)) and match["ASIDE"]:
        said = said[match.end() :]
    match = re.match(_REQUEST, said)
    if not match or (match["save"] and said.endswith("?")):
        return None
    if match["save"]:
        return Request("save", third_person(match["save"]))
    return Request("forget", match["forget"].lower()) if match["forget"] else Request("list")
