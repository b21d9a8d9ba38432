"""Stored text made safe to look at: nothing hidden, nothing that drives a terminal.

Terminals disagree about how wide a character is, so rows are cut for the widest any of them draws.
"""

import re
from collections.abc import Iterator

BAR = "  │ "  # before every row of a text that is not Co's own
MOST_DIFF_LINES = 2000  # beyond this, comparing line by line could take minutes

_MOST_MARKS = 4  # on one letter; terminals leave out further ones
_RUNS_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_LEFT_TO_RIGHT = "\u200e"  # holds the bar at the left where a terminal takes its side from the text
# What is drawn as one with the letters before it and is no mark: vowels and finals of a Hangul
# syllable, a skin tone, a flag's second half.
_LOOSE_JAMO = "[\u1160-\u11ff\ud7b0-\ud7ff]"
_JOINED = re.compile(
    f"[\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff]+{_LOOSE_JAMO}"
    "|.*[\u2000-\U0010ffff][\U0001f3fb-\U0001f3ff]|[\U0001f1e6-\U0001f1ff]{2}"
)
KEYCAPS = tuple("#*0123456789")
_PICTURES = "\u203c\u2049\u2139\u3030\u303d"  # emoji that Unicode files as punctuation or letters
_LEAST = 12  # columns for a text, however far in it begins
_CELL = re.compile(r"(?<=[^\s.!?:;,]) {2,40}(?=\S)")  # no sentence ends before it
_WORDS = re.compile(r"[^\W\d]\S{0,80} \S")  # as in a sentence
_PLAIN = {*map(chr, range(32, 127)), *"→🔒📌"}
_NO_END = "\n\\ No newline at end of file"

# What is not shown as what it is, by the rule that keeps it out of notes. The last: what Unicode
# calls default-ignorable (drawn as nothing), annotation marks and noncharacters.
HIDDEN_KINDS = {
    "control_character": "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029",
    "bidi_control": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "not_utf8": "\ud800-\udfff",
    "tag_block": "\U000e0000-\U000e007f",
    "hidden_character": "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065"
    "\u206a-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff",
}
HIDDEN = f"[\t\n{''.join(HIDDEN_KINDS.values())}]"


def escape(text: str, *, keep: str = "\n\t") -> str:
    r"""The text with control characters as \x1b and hidden ones as <U+202E>, except `keep`."""
    if text.isascii() and text.isprintable():
        return text

    def show(found: re.Match[str]) -> str:
        character, at = found.group(), found.start()
        if character in "\ufe0e\ufe0f":  # a selector, which may choose the form of a picture
            before, keycap = text[at - 1 : at], text[at + 1 : at + 2] == "\u20e3"
            if is_picture(before) or (keycap and before in KEYCAPS):
                return character
        if character in keep:
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 0xA0 else f"<U+{code:04X}>"

    return re.sub(HIDDEN, show, text)


def is_picture(char: str) -> bool:
    """Whether this is drawn as a picture and comes in several forms."""
    if char <= "\x7f":
        return False
    from unicodedata import category  # few texts hold one

    newer = "\U0001f000" <= char <= "\U0001faff"  # this Python may not know it yet
    return newer or char in _PICTURES or category(char)[0] == "S"


def rows(
    text: str, columns: int, first: str = "", then: str | None = None, *, keep: str = "\n\t"
) -> list[str]:
    """The text in rows that fit the screen, the first after `first`, each other after `then`.

    Nothing is left out. What terminals would not draw, or draw onto something else, is spelled out.
    """
    shown = escape(text, keep=keep).expandtabs()
    turned = _LEFT_TO_RIGHT if _RUNS_LEFT.search(shown) else ""
    starts = first + turned, (first if then is None else then) + turned
    room = max(columns - 1 - max(map(widest, starts)), _LEAST)
    found = [row for line in shown.split("\n") for row in _fold(line, room)]
    return [starts[number > 0] + row for number, row in enumerate(found)]


