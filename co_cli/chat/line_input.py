"""A line from the person at the terminal; what was typed before it was asked for waits.

Knows nothing of what is asked.
"""

import asyncio
import os
import sys
from functools import cached_property

from prompt_toolkit import Application, PromptSession
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import is_dumb_terminal

from co_cli.chat import pastes, typeahead
from co_cli.knowledge.safety.escape import BAR

_SETTLED = 0.2  # seconds for which a screen keeps its width once it is not being dragged


class _LateOutput(Vt100_Output):
    """A screen that sets aside what was typed up to the moment it first shows something."""

    drawn = True

    def flush(self) -> None:
        """Draw."""
        if not self.drawn:
            typeahead.set_aside()
        super().flush()


class _PlainOutput(Vt100_Output):
    """A terminal that can write words and nothing else."""

    def write_raw(self, data: str) -> None:
        """Leave out what would move the cursor."""


def plain_output() -> Vt100_Output:
    """Where to write on a dumb terminal."""
    return _PlainOutput.from_pty(sys.stdout, "dumb")


def plain_keys() -> KeyBindings:
    """Keys of which a mouse is none: its bytes, real or pasted, would be taken for a fault.

    What is pasted is taken note of.
    """
    keys = KeyBindings()
    keys.add(Keys.Vt100MouseEvent, eager=True)(lambda _event: None)

    @keys.add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.note(event.data))

    return keys


class Resized(Exception):
    """The screen has another width than when the question came; what was typed until then."""

    def __init__(self, typed: str) -> None:
        super().__init__()
        self.typed = typed


class TerminalInput:
    """Asks for a line on the terminal, with a text to begin with; nothing of it is kept."""

    columns = 0  # of the screen when the question came

    @cached_property
    def session(self) -> PromptSession[str]:
        """The line editor, made for the first question."""
        if is_dumb_terminal():
            return PromptSession(key_bindings=plain_keys())
        output = _LateOutput.from_pty(sys.stdout, os.environ.get("TERM"))
        output.enable_cpr = False  # or the terminal's report would be taken for early keys
        session: PromptSession[str] = PromptSession(
            output=output, prompt_continuation=BAR, key_bindings=plain_keys()
        )

        def rendered(app: Application[str]) -> None:
            setattr(output, "drawn", True)  # noqa: B010 - `from_pty` is typed as making another
            if self.columns and output.get_size().columns != self.columns:
                self.columns = 0
                app.create_background_task(self._resize(app))

        session.app.after_render += rendered
        return session

    async def _resize(self, app: Application[str]) -> None:
        """End the question once the screen keeps its width, so that all can be drawn anew."""
        seen = 0
        while seen != app.output.get_size().columns:
            seen = app.output.get_size().columns
            await asyncio.sleep(_SETTLED)
        if not app.is_done:
            app.erase_when_done = True
            app.exit(exception=Resized(app.current_buffer.text))

    async def __call__(self, question: str, default: str = "") -> str:
        """What is typed from the moment the question is drawn; what was typed before waits."""
        set_aside(self.session)
        if isinstance(self.session.output, _LateOutput):
            self.session.output.drawn = False
            self.columns = self.session.output.get_size().columns
        self.session.app.erase_when_done = False
        # The terminal sends ^C as a key; who stops the turn by a signal still can.
        return await self.session.prompt_async(question, default=default, handle_sigint=False)


def set_aside(session: PromptSession[str]) -> None:
    """Keep what was typed so far from what is asked now; the next message begins with it."""
    typeahead.set_aside(early(session))


def early(session: PromptSession[str]) -> str:
    """What the line editor has read and not used; what was pasted is marked again."""
    return "".join(
        f"\x1b[200~{key.data}\x1b[201~" if key.key == Keys.BracketedPaste else key.data
        for key in get_typeahead(session.input)
    )
