"""A message that is about a page on the web: which one, and whether it is to be kept."""

import re

from co_cli.learning.turns import Turn

_URL = r"(?P<url>https?://[^\s<>\"'`]{3,2000})"
_BARE = re.compile(rf"[<(]?{_URL}[>)]?")
_VERBS = "save|keep|store|clip|bookmark|ingest|fetch|read|download|archive"
_ASKED = re.compile(
    r"(?i)(?:(?:please|pls|hey co|co|ok|also|and|can you|could you|would you)[, ]{1,2}){0,3}"
    rf"(?:{_VERBS})\b(?P<between>[^.?!\n]{{0,80}}?){_URL}"
    r"(?P<after>\s+(?:please|pls|for|and|to|in|as|with|so|then|thanks)\b.{0,300})?"
)
_TELLS = re.compile(r"(?i)\b(?:is|are|was|were|has|have|mind|lives?|runs?|uses?)\b")
_ENDS = ".,;:!?)]}"  # of a sentence, rather than of an address


def page_wanted(said: str) -> Turn | None:
    """The page that a person asks Co to read and keep, or just names: then it is only offered.

    A sentence that tells something of an address is none: that is a fact to remember.
    """
    text = said.strip()
    asked = _ASKED.fullmatch(text)
    if asked and _TELLS.search(asked["between"]):
        return None
    found = asked or _BARE.fullmatch(text)
    return Turn("page", found["url"].rstrip(_ENDS), sure=bool(asked)) if found else None
