"""What a reader of one kind of document gives back, and what it raises when it cannot."""

from typing import NamedTuple


class Read(NamedTuple):
    """What was read: a title, markdown that is still to be cleaned, remarks, and its header's."""

    title: str
    text: str
    remarks: list[str]
    tags: tuple[str, ...] = ()
    date: str = ""


class Unread(Exception):
    """A document that cannot be read: why, and what a person can do about it."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint
