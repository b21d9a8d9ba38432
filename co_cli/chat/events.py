"""What a surface is told while a model answers; plain values, so that nothing heavy is loaded."""

from typing import Literal, NamedTuple

from co_cli.providers.trouble import Trouble


class TextDelta(NamedTuple):
    """A piece of the model's answer."""

    text: str


class ToolStarted(NamedTuple):
    """A tool is being used."""

    tool: str


class ToolFinished(NamedTuple):
    """A tool is done; what it did in a few words, and what else there is to know in more lines."""

    tool: str
    outcome: Literal["done", "refused", "failed"]
    text: str


class Notice(NamedTuple):
    """A remark about the conversation itself."""

    text: str


# After a Trouble the conversation is as it was, and may be tried again.
TurnEvent = TextDelta | ToolStarted | ToolFinished | Notice | Trouble
