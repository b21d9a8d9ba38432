"""JSON that somebody else may have written. Knows no files and no schema."""

import json
from typing import Any

from co_cli.errors import FormatError


def read_json(text: str) -> Any:
    """The value that a text holds, or FormatError: also for a name set twice, and for too much."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise FormatError(f"is not valid JSON: {error.msg}", line=error.lineno) from None
    except FormatError:
        raise
    except (RecursionError, ValueError):
        raise FormatError("is not valid JSON: nested too deeply, or a number too long") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise FormatError(f"is not valid JSON: '{name[:40]}' appears twice")
        found[name] = value
    return found
