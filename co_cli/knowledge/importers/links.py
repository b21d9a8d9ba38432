"""Links between the texts of an import: which names lead where. Knows no files."""

import re
import unicodedata
from collections.abc import Iterable

MAX_LINKS = 100  # of one note; its header holds no more than some hundreds
UID = "uid:"  # before a name that only Co gives


class Links:
    """Who is called what, and who leads to whom; settled when everything was read."""

    def __init__(self) -> None:
        self.names: dict[str, dict[str, int]] = {}
        self.folders: dict[str, str] = {}
        self.wanted: dict[str, list[str]] = {}

    def name(self, origin: str, *groups: Iterable[str]) -> None:
        """What a text is called; an earlier group of names counts before a later one."""
        for rank, names in enumerate(groups):
            for name in names:
                self.names.setdefault(_key(name), {}).setdefault(origin, rank)

    def lead(self, origin: str, folder: str, links: Iterable[str]) -> None:
        """The folder a text lies in, and the names it leads to."""
        self.folders[origin] = folder
        self.wanted[origin] = [*self.wanted.get(origin, ()), *links]

    def settle(self) -> tuple[dict[str, tuple[str, ...]], list[str]]:
        """What each text leads to, and the links of people's that do not lead to one text."""
        found: dict[str, tuple[str, ...]] = {}
        lost: dict[str, None] = {}
        for origin, names in self.wanted.items():
            there: dict[str, None] = {}
            for name in names:
                matches = self._matches(name, origin)
                if len(matches) == 1 and len(there) < MAX_LINKS:
                    there[matches[0]] = None
                elif matches or _is_a_page(name):
                    lost[name.removeprefix("/")] = None
            found[origin] = tuple(other for other in there if other != origin)
        return found, list(lost)

    def _matches(self, name: str, origin: str) -> list[str]:
        """The texts of this name: by their files before all else, and near by before far off."""
        ranks = self.names.get(_key(name), {})
        first = min(ranks.values(), default=0)
        best = [other for other, rank in ranks.items() if rank == first]
        near = [one for one in best if self.folders.get(one) == self.folders[origin]]
        return near if len(near) == 1 else best


def _key(name: str) -> str:
    plain = unicodedata.normalize("NFC", name).casefold().removesuffix(".md")
    return re.sub(r"[\s_]{1,20}", " ", plain).strip()


def _is_a_page(name: str) -> bool:
    """Whether a name that no text has would be a page's, not a picture's, a program's or Co's."""
    if name.startswith("/"):
        return name.endswith(".md")
    return not re.search(rf"^{UID}|\.\w{{2,5}}$", name)


def some(names: list[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(name[:40] for name in names[:10]) + more
