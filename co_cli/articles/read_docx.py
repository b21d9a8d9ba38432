"""A document of a word processor as markdown, by way of HTML."""

import io

import mammoth  # type: ignore[import-untyped]

from co_cli.articles.archives import open_archive, unpacked
from co_cli.articles.outcome import Read
from co_cli.articles.read_html import read_fragment
from co_cli.articles.read_text import first_heading

_CODE_STYLES = ("Code", "Source Code", "HTML Preformatted", "Preformatted Text", "Macro Text")


def read_docx(data: bytes) -> Read:
    """A document of a word processor, by its styles."""
    archive = open_archive(data, "document")
    for part in archive.infolist():
        unpacked(archive, part.filename, "document")
    styles = (f"p[style-name='{name}'] => pre:separator('\\n')" for name in _CODE_STYLES)
    made = mammoth.convert_to_html(
        io.BytesIO(data),
        style_map="\n".join(styles),
        convert_image=mammoth.images.img_element(lambda _: {"src": ""}),
        external_file_access=False,
    )
    page = read_fragment(made.value)
    return Read(first_heading(page.text), page.text + "\n", page.remarks)
