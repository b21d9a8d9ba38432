"""Everything Co raises on purpose. Expected: shown as one line, exit code 1."""

from collections.abc import Iterable, Sequence


class CoError(Exception):
    """An expected error: what happened and where, and in `hint` what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def sentence(self) -> str:
        """What happened and what to do, in one line."""
        stop = "" if str(self).endswith(("?", ".", "!")) else "."
        return f"{self}{stop} {self.hint}" if self.hint else str(self)


class FormatError(CoError, ValueError):
    """A file or header that cannot be read; `line` (from 1, 0 for none) or `field` is to blame."""

    def __init__(self, message: str, *, line: int = 0, field: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line, self.field = line, field


class Unreadable(FormatError):
    """A file that the system would not let be read; it may be whole all the same."""


class RefusedText(CoError, ValueError):
    """A text that will not be stored; `rule` names the rule that refused it."""

    def __init__(self, message: str, *, rule: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.rule = rule


class NotFound(CoError):
    """No note, change or folder by that name."""


class Ambiguous(CoError):
    """Several notes by that name; `choices` are the notes that answer to it."""

    def __init__(self, message: str, *, choices: Sequence[object], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.choices = choices


class Protected(CoError):
    """The note is protected from what was asked."""


class ReadOnly(CoError):
    """A folder that Co searches where it lies, or a conversation in which it writes nothing."""


class MovedOn(CoError):
    """A file changed since it was read."""


class DiskTrouble(CoError):
    """The disk or the folder said no; nothing was acknowledged."""


class SettingsError(CoError):
    """A settings file, a variable, or a model one of them names, that cannot be used."""


class GaveUp(CoError):
    """An answer of a model that took too long or grew too large; says what the model did."""


class FetchError(CoError):
    """A page that was not fetched: the address is refused, or the server's answer is no page."""


class NotPublic(FetchError):
    """A host or port that only a person may allow."""


class Gone(FetchError):
    """A page that its server no longer has."""


class ExtractError(CoError):
    """A page or document that cannot be read."""


class EmbedderUnavailable(CoError):
    """What should turn texts into vectors cannot; search by words still works."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that a person may have meant; empty when none is near."""
    from difflib import get_close_matches  # only a mistake needs it

    return next(iter(get_close_matches(name[:64], known, n=1)), "")
