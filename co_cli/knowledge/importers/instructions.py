"""Facts in markdown that was written for an assistant: the items of its lists, and its text.

What leads into an item (a line that ends with a colon, a heading such as "Never") stays with it,
for the item alone may say the opposite. Knows no files.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from co_cli.knowledge.importers import wiki

_Fact = tuple[str, tuple[str, ...]]  # a text and its tags

_TURNS = re.compile(  # words in a heading that turn what stands below it, or limit when it holds
    r"""(?ix)n't\b | \b(?:never | nots? | no | non | none | nothing | donts? | can(?:no|')t
    | avoid\w* | stop | without | instead | forbid\w* | prohibit\w* | banned | disallow\w*
    | deprecat\w* | obsolete | outdated | wrong | bad | anti-?patterns? | mistakes? | pitfalls?
    | failures? | except\w* | unless | only | if | when(?:ever)? | while | before | after | until
    | during | old | former\w* | previous\w* | past | maybe | ideas? | propos\w+ | examples?
    | questions? | todos? | to-do | rejected | alternatives? | wish\w*
    | nie | niemals | nicht | keine?[mnrs]? | verbot\w* | vermeide\w* | wenn | falls
    | jamais | pas | interdit\w* | éviter | quand | nunca | prohibid\w* | evitar | cuando)\b"""
)
_BARE = re.compile(r"(?i)(?:things to |please )?(?:never|do(?: not|n'?t)s?|avoid)(?: do)?")
_DENIES = re.compile(r"(?i)\W*(?:never|do not|don'?t|avoid|no)\s")
_SAYS_ALL = re.compile(r"(?i)\W*(?:never|do not|don'?t|avoid|no|always|must|important|note)\b")
_POINTS = re.compile(r"(?i)\b(?:following|below|these|those)\b")
_BULLET = re.compile(r"[-*+](?:\s+|$)")
_TASK = re.compile(r"\[[ xX]\]\s+")
_FENCE = ("```", "~~~")
_COMMENT = re.compile(r"(?s)<!--.*?-->")
_BOILERPLATE = re.compile(r"(?m)^This (?:file|document) provides guidance to .{1,160}\.$")
_ONLY_LINK = re.compile(r"(?:[-*+] )?\[[^\]\n]{1,200}\]\([\w./-]{1,200}\.md\)(?:.{0,400})")
_ONLY_IMPORT = re.compile(r"@[\w./~-]{1,300}")
# What Codex writes for itself: the version of a file, what a group of tasks is about, what to
# search for, and where it has it from.
_CODEX_LINES = re.compile(r"(?m)\Av\d{1,3}$|^(?:scope|applies_to):.*$")
_CODEX_PARTS = ("keywords", "rollout_summary_files")
_GROUP = "Task Group: "


class _Part(NamedTuple):
    """A text, the headings above it, outermost first, and the line that leads into it."""

    text: str
    above: tuple[tuple[int, str], ...]
    lead: str = ""
    item: bool = False


def facts(
    body: str, *, index: bool = False, codex: bool = False, left: list[str] | None = None
) -> Iterator[_Fact]:
    """Each item of a list, and the text under each heading, in order.

    `index` leaves out mere links, `codex` what Codex writes for itself; tasks that are ticked off
    or wait to be go to `left`.
    """
    commented, end, rest = body.replace("\r\n", "\n").rpartition("-->")
    # What is left open after the last end is no comment, and nothing is walked through for it.
    body = _BOILERPLATE.sub("", _COMMENT.sub("", commented + end) + rest)
    if codex:
        body = _CODEX_LINES.sub("", body.strip())
    for part in _parts(body):
        fact = part.text.strip()
        nearest = part.above[-1][1] if part.above else ""
        if _says_nothing(fact, index) or (codex and nearest in _CODEX_PARTS):
            continue
        leads = _leads(part)
        if part.item and (box := _TASK.match(fact)):
            fact = fact[box.end() :]
            if not leads or "x" in box[0].lower():
                if left is not None:
                    left.append(fact)
                continue
        if fact.startswith(_FENCE) and nearest:
            leads = leads if nearest in leads else [*leads, nearest]
        lead = "".join(f"{one.strip(' *:.')}: " for one in leads)
        if lead and fact.startswith(_FENCE):
            lead = f"{lead.rstrip()}\n\n"
        yield lead + fact, () if nearest in leads or _turns(nearest) else tag(nearest)


def _says_nothing(text: str, index: bool) -> bool:
    if index and (_ONLY_LINK.fullmatch(text) or "rollout_summaries/" in text):
        return True
    return bool(_ONLY_IMPORT.fullmatch(text)) or not re.search(r"\w", text)


def _leads(part: _Part) -> list[str]:
    """What must be said before a text, so that it says what it does where it stands."""
    found = []
    for at, (level, heading) in enumerate(part.above):
        last = at == len(part.above) - 1
        bare = _BARE.fullmatch(heading.replace("’", "'").strip(" *:"))
        denies = _DENIES if part.item and not part.lead else _SAYS_ALL
        if bare and denies.match(part.lead or part.text):
            continue
        if heading.startswith(_GROUP):
            found.append(heading.removeprefix(_GROUP))
        elif _turns(heading) or (last and level > 1 and not tag(heading)):
            found.append(heading)
    return [one for one in [*found, part.lead] if re.search(r"\w", one)]


def _turns(heading: str) -> bool:
    return heading.endswith(":") or bool(_TURNS.search(heading.replace("’", "'")))


def _parts(body: str) -> Iterator[_Part]:
    """The items of lists and the texts between them, with all that stands over each."""
    above, lead = list[tuple[int, str]](), ""
    text, item = list[str](), list[str]()
    lines = body.split("\n")

    def ended() -> Iterator[_Part]:
        if item:
            yield _Part(wiki.set_out(item), tuple(above), lead, item=True)
            item.clear()
        if text:
            yield _Part("\n".join(text), tuple(above))
            text.clear()

    for line, coded in zip(lines, wiki.code(lines), strict=True):
        start = None if coded else _BULLET.match(line)
        heading = "" if coded else wiki.heading(line)
        if start:
            lead = lead if item else _take_lead(text)
            yield from ended()
            item.append(line[start.end() :])
        elif item and (line[:1].isspace() or not line.strip()):
            item.append(line)
        elif heading:
            yield from ended()
            level = len(line.split()[0])
            above[:] = [one for one in above if one[0] < level] + [(level, heading)]
        else:
            yield from ended() if item else ()
            text.append(line)
    yield from ended()


def _take_lead(text: list[str]) -> str:
    """The sentence at the end of a text that leads into the list below, taken out of the text."""
    filled = [at for at, line in enumerate(text) if line.strip()]
    if not filled or text[filled[-1]].lstrip().startswith((*_FENCE, "|", "@")):
        return ""
    close = filled[-1] == len(text) - 1
    first = filled[-1]
    while first and text[first - 1].strip():
        first -= 1
    *before, last = re.split(r"(?<=[.!?])\s+", " ".join(map(str.strip, text[first:])).strip())
    named = last.rstrip("*_ ")
    bold = last.startswith("**") and last.endswith("**")
    if not (named.endswith(":") or bold or _POINTS.search(last)) and not (
        close and not named.endswith((".", "!", "?"))
    ):
        return ""
    text[first:] = [" ".join(before)] if before else []
    return last.strip("* ")


def tag(heading: str) -> tuple[str, ...]:
    """A heading as a tag, where it is short enough to be one and more than a file's name."""
    said = wiki.words(heading)
    fits = 0 < len(said) <= 3 and not heading.casefold().endswith(".md")
    return ("-".join(said),) if fits else ()
