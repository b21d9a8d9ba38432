"""A page of HTML as clean markdown: what it says, without what stands round it or is hidden in it.

The page is parsed as browsers do. Nothing is fetched and no script is run.
"""

import re
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from co_cli.articles.markdown import Block, Element, joined, to_blocks
from co_cli.articles.outcome import Read, Unread
from co_cli.articles.stylesheet import State, Styles

DEEPEST = 200  # elements inside each other; pages that people write have some thirty
MOST_ELEMENTS = 1_000_000
_LONG_ENOUGH = 600  # letters, for a page that is a text

_TOO_DEEP = "the page is nested too deeply to be read"
_NESTING = re.compile(
    r"<(\\?/)?(?:address|article|aside|blockquote|center|details|dialog|dir|div|dl|fieldset|figure"
    r"|footer|form|header|listing|main|menu|nav|ol|pre|section|summary|table|ul)\b",
    re.IGNORECASE,
)

# What is shown where no script runs; a parser that runs none would take it for text.
_WITHOUT_SCRIPTS = re.compile(
    r"(?is)(?P<keep><(script|style|textarea|title)\b.*?(?:</\2\s*>|\Z)|<!--.*?(?:-->|\Z))"
    r"|<noscript\b.*?(?:</noscript\s*>|\Z)"
)
# Never text. What is in an attribute or a comment is not looked at in the first place.
_NOT_TEXT = frozenset(
    "audio button canvas datalist dialog embed head iframe input link map math meta meter nav"
    " noembed noframes noscript object option progress script select style svg template textarea"
    " title video".split()
)
_AROUND_ROLES = frozenset(
    "banner complementary contentinfo dialog menu menubar navigation search tablist toolbar".split()
)
# Words in a class or id by which pages name what is not their text.
_AROUND = frozenset(
    "ad ads advert advertisement avatar breadcrumb breadcrumbs catlinks comment commentform"
    " commentlist comments consent cookie cookies cta editsection feedback footer gdpr headerlink"
    " menu modal nav navbar navbox navigation newsletter noprint pager pagination paywall"
    " popup postprofile promo promoted recommended related respond share sharing sidebar"
    " signature signup sitenotice skip social sponsored subscribe toc toolbar widget".split()
)
# The same, where only a few words are in it.
_AROUND_BRIEFLY = frozenset(
    "action author bar btn buttons info meta rank rating sitesub sort stat stats taglist tags user"
    " vote votecell".split()
)
_AROUND_TAGS = ("aside", "footer", "form", "header")
_TEXT_TAGS = frozenset("article code dt h1 h2 h3 h4 h5 h6 html li main pre".split())
_NOTES = frozenset("admonition callout caution footnote important note tip topic warning".split())


class Page(NamedTuple):
    """A parsed page: its tree without what is hidden, its title, and what was found on the way."""

    body: Element
    title: str
    hid: bool
    unread_styles: bool
    pictures: bool
    asks_password: bool


def read_html(text: str, url: str) -> Read:
    """The page's text as markdown."""
    page = parse(text)
    root, blocks = _content(page, url)
    title, above = _title(page, root)
    size = sum(block.size for block in blocks)
    if page.asks_password and size < _LONG_ENOUGH:
        hint = "Save the page from your browser while you are logged in, and give that file."
        raise Unread("the page asks for a login", hint)
    if not size:
        why = ": it is made by a script in the browser" if "<script" in text else ""
        hint = "Open it in a browser, save what you see, and give that file."
        raise Unread(f"there is nothing to read on the page{why}", hint)
    if above:
        blocks.insert(0, Block(f"# {title}", 0, 0))
    return Read(title, joined(blocks) + "\n", _remarks(page))


def _title(page: Page, root: Element) -> tuple[str, bool]:
    """The title of a page, and whether it stands above the text instead of in it."""
    inside, outside = next(root.all("h1"), None), next(page.body.all("h1"), None)
    if inside:
        return _heading(inside), False
    second = next(root.all("h2"), None)
    named = _heading(second) if second else ""
    if named and page.title.casefold().startswith(named.casefold()):
        return named, False
    if outside and (not page.title or _heading(outside) in page.title):
        return _heading(outside), True
    return page.title, False


def _heading(node: Element) -> str:
    return " ".join(node.text().split()).strip("¶#§ ")


def read_fragment(text: str) -> Read:
    """The markdown of HTML that is all text, such as a chapter of a book."""
    page = parse(text)
    return Read(page.title, joined(to_blocks(page.body, "")), _remarks(page))


def _remarks(page: Page) -> list[str]:
    hid = ["Hidden text was left out."] if page.hid else []
    if page.unread_styles:
        hid.append("The page has more styles than are read, so hidden text may be left in.")
    return hid + (["Pictures were left out."] if page.pictures else [])


def parse(text: str) -> Page:
    """Read HTML into a tree of elements, without scripts, controls and hidden parts."""
    _check_depth(text)
    tree = LexborHTMLParser(_WITHOUT_SCRIPTS.sub(lambda one: one["keep"] or "", text))
    styles = Styles(tree)
    body, hid, pictures = Element("body", {}, None), False, False
    made = [body]
    top = styles.top(tree.root, tree.body) if tree.body else State()
    stack = [(tree.body.first_child, body, 1, top)] if tree.body else []
    while stack:
        node, parent, depth, state = stack.pop()
        if node is None:
            continue
        stack.append((node.next, parent, depth, state))
        tag = node.tag or ""
        folded = parent.tag == "details" and "open" not in parent.attrs
        if tag == "-text":
            text = node.text_content or ""
            if (folded or not state.is_readable) and not text.isspace():
                hid = True
            else:
                parent.children.append(text)
        elif tag == "img":
            pictures = True
        elif tag in _NOT_TEXT or not tag[:1].isalpha():
            continue
        elif (inner := _entered(styles, node, parent, state)) is None:
            hid = hid or bool(node.text(strip=True))
        else:
            _check_bounds(depth, len(made))
            attrs = {name: value or "" for name, value in node.attributes.items()}
            child = Element(tag, attrs, parent)
            parent.children.append(child)
            made.append(child)
            stack.append((node.first_child, child, depth + 1, inner))
    for element in reversed(made):  # what is inside comes before what holds it
        for one in element.children:
            element.count(one)
    head = tree.css_first("title")
    title = " ".join(head.text().split()) if head else ""
    asks = tree.css_first("input[type=password]") is not None
    return Page(body, title, hid, styles.left_out, pictures, asks)


