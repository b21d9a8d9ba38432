"""What to tell a person when a model or an embedder does not answer.

Knows the agent framework's kinds of error. Shows no key, and nothing that was said.
"""

from typing import NamedTuple

from co_cli.errors import GaveUp
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.safety.secrets import find_secret
from co_cli.providers.registry import LONGEST, Choice, sent_keys


class Trouble(NamedTuple):
    """What went wrong in one line, what to do about it, and whether too much had been said."""

    line: str
    hint: str = ""
    overflow: bool = False


_OTHER = "choose another model with {choice.switch}."
_AGAIN = f"Try again in a while, or {_OTHER}"
_LESS = "Ask for less at once."
# The framework's kinds of error, the special ones first: line and hint.
_KINDS = (
    ("ModelContextWindowExceededError", "the conversation is too long for {choice}",
     "Say less at once, shorten it with /compact, or start over with /clear."),
    ("ModelAuthenticationError", "{choice} {refused}", "Check {keys}."),
    ("ModelNotFoundError", "{choice.provider} has no model '{choice.name}'{status}", "{instead}"),
    ("ModelRequestRejectedError", "{choice} rejected the request{status}{words}", ""),
    ("ModelRateLimitError", "{choice} takes no more requests just now{status}{wait}", _AGAIN),
    ("ModelQuotaExceededError", "the quota or credit for {choice} is used up{status}",
     f"See your account with the provider, or {_OTHER}"),
    ("ModelOverloadedError", "{choice} is overloaded{status}{wait}", _AGAIN),
    ("ModelUnavailableError", "{choice} is not available just now{status}{wait}", _AGAIN),
    ("ModelServerError", "{choice} had an internal error{status}", _AGAIN),
    ("ModelTimeoutError", "{late}", _AGAIN),
    ("ModelRequestTimeout", "{late}", _AGAIN),
    ("ModelConnectionError", "{lost}", "{reach}"),
    ("ModelHTTPError", "{choice} answered with an error{status}{words}", _AGAIN),
    ("ModelAPIError", "the answer of {choice} is incomplete or cannot be read", _AGAIN),
    ("UsageLimitExceeded", "{choice} needed more steps than one turn may take", _LESS),
    ("ContentFilterError", "{choice} withheld its answer (content filter)", "Try other words."),
    ("IncompleteToolCall", "the answer of {choice} reached its length limit", _LESS),
    ("UnexpectedModelBehavior", "{choice} gave no usable answer, or kept calling a tool wrongly",
     "Try again, or choose a model that is better with tools."),
)  # fmt: skip


def explain(error: BaseException, choice: Choice) -> Trouble | None:
    """What went wrong with a model or an embedder; None when it was something else."""
    from pydantic_ai import exceptions

    cause: BaseException | None = error
    while cause is not None:  # a library may have taken it for its own
        if isinstance(cause, GaveUp):
            hint = f"Ask for less at once, or {_OTHER} {cause.hint}".rstrip()
            return Trouble(f"{choice} {cause}", hint.format(choice=choice))
        cause = cause.__cause__ or cause.__context__
    for kind, line, hint in _KINDS:
        if isinstance(error, getattr(exceptions, kind, ())):
            words = _words(error, choice)
            overflow = kind == "ModelContextWindowExceededError"
            return Trouble(line.format_map(words), hint.format_map(words), overflow)
    return None


def _words(error: BaseException, choice: Choice) -> dict[str, object]:
    status, wait = (getattr(error, name, None) for name in ("status_code", "retry_after"))
    phase = getattr(error, "phase", None)
    said = _sanitised(getattr(error, "body", None))
    words = f": {said}" if said else ""
    meant = escape(str(getattr(error, "suggested_model_id", None) or "")[:LONGEST], keep="")
    instead, reach = _advice(choice)
    away = f"{choice} cannot be reached at {choice.host}"
    cut = phase in ("read", "write")
    return {
        "choice": choice,
        "status": f" ({status})" if status else "",
        "words": words,
        "wait": f"; it asks to wait {max(1, round(wait))} s" if wait else "",
        # Whoever refuses a key may show it.
        "refused": f"refused access (403){words}" if status == 403 else "refused the key",
        "keys": " or ".join(choice.known.keys) or "the key in your environment",
        "instead": f"Did you mean {meant}?" if meant else instead,
        "late": away if phase == "connect" else f"{choice} did not answer in time ({choice.host})",
        "lost": f"the answer of {choice} was cut off" if cut else away,
        "reach": _AGAIN.format(choice=choice) if cut else reach,
    }


def _advice(choice: Choice) -> tuple[str, str]:
    """What to do about a model that is not there, and about one that cannot be reached."""
    if choice.provider == "ollama":
        pull = f"Run `ollama pull {choice.name}`, or choose another model with {choice.switch}."
        return pull, "Is `ollama serve` running?"
    if choice.base_url != choice.known.url:
        check = f"Check the name, and whether {choice.base_url} is right."
        return check, "Is the server running there?"
    return f"Choose another model with {choice.switch}.", "Check your network connection."


def _sanitised(body: object) -> str:
    """The sentence in a provider's error, short and harmless; all else in there is left out."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    text = escape(" ".join(said.split()), keep="") if isinstance(said, str) else ""
    secret = find_secret(text) or any(key in text for key in sent_keys)
    return "" if secret else text[:LONGEST]
