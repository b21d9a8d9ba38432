"""co context: what every session here starts with, for another program's prompt."""

import click

from co_cli import paths, prompts
from co_cli.cli.output import say, warn

_HINT = (
    "The person keeps a memory with Co. Where its tools are at hand, look into it with "
    "recall_memory when their preferences, decisions or surroundings matter."
)


@click.command("context")
@click.option(
    "--for", "client", type=click.Choice(["claude-code"]), help="Also explain how to use it."
)
def context_command(client: str | None) -> None:
    """Print what every session here loads: your context and the pinned memories."""
    known, warnings = prompts.knowledge(paths.project_folder())
    warn(*warnings)
    if text := "\n\n".join(filter(None, [_HINT if client else "", known])):
        say(text)