def _entered(styles: Styles, node: Any, parent: Element, state: State) -> State | None:
    """What an element hands down; None where it is hidden, as what a closed fold holds is."""
    folded = parent.tag == "details" and "open" not in parent.attrs
    first = node.tag == "summary" and not any(one.tag == "summary" for one in parent.elements())
    return None if folded and not first else styles.enter(node, state)


def _check_depth(text: str) -> None:
    """Refuse what would take a parser minutes: it looks through all open blocks at every tag."""
    depth = 0
    for found in _NESTING.finditer(text):
        depth = depth + 1 if not found[1] else max(0, depth - 1)
        if depth > DEEPEST * 5:
            raise Unread(_TOO_DEEP)


def _check_bounds(depth: int, count: int) -> None:
    if depth > DEEPEST:
        raise Unread(_TOO_DEEP)
    if count > MOST_ELEMENTS:
        raise Unread(f"the page has more than {MOST_ELEMENTS} parts")


def _content(page: Page, url: str) -> tuple[Element, list[Block]]:
    """The element that holds the text, and its blocks; the rules by name give way to the text."""
    whole = page.body.size
    for by_name in (True, False):
        body = _pruned(page.body, page.body, by_name=by_name)
        root = _main(body)
        blocks = _trimmed(to_blocks(root, url))
        size = sum(block.size for block in blocks)
        if size >= min(_LONG_ENOUGH, whole * 0.25):
            break
    return root, blocks


def _pruned(
    node: Element, body: Element, *, by_name: bool, parent: Element | None = None
) -> Element:
    """A copy of a tree without what stands round the text."""
    kept = Element(node.tag, node.attrs, parent)
    by_name = by_name and node.tag not in ("code", "pre")  # where highlighters name what they mark
    for child in node.children:
        if isinstance(child, str):
            kept.hold(child)
        elif not _is_around(child, node, body, by_name=by_name):
            kept.hold(_pruned(child, body, by_name=by_name, parent=kept))
    return kept


def _is_around(node: Element, parent: Element, body: Element, *, by_name: bool) -> bool:
    """Whether an element stands round the text and is no part of it."""
    tag, role = node.tag, node.attrs.get("role", "")
    if role in _AROUND_ROLES:
        return True
    if tag in _AROUND_TAGS:
        return {
            "aside": _names(node).isdisjoint(_NOTES),
            "footer": parent.tag not in ("blockquote", "figure"),
            "form": node.size < max(_LONG_ENOUGH, body.size * 0.3),
            "header": by_name and not _holds_title(node),
        }[tag]
    if tag in _TEXT_TAGS or role == "main" or not by_name:
        return False
    names = _names(node)
    most = body.size * 0.9 if names & _AROUND else 120 if names & _AROUND_BRIEFLY else 0
    return node.size < most and not _holds_title(node) and not _is_linked_to(node)


def _is_linked_to(node: Element) -> bool:
    """Whether a heading in it links to it: then its id is made of the heading's words."""
    here = f"#{node.attrs.get('id', '')}"
    heads = node.all("h2", "h3", "h4", "h5", "h6") if len(here) > 1 else ()
    return any(link.attrs.get("href") == here for head in heads for link in head.all("a"))


def _holds_title(node: Element) -> bool:
    return next(node.all("h1"), None) is not None


def _names(node: Element) -> set[str]:
    """The words of an element's class and id, whole and by their parts."""
    given = f"{node.attrs.get('class', '')} {node.attrs.get('id', '')}".lower().split()
    return {*given, *(part for name in given for part in re.split(r"[-_]+", name))}


def _main(body: Element) -> Element:
    """The element that holds the text: as the page says, else the one with most of it."""
    root, said = body, False
    mains = [one for one in body.all() if one.tag == "main" or one.attrs.get("role") == "main"]
    if mains and max(one.size for one in mains) >= body.size * 0.3:
        root, said = max(mains, key=lambda one: one.size), True
    articles = [one for one in root.all("article") if one.size >= root.size * 0.5]
    if articles:
        return articles[0]
    while not said:
        inside = [one for one in root.elements() if one.size >= root.size * 0.9 > 0]
        title = next(root.all("h1"), None)
        if not inside or inside[0].tag in ("p", "pre", "ul", "ol", "dl"):
            break
        if title and title is not inside[0] and title not in inside[0].all("h1"):
            break
        root = inside[0]
    return root


def _trimmed(blocks: list[Block]) -> list[Block]:
    """Without blocks of links before and after the text, unless a heading announces them."""

    def is_links(place: int) -> bool:
        block = blocks[place]
        heads = block.text.startswith("#") or (place > 0 and blocks[place - 1].text[0] == "#")
        return block.linked > block.size * 0.45 and not heads

    texts = [n for n, one in enumerate(blocks) if one.size > 140 and one.linked < one.size * 0.45]
    if not texts:
        return blocks
    kept = []
    for place, block in enumerate(blocks):
        if texts[0] <= place <= texts[-1] or not is_links(place):
            kept.append(block)
    return kept
