"""Co's memory for agents: the `Knowledge` capability, and Co's own agent.

A name is loaded when it is asked for: the framework behind it costs a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    "LIMITS",
    "CoDeps",
    "Knowledge",
    "agent",
    "get_agent",
    "model_for",
    "session_prompt",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "co_cli.deps" if name == "CoDeps" else f"{__name__}.capability"
    return getattr(import_module(home), name)
