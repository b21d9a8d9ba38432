"""What many commands take: options, and references to notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from co_cli.cli.here import open_here
from co_cli.errors import CoError
from co_cli.knowledge.safety.escape import escape

if TYPE_CHECKING:
    import click.shell_completion

_REF = r"#?g?\d{1,9}(-[a-z0-9-]+)?(\.md)?|a:.+"

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
in_user = click.option(
    "-g", "--global", "in_user", is_flag=True, help="Use your own notebook, not the project's."
)
assume_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")


def at_user(ref: str, in_user: bool) -> str:
    """A reference as it is meant with -g: `1` and `#1` are then the user's `g1`."""
    text = ref.strip().lstrip("#")
    return "g" + text if in_user and not text.startswith("g") else text


def is_ref(text: str) -> bool:
    """Whether this names a note rather than describing it."""
    return re.fullmatch(_REF, text.strip()) is not None


class RefType(click.ParamType[str]):
    """A note's reference, completed from the notes there are, or from the archive."""

    name = "ref"

    def __init__(self, *, archived: bool = False) -> None:
        self.archived = archived

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """References that start like this, with what the notes say."""
        found = []
        try:
            for book in open_here().shelf.books():
                notes = [n for _, n in book.archived()] if self.archived else book.notes()
                found += [(book.ref(note), note.summary) for note in notes]
        except CoError:
            return []
        return [  # click has loaded this module to ask us
            click.shell_completion.CompletionItem(ref, help=escape(text, keep=""))
            for ref, text in found
            if ref.startswith(incomplete)
        ]


def ref_argument(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An argument that takes a note's reference."""
    many = options.get("nargs") == -1
    metavar = "REF REF..." if many else "REF"
    return click.argument("refs" if many else "ref", metavar=metavar, type=RefType(), **options)
