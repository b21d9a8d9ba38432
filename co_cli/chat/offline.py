"""A conversation without a model, kept as one with a model is."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from co_cli import prompts
from co_cli.agent.approval import NOBODY, Decision, Review, Reviewed
from co_cli.chat import pastes
from co_cli.chat.dialogue import Dialogue
from co_cli.chat.events import Notice, PlainText, ToolFinished, TurnEvent
from co_cli.offline.chat import OfflineChat
from co_cli.offline.files import Files
from co_cli.providers.registry import Choice


@dataclass
class OfflineSession(Dialogue):
    """What is typed is looked up or kept; the messages are written as a model's are."""

    chat: OfflineChat = field(init=False)

    def use(self, choice: Choice, prompt: prompts.SystemPrompt) -> None:
        """Go on with these context files."""
        super().use(choice, prompt)
        self.chat = OfflineChat(self.deps, self.ask or _nobody, Files(prompt.known))

    def settled(self) -> list[str]:
        """What the person said yes or no to."""
        return self.chat.settled

    def clear(self) -> None:
        """Begin anew; no note was spoken of yet."""
        super().clear()
        self.use(self.choice, self.prompt)

    async def turn(
        self, text: str | None, attached: str = "", pasted: Sequence[str] = ()
    ) -> AsyncIterator[TurnEvent]:
        """Say something and read the answer."""
        self.take_down(text, attached, pasted)
        before, answer = len(self.deps.external), list[str]()
        try:
            async for event in self.chat.turn(text or "", pastes.typed(text or "", pasted)):
                if isinstance(event, PlainText | ToolFinished):
                    answer.append(event.text)
                yield event
        finally:
            if len(self.deps.external) > before:
                self.write(external=self.deps.external)
            new = [_message("request", "user-prompt", text or "")]
            new += [_message("response", "text", "\n".join(answer))] if answer else []
            self.messages += new
            self.write(self.deps.notes, turn=new)
        if self.unkept:
            yield Notice(f"This turn was not saved to the transcript: {self.unkept}")
            self.unkept = ""


def _message(kind: str, part: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "parts": [{"part_kind": part, "content": text}]}


async def _nobody(review: Review) -> Reviewed:
    return Reviewed([Decision(one, "no", NOBODY) for one in review.proposals])
