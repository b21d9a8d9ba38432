"""Which model a session talks to: chosen by the person, or by what is set up.

Loads no provider's library before a model of it is built. Knows no agent and no notes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from co_cli.config import Settings
from co_cli.errors import SettingsError
from co_cli.providers import registry
from co_cli.providers.registry import PROVIDERS, Choice

if TYPE_CHECKING:
    from pydantic_ai.models import Model

SECONDS = 120.0  # without a byte of an answer; for connecting, the framework's clients wait 5


def choose(
    option: str | None, settings: Settings, env: Mapping[str, str], switch: str = "--model"
) -> Choice:
    """The model that the option names, or the settings, or what is set up; else offline.

    `switch` is where the option comes from: `--model`, or `/model` in the chat.
    """
    env = {**env, "model_base_url": settings.model_base_url}  # which is no variable's to say
    from_env = env.get("CO_CLI_MODEL", "").strip() == settings.model
    source = "CO_CLI_MODEL" if from_env else "settings.json"
    for text, why in ((option or "", switch), (settings.model, source)):
        if text.strip():
            return registry.named(text.strip(), why, "model", env, switch)
    found = {name: sign for name in PROVIDERS if (sign := _sign(name, env))}
    if not found:
        return Choice("offline", "", "no model is chosen and no key is set", switch=switch)
    first, *others = found
    *signs, last = found.values()
    why = f"{last} is set"
    if others:
        many = "both" if len(found) == 2 else "all"
        why = f"{', '.join(signs)} and {last} are {many} set; {first} comes first"
    url = registry.address(first, env)
    return Choice(first, PROVIDERS[first].model, why, tuple(others), url, switch)


def _sign(provider: str, env: Mapping[str, str]) -> str:
    """The variable or setting that shows that a provider of models is set up."""
    known = PROVIDERS[provider]
    signs = known.url_from if known.keyless else known.keys
    return next((name for name in signs if known.model and env.get(name, "").strip()), "")


def build(choice: Choice, env: Mapping[str, str]) -> Model[Any]:
    """The model to talk to; only its own provider's library is loaded."""
    if choice.provider == "offline":
        raise SettingsError("there is no model to talk to offline", hint=registry.CHOICES["model"])
    try:
        from co_cli.providers.bounds import client

        provider = registry.connect(choice, env, http_client=client(SECONDS))
        # The libraries wait as long as a provider tells them to; whoever asks is told at once.
        settings = {"timeout": SECONDS, "max_retries": 0}
        return _kind(choice)(choice.name, provider=provider, settings=settings)
    except ImportError as error:
        raise registry.missing_package(choice) from error
    except (OSError, ValueError) as error:  # a certificate or proxy that the library cannot use
        told = f"{choice} cannot be set up here ({type(error).__name__})"
        hint = "Check the variables for proxies and certificates, such as SSL_CERT_FILE."
        raise SettingsError(told, hint=hint) from error


def _kind(choice: Choice) -> Callable[..., Model[Any]]:
    """OpenAI's newer models take tools in its Responses API only; all others have the older."""
    if choice.provider == "gemini":
        from pydantic_ai.models.google import GoogleModel

        return GoogleModel
    if choice.provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel

        return AnthropicModel
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    host = urlsplit(choice.base_url).hostname or ""
    if choice.provider == "openai" and host.endswith("api.openai.com"):  # also the regional ones
        return OpenAIResponsesModel
    # Without this, an answer that ends in the middle passes for a whole one.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return partial(OllamaModel if choice.provider == "ollama" else OpenAIChatModel, profile=profile)
