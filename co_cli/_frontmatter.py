"""The header functions under the name the design documents gave them."""

from co_cli.knowledge.format import frontmatter

parse_frontmatter = frontmatter.parse_frontmatter
strip_frontmatter = frontmatter.strip_frontmatter
validate_context_frontmatter = frontmatter.validate_context_frontmatter
validate_memory_frontmatter = frontmatter.validate_memory_frontmatter
