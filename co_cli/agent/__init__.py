"""Co's memory for agents: the `Knowledge` capability, Co's own agent, and how writes are approved.

A name is loaded when it is asked for: the framework behind it costs a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from co_cli.agent.approval import (
        DECLINED,
        Approvals,
        Asker,
        Collision,
        Decision,
        Proposal,
        Refusal,
        Review,
        Reviewed,
        Verdict,
    )
    from co_cli.agent.capability import (
        LIMITS,
        Knowledge,
        agent,
        get_agent,
        model_for,
        session_prompt,
    )
    from co_cli.deps import CoDeps

__all__ = [
    "DECLINED",
    "LIMITS",
    "Approvals",
    "Asker",
    "CoDeps",
    "Collision",
    "Decision",
    "Knowledge",
    "Proposal",
    "Refusal",
    "Review",
    "Reviewed",
    "Verdict",
    "agent",
    "get_agent",
    "model_for",
    "session_prompt",
]
_HOMES = {
    "co_cli.deps": {"CoDeps"},
    "co_cli.agent.capability": {
        "LIMITS", "Knowledge", "agent", "get_agent", "model_for", "session_prompt",
    },
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = (home for home, names in _HOMES.items() if name in names)
    return getattr(import_module(next(homes, "co_cli.agent.approval")), name)
