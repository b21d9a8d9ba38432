"""What of a page its own styles keep from a person's eyes.

Only what the page itself says is known: attributes and embedded rules, not linked style sheets.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from selectolax.lexbor import SelectolaxError

from co_cli.articles.colours import BLACK, LINK, WHITE, Colour, parse_colour
from co_cli.articles.css import HIGH, WIDE, Declared, declared, length, read_rules, resolve

_MOST_STYLE = 4_000_000  # letters of embedded style sheets that are looked at
_MOST_WORK = 100_000_000  # rules times elements
_FAINT = 0.1  # opacity
_TINY = 3.0  # points of a letter
_AWAY = 500.0  # points to the left of or above where it would be: it is seen no more
_NOTHING = 1.0  # points of a box that shows nothing
_MAY_HIDE = re.compile(
    r"display|visib|color|background|opacity|font|width|height|size|left|top|right|bottom|inset|clip"
    r"|indent|transform|scale|translate|rotate|zoom|filter|mask|margin|spacing|contain|security|--|\\",
    re.IGNORECASE,
)
_KEYWORDS = {"xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0,
             "x-large": 24.0, "xx-large": 32.0, "xxx-large": 48.0, "initial": 16.0}  # fmt: skip
_HIDDEN = "[hidden], [aria-hidden=true i], [popover], details template"
_CALL = re.compile(r"([\w-]{1,40})\(((?:[^()]|\([^()]{0,200}\)){0,2000})\)")

_Style = Mapping[str, str]


class State(NamedTuple):
    """What an element hands down to what is inside it."""

    colour: Colour | None = BLACK  # None where it cannot be told
    ground: Colour | None = WHITE
    fill: Colour | None = None  # of letters, in place of the colour
    letter: float = 16.0
    opacity: float = 1.0
    visible: bool = True
    squeezed: bool = False  # letters or words on top of each other, or far apart
    custom: Mapping[str, str] = {}

    @property
    def is_readable(self) -> bool:
        """Whether text that stands here can be seen."""
        colour = self.fill or self.colour
        if not self.visible or self.squeezed or self.letter < _TINY:
            return False
        if colour is None:
            return True
        ground = self.ground
        return colour.alpha > _FAINT and (ground is None or not colour.over(ground).is_near(ground))


class Styles:
    """What the styles of a page say of each of its elements.

    `left_out` says that there were more rules than are looked at.
    """

    def __init__(self, tree: Any) -> None:
        text = "".join(sheet.text() + "\n" for sheet in tree.css("style"))
        self.left_out = len(text) > _MOST_STYLE
        self._hidden = {node.mem_id for node in tree.css(_HIDDEN)}
        self._said: dict[int, dict[str, tuple[tuple[Any, ...], str]]] = {}
        rules = {}
        for order, rule in enumerate(read_rules(text[:_MOST_STYLE])):
            if any(map(_MAY_HIDE.search, rule.declared)):
                rules[order] = rule
        most = _MOST_WORK // (1 + len(tree.css("*")))
        self.left_out |= len(rules) > most
        for order, rule in [*rules.items()][:most]:
            try:
                nodes = tree.css(rule.selector)
            except SelectolaxError:  # a selector that this parser does not know
                continue
            for node in nodes:
                self._add(node, rule.declared, (*rule.weight, order))
        for node in tree.css("[style]"):
            self._add(node, declared(node.attributes.get("style") or ""), (9**9,))
        for node in tree.css("font, body, table, tr, td, th, tbody, thead, hr"):
            self._add(node, _attributes(node), (-1,))

    def _add(self, node: Any, found: Declared, weight: tuple[int, ...]) -> None:
        said = self._said.setdefault(node.mem_id, {})
        for name, (value, important) in found.items():
            rank = (important, *weight)
            if name not in said or said[name][0] <= rank:
                said[name] = rank, value

    def top(self, *nodes: Any) -> State:
        """What the page as a whole hands down; a script shows it where styles hide all of it."""
        state = State()
        for node in nodes:
            style, custom = self._of(node, state)
            state = _inherited(style, state, "", custom)
        return state._replace(visible=True, opacity=1.0, squeezed=False)

    def enter(self, node: Any, state: State) -> State | None:
        """What an element hands down; None where it and all inside it is hidden."""
        if node.mem_id in self._hidden:
            return None
        if node.mem_id not in self._said:
            link = node.tag == "a" and "href" in node.attributes
            return state._replace(colour=LINK) if link else state
        style, custom = self._of(node, state)
        here = _inherited(style, state, node.tag or "", custom)
        return None if here.opacity <= _FAINT or is_hidden(style, here.letter) else here

    def _of(self, node: Any, state: State) -> tuple[dict[str, str], Mapping[str, str]]:
        said = {name: value for name, (_, value) in self._said.get(node.mem_id, {}).items()}
        own = {name: value for name, value in said.items() if name.startswith("--")}
        custom = {**state.custom, **own} if own else state.custom
        filled: dict[str, str] = {}
        for name, value in said.items():
            if "var(" in value:  # which may be of any kind, also none
                again = declared(f"{name}:{resolve(value, custom)}")
                filled |= {one: each for one, (each, _) in again.items()}
            elif name not in own:
                filled.setdefault(name, value)
        return filled, custom


def _attributes(node: Any) -> Declared:
    """What the attributes of old pages say, as declarations."""
    said = node.attributes
    colour = said.get("color" if node.tag == "font" else "text") or ""
    names = {"color": colour, "background-color": said.get("bgcolor") or ""}
    return declared(";".join(f"{name}:{value}" for name, value in names.items() if value))


def _inherited(style: _Style, state: State, tag: str, custom: Mapping[str, str]) -> State:
    colour = _colour(style.get("color", ""), state.colour, LINK if tag == "a" else None)
    fill = _colour(style.get("-webkit-text-fill-color", ""), state.fill, None)
    ground = _ground(style, state)
    clip = style.get("-webkit-background-clip") or style.get("background-clip") or ""
    if "text" in f"{clip} {style.get('background', '')}".split():  # letters cut out of it
        colour, fill = (ground if ground != state.ground else None), None
        ground = state.ground
    letter = _letter(style.get("font-size", ""), state.letter)
    share = _number(style.get("opacity", ""))
    visibility = style.get("visibility", "")
    return State(
        colour, ground, fill, letter, state.opacity * (1.0 if share is None else share),
        state.visible if visibility in ("", "inherit", "unset") else visibility in
        ("visible", "initial"), _squeezed(style, letter, state), custom,
    )  # fmt: skip


def _colour(value: str, before: Colour | None, own: Colour | None) -> Colour | None:
    if value in ("", "revert"):
        return own or before
    known = BLACK if value == "initial" else parse_colour(value)
    return known or (None if "(" in value else before)


def _ground(style: _Style, state: State) -> Colour | None:
    """What is behind the text; None for a picture, of which nothing is known."""
    colour = parse_colour(style.get("background-color", ""))
    image = style.get("background-image", "none")
    unknown = "unknown" in style.get("background-color", "") or (
        colour is None and "(" in style.get("background-color", "")
    )
    if unknown or image not in ("none", "initial"):
        return None
    if colour is None or colour.alpha == 0:
        return state.ground
    if colour.alpha == 1:
        return colour
    return None if state.ground is None else colour.over(state.ground)


def _letter(value: str, before: float) -> float:
    """The size of letters, from that around them."""
    if value in _KEYWORDS:
        return _KEYWORDS[value]
    if value in ("smaller", "larger"):
        return before * (0.83 if value == "smaller" else 1.2)
    if re.fullmatch(r"[\d.]{1,12}%", value):
        return before * (_number(value) or 0.0)
    found = length(value, before) if value else None
    return before if found is None else found


def _number(value: str) -> float | None:
    """A share: 0.5 or 50%."""
    found = length(value.removesuffix("%")) if value else None
    return None if found is None else found / (100 if value.endswith("%") else 1)


def _squeezed(style: _Style, letter: float, state: State) -> bool:
    found = [(length(style[name], letter), least) for name, least in
             (("letter-spacing", 0.4), ("word-spacing", 3.0)) if name in style]  # fmt: skip
    if not found:
        return state.squeezed
    return any(gap is not None and (gap < -least * max(letter, 1) or gap > 100)
               for gap, least in found)  # fmt: skip


def is_hidden(style: _Style, letter: float) -> bool:
    """Whether these declarations keep text from being seen, whatever stands round it."""
    said = style.get
    if said("display") == "none" or said("content-visibility") == "hidden":
        return True
    if said("-webkit-text-security", "none") != "none" or _number(said("zoom", "")) == 0:
        return True
    looks = (_is_filtered(said("filter", "")), _is_masked(style), _is_clipped(style),
             _is_turned_away(style, letter))  # fmt: skip
    return any(looks) or _is_too_small(style, letter) or _is_away(style, letter)


def _is_filtered(value: str) -> bool:
    for name, inside in _CALL.findall(value):
        share = _number(inside.strip())
        if name in ("opacity", "contrast") and share is not None and share <= _FAINT:
            return True
        if name == "blur" and (length(inside.strip()) or 0) >= 8:
            return True
    return False


def _is_masked(style: _Style) -> bool:
    image = style.get("mask-image", "none")
    if image in ("none", "initial", "inherit", "unset"):
        return False
    size = style.get("mask-size", "auto").split()
    stops = [
        one for _, inside in _CALL.findall(image) for one in re.split(r"[,\s]+(?![^(]*\))", inside)
    ]
    seen = [colour for stop in stops if (colour := parse_colour(stop))]
    clear = all(colour.alpha <= _FAINT for colour in seen)
    return clear or any(length(one) == 0 for one in size)


def _is_clipped(style: _Style) -> bool:
    clip = style.get("clip", "auto")
    if style.get("position") in ("absolute", "fixed") and clip not in ("auto", "initial", "unset"):
        return True
    found = _CALL.search(style.get("clip-path", ""))
    name, inside = (found[1], found[2]) if found else ("", "")
    if name in ("inset", "rect", "xywh"):
        values = [length(one) for one in inside.partition("round")[0].split()]
        sides = [WIDE if one is None else one for one in values]
        if name == "inset":  # 100% is the whole of a side
            sides = sides * 4 if len(sides) == 1 else sides * 2 if len(sides) == 2 else sides
            sides = [*sides, sides[1]] if len(sides) == 3 else sides
            return len(sides) == 4 and max(sides[0] + sides[2], sides[1] + sides[3]) >= WIDE
        if len(sides) == 4:
            top, right, bottom, left = sides
            wide, high = (right - left, bottom - top) if name == "rect" else sides[2:]
            return min(wide, high) <= _NOTHING
    if name in ("circle", "ellipse"):
        radii = [length(one) for one in inside.partition("at")[0].split()]
        return any(one is not None and one <= _NOTHING for one in radii)
    if name == "polygon":
        points = [[length(one) for one in point.split()] for point in inside.split(",")]
        corners = [point for point in points if len(point) == 2 and None not in point]
        spans = [max(side) - min(side) for side in zip(*corners, strict=True)]
        return bool(corners) and min(spans) <= _NOTHING
    return name == "path" and not re.search(r"\d", inside)


def _is_turned_away(style: _Style, letter: float) -> bool:
    """Whether it is made nothing of, moved away or turned so that it is seen from its edge."""
    calls = _CALL.findall(style.get("transform", ""))
    calls += [
        (name, style[name].replace(" ", ",")) for name in ("scale", "translate") if name in style
    ]
    back = style.get("backface-visibility") == "hidden"
    for name, inside in calls:
        parts = [one.strip() for one in inside.split(",")]
        values = [_number(one) if "scale" in name else length(one, letter) for one in parts]
        known = [one for one in values if one is not None]
        flat = known[::3][:2] if name == "matrix" else known[::5][:2] if name == "matrix3d" else []
        if "scale" in name and any(abs(one) < 0.05 for one in known[:2]):
            return True
        if len(known) > 3 and flat and any(abs(one) < 0.05 for one in flat):
            return True
        if name in ("rotatex", "rotatey"):
            turn = float((re.match(r"-?[\d.]{1,9}", parts[0]) or ["0"])[0]) % 180
            if abs(turn - 90) < 2 or (back and turn == 0 and parts[0][:1] not in ("0", "")):
                return True
        if name.startswith("translate") and any(_is_far(one, letter, 5) for one in parts[:2]):
            return True
        if name == "matrix" and len(known) == 6 and min(known[4:]) <= -_AWAY:
            return True
    return False


def _is_too_small(style: _Style, letter: float) -> bool:
    overflow = style.get("overflow", "visible").split()[0]
    contained = re.search(r"paint|strict|content", style.get("contain", ""))
    if overflow in ("visible", "initial", "unset") and not contained:
        return False
    for name in ("width", "height", "max-width", "max-height"):
        size = length(style.get(name, ""), letter)
        if size is not None and size <= _NOTHING and not style[name].endswith(("%", "vw", "vh")):
            return True
        if size == 0:
            return True
    indent = style.get("text-indent", "")
    if indent.endswith("%") and (length(indent) or 0) >= WIDE:
        return True
    return style.get("line-height", "") != "" and length(style["line-height"], letter) == 0


def _is_away(style: _Style, letter: float) -> bool:
    """Whether it is moved to where no screen reaches."""
    if _is_far(style.get("text-indent", ""), letter, 2):
        return True
    for side in ("left", "top"):
        margin = style.get(f"margin-{side}", "")
        gap = length(style.get(f"padding-{side}", ""), letter) or 0.0
        if _is_far(margin, letter, 2) and gap < _AWAY:  # else it is a band from edge to edge
            return True
    position = style.get("position", "static")
    if position in ("static", "initial", "unset"):
        return False
    least = 1.0 if position == "fixed" else 3.0
    return any(_is_far(style.get(side, ""), letter, least) for side in
               ("left", "top", "right", "bottom"))  # fmt: skip


def _is_far(value: str, letter: float, most: float) -> bool:
    """Whether an offset leads off the screen; one in percent from so many times its whole on."""
    if re.fullmatch(r"-?[\d.]{1,12}%", value):
        return abs(float(value[:-1])) >= 100 * most
    if found := re.fullmatch(r"(-?[\d.]{1,12})[dsl]?v(?:w|h|i|b|min|max)", value):
        return abs(float(found[1])) >= 100
    size = length(value, letter) if value else None
    return size is not None and (size <= -_AWAY or size >= WIDE + HIGH)
