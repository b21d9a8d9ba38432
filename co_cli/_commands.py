"""The slash commands under the name the design documents gave them."""

from co_cli.chat.slash import COMMANDS

__all__ = ["COMMANDS"]
