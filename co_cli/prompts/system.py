"""The prompt by its old name, for no provider in particular."""

from co_cli.prompts import get_system_prompt


def assemble_system_prompt(personality: str | None = None) -> str:
    """The system prompt of the working folder, without any provider's hints."""
    return get_system_prompt("", personality)
