"""Which model a session talks to, and what to say when it does not answer.

Loads no provider's library before a model of it is built. Knows no agent and no notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from co_cli.config import Settings
from co_cli.errors import CoError, GaveUp, SettingsError, nearest
from co_cli.knowledge.safety.escape import visible
from co_cli.knowledge.safety.secrets import find_secret

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

__all__ = ["PROVIDERS", "Choice", "ModelTrouble", "Trouble", "build", "choose", "explain"]

SECONDS = 120.0  # without a byte of an answer; for connecting, the framework's clients wait 5
LONGEST = 200  # characters of a model's name, and of a provider's own words
_EXAMPLE = "http://localhost:8000/v1"
_CHOICES = (
    "Name it PROVIDER:MODEL, of gemini, anthropic, openai, ollama or compatible; or say offline."
)
_ALIASES = {"google": "gemini"}
# How the names of models begin, for one that comes without its provider.
_MAKERS = {
    "gemini-": "gemini", "claude": "anthropic", "gpt": "openai",
    "llama": "ollama", "qwen": "ollama",
}  # fmt: skip
_sent: set[str] = set()  # keys that a provider has seen, and so may show in an error


class ModelTrouble(CoError):
    """A model that cannot be built here: its key or its package is missing."""


class _Provider(NamedTuple):
    """What is known of a provider: the model when nobody names one, and where the rest is found."""

    model: str
    keys: tuple[str, ...]
    url: str
    url_from: tuple[str, ...]


# In the order in which they are chosen when nobody chooses and several are set up.
PROVIDERS = {
    "compatible": _Provider("default", ("CO_CLI_MODEL_API_KEY",), "", ()),
    "gemini": _Provider(
        "gemini-flash-latest", ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "https://generativelanguage.googleapis.com", ("GOOGLE_GEMINI_BASE_URL",),
    ),
    "anthropic": _Provider(
        "claude-sonnet-5-5", ("ANTHROPIC_API_KEY",),
        "https://api.anthropic.com", ("ANTHROPIC_BASE_URL",),
    ),
    "openai": _Provider(
        "gpt-6.1-terra", ("OPENAI_API_KEY",),
        "https://api.openai.com/v1", ("OPENAI_BASE_URL",),
    ),
    "ollama": _Provider(
        "qwen3", ("OLLAMA_API_KEY",),
        "http://localhost:11434/v1", ("OLLAMA_BASE_URL", "OLLAMA_HOST"),
    ),
}  # fmt: skip


class Choice(NamedTuple):
    """A model, why it is this one, and which other providers are set up as well."""

    provider: str
    name: str
    why: str
    others: tuple[str, ...] = ()
    base_url: str = ""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider

    def explain(self) -> str:
        """The choice and its reason in one line."""
        advice = '. Set "model" to choose.' if self.others else ""
        return f"{self} ({self.why}){advice}"

    @property
    def known(self) -> _Provider:
        """What is known of its provider; nothing offline."""
        return PROVIDERS.get(self.provider, _Provider("", (), "", ()))

    @property
    def host(self) -> str:
        """Where it answers, without the path."""
        parts = urlsplit(self.base_url)
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{name}:{parts.port or (80 if parts.scheme == 'http' else 443)}"


class Trouble(NamedTuple):
    """What went wrong in one line, what to do about it, and whether trying again may help."""

    line: str
    hint: str = ""
    retry: bool = False
    overflow: bool = False


def choose(option: str | None, settings: Settings, env: Mapping[str, str]) -> Choice:
    """The model that the option names, or the settings, or what is set up; else offline."""
    variable = env.get("CO_CLI_MODEL", "").strip()
    source = "CO_CLI_MODEL" if variable and variable == settings.model else "settings.json"
    for text, why in ((option or "", "--model"), (settings.model, source)):
        if text.strip():
            return _named(text.strip(), why, settings, env)
    found = {name: sign for name in PROVIDERS if (sign := _sign(name, settings, env))}
    if not found:
        return Choice("offline", "", "no model is chosen and no key is set")
    (first, sign), *rest = found.items()
    why = f"{sign} is set"
    if rest:
        *signs, last = found.values()
        many = "both" if len(found) == 2 else "all"
        why = f"{', '.join(signs)} and {last} are {many} set; {first} comes first"
    url = _url(first, settings, env)
    return Choice(first, PROVIDERS[first].model, why, tuple(name for name, _ in rest), url)


def _sign(provider: str, settings: Settings, env: Mapping[str, str]) -> str:
    """The variable or setting that shows that a provider is set up."""
    if provider == "compatible":
        return "model_base_url" if settings.model_base_url else ""
    known = PROVIDERS[provider]
    signs = known.url_from if provider == "ollama" else known.keys
    return next((name for name in signs if env.get(name, "").strip()), "")


def _named(text: str, source: str, settings: Settings, env: Mapping[str, str]) -> Choice:
    provider, _, name = (part.strip() for part in text.partition(":"))
    provider = _ALIASES.get(provider.lower(), provider.lower())
    if provider == "offline" and not name:
        return Choice("offline", "", source)
    if find_secret(text):
        raise SettingsError(
            f"{source} holds what looks like a key, not a model's name",
            hint="A key goes into a variable such as OPENAI_API_KEY.",
        )
    plain = name.isprintable() and len(name.split()) < 2 and len(name) <= LONGEST
    if provider not in PROVIDERS or not plain:
        meant = f"; did you mean '{near}'?" if (near := _meant(text)) else ""
        shown = visible(text[:64], keep="")
        raise SettingsError(f"{source}: there is no model '{shown}'{meant}", hint=_CHOICES)
    name = name or PROVIDERS[provider].model
    return Choice(provider, name, source, (), _url(provider, settings, env))


def _meant(text: str) -> str:
    """What a person may have meant by a name that is none."""
    provider, _, name = text.partition(":")
    maker = next((_MAKERS[start] for start in _MAKERS if text.lower().startswith(start)), "")
    if maker:
        return visible(f"{maker}:{text[:64]}", keep="")
    near = nearest(provider.lower(), [*PROVIDERS, *_ALIASES, "offline"])
    return visible(f"{near}:{name[:64]}", keep="") if name and near in PROVIDERS else near


def _url(provider: str, settings: Settings, env: Mapping[str, str]) -> str:
    """Where a provider answers, as the settings or the environment say."""
    known = PROVIDERS[provider]
    source = next((name for name in known.url_from if env.get(name, "").strip()), "")
    text = env.get(source, "").strip() or known.url
    if provider == "compatible":
        source, text = "model_base_url", settings.model_base_url.strip()
        if not text:
            message = "compatible:MODEL needs an address, and model_base_url is not set"
            raise SettingsError(message, hint=f"Set it to such as {_EXAMPLE}.")
    if source == "OLLAMA_HOST":
        text = _as_ollama_reads_it(text)
    url = _checked(source, text, known.keys[0])
    return f"{url}/v1" if provider == "ollama" and not urlsplit(url).path else url


def _as_ollama_reads_it(text: str) -> str:
    """Its own variable may lack all but the host, and name the address it listens at."""
    text = re.sub(r"^(\w+://)?(?:0\.0\.0\.0|\[::\])?(?=[:/]|$)", r"\1localhost", text)
    if "://" in text:
        return text
    host, slash, path = text.partition("/")
    port = "" if re.search(r":\d+$", host) else ":11434"
    return f"http://{host}{port}{slash}{path}"


def _checked(source: str, text: str, key: str) -> str:
    """The address, when it is one; what is wrong with it is said without showing it."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = None
    if "@" in text or find_secret(text):
        raise SettingsError(
            f"{source} holds a name or password, which an address must not",
            hint=f"Take it out of the address; a key goes into {key}.",
        )
    if not fits or text.split() != [text] or not text.isprintable():
        raise SettingsError(f"{source} must be an http or https address, such as {_EXAMPLE}")
    return text.rstrip("/")


