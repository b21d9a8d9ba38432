"""Colours as style sheets write them, and whether two of them can be told apart."""

import colorsys
import re
from typing import NamedTuple

_NAMED = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff
beige f5f5dc bisque ffe4c4 black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2
brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 chocolate d2691e
coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff
darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400
darkgrey a9a9a9 darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00
darkorchid 9932cc darkred 8b0000 darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b
darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1 darkviolet 9400d3
deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff
firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc
ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f
grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0
khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd
lightblue add8e6 lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow fafad2
lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 lightsalmon ffa07a
lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899
lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6
magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3
mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a
mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970 mintcream f5fffa
mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000
olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa
palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip ffefd5
peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080
rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513
salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0
skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa
springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347
turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00
yellowgreen 9acd32
"""
_NAMES = dict(zip(_NAMED.split()[::2], _NAMED.split()[1::2], strict=True))
# What is a colour, also where it cannot be told which.
FUNCTION = re.compile(r"(rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\(([^()]{1,100})\)")
_NUMBER = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(%|deg|turn|rad)?")
_TURNS = {"turn": 1.0, "rad": 1 / 6.283185307, "deg": 1 / 360, "": 1 / 360, "%": 0.01}
_NEAR = 12  # of 255, in every channel: nobody sees the difference


class Colour(NamedTuple):
    """Red, green and blue from 0 to 255, and how opaque it is, from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0

    def over(self, ground: "Colour") -> "Colour":
        """What is seen of it on a ground."""
        pairs = zip(self[:3], ground[:3], strict=True)
        red, green, blue = (a * self.alpha + b * (1 - self.alpha) for a, b in pairs)
        return Colour(red, green, blue)

    def is_near(self, other: "Colour") -> bool:
        """Whether nobody sees the difference."""
        return all(abs(a - b) <= _NEAR for a, b in zip(self[:3], other[:3], strict=True))


WHITE, BLACK, LINK = Colour(255, 255, 255), Colour(0, 0, 0), Colour(0, 0, 238)
CLEAR = Colour(0, 0, 0, 0.0)


def parse_colour(text: str) -> Colour | None:
    """A colour by its name, in hex or as a function; None for what is none, or not known here."""
    text = text.strip().lower()
    if text == "transparent":
        return CLEAR
    text = {"canvas": "white", "field": "white", "canvastext": "black"}.get(text, text)
    text = f"#{_NAMES[text]}" if text in _NAMES else text
    if re.fullmatch(r"#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})", text):
        digits = text[1:] if len(text) > 5 else "".join(digit * 2 for digit in text[1:])
        parts = [int(digits[at : at + 2], 16) for at in range(0, len(digits), 2)]
        red, green, blue, *rest = (float(part) for part in parts)
        return Colour(red, green, blue, rest[0] / 255 if rest else 1.0)
    function = FUNCTION.fullmatch(text)
    values = _NUMBER.findall(function[2].removeprefix("srgb")) if function else []
    if function is None or len(values) not in (3, 4):
        return None
    alpha = _share(*values[3]) if len(values) == 4 else 1.0
    if function[1] in ("lab", "lch", "oklab", "oklch", "hwb", "color"):
        channels = _modern(function[1], values)
        if channels is None:
            return None
    elif function[1] == "rgb":
        channels = [255 * _share(*one) if one[1] else float(one[0]) for one in values[:3]]
    else:
        hue = float(values[0][0]) * _TURNS[values[0][1]]
        saturation, light = (min(1.0, max(0.0, float(one[0]) / 100)) for one in values[1:3])
        channels = [255 * one for one in colorsys.hls_to_rgb(hue % 1, light, saturation)]
    red, green, blue = (min(255.0, max(0.0, one)) for one in channels)
    return Colour(red, green, blue, min(1.0, max(0.0, alpha)))


def _modern(name: str, values: list[tuple[str, str]]) -> list[float] | None:
    """Red, green and blue of a newer function; only of a grey, where that is hard to tell."""
    first, second, third = (_share(*one) for one in values[:3])
    if name == "color":
        return [255 * one for one in (first, second, third)]
    if name == "hwb":
        white, black = (_share(*one) / (1 if one[1] else 100) for one in values[1:3])
        return [255 * white / (white + black)] * 3 if white + black >= 0.99 else None
    new = name.startswith("ok")
    tint = abs(second) if name.endswith("lch") else max(abs(second), abs(third))
    if tint > (0.02 if new else 3) and first * (1 if new else 0.01) < 0.985:
        return None
    light = first if new or values[0][1] else first / 100
    linear = light**3 if new else ((light * 100 + 16) / 116) ** 3 if light > 0.08 else 0.0
    grey = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return [255 * grey] * 3


def _share(number: str, unit: str) -> float:
    return float(number) / (100 if unit == "%" else 1)
