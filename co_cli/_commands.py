"""The slash commands under the name the design documents gave them."""

from __future__ import annotations

from co_cli.chat.slash import COMMANDS

__all__ = ["COMMANDS"]
