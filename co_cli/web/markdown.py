"""Stored text as HTML that runs nothing and loads nothing: rendered, then sanitised."""

from collections.abc import Sequence
from html import escape as as_text
from typing import Any

import nh3
from markdown_it import MarkdownIt

from co_cli.knowledge.safety.escape import escape

_TAGS = "a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead"


def _picture(_self: Any, tokens: Sequence[Any], at: int, *_: Any) -> str:
    """A picture as a link: the page fetches nothing from anywhere."""
    source = str(tokens[at].attrs.get("src") or "")
    return f'<a href="{as_text(source)}">{as_text(tokens[at].content or source)}</a>'


_reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_reader.add_render_rule("image", _picture)


def to_html(text: str) -> str:
    """A text's markdown as HTML; HTML in it is text, and a link leads outside or nowhere."""
    return nh3.clean(
        _reader.render(escape(text)),
        tags={*_TAGS.split(), "tr", "ul"},
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    )
