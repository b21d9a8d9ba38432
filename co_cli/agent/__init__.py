"""Co's memory for agents: the `Knowledge` capability, Co's own agent, and how writes are approved.

What needs the agent framework is loaded when it is asked for: that costs a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from co_cli.agent.approval import (
    DECLINED,
    Approvals,
    Asker,
    Decision,
    Proposal,
    Refusal,
    Review,
    Reviewed,
)
from co_cli.deps import CoDeps
from co_cli.prompts import session_prompt
from co_cli.tools.saving import Collision, Verdict

if TYPE_CHECKING:
    from pydantic_ai import Agent

    from co_cli.agent.capability import LIMITS, Knowledge, get_agent

    agent: Agent[CoDeps, str]  # Co's own, made when it is asked for: clai -a co_cli.agent:agent

__all__ = [
    "DECLINED", "LIMITS", "Approvals", "Asker", "CoDeps", "Collision", "Decision", "Knowledge",
    "Proposal", "Refusal", "Review", "Reviewed", "Verdict", "agent", "get_agent", "session_prompt",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    capability = import_module(f"{__name__}.capability")
    return capability.get_agent() if name == "agent" else getattr(capability, name)