def build(choice: Choice, env: Mapping[str, str]) -> Model[Any]:
    """The model to talk to; only its own provider's library is loaded."""
    if choice.provider == "offline":
        raise ModelTrouble("offline there is no model to talk to", hint=_CHOICES)
    key = _key(choice, env)
    makers: dict[str, Callable[[Choice, str, AsyncClient], Model[Any]]] = {
        "gemini": _gemini,
        "anthropic": _anthropic,
    }
    try:
        from co_cli.providers.bounds import client

        return makers.get(choice.provider, _openai)(choice, key, client(SECONDS))
    except ImportError as error:
        raise ModelTrouble(
            f"the {choice.provider} model needs a package that is not installed",
            hint="pip install 'co-cli[models]'",
        ) from error
    except (OSError, ValueError) as error:  # a certificate or proxy that the library cannot use
        raise ModelTrouble(
            f"{choice} cannot be set up here ({type(error).__name__})",
            hint="Look at the variables for proxies and certificates, such as SSL_CERT_FILE.",
        ) from error


def _key(choice: Choice, env: Mapping[str, str]) -> str:
    """The key from the environment; empty where none is needed."""
    known = choice.known
    name = next((name for name in known.keys if env.get(name, "").strip()), known.keys[0])
    key = env.get(name, "").strip()
    keyless = choice.provider in ("ollama", "compatible")
    if not key and not (keyless or (choice.provider == "openai" and choice.base_url != known.url)):
        hint = f"Set {name} in your environment, or choose another model with --model."
        raise ModelTrouble(f"{choice} needs a key, and {name} is not set", hint=hint)
    if key and not re.fullmatch(r"[!-~]+", key):
        # The libraries would show the whole key in their complaint.
        hint = "Copy it anew, without spaces, quotes or line breaks."
        raise ModelTrouble(f"{name} holds a character that no key has", hint=hint)
    if len(key) >= 8:  # anything shorter is no key, and would be found in every sentence
        _sent.add(key)
    return key