def hanging(text: str, columns: int, *, keep: str = "\n\t") -> list[str]:
    """The text in rows that fit the screen; what a line goes on with stands further in than it.

    In a list, whose cells stand two blanks apart, that is under the text of the row.
    """
    found = []
    for line in escape(text, keep=keep).split("\n"):
        words = line.lstrip(" ")
        indent = min(len(line) - len(words), columns // 2) * " "
        label = _label(words, columns - len(indent) - max(columns // 3, _LEAST))
        then = indent + " " * (drawn(label) or 4)
        found += rows(words[len(label) :], columns, indent + label, then, keep=keep)
    return found


def _label(row: str, room: int) -> str:
    """The cells of a list's row that stand before its text, with the blanks after them."""
    label = ""
    for cell in _CELL.finditer(row):
        found = row[: cell.end()]
        if widest(found) >= room or not set(found) <= _PLAIN:
            break
        label = found
        if _WORDS.match(row, cell.end()):
            break
    return label


def drawn(text: str) -> int:
    """How many columns this takes on most terminals, to line things up; rows use `widest`."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    letters = (one for one in text if category(one)[0] != "M")  # a mark is drawn onto a letter
    return sum(1 + (east_asian_width(one) in "WF") for one in letters)


def widest(text: str) -> int:
    """How many columns this takes at most: two for whatever is not ASCII, also where it joins.

    Measured in tmux and held against wcwidth: a person with a skin tone takes 2 or 4, a flag 2 or
    4, a letter with a mark 1 to 3, ambiguous ones 1 or 2; nothing takes more than this.
    """
    return len(text) if text.isascii() else sum(1 + (one > "\x7f") for one in text)


def _fold(line: str, room: int) -> Iterator[str]:
    """A line in rows of so many columns, cut after a blank where there is one."""
    row, width, blank = "", 0, 0
    for piece in _pieces(line):
        while row and width + widest(piece) > room:
            end = blank or len(row)
            yield row[:end]
            row, blank = row[end:], 0
            width = widest(row)
        row += piece
        width += widest(piece)
        if piece == " " and not row.isspace():  # a row of blanks would look like the text's end
            blank = len(row)
    yield row


def _pieces(line: str) -> Iterator[str]:
    """A line letter by letter, each with its marks; what is not sure to be drawn is spelled out."""
    if line.isascii():
        yield from line
        return
    from unicodedata import category

    piece = ""
    for character in line:
        kind = "" if character <= "\x7f" else category(character)
        joins = kind[:1] == "M" or (kind and _JOINED.fullmatch(piece + character))
        if joins and piece.strip() and len(piece) <= _MOST_MARKS:
            piece += character
            continue
        yield piece
        if kind == "Cn" or joins or re.match(_LOOSE_JAMO, character):
            yield from f"<U+{ord(character):04X}>"
            piece = ""
        else:
            piece = character
    yield piece


def difference(old: bytes | None, new: bytes | None, name: str) -> str:
    """Two versions of a file as a unified diff, escaped; None stands for no file."""
    from difflib import unified_diff  # nothing that is only looked at needs it

    shown = escape(name, keep="")
    before = "/dev/null" if old is None else f"{shown} (before)"
    after = "/dev/null" if new is None else f"{shown} (now)"
    gone, come = _lines(old), _lines(new)
    if gone == come:
        return ""
    if max(len(gone), len(come)) <= MOST_DIFF_LINES:
        lines = [*unified_diff(gone, come, before, after, lineterm="")]
    else:
        place = f"@@ -{min(len(gone), 1)},{len(gone)} +{min(len(come), 1)},{len(come)} @@"
        removed, added = ("-" + line for line in gone), ("+" + line for line in come)
        lines = [f"--- {before}", f"+++ {after}", place, *removed, *added]
    return escape("\n".join(lines))


def _lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    *lines, last = data.decode("utf-8", "backslashreplace").split("\n")
    return [*lines, last + _NO_END] if last else lines
