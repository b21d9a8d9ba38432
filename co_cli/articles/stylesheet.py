"""Which elements of a page its own styles hide from a person's eyes.

Only what the page itself says is known: attributes and embedded rules, not linked style sheets.
"""

import re
from typing import Any

from selectolax.lexbor import SelectolaxError

_MOST_RULES = 1_000
_MOST_STYLE = 1_000_000  # letters of embedded style sheets that are looked at
_WHITE = re.compile(  # or so near to it that nobody sees the difference
    r"white|snow|ivory|ghostwhite|transparent|#fff[\da-f]?|#(?:f[a-f]){3}(?:[\da-f]{2})?"
    r"|rgba?\((?:25[0-5](?:\.\d{1,4})?,?){3}(?:[,/][\d.%]{1,9})?\)|rgba?\((?:100%,?){3}\)"
    r"|rgba\(.*,0\)|hsla?\([^,]*,[^,]*,(?:9[89]|100)%[^)]*\)"
)
_MAY_HIDE = re.compile(
    r"display|visib|color|background|opacity|font|width|height|left|top|right|clip"
    r"|indent|content-v|transform",
    re.IGNORECASE,
)
_CLIPPED = re.compile(  # a side by all, or two that meet
    r"inset\((?:\d{3,9}%.*|(?:[5-9]\d(?:\.\d{1,9})?%0?){1,4})\)|(?:circle|ellipse)\(0.*\)"
)
_NOTHING = re.compile(r"0(?:\.0+)?(?:px|em|rem|pt|%)?")
_FAR = re.compile(r"-\d{4,}(?:\.\d+)?(?:px|em|rem|pt)?|-\d{3}r?em")
_SIZES = ("width", "height", "max-width", "max-height")
_SIDES = ("left", "top", "right", "text-indent", "margin-left", "margin-top")


def hidden_by_style(tree: Any) -> set[int]:
    """The `mem_id` of every element that is hidden; what is inside it is not listed."""
    styles: dict[int, dict[str, str]] = {}
    nodes = {}
    for selector, body in _rules(tree):
        try:
            found = tree.css(selector)
        except SelectolaxError:  # a selector that this parser does not know
            continue
        for node in found:
            nodes[node.mem_id] = node
            styles.setdefault(node.mem_id, {}).update(declared(body))
    for node in tree.css("[style]"):
        nodes[node.mem_id] = node
        styles.setdefault(node.mem_id, {}).update(declared(node.attributes.get("style") or ""))
    hidden = {node.mem_id for node in tree.css("[hidden], [aria-hidden=true], details template")}
    for key, style in styles.items():
        white = _WHITE.fullmatch(style.get("color", ""))
        if is_hidden(style) or (white and _on_white(nodes[key], styles)):
            hidden.add(key)
    return hidden


def _rules(tree: Any) -> list[tuple[str, str]]:
    """The embedded rules that hold on a screen, without those inside @media and the like."""
    text = "".join(sheet.text() + "}" for sheet in tree.css("style"))[:_MOST_STYLE]
    first, *rest = text.split("/*")
    bare = first + "".join(part.partition("*/")[2] for part in rest)
    pairs = (rule.rpartition("{") for rule in _outside_at_rules(bare))
    told = {(selector.strip(), body): None for selector, _, body in pairs if _MAY_HIDE.search(body)}
    return [*told][:_MOST_RULES]


def _outside_at_rules(text: str) -> list[str]:
    kept, depth, start, skipping = [], 0, 0, False
    for brace in re.finditer(r"[{};]", text):
        if depth == 0 and brace[0] != "}":
            skipping = text[start : brace.end()].lstrip().startswith("@")
        if brace[0] == "{":
            depth += 1
        elif brace[0] == "}":
            depth = max(0, depth - 1)
        if depth == 0:
            if not skipping:
                kept.append(text[start : brace.start()])
            start = brace.end()
    return kept


def declared(text: str) -> dict[str, str]:
    """The declarations of a style, without spaces and in lower case."""
    pairs = (part.partition(":") for part in text.lower().replace("!important", "").split(";"))
    return {name.strip(): re.sub(r"\s+", "", value) for name, _, value in pairs}


def is_hidden(style: dict[str, str]) -> bool:
    """Whether these declarations keep text from being seen, whatever stands round it."""
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if any(_NOTHING.fullmatch(style.get(name, "")) for name in ("font-size", "opacity")):
        return True
    if style.get("transform") == "scale(0)" or _CLIPPED.fullmatch(style.get("clip-path", "")):
        return True
    small = any(_NOTHING.fullmatch(style.get(name, "")) for name in _SIZES)
    if small and style.get("overflow", "")[:6] in ("hidden", "clip"):
        return True
    placed = style.get("position") in ("absolute", "fixed") or "text-indent" in style
    if style.get("position") == "absolute" and style.get("clip", "auto") != "auto":
        return True
    return placed and any(_FAR.fullmatch(style.get(name, "")) for name in _SIDES)


def _on_white(node: Any, styles: dict[int, dict[str, str]]) -> bool:
    """Whether the nearest background that is given is white; a page without one is white."""
    for _ in range(200):  # no page that is read is deeper
        if node is None:
            break
        style = styles.get(node.mem_id, {})
        ground = style.get("background-color") or style.get("background")
        if ground or "background-image" in style:
            return ground is not None and _WHITE.fullmatch(ground) is not None
        node = node.parent
    return True
