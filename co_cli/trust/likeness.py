"""What one text takes over from another, word for word. Knows nothing of where either came from."""

from co_cli.knowledge.compare.same import bare_words
from co_cli.knowledge.format.frontmatter import find_header

_RUN = 8  # words that nobody puts together by chance as another did
_LINE, _SHORT_LINE = 3, 2  # words of a line that counts, and of one that may repeat a whole text

Passage = tuple[str, ...]


def passages(data: bytes, *, repeating: bool = False) -> set[Passage]:
    """The whole text, its lines and all runs of eight words; a note's header is no part of it.

    Case, marks, links and white space do not count, nor do headings and very short lines: these
    only in a text that may be `repeating` another.
    """
    shortest = _SHORT_LINE if repeating else _LINE
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    body = text[header[2] :] if (header := find_header(text)) else text
    words = bare_words(body)
    found = {tuple(words)} if words else set[Passage]()
    for line in body.splitlines():
        if len(said := bare_words(line)) >= shortest and not line.lstrip().startswith("#"):
            found.add(tuple(said))
    found.update(tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1))
    return found
