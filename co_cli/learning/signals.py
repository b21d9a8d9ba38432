"""What is worth remembering in what a person says, told by rule; knows no model and no notebook.

An utterance is cut into sentences, each is freed of its wrapping ("btw", "no wait"), and the first
rule of a table that fits a sentence decides. Every repetition in a pattern is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from co_cli.learning import phrases

__all__ = [
    "MOST",
    "RULES",
    "Request",
    "Rule",
    "Signal",
    "detect",
    "detect_all",
    "is_question",
    "request",
    "third_person",
    "topic",
]

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

    @property
    def stores(self) -> bool:
        """Whether there is something to store in a sentence that fits."""
        return self.kind not in ("no", "asks")


class Request(NamedTuple):
    """What a person asks Co to do with its memory: list, forget `ref`, or save `text`."""

    verb: Literal["list", "forget", "save"]
    ref: str = ""
    text: str = ""


def _lines(pattern: str, text: str) -> bool:
    """Whether several lines look like this."""
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
    Rule("code-lines", "no", partial(_lines, _CODE), True),
    Rule("log-lines", "no", partial(_lines, _LOG), True),
    *_table(phrases.WHOLE, whole=True),
    *_table(phrases.SENTENCE, whole=False),
)
_ASIDE, *_WRAPPINGS = [re.compile(f"(?i){pattern}") for _, pattern in _rows(phrases.WRAPS, 2)]
_BARE = re.compile(
    r"\b(?:(?:do|does|did|is|are|ca|wo|would|could|should|have|has|was|were)n(?=t\b)"
    r"|i(?=(?:m|ve|d (?:rather|prefer))\b)|(?:that|what|where|how|who|there)(?=s\b)"
    r"|(?:we|you)(?=ve\b)|(?:you|they)(?=re\b))"
)
_QUOTED = re.compile(r"(\"[^\"]{1,300}\"|“[^”]{1,300}”|`[^`]{1,300}`|(?<!\w)'[^']{3,300}'(?!\w))")
_CUT = re.compile(
    r"(?<=[.!?…])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)\s+|\n+|,? and also,? (?=\S)"
)
_FOLLOWS = re.compile(
    r"(?i)(?:it|that|they|he|she|which|because|except|otherwise|these(?! days)|those"
    r"|this(?= (?:is|was|means)))\b"
)


def detect(utterance: str, rules: Sequence[Rule] = RULES) -> Signal | None:
    """The first thing worth remembering in an utterance, if there is one."""
    return next(iter(detect_all(utterance, rules)), None)


def detect_all(utterance: str, rules: Sequence[Rule] = RULES) -> list[Signal]:
    """Everything worth remembering in an utterance, each statement once.

    What follows a statement and says nothing by itself ("It was too slow.") belongs to it.
    """
    if any(rule.test(_plain(utterance[: MOST + 1])) for rule in rules if rule.whole):
        return []
    judged = list(_judged(utterance, rules))
    asked = bool(judged) and _asks(judged[-1][0])
    found: list[tuple[Rule, list[str]]] = []
    before = ""
    for rule, kept, sentence in judged:
        follows = rule is None or _FOLLOWS.match(kept) is not None
        if rule is not None and not rule.stores:
            before = "no"
        elif follows and before == "yes":
            found[-1][1].append(sentence)
        elif rule is not None and not (rule.kind == "context" and (asked or (follows and before))):
            found.append((rule, [kept]))
            before = "yes"
    signals = [_signal(rule, " ".join(kept)) for rule, kept in found]
    return list({signal.text.casefold(): signal for signal in signals}.values())[:_SIGNALS]


def is_question(utterance: str) -> bool:
    """Whether an utterance asks for something to be told."""
    return any(_asks(rule) for rule, _, _ in _judged(utterance[:MOST], RULES))


def _asks(rule: Rule | None) -> bool:
    return rule is not None and rule.kind == "asks"


def _judged(utterance: str, rules: Sequence[Rule]) -> Iterator[tuple[Rule | None, str, str]]:
    """The first rule that fits each sentence, the sentence without its wrapping, and with it."""
    carried = False
    for sentence in map(str.strip, _CUT.split(utterance.replace("’", "'"), _SENTENCES)):
        kept, corrects = _unwrapped(sentence)
        carried = carried or corrects
        if not kept:
            continue
        said = "! " * carried + _QUOTED.sub('"x"', _plain(kept))
        rule = next((rule for rule in rules if not rule.whole and rule.test(said)), None)
        if carried and rule is not None and rule.stores:
            rule = rule._replace(kind="correction")
        yield rule, kept, sentence
        carried = False


def _unwrapped(sentence: str) -> tuple[str, bool]:
    """A sentence without what leads up to it, and whether that says that something is wrong."""
    corrects = False
    for _ in range(_SENTENCES):
        for pattern in (_ASIDE, *_WRAPPINGS):
            if match := pattern.match(sentence):
                sentence = sentence[match.end() :].lstrip()
                corrects = corrects or pattern is _WRAPPINGS[-1]
                break
        else:
            break
    return sentence, corrects


def _plain(text: str) -> str:
    """A text for the rules: in lower case, with the apostrophes that were left out."""
    return _BARE.sub(r"\g<0>'", text.replace("’", "'").strip().lower())


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
_ELIDED = re.compile(r"(?i)(?:prefer|love|hate|dislike|can'?t stand) ")
_FIRST = re.compile(
    r"(?<![\w/.'-])(?:(?P<i>I)(?:'?(?P<tail>m|ve|ll|d(?= rather| prefer))\b|'(?P<had>d)\b)?"
    r"(?P<adverbs>(?: (?:also|really|always|usually|often|still|much|just|only|never|now|even|quite"
    r"|rarely|[a-z]{3,12}ly)){0,3})(?: (?P<verb>[a-z]+(?:'t)?))?|(?P<my>my|mine)|me"
    r"|(?P<self>myself))(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
_ALSO = re.compile(r"(?<=User )([^.;]{1,200} (?:and|but) )(prefer|love|hate|dislike)\b")
_TAILS = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
_VERBS = {"am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't"}
_FIXED = frozenset(
    "can can't cannot could couldn't will won't would wouldn't should shouldn't may might must was "
    "wasn't were had hadn't did didn't went got made took saw ran found came gave told said left "
    "sent built kept thought knew wrote brought broke lost met paid forgot meant chose felt began "
    "grew spent bought taught stuck and or in of to as at is for with the a not who".split()
)
_CAPITAL = re.compile(
    r"(?:we|we're|we've|our|the|this|that|there|all|every|each|any|no|never|always|when|whenever"
    r"|for|in|on|if|it|it's|not|don't|keep|use|after|before|as|a|an)\b"
)


def _signal(rule: Rule, said: str) -> Signal:
    words = re.findall(r"[a-z0-9_]+", re.sub(r"\w+://\S+", " ", said.lower()))
    domains = dict.fromkeys(_DOMAINS[word] for word in words if word in _DOMAINS)
    elided = "I " if rule.kind == "preference" and _ELIDED.match(said) else ""
    text = third_person(f"{elided}{said[:1].lower()}{said[1:]}" if elided else said)
    return Signal(rule.kind, text, [rule.kind, *list(domains)[:2]], rule.name)


def third_person(said: str) -> str:
    """The person's own words, about "User": I prefer tabs -> User prefers tabs."""
    pieces = _QUOTED.split(said)
    pieces[::2] = [_FIRST.sub(_renamed, piece) for piece in pieces[::2]]
    text = re.sub(r"[\s.,;:!]+$", "", "".join(pieces))
    text = _ALSO.sub(lambda also: also[1] + _conjugated(also[2]), text)
    return text[:1].upper() + text[1:] if _CAPITAL.match(text) else text


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
    low = verb.lower()
    low = re.sub(r"^(do|have)nt$", r"\1n't", low)
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
_LIST = _POLITE + (
    r"(?:(?:list|show)(?: me)?(?: all)?(?: of)?(?: my| your| the)? (?:memories|notes)"
    r"|what (?:do|have) you (?:know|remember(?:ed)?|stored|saved|learned)"
    r"(?: (?:about|of) (?:me|us))?(?: so far)?|what(?:'s| is) in your (?:memory|notes))\W*$"
)
_FORGET = _POLITE + (
    r"(?:(?:forget|delete|remove|archive)(?: (?:my|the|your))? (?:memory|note)"
    r"(?: number| no\.?)? ?#?|(?:forget|delete|remove|archive) #|forget )(?P<ref>g?\d{1,9})\W*$"
)
_SAVE = _POLITE + (
    r"(?:remember|memori[sz]e|save|store)(?: this| the following)?(?: that |: ?)"
    r"(?P<text>\S(?s:.*))$"
)


def topic(utterance: str) -> str:
    """What to ask recall for: the question as it is, without what leads up to it.

    Recall takes a question apart by itself; fewer words find no more and mistake more.
    """
    asking = [kept for rule, kept, _ in _judged(utterance[:MOST], RULES) if _asks(rule)]
    text = " ".join(asking) or _unwrapped(utterance[:MOST].strip())[0]
    return re.sub(_FRAME, "", text, count=1).strip() or utterance[:MOST].strip()


def request(utterance: str) -> Request | None:
    """What is asked for in so many words: to list, to forget, to save."""
    said = utterance.strip().replace("’", "'")
    if any(rule.whole and rule.test(_plain(said[: MOST + 1])) for rule in RULES):
        return None
    while match := _ASIDE.match(said):
        said = said[match.end() :]
    if re.match(_LIST, said):
        return Request("list")
    if match := re.match(_FORGET, said):
        return Request("forget", ref=match["ref"].lower())
    match = re.match(_SAVE, said)
    if match and not said.endswith("?"):
        return Request("save", text=third_person(match["text"]))
    return None
