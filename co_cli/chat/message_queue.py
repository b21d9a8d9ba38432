"""Messages that wait for their turn, and which parts of each were pasted. Knows no terminal."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from co_cli.chat import pastes

_MOST_BLOCKS = 100  # pasted texts; a message may be sent again


class Line(NamedTuple):
    """A message, and the parts of it that were pasted, in their order."""

    text: str
    pasted: Sequence[str] = ()


class MessageQueue:
    """What was sent and not read yet, in order; what is held needs another Enter."""

    def __init__(self) -> None:
        self.sent: deque[str | None] = deque()  # None is the end of input
        self.replies: deque[str] = deque()  # sent where a question was asked; nothing holds them
        self.held: deque[str] = deque()
        self.blocks: deque[str] = deque(maxlen=_MOST_BLOCKS)

    def paste(self, text: str) -> str:
        """Remember a pasted text; the same, with the line ends that a message has."""
        text = pastes.plain(text)
        if pastes.is_block(text):
            self.blocks.append(text.strip())
        return text

    def add(self, text: str | None, *, behind_held: bool) -> None:
        """A message, or the end: sent, unless others before it need another Enter."""
        if not (behind_held and self.held):
            self.sent.append(text)
        elif text:
            self.held.append(text)

    def hold(self) -> None:
        """Let what was typed so far need another Enter: something has come in between."""
        self.held += filter(None, self.sent)
        self.sent.clear()

    def next_draft(self, draft: str) -> str:
        """What stands in the line when a message is asked for: the first held one, or the draft."""
        if self.is_ready or not self.held:
            return draft
        self.held += filter(None, [draft])
        return self.held.popleft()

    @property
    def is_ready(self) -> bool:
        """Whether there is a message, or the end."""
        return bool(self.replies or self.sent)

    @property
    def waiting(self) -> list[str]:
        """All messages that wait."""
        return [*self.replies, *self.held, *filter(None, self.sent)]

    def take(self) -> Line:
        """The next message, once; EOFError at the end."""
        text = (self.replies or self.sent).popleft()
        if text is None:
            raise EOFError
        return Line(text, pastes.pasted_parts(text, self.blocks))
