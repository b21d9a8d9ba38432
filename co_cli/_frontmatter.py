"""The header functions under the name the design documents gave them."""

from co_cli.knowledge.format.frontmatter import (
    parse_frontmatter,
    strip_frontmatter,
    validate_context_frontmatter,
    validate_memory_frontmatter,
)

__all__ = [
    "parse_frontmatter",
    "strip_frontmatter",
    "validate_context_frontmatter",
    "validate_memory_frontmatter",
]
