"""What a surface is shown of a turn; plain values, so that nothing heavy is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from co_cli.providers.trouble import Trouble

if TYPE_CHECKING:
    from co_cli.knowledge import Note, Notebook


class TextDelta(NamedTuple):
    """A piece of the answer."""

    text: str


class PlainText(NamedTuple):
    """Lines of an answer that are shown as they stand, such as a note's own words."""

    text: str


class ToolStarted(NamedTuple):
    """A tool is being used."""

    tool: str


class ToolFinished(NamedTuple):
    """A tool is done; what it did in a few words, and what else there is to know in more lines.

    Without a model `result` is the same for a program.
    """

    tool: str
    outcome: Literal["done", "refused", "failed"]
    text: str
    result: Mapping[str, Any] = {}


class Notice(NamedTuple):
    """A remark about the conversation itself."""

    text: str


class Quoted(NamedTuple):
    """The notes and files that an answer quotes, for a program."""

    rows: Sequence[Mapping[str, Any]]


class Offer(NamedTuple):
    """Words that were not saved; `y` as the next line saves them in this place."""

    text: str
    place: str


class EditNote(NamedTuple):
    """A note to be edited in the input line, with what the person said about it above."""

    book: Notebook
    note: Note
    above: str


class Command(NamedTuple):
    """A slash command that a sentence asks for.

    With `notes`, the person is asked which of them is meant; with a `question`, whether to run it.
    """

    line: str
    notes: tuple[Note, ...] = ()
    question: str = ""


# After a Trouble the conversation is as it was, and may be tried again.
TurnEvent = (
    TextDelta
    | PlainText
    | ToolStarted
    | ToolFinished
    | Notice
    | Quoted
    | Offer
    | EditNote
    | Command
    | Trouble
)
