"""A tree of elements written as markdown. Knows nothing of parsers, pages or hidden text."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, urljoin

CONTAINERS = frozenset(
    "address article aside body center dd details dialog div fieldset figcaption figure footer form"
    " header hgroup html legend li main nav section summary tbody td tfoot th thead tr".split()
)
BLOCKS = CONTAINERS | frozenset("blockquote dl dt h1 h2 h3 h4 h5 h6 hr ol p pre table ul".split())
MOST_CELLS = 50_000  # in one table, with those that a spanning cell stands for
_EMPHASIS = {"b": "**", "strong": "**", "em": "*", "i": "*", "cite": "*", "del": "~~", "s": "~~"}
_CODE = frozenset("code kbd samp tt".split())
_LINE_NUMBERS = frozenset("gutter lineno linenos linenumber ln lnt line-numbers-rows".split())
_NO_LANGUAGE = frozenset("default highlight hljs none notranslate plain plaintext text txt".split())
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight-source|highlight)-|brush:\s*)([\w+#.]{1,20})"
)
_SIGNS = frozenset("¶ # § ↩ ↩︎ ^ 🔗".split())  # links of a heading or note to its own place
_LANGUAGES = frozenset(
    "bash c cpp css go html java javascript js json kotlin perl php python ruby rust sh shell sql"
    " swift toml typescript xml yaml".split()
)
_HIGHLIGHTERS = frozenset("highlight hljs prettyprint sourcecode".split())
_MARKS = re.compile(r"[\\`*]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|\](?=\()")
_LINE_START = re.compile(r"^(#{1,6} |[-+>](?= )|\d{1,9}(?=[.)] ))", re.MULTILINE)


class Element:
    """A tag, its attributes and what it holds; `size` and `linked` count letters of its text."""

    __slots__ = ("attrs", "blocky", "children", "linked", "parent", "size", "tag")

    def __init__(self, tag: str, attrs: dict[str, str], parent: "Element | None") -> None:
        self.tag, self.attrs, self.parent = tag, attrs, parent
        self.children: list[Element | str] = []
        self.size = self.linked = 0
        self.blocky = False  # whether it holds a block anywhere

    def hold(self, child: "Element | str") -> None:
        """Add a child that is whole, and count its text."""
        self.children.append(child)
        self.count(child)

    def count(self, child: "Element | str") -> None:
        """Add the text of a child to what is counted."""
        if isinstance(child, str):
            self.size += len(child.strip())
            return
        self.size += child.size
        self.linked += child.size if child.tag == "a" else child.linked
        self.blocky = self.blocky or child.blocky or child.tag in BLOCKS

    def all(self, *tags: str) -> "Iterator[Element]":
        """The elements inside it, or those with one of these tags, in the order of the text."""
        for child in self.elements():
            if not tags or child.tag in tags:
                yield child
            yield from child.all(*tags)

    def elements(self) -> "list[Element]":
        """The elements that it holds directly."""
        return [child for child in self.children if isinstance(child, Element)]

    def text(self) -> str:
        """All its text as it stands."""
        return "".join(one if isinstance(one, str) else one.text() for one in self.children)


class Block(NamedTuple):
    """A piece of markdown, and how many letters of its text there are, also in links."""

    text: str
    size: int
    linked: int


def to_blocks(root: Element, url: str) -> list[Block]:
    """The markdown of an element in pieces; links are made absolute by `url`."""
    return [block for block in Writer(url).blocks(root) if block.text]


class Writer:
    """Writes one document, whose links are relative to `url`, or are left out."""

    def __init__(self, url: str, *, links: bool = True) -> None:
        self.url, self.links = url, links

    def blocks(self, root: Element) -> Iterator[Block]:
        """What a container holds, block by block; loose text becomes paragraphs."""
        loose = Element("p", {}, root)
        for child in root.children:
            if isinstance(child, Element) and (child.tag in BLOCKS or child.blocky):
                yield from self._paragraph(loose)
                loose = Element("p", {}, root)
                yield from self._block(child)
            else:
                loose.hold(child)
        yield from self._paragraph(loose)

    def _paragraph(self, node: Element) -> Iterator[Block]:
        if text := self.line(node):
            yield Block(text, node.size, node.linked)

    def _block(self, node: Element) -> Iterator[Block]:
        tag = node.tag
        if tag[0] == "h" and tag[1:].isdigit():
            text = " ".join(Writer("", links=False).line(node).split())
            yield Block(f"{'#' * int(tag[1])} {text}" if text else "", node.size, node.linked)
        elif tag == "pre":
            yield Block(_pre(node), node.size, 0)
        elif tag == "blockquote":
            text = joined(self.blocks(node))
            quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
            yield Block(quoted if text else "", node.size, node.linked)
        elif tag in ("ul", "ol"):
            yield Block("\n".join(self._items(node)), node.size, node.linked)
        elif tag == "dl":
            yield Block(joined(self._terms(node)), node.size, node.linked)
        elif tag == "table" and _is_data(node):
            yield from self._table(node)
        elif tag != "hr":
            yield from self.blocks(node)

    def _items(self, node: Element) -> Iterator[str]:
        start = node.attrs.get("start", "")
        number = int(start) if start.isdecimal() and len(start) < 7 else 1
        for item in node.elements():
            mark = f"{number}. " if node.tag == "ol" else "- "
            pieces = [block.text for block in self.blocks(item) if block.text]
            if not pieces:
                continue
            number += 1
            text = "".join(("\n" if _is_item(one) else "\n\n") + one for one in pieces).lstrip("\n")
            indented = text.replace("\n", "\n" + " " * len(mark))
            yield mark + re.sub(r"(?m)^ +$", "", indented)

    def _terms(self, node: Element) -> Iterator[Block]:
        """A list of terms: one item each, or a paragraph where more is said of a term."""
        terms: list[str] = []
        for child in node.all("dt", "dd") if node.blocky else ():
            if child.parent is not node and child.parent and child.parent.parent is not node:
                continue  # of a list inside, which is written with what holds it
            if child.tag == "dt":
                terms.append(self.line(child))
                continue
            said = [*self.blocks(child)]
            term = ", ".join(terms)
            terms = []
            if term and len(said) == 1 and "\n" not in said[0].text:
                yield Block(f"- {term}: {said[0].text}", child.size, child.linked)
            else:
                yield Block(term, len(term), 0)
                yield from said
        yield Block(", ".join(terms), 0, 0)

    def _table(self, node: Element) -> Iterator[Block]:
        rows = _grid(node)
        for caption in node.all("caption"):
            yield from self._paragraph(caption)
        if not rows:
            return
        width = max(map(len, rows))
        lines = []
        for row in rows:
            cells = [self.line(cell).replace("\n", " ").replace("|", "\\|") for cell in row]
            lines.append(f"| {' | '.join(cells + [''] * (width - len(cells)))} |")
        heads = {cell.tag for cell in rows[0]}
        if "td" in heads and any(cell.tag == "th" for row in rows for cell in row):
            lines.insert(0, "|" + "  |" * width)  # the rows have heads and the columns none
        lines.insert(1, "|" + " --- |" * width)
        yield Block("\n".join(lines), node.size, node.linked)

    def line(self, node: Element) -> str:
        """The text of an element with its emphasis, code and links."""
        text = re.sub(r"[ \t]+", " ", self._inline(node))
        rows = (row.strip(" ") for row in text.strip().split("\n"))
        return _LINE_START.sub(r"\\\1", "\n".join(row for row in rows if row))

    def _inline(self, node: Element) -> str:
        made = []
        for child in node.children:
            if isinstance(child, str):
                made.append(_MARKS.sub(r"\\\g<0>", re.sub(r"[ \t\n\r\f\xa0]+", " ", child)))
            elif child.tag == "br":
                made.append("\n")
            elif child.tag in _CODE:
                made.append(_code(child.text()))
            elif child.tag == "a":
                made.append(self._link(child))
            elif child.tag == "sup" and re.fullmatch(r"\s*[\d−+-]+\s*", child.text()):
                links = [*child.all("a")]
                made.append(f"[{child.text().strip()}]" if links else f"^{child.text().strip()}")
            elif child.tag in BLOCKS:
                made.append(f" {self._inline(child)} ")
            else:
                made.append(_wrapped(self._inline(child), _EMPHASIS.get(child.tag, "")))
        return "".join(made)

    def _link(self, node: Element) -> str:
        text = self._inline(node)
        words, href = " ".join(text.split()), node.attrs.get("href", "").strip()
        if not words or words in _SIGNS or "\\`" in words:
            return "" if href.startswith("#") else text
        address = absolute(href, self.url) if self.links else ""
        return _wrapped(text, "", f"[{words}]({address})") if address else text


def absolute(href: str, url: str) -> str:
    """A link's address as others can follow it; empty for a place on the same page, or a script."""
    if not href or href.startswith("#"):
        return ""
    try:
        whole = urljoin(url, href)
    except ValueError:
        return ""
    if not re.match(r"(?:https?|mailto|ftp|tel):", whole, re.IGNORECASE):
        return "" if re.match(r"[a-z][a-z\d+.-]*:", whole, re.IGNORECASE) else _safe(href)
    return _safe(whole)


