"""Articles: what is fetched from the web or read from a file, on its way into a notebook."""

from importlib.util import find_spec

READERS = ("mammoth", "pypdfium2", "selectolax")  # what the extra `articles` brings


def can_read() -> bool:
    """Whether the extra `articles` is installed, without which only plain text can be read."""
    return all(find_spec(name) for name in READERS)
