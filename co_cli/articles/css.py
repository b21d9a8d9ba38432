"""Style sheets as far as they can hide something: rules in their order, declarations, lengths.

Knows no page. What holds on a screen of 1280 by 800 points is taken to hold.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from co_cli.articles.colours import parse_colour

WIDE, HIGH = 1280.0, 800.0
_DEEPEST = 20  # blocks inside each other
_LONGEST = 2_000  # letters of a selector
_LETTER = 16.0  # points of a letter where nothing is said
_UNITS = {
    "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945,
    "rem": _LETTER, "ch": 8.0, "ex": 8.0, "vw": WIDE / 100, "vh": HIGH / 100, "vi": WIDE / 100,
    "vb": HIGH / 100, "vmin": HIGH / 100, "vmax": WIDE / 100, "dvh": HIGH / 100,
    "svh": HIGH / 100, "lvh": HIGH / 100, "dvw": WIDE / 100, "%": WIDE / 100, "": 1.0,
}  # fmt: skip
_LENGTH = re.compile(
    r"([+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:e[+-]?\d{1,2})?)([a-z]{0,4}|%)"
)
_FUNCTIONS: dict[str, Callable[..., float]] = {"calc": lambda one: one, "min": min, "max": max,
              "clamp": lambda low, value, high: max(low, min(value, high))}  # fmt: skip
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip

_DISPLAYS = frozenset(
    "none contents block inline flow flow-root table flex grid ruby math list-item run-in"
    " inline-block inline-table inline-flex inline-grid inline-list-item table-row-group"
    " table-header-group table-footer-group table-row table-cell table-column-group table-column"
    " table-caption ruby-base ruby-text -webkit-box -webkit-inline-box -webkit-flex".split()
)
_FEATURES = {  # of a screen, as most people have it
    "prefers-color-scheme": "light", "hover": "hover", "pointer": "fine", "scripting": "enabled",
    "orientation": "landscape", "prefers-reduced-motion": "no-preference",
}  # fmt: skip
_WORDS = {  # a value that is none of these is no declaration, and one before it stands
    "display": _DISPLAYS,
    "visibility": frozenset(("visible", "hidden", "collapse")),
    "content-visibility": frozenset(("visible", "auto", "hidden")),
    "position": frozenset("static relative absolute fixed sticky -webkit-sticky".split()),
}
_COLOURS = ("color", "background-color", "-webkit-text-fill-color")
_COLOUR = re.compile(
    r"(?:currentcolor|unknown)$|(?:rgb|hsl|hwb|ok|lab|lch|color|light-dark)[a-z-]{0,6}\(.*\)$"
)
_LENGTHS = frozenset(
    "width height max-width max-height left top right bottom text-indent letter-spacing margin-left"
    " margin-top font-size".split()
)
_SIZE_WORDS = frozenset(
    "xx-small x-small small medium large x-large xx-large xxx-large smaller larger".split()
)
_LENGTH_WORDS = _SIZE_WORDS | {"auto", "none", "normal", "stretch",
                               "min-content", "max-content", "fit-content"}  # fmt: skip
_EVERYWHERE = frozenset("inherit initial unset revert revert-layer".split())

Declared = dict[str, tuple[str, bool]]  # each value, and whether it is important


class Rule(NamedTuple):
    """A selector without commas, its weight, and what it declares."""

    selector: str
    weight: tuple[int, int, int]
    declared: Declared


def read_rules(text: str) -> Iterator[Rule]:
    """The rules that hold on a screen, in their order."""
    first, *rest = text.split("/*")
    bare = first + "".join(part.partition("*/")[2] for part in rest)
    yield from _rules(re.sub(r"<!--|-->", " ", bare), "", 0)


def _rules(text: str, outer: str, depth: int) -> Iterator[Rule]:
    """The rules of a block; `outer` is the selector that it stands in."""
    own: list[str] = []
    for prelude, body in _blocks(text):
        if body is None:
            own.append(prelude)
        elif prelude.startswith("@"):
            name, _, about = prelude[1:].partition(" ")
            name, scope = re.split(r"[^\w-]", name)[0].lower(), outer
            if name == "scope" and (found := re.match(r"\s*\(([^()]{1,200})\)", about)):
                scope = _within(found[1], outer)
            if depth < _DEEPEST and _holds(name, prelude[1 + len(name) :]):
                yield from _rules(body, scope, depth + 1)
        elif depth < _DEEPEST:
            selectors = [_within(one, outer) for one in _split(prelude, ",")]
            if "{" in body:
                yield from _rules(body, f":is({', '.join(selectors)})", depth + 1)
            else:
                yield from _of(selectors, body)
    if outer:
        yield from _of([outer], ";".join(own))


def _of(selectors: list[str], body: str) -> Iterator[Rule]:
    if found := declared(body):
        yield from (Rule(one, _weight(one), found) for one in selectors if one)


def _within(selector: str, outer: str) -> str:
    selector = selector.strip()
    if "&" in selector:
        selector = selector.replace("&", outer or ":root")
    elif outer:
        selector = f"{outer} {selector}"
    return selector if len(selector) <= _LONGEST else ""


def _blocks(text: str) -> Iterator[tuple[str, str | None]]:
    """What stands before each block and what is in it; of a declaration itself, and nothing."""
    depth = start = opened = 0
    for mark in re.finditer(
        r"""[{};]|"(?:[^"\\\n]|\\.){0,5000}"|'(?:[^'\\\n]|\\.){0,5000}'""", text
    ):
        if mark[0] == "{":
            opened = opened if depth else mark.end()
            depth += 1
        elif mark[0] == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : opened - 1].strip(), text[opened : mark.start()]
                start = mark.end()
        elif mark[0] in ";}" and not depth:
            yield text[start : mark.start()].strip(), None
            start = mark.end()
    if depth:  # what is left open ends with the sheet
        yield text[start : opened - 1].strip(), text[opened:]
    elif text[start:].strip():
        yield text[start:].strip(), None