def _safe(address: str) -> str:
    return quote(address, safe="%/:?#[]@!$&'*+,;=~-._")


def joined(blocks: Iterator[Block] | list[Block]) -> str:
    """Blocks as one text; items of one list stand together."""
    made: list[str] = []
    for block in blocks:
        if block.text:
            close = _is_item(block.text) and made and _is_item(made[-1]) and "\n" not in made[-1]
            made += ["\n" if close else "\n\n"] if made else []
            made.append(block.text)
    return "".join(made)


def _is_item(text: str) -> bool:
    return re.match(r"(?:-|\d{1,9}\.) ", text) is not None


def _wrapped(text: str, mark: str, instead: str = "") -> str:
    """A text between marks, with the white space around it outside of them."""
    core = text.strip()
    if not core or not (mark or instead):
        return text
    before, _, after = text.partition(core)
    return f"{before and ' '}{instead or mark + core + mark}{after and ' '}"


def _code(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        return ""
    ticks = _ticks(words, 1)
    pad = " " if words[0] == "`" or words[-1] == "`" else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def _ticks(code: str, least: int) -> str:
    """More backticks than stand together in this code."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", code)), default=0))


def fenced(code: str, language: str) -> str:
    """A block of code, if there is any."""
    fence = _ticks(code, 3)
    return f"{fence}{language}\n{code}\n{fence}" if code else ""


def _pre(node: Element) -> str:
    code = _raw(node).replace("\r\n", "\n").rstrip().lstrip("\n")
    is_code = re.search(r"[^\s\d]", code)  # not empty, nor the numbers of another block's lines
    return fenced(code, language(node)) if is_code else ""


def _raw(node: Element) -> str:
    if not _LINE_NUMBERS.isdisjoint(node.attrs.get("class", "").split()):
        return ""
    if node.tag == "br":
        return "\n"
    return "".join(one if isinstance(one, str) else _raw(one) for one in node.children)


def language(pre: Element) -> str:
    """The language of a code block, by what highlighters write on it or on what holds it."""
    near, holder = [pre, *pre.all("code")][:2], pre.parent
    while holder and len(near) < 5 and holder.size <= pre.size * 1.2 + 40:
        near.append(holder)
        holder = holder.parent
    for node in near:
        named = [node.attrs.get(name, "") for name in ("data-lang", "data-language")]
        classes = node.attrs.get("class", "").lower()
        named += [node.attrs.get("lang", "")] if node.tag in ("pre", "code") else []
        named += _LANGUAGE.findall(classes)
        named += [one for one in classes.split() if one in _LANGUAGES]
        if not _HIGHLIGHTERS.isdisjoint(classes.split()):
            named += [one for one in classes.split() if one.isalpha() and len(one) < 12]
        for name in named:
            if name and name.lower() not in _NO_LANGUAGE | _HIGHLIGHTERS:
                return re.sub(r"[^\w+#.-]", "", name.lower())
    return ""


def _is_data(table: Element) -> bool:
    """Whether a table holds data; many pages of old are laid out with tables."""
    blocks = next(table.all("table", "pre", "h1", "h2", "h3", "ul", "ol", "blockquote"), None)
    many = len([*table.all("td", "th")]) > 1
    return many and not blocks and table.attrs.get("role") != "presentation"


def _grid(table: Element) -> list[list[Element]]:
    """The cells row by row; one that spans several places stands in each of them."""
    rows: list[list[Element]] = []
    below: dict[int, tuple[int, Element | None]] = {}  # by column: for how many rows, and what
    left = MOST_CELLS
    for row in table.all("tr"):
        made: list[Element] = []
        waiting = [cell for cell in row.elements() if cell.tag in ("td", "th")]
        while (waiting or len(made) in below) and left > 0:
            more, cell = below.pop(len(made), (1, None))
            across = 1
            if cell is None:
                cell = waiting.pop(0)
                across, more = _span(cell, "colspan"), _span(cell, "rowspan")
            for _ in range(across):
                if more > 1:
                    below[len(made)] = more - 1, cell
                made.append(cell)
                left -= 1
        if any(cell.size for cell in made):
            rows.append(made)
    return rows


def _span(cell: Element, name: str) -> int:
    given = cell.attrs.get(name, "1")
    return max(1, min(int(given), 50)) if given.isdecimal() and len(given) < 5 else 1
