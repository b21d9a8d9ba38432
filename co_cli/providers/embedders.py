"""The embedders a person can choose: Co's own, sentence-transformers, a provider's model.

Nothing heavy is loaded before one is chosen. Knows no index; the built-in embedder is in the core.
"""

from __future__ import annotations

import asyncio
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from co_cli.config import OWN_EMBEDDER
from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import Embedder, built_in

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider

Kind = Literal["document", "query"]
Ask = Callable[[list[str], Kind], list[Sequence[float]]]

CHOICES = (
    "co, sentence-transformers:MODEL, or a provider's model such as "
    "ollama:nomic-embed-text, openai:text-embedding-3-small, google:gemini-embedding-001"
)
BATCH = 64
SECONDS = {"document": 60.0, "query": 10.0}  # for one batch, retries included
LOCAL_OLLAMA = "http://localhost:11434/v1"
_ALIASES = {"gemini": "google"}
_PACKAGES = {
    "sentence-transformers": "co-cli[sentence-transformers]",
    **{name: f"pydantic-ai-slim[{name}]" for name in ("bedrock", "cohere", "voyageai")},
}
_SAYINGS = {
    401: "refused the key: set the right one in the environment, such as OPENAI_API_KEY",
    403: "refused the key: set the right one in the environment, such as OPENAI_API_KEY",
    404: "has no such model: check its name (with Ollama, pull it first)",
    429: "will not answer so often, or the quota is used up: try again later",
}


def choose(spec: str) -> Embedder:
    """The embedder that the setting names; the built-in one when it names none."""
    spec = spec.strip()
    if spec in OWN_EMBEDDER:
        return built_in()
    provider, colon, model = spec.partition(":")
    if not (colon and provider and model):
        raise EmbedderUnavailable(f"there is no embedder {spec[:64]!r}; choose {CHOICES}")
    return _of_provider(_ALIASES.get(provider, provider), model)


def signed_bytes(values: Sequence[float]) -> bytes:
    """A vector of floats in signed bytes, the largest at 127."""
    if not all(map(isfinite, values)):
        raise ValueError("a value that is no number")
    most = max(map(abs, values), default=0.0)
    scale = 127 / most if most > 1e-30 else 0.0
    return array("b", [round(value * scale) for value in values]).tobytes()


class _Floats:
    """An embedder over a function that answers with floats; the answers are checked."""

    def __init__(self, name: str, ask: Ask) -> None:
        self.name = name
        self._ask = ask
        self._dim = 0

    @property
    def dim(self) -> int:
        """How many values a vector has, as the first answer shows."""
        return self._dim or len(self.query("dimension"))

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text; all zeros for one with nothing to embed."""
        return self._vectors(texts, "document")

    def query(self, text: str) -> bytes:
        """The vector of a question."""
        return self._vectors([text], "query")[0]

    def _vectors(self, texts: Sequence[str], kind: Kind) -> list[bytes]:
        asked = [text for text in texts if text.strip()]
        with _told_plainly(self.name):
            found = iter([self._checked(value) for value in self._ask(asked, kind)])
        return [next(found) if text.strip() else bytes(self.dim) for text in texts]

    def _checked(self, values: Sequence[float]) -> bytes:
        vector = signed_bytes(values)
        if not vector or len(vector) != (self._dim or len(vector)):
            raise ValueError(f"{len(vector)} values, not {self._dim or 'a vector'}")
        self._dim = len(vector)
        return vector


def _of_provider(provider: str, model_name: str) -> Embedder:
    """A model behind pydantic-ai; keys and addresses come from the environment as it reads them."""
    name = f"{provider}:{model_name}"
    used: list[Provider[Any]] = []

    def connect(provider_name: str) -> Provider[Any]:
        from pydantic_ai.providers import infer_provider
        from pydantic_ai.providers.ollama import OllamaProvider

        local = provider_name == "ollama" and not os.environ.get("OLLAMA_BASE_URL")
        used.append(OllamaProvider(LOCAL_OLLAMA) if local else infer_provider(provider_name))
        return used[-1]

    with _told_plainly(name):
        from pydantic_ai.embeddings import Embedder as Asker
        from pydantic_ai.embeddings import infer_embedding_model

        model = infer_embedding_model(name, provider_factory=connect)
        asker = Asker(model)
        host = urlsplit(model.base_url or "").netloc.rpartition("@")[2]
    one_at_a_time = Lock()

    async def answer(texts: list[str], kind: Kind) -> list[Sequence[float]]:
        vectors: list[Sequence[float]] = []
        async with used[0]:
            for at in range(0, len(texts), BATCH):
                batch = texts[at : at + BATCH]
                async with asyncio.timeout(SECONDS[kind] if host else None):
                    found = (await asker.embed(batch, input_type=kind)).embeddings
                if len(found) != len(batch):
                    raise ValueError(f"{len(found)} vectors for {len(batch)} texts")
                vectors += found
        return vectors

    def ask(texts: list[str], kind: Kind) -> list[Sequence[float]]:
        with one_at_a_time:  # in a thread of its own: the caller's may have a running loop
            pool = ThreadPoolExecutor(1)
            try:
                return pool.submit(lambda: asyncio.run(answer(texts, kind))).result()
            finally:
                pool.shutdown(wait=False)

    return _Floats(f"{name}@{host}" if host else name, ask)


@contextmanager
def _told_plainly(name: str) -> Iterator[None]:
    """Whatever goes wrong in other people's code, in one line that says what to do."""
    kind = name.partition(":")[0]
    try:
        yield
    except ImportError as error:
        packages = _PACKAGES.get(kind, "co-cli[models]")
        raise EmbedderUnavailable(
            f"{name} is not installed here: pip install '{packages}'"
        ) from error
    except TimeoutError as error:
        raise EmbedderUnavailable(f"{name} did not answer in time: try again later") from error
    except Exception as error:
        status = getattr(error, "status_code", 0)
        if status:
            saying = _SAYINGS.get(status, f"answered {status}: try again later")
        else:
            saying = "cannot be used: " + " ".join(str(error).split())[:200]
        raise EmbedderUnavailable(f"{name} {saying}") from error