def _settings() -> ModelSettings:
    # The libraries wait as long as a provider tells them to; whoever asks is told at once instead.
    return {"timeout": SECONDS, "max_retries": 0}


def _gemini(choice: Choice, key: str, http: AsyncClient) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=key, base_url=choice.base_url, http_client=http)
    return GoogleModel(choice.name, provider=provider, settings=_settings())


def _anthropic(choice: Choice, key: str, http: AsyncClient) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key=key, base_url=choice.base_url, http_client=http)
    return AnthropicModel(choice.name, provider=provider, settings=_settings())


def _openai(choice: Choice, key: str, http: AsyncClient) -> Model[Any]:
    """OpenAI's newer models take tools in its Responses API only; all others have the older."""
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    name, url, key, settings = choice.name, choice.base_url, key or "none", _settings()
    # Without this, an answer that ends in the middle passes for a whole one.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if choice.provider == "ollama":
        ollama = OllamaProvider(url, key, http_client=http)
        return OllamaModel(name, provider=ollama, profile=profile, settings=settings)
    if choice.provider == "compatible":
        other = OpenAICompatibleProvider("compatible", base_url=url, api_key=key, http_client=http)
        return OpenAIChatModel(name, provider=other, profile=profile, settings=settings)
    provider = OpenAIProvider(url, key, http_client=http)
    if (urlsplit(url).hostname or "").endswith("api.openai.com"):  # also the regional ones
        return OpenAIResponsesModel(name, provider=provider, settings=settings)
    return OpenAIChatModel(name, provider=provider, profile=profile, settings=settings)


_AGAIN = "Try again in a while, or choose another model with --model."
_LESS = "Ask for less at once."
# The framework's kinds of error, the special ones first: line, hint, whether to try again.
_SAYINGS = (
    ("ModelContextWindowExceededError", "the conversation is too long for {who}",
     "Say less at once, shorten it with /compact, or begin anew with /clear.", False),
    ("ModelAuthenticationError", "{who} {refused}", "Check {keys}.", False),
    ("ModelNotFoundError", "{provider} has no model '{name}'{status}", "{instead}", False),
    ("ModelRequestRejectedError", "{who} would not take the request{status}{words}", "", False),
    ("ModelRateLimitError", "{who} takes no more requests just now{status}{wait}", _AGAIN, True),
    ("ModelQuotaExceededError", "the quota or credit for {who} is used up{status}",
     "See to it with the provider, or choose another model with --model.", False),
    ("ModelOverloadedError", "{who} is overloaded{status}{wait}", _AGAIN, True),
    ("ModelUnavailableError", "{who} is not available just now{status}{wait}", _AGAIN, True),
    ("ModelServerError", "{who} failed with an error of its own{status}", _AGAIN, True),
    ("ModelTimeoutError", "{late}", _AGAIN, True),
    ("ModelRequestTimeout", "{late}", _AGAIN, True),
    ("ModelConnectionError", "{lost}", "{reach}", True),
    ("ModelHTTPError", "{who} answered with an error{status}{words}", _AGAIN, False),
    ("ModelAPIError", "{broken}", _AGAIN, True),
    ("UsageLimitExceeded", "{who} needed more steps than one turn may take", _LESS, False),
    ("ContentFilterError", "{who} kept its answer back (content filter)",
     "Put it in other words.", False),
    ("IncompleteToolCall", "the answer of {who} reached its length limit", _LESS, False),
    ("UnexpectedModelBehavior", "{who} {misbehaved}",
     "Try again, or choose a model that is better with tools.", True),
)  # fmt: skip


