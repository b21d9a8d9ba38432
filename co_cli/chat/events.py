"""What a surface is told while a model answers; plain values, so that nothing heavy is loaded."""

from __future__ import annotations

from typing import NamedTuple

from co_cli.providers.trouble import Trouble


class Words(NamedTuple):
    """A piece of the model's answer."""

    text: str


class Using(NamedTuple):
    """A tool is being used."""

    tool: str


class Used(NamedTuple):
    """A tool is done; what it did in a few words."""

    tool: str
    brief: str


class Failed(NamedTuple):
    """The model did not answer; the conversation is as it was, and may be tried again."""

    trouble: Trouble


class Told(NamedTuple):
    """A remark about the conversation itself."""

    text: str


Event = Words | Using | Used | Failed | Told