def _holds(name: str, about: str) -> bool:
    """Whether what is in an at-rule counts on a wide screen."""
    if name in ("layer", "scope", "starting-style"):
        return name != "starting-style"
    if name == "supports":
        return not about.lower().lstrip().startswith("not")
    return name in ("media", "container") and any(map(_matches, _split(about.lower(), ",")))


def _matches(query: str) -> bool:
    if denied := re.match(r"\s*not\b(?!\s*\()", query):
        return not _matches(query[denied.end() :])
    return all(_condition(part.strip()) for part in re.split(r"\band\b", query))


def _condition(part: str) -> bool:
    if re.fullmatch(r"(?:only\s+)?(?:print|speech|tty|aural|braille|handheld|projection)", part):
        return False
    denied = part.startswith("not")
    limits = re.findall(r"(min|max)-(?:device-)?(width|height)\s*:\s*([^()]{1,40})", part)
    ranges = re.findall(r"(width|height)\s*([<>])=?\s*([\w.]{1,20})", part)
    limits += [("min" if sign == ">" else "max", side, at) for side, sign, at in ranges]
    for least, side, at in limits:
        size, limit = WIDE if side == "width" else HIGH, length(at.strip())
        if limit is not None and (size < limit if least == "min" else size > limit):
            return denied
    for name, wanted in _FEATURES.items():
        found = re.search(rf"\(\s*{name}\s*:\s*([\w-]+)", part)
        if found and found[1] != wanted:
            return denied
    return not denied


def _weight(selector: str) -> tuple[int, int, int]:
    """How much a selector counts beside others: ids, classes and the like, elements."""
    plain = re.sub(r":where\([^()]{0,1000}\)", "", selector)
    plain = re.sub(r":(?:not|is|has|matches)\b", "", plain)
    classes = len(re.findall(r"\.[\w-]|\[|(?<!:):(?!:)[\w-]", plain))
    elements = len(re.findall(r"(?:^|[\s>+~(,])[a-z][\w-]*", plain, re.IGNORECASE))
    return plain.count("#"), classes, elements


def _split(text: str, at: str) -> list[str]:
    """The parts between these marks, where no bracket or quote is open."""
    parts, start, depth = [], 0, 0
    for mark in re.finditer(rf"""[()\[\]{at}]|"[^"\n]{{0,5000}}"|'[^'\n]{{0,5000}}'""", text):
        depth = max(0, depth + (mark[0] in "([") - (mark[0] in ")]"))
        if mark[0] == at and not depth:
            parts.append(text[start : mark.start()])
            start = mark.end()
    return [*parts, text[start:]]


