"""Pages and documents become clean markdown: what is listed survives, the rest of the page goes."""

from __future__ import annotations

import pytest
from article_set import EXPECTED, NAMES, article


@pytest.mark.parametrize("name", NAMES)
def test_a_document_of_the_set_has_the_same_bytes_each_time(name: str) -> None:
    assert article(name) == article(name) != b""
    assert EXPECTED[name]["headings"] or EXPECTED[name]["error"]
