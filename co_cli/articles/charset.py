"""Bytes as text, whatever the page says of itself: what it says may be wrong."""

import codecs
import re

# Encodings of the web. Others that Python knows, such as punycode, are no text of a page.
_KNOWN = re.compile(
    r"(?:utf-?(?:8|16|32)(?:-?[lb]e)?|us-ascii|ascii|latin-?\d+|iso-?8859-?\d+|iso-2022-\w+|cp\d+|"
    r"windows-\d+|koi8-[ru]|mac\w*|shift[_-]jis|sjis|euc-?\w+|gb\w+|big5\w*|tis-?620|johab)"
)
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_META = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""")


def decoded(data: bytes, said: str = "") -> tuple[str, list[str]]:
    """The text, and a remark where it is not in the encoding that it claims."""
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return data.decode(name, "replace"), []
    head = data[:4096]
    inside = _META.search(head) or _XML.search(head)
    claims = [said, inside[1].decode("ascii") if inside else ""]
    claimed = [name for one in claims if (name := one.strip().lower()) and _KNOWN.fullmatch(name)]
    # Bytes that happen to be UTF-8 are UTF-8, except where an encoding hides letters in ASCII.
    shifts = [name for name in claimed if name.startswith(("iso-2022", "utf-16", "utf16", "hz"))]
    for name in (*shifts, "utf-8", *claimed, "windows-1252"):
        latin = name in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii")
        try:
            text = data.decode("windows-1252" if latin else name)
        except (UnicodeError, LookupError):
            continue
        if claimed and claimed[0].replace("-", "") == "utf8" and name != "utf-8":
            return text, [f"The page is not in UTF-8, as it says; it was read as {name}."]
        return text, []
    if data.count(0) > len(data) // 20:
        return "", []
    text = data.decode(claimed[0] if claimed else "utf-8", "replace")
    return text, ["Some letters could not be read; they show as \ufffd."]