def declared(text: str) -> Declared:
    """The declarations of a style that a browser takes, in lower case; an important one stands."""
    text = re.sub(r"(?s)/\*.*?(?:\*/|$)", "", text)
    text = re.sub(r"\\([\da-fA-F]{1,6})\s?|\\([^\n\da-fA-F])", _unescaped, text).lower()
    found: Declared = {}
    for part in _split(text, ";"):
        name, _, value = part.partition(":")
        name, value = name.strip(), " ".join(value.split())
        important = re.search(r"\s?!\s?important$", value)
        value = value[: important.start()] if important else value
        for one, each in _longhands(name, value):
            if _is_valid(one, each) and (important or not found.get(one, ("", False))[1]):
                found[one] = each, bool(important)
    return found


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1], 16) if found[1] else 0
    return (chr(code) if 0 < code < 0x110000 else "") if found[1] else found[2]


_SIDES = ("top", "right", "bottom", "left")
_ALIASES = {
    "inset-inline-start": "left", "inset-inline-end": "right", "inset-block-start": "top",
    "inset-block-end": "bottom", "margin-inline-start": "margin-left",
    "margin-block-start": "margin-top", "padding-inline-start": "padding-left",
    "inline-size": "width", "block-size": "height", "max-inline-size": "max-width",
    "max-block-size": "max-height", "margin-inline": "margin-left", "margin-block": "margin-top",
    "inset-inline": "left", "inset-block": "top",
    "overflow-y": "overflow", "overflow-x": "overflow",
}  # fmt: skip


def _longhands(name: str, value: str) -> Iterator[tuple[str, str]]:
    """What a declaration sets, side by side and under the name that is looked at."""
    if name.startswith("--"):
        yield name, value
        return
    name = re.sub(r"^-(?:webkit|moz|ms|o)-(?!text-|background|box)", "", name)
    if name in ("margin", "inset", "padding"):
        values = _split(value, " ")
        spread = values * 4 if len(values) == 1 else values * 2 if len(values) == 2 else values
        spread = [*spread, spread[1]] if len(spread) == 3 else spread
        prefix = "" if name == "inset" else f"{name}-"
        for side, one in zip(_SIDES, spread, strict=False):
            yield f"{prefix}{side}", one
    elif name == "font":
        sizes = [one.partition("/")[0] for one in _split(value, " ")]
        if sizes := [one for one in sizes if one in _SIZE_WORDS or length(one) is not None]:
            yield "font-size", sizes[-1]  # before it may stand a weight
    elif name == "background":
        yield "background", value
        yield "background-color", _ground(value)
    elif name in ("mask", "mask-image", "-webkit-mask"):
        yield "mask-image", value
    else:
        pair = name.startswith(("margin-", "inset-")) and name.endswith(("-inline", "-block"))
        first = value.partition(" ")[0] if pair else value
        yield _ALIASES.get(name, name), first


def _ground(value: str) -> str:
    """The colour of a background; `unknown` where a picture is over it."""
    if "url(" in value or "gradient(" in value or "image" in value or "var(" in value:
        return value if re.fullmatch(r"var\([^()]{1,100}\)", value) else "unknown"
    found = [one for one in _split(value, " ") if parse_colour(one)]
    return found[0] if found else "transparent"


def _is_valid(name: str, value: str) -> bool:
    if not value:
        return False
    if value in _EVERYWHERE or "var(" in value or name.startswith("--"):
        return True
    if name in _WORDS:
        return all(word in _WORDS[name] for word in value.split())
    if name in _COLOURS:
        return bool(_COLOUR.match(value)) or parse_colour(value) is not None
    if name == "opacity":
        return length(value) is not None
    return name not in _LENGTHS or value in _LENGTH_WORDS or length(value) is not None


def resolve(value: str, custom: Mapping[str, str]) -> str:
    """A value with its variables filled in, where they are known."""
    for _ in range(_DEEPEST):
        found = re.search(r"var\(\s*(--[\w-]{1,200})\s*(?:,([^()]{0,1000}))?\)", value)
        if not found or len(value) > 10_000:
            break
        value = (
            value[: found.start()] + (custom.get(found[1]) or found[2] or "") + value[found.end() :]
        )
    return value.strip()


def length(value: str, letter: float = _LETTER) -> float | None:
    """A length in points, worked out where it is a sum; None for what is none."""
    if found := _LENGTH.fullmatch(value):
        unit = found[2]
        size = letter if unit == "em" else _UNITS.get(unit)
        return None if size is None else float(found[1]) * size
    if "(" not in value or len(value) > 200:
        return None
    text = _LENGTH.sub(lambda one: f"({length(one[0], letter)})", value)
    try:
        return _worked_out(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, TypeError, KeyError, RecursionError):
        return None


def _worked_out(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_worked_out(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_worked_out(node.left), _worked_out(node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS[node.func.id](*map(_worked_out, node.args))
    raise ValueError("no length")