def explain(error: BaseException, choice: Choice) -> Trouble | None:
    """What went wrong with a model, in words that show no key and no text; None when not that."""
    from pydantic_ai import exceptions

    cause: BaseException | None = error
    while cause is not None:  # a library may have taken it for its own
        if isinstance(cause, GaveUp):
            return Trouble(f"{choice} {cause}", cause.hint, True)
        cause = cause.__cause__ or cause.__context__
    for kind, line, hint, retry in _SAYINGS:
        if isinstance(error, getattr(exceptions, kind, ())):
            words = _words(error, choice)
            overflow = kind == "ModelContextWindowExceededError"
            return Trouble(line.format_map(words), hint.format_map(words), retry, overflow)
    return None


def _words(error: BaseException, choice: Choice) -> dict[str, str]:
    """What the lines about an error may speak of."""
    status, wait = (getattr(error, name, None) for name in ("status_code", "retry_after"))
    phase, message = getattr(error, "phase", None), getattr(error, "message", "")
    said = _sanitised(getattr(error, "body", None))
    words = f": {said}" if said else ""
    cut = f"the answer of {choice} was cut off"
    away = f"{choice} cannot be reached at {choice.host}"
    late = f"{choice} did not answer in time ({choice.host})"
    garbled = f"{choice} gave no answer that can be read"
    return {
        "who": str(choice),
        "provider": choice.provider,
        "name": choice.name,
        "status": f" ({status})" if status else "",
        "words": words,
        "wait": f"; it asks to wait {max(1, round(wait))} s" if wait else "",
        # Whoever refuses a key may show it.
        "refused": f"refused access (403){words}" if status == 403 else "refused the key",
        "keys": " or ".join(choice.known.keys),
        "instead": _instead(error, choice),
        "late": away if phase == "connect" else late,
        "lost": cut if phase in ("read", "write") else away,
        "reach": _AGAIN if phase in ("read", "write") else _reach(choice),
        "broken": cut if "finish_reason" in message else garbled,
        "misbehaved": "kept calling a tool wrongly"
        if "exceeded max retries" in message
        else "gave no answer that can be used",
    }


def _instead(error: BaseException, choice: Choice) -> str:
    """What to do about a model that is not there."""
    if suggested := getattr(error, "suggested_model_id", None):
        return f"Did you mean {visible(str(suggested)[:LONGEST], keep='')}?"
    if choice.provider == "ollama":
        return f"Run `ollama pull {choice.name}`, or choose another model with --model."
    if choice.base_url != choice.known.url:
        return f"Check the name, and whether {choice.base_url} is right."
    return "Choose another model with --model."


def _reach(choice: Choice) -> str:
    """What to do about a model that cannot be reached."""
    if choice.provider == "ollama":
        return "Is `ollama serve` running?"
    if choice.base_url != choice.known.url:
        return "Is the server running there?"
    return "Check your network; --model offline needs none."


def _sanitised(body: object) -> str:
    """The sentence in a provider's error, short and harmless; all else in there is left out."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    text = visible(" ".join(said.split()), keep="") if isinstance(said, str) else ""
    secret = find_secret(text) or any(key in text for key in _sent)
    return "" if secret else text[:LONGEST]
