"""The providers of models and of embedders: their names, keys, addresses and packages.

The one table of them. Loads no provider's library but to connect, and asks nobody anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from co_cli.errors import SettingsError, nearest
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.safety.secrets import find_secret

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider as Connected

WINDOW = 60_000  # tokens that nearly every hosted model takes, with room to answer
LONGEST = 200  # characters of a model's name, and of a provider's own words

Kind = Literal["model", "embedder"]


class Provider(NamedTuple):
    """What is known of a provider. `model` is the one taken when nobody names one."""

    keys: tuple[str, ...] = ()
    url: str = ""
    url_from: tuple[str, ...] = ()
    model: str = ""
    embeds: bool = True
    keyless: bool = False
    package: str = "models"  # an extra of Co, or what else has its library
    known_as: str = ""  # to the agent framework
    window: int = WINDOW


# In the order in which they are chosen when nobody chooses and several are set up.
PROVIDERS = {
    "compatible": Provider(
        ("CO_CLI_MODEL_API_KEY",), "", ("model_base_url",), "default", embeds=False, keyless=True,
    ),
    "gemini": Provider(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "https://generativelanguage.googleapis.com",
        ("GOOGLE_GEMINI_BASE_URL",), "gemini-flash-latest", known_as="google",
    ),
    "anthropic": Provider(
        ("ANTHROPIC_API_KEY",),
        "https://api.anthropic.com", ("ANTHROPIC_BASE_URL",), "claude-sonnet-5-5", embeds=False,
    ),
    "openai": Provider(
        ("OPENAI_API_KEY",),
        "https://api.openai.com/v1", ("OPENAI_BASE_URL",), "gpt-6.1-terra",
    ),
    "ollama": Provider(
        ("OLLAMA_API_KEY",),
        "http://localhost:11434/v1", ("OLLAMA_BASE_URL", "OLLAMA_HOST"), "qwen3", keyless=True,
        window=6_000,  # what a local server keeps when nobody told it more
    ),
    "sentence-transformers": Provider(package="sentence-transformers", keyless=True),
    "cohere": Provider(("CO_API_KEY",), package="pydantic-ai-slim[cohere]"),
    "voyageai": Provider(("VOYAGE_API_KEY",), package="pydantic-ai-slim[voyageai]"),
    "bedrock": Provider(package="pydantic-ai-slim[bedrock]"),
}  # fmt: skip
_ALIASES = {"google": "gemini"}
# How the names of models begin, for one that comes without its provider.
_MAKERS = {
    "gemini-": "gemini", "claude": "anthropic", "gpt": "openai", "text-embedding": "openai",
    "llama": "ollama", "qwen": "ollama", "nomic": "ollama",
}  # fmt: skip
_WINDOWS = {"gpt-4": 8_000, "gpt-4-0613": 8_000, "gpt-3.5-turbo": 16_000}
CHOICES: dict[Kind, str] = {
    "model": "Use offline, or PROVIDER:MODEL with gemini, anthropic, openai, ollama or compatible.",
    "embedder": "Use co, or PROVIDER:MODEL with gemini, openai, ollama or sentence-transformers.",
}
_EXAMPLE = "http://localhost:8000/v1"
sent_keys: set[str] = set()  # that a provider has seen, and so may show in an error


class Choice(NamedTuple):
    """A model or an embedder, why it is this one, and which other providers are set up as well.

    `switch` is what a person uses to choose another one.
    """

    provider: str
    name: str
    why: str
    others: tuple[str, ...] = ()
    base_url: str = ""
    switch: str = "--model"

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider

    def explain(self) -> str:
        """The choice and its reason in one line."""
        advice = '. Set "model" to choose.' if self.others else ""
        return f"{self} ({self.why}){advice}"

    @property
    def known(self) -> Provider:
        return PROVIDERS.get(self.provider, Provider())

    @property
    def window(self) -> int:
        """How many tokens it is sent at most."""
        return min(self.known.window, _WINDOWS.get(self.name, WINDOW))

    @property
    def host(self) -> str:
        """Where it answers, without the path."""
        parts = urlsplit(self.base_url)
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{name}:{parts.port or (80 if parts.scheme == 'http' else 443)}"


def named(text: str, source: str, kind: Kind, env: Mapping[str, str], switch: str) -> Choice:
    """What a text such as PROVIDER:MODEL chooses; an error says where the text came from."""
    provider, _, name = (part.strip() for part in text.partition(":"))
    provider = _ALIASES.get(provider.lower(), provider.lower())
    if find_secret(text):
        hint = "A key goes into a variable such as OPENAI_API_KEY."
        raise SettingsError(f"{source} holds what looks like a key, not a name", hint=hint)
    if (kind, provider, name) == ("model", "offline", ""):
        return Choice(provider, name, source, switch=switch)
    fits = name.isprintable() and len(name.split()) < 2 and len(name) <= LONGEST
    if not fits or provider not in _offering(kind) or (kind == "embedder" and not name):
        near = _meant(text, kind)
        meant = f"Did you mean {escape(near, keep='')}? " if near not in ("", text) else ""
        shown = escape(text[:64], keep="")
        raise SettingsError(f"{source}: there is no {kind} '{shown}'", hint=meant + CHOICES[kind])
    url = address(provider, env)
    return Choice(provider, name or PROVIDERS[provider].model, source, (), url, switch)


def model_names() -> list[tuple[str, str]]:
    """A model of each provider, with what it needs."""
    known = [(name, PROVIDERS[name]) for name in _offering("model")]
    needs = {name: "" if one.keyless else f"needs {one.keys[0]}" for name, one in known}
    return [("offline", ""), *((f"{name}:{one.model}", needs[name]) for name, one in known)]


def _offering(kind: Kind) -> list[str]:
    models = kind == "model"
    return [name for name, one in PROVIDERS.items() if (one.model if models else one.embeds)]


def _meant(text: str, kind: Kind) -> str:
    provider, _, name = text.partition(":")
    known = _offering(kind)
    maker = next((_MAKERS[start] for start in _MAKERS if text.lower().startswith(start)), "")
    if maker in known:
        return f"{maker}:{text[:64]}"
    near = nearest(provider.lower(), [*known, *_ALIASES, "offline" if kind == "model" else "co"])
    return f"{near}:{name[:64]}" if name and near in known else near


def address(provider: str, env: Mapping[str, str]) -> str:
    """Where a provider answers, as the environment says, or the setting among its variables."""
    known = PROVIDERS[provider]
    source = next((name for name in known.url_from if env.get(name, "").strip()), "")
    text = env.get(source, "").strip() or known.url
    if not text and provider == "compatible":
        unset = "compatible:MODEL needs an address, and model_base_url is not set"
        raise SettingsError(unset, hint=f"Set it, for example to {_EXAMPLE}.")
    if not text:
        return ""
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
        told = f"{source} holds a name or password, which an address must not"
        raise SettingsError(told, hint=f"Take it out of the address; a key goes into {key}.")
    if not fits or text.split() != [text] or not text.isprintable():
        raise SettingsError(f"{source} must be an http or https address, such as {_EXAMPLE}")
    return text.rstrip("/")


def key(choice: Choice, env: Mapping[str, str]) -> str:
    """The key from the environment; empty where none is needed."""
    known = choice.known
    if not known.keys:
        return ""
    name = next((name for name in known.keys if env.get(name, "").strip()), known.keys[0])
    found = env.get(name, "").strip()
    own_server = choice.provider == "openai" and choice.base_url != known.url
    if not found and not known.keyless and not own_server:
        hint = f"Set {name} in your environment, or choose another model with {choice.switch}."
        raise SettingsError(f"{choice} needs a key, and {name} is not set", hint=hint)
    if found and not re.fullmatch(r"[!-~]+", found):
        # The libraries would show the whole key in their complaint.
        hint = "Copy it again, without spaces, quotes or line breaks."
        raise SettingsError(f"{name} holds a character that no key has", hint=hint)
    if len(found) >= 8:  # anything shorter is no key, and would be found in every sentence
        sent_keys.add(found)
    return found


def missing_package(choice: Choice) -> SettingsError:
    """That a provider's library is not installed."""
    from co_cli.extras import install_hint

    hint = f"To install it: {install_hint(choice.known.package)}"
    return SettingsError(f"{choice} needs a package that is not installed", hint=hint)


def connect(choice: Choice, env: Mapping[str, str], **more: Any) -> Connected[Any]:
    """The framework's provider, with its key and address, as models and embedders have them."""
    if choice.provider == "compatible":
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        found: Any = partial(OpenAICompatibleProvider, "compatible")
    else:
        from pydantic_ai.providers import infer_provider_class

        found = infer_provider_class(choice.known.known_as or choice.provider)
    secret = key(choice, env)
    if choice.base_url:
        more |= {"base_url": choice.base_url, "api_key": secret or "none"}
    return found(**more)  # type: ignore[no-any-return]
