"""The embedders a person can choose: Co's own, sentence-transformers, a provider's model.

Nothing heavy is loaded before one is chosen. Knows no index; the built-in embedder is in the core.
"""

import asyncio
import os
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import isfinite
from typing import Literal
from urllib.parse import urlsplit

from co_cli.config import OWN_EMBEDDER
from co_cli.errors import CoError, EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import Embedder, built_in
from co_cli.providers import registry
from co_cli.providers.registry import Choice
from co_cli.providers.trouble import explain

Purpose = Literal["document", "query"]

BATCH = 64
SECONDS = {"document": 60.0, "query": 10.0}  # for one batch, retries included


def choose(spec: str) -> Embedder:
    """The embedder that the setting names; the built-in one when it names none."""
    spec = spec.strip()
    if spec in OWN_EMBEDDER:
        return built_in()
    with _told_plainly(Choice(spec, "", "")):
        choice = registry.named(spec, "embedder", "embedder", os.environ, "the setting embedder")
    return _Provided(choice)


def signed_bytes(values: Sequence[float]) -> bytes:
    """A vector of floats in signed bytes, the largest at 127."""
    if not all(map(isfinite, values)):
        raise ValueError("a value that is no number")
    most = max(map(abs, values), default=0.0)
    scale = 127 / most if most > 1e-30 else 0.0
    return array("b", [round(value * scale) for value in values]).tobytes()


class _Provided:
    """A provider's embedder, reached through the agent framework; its answers are checked."""

    def __init__(self, choice: Choice) -> None:
        with _told_plainly(choice):
            from pydantic_ai.embeddings import Embedder as Client
            from pydantic_ai.embeddings import infer_embedding_model

            provider = registry.connect(choice, os.environ)
            name = f"{choice.known.known_as or choice.provider}:{choice.name}"
            model = infer_embedding_model(name, provider_factory=lambda _name: provider)
            self._provider, self._client = provider, Client(model)
        self._host = urlsplit(model.base_url or "").netloc.rpartition("@")[2]
        self.name = f"{choice}@{self._host}" if self._host else str(choice)
        self._choice, self._dim = choice, 0
        self._thread = ThreadPoolExecutor(1)  # the caller's own may have a running loop

    @property
    def dim(self) -> int:
        """How many values a vector has, as the first answer shows."""
        return self._dim or len(self.query("dimension"))

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text; all zeros for one with nothing to embed."""
        return self._vectors(texts, "document")

    def query(self, text: str) -> bytes:
        return self._vectors([text], "query")[0]

    def _vectors(self, texts: Sequence[str], purpose: Purpose) -> list[bytes]:
        asked = [text for text in texts if text.strip()]
        with _told_plainly(self._choice):
            found = self._thread.submit(lambda: asyncio.run(self._ask(asked, purpose))).result()
            vectors = iter([self._checked(values) for values in found])
        return [next(vectors) if text.strip() else bytes(self.dim) for text in texts]

    async def _ask(self, texts: list[str], purpose: Purpose) -> list[Sequence[float]]:
        vectors: list[Sequence[float]] = []
        async with self._provider:
            for at in range(0, len(texts), BATCH):
                batch = texts[at : at + BATCH]
                async with asyncio.timeout(SECONDS[purpose] if self._host else None):
                    found = (await self._client.embed(batch, input_type=purpose)).embeddings
                if len(found) != len(batch):
                    raise ValueError(f"{len(found)} vectors for {len(batch)} texts")
                vectors += found
        return vectors

    def _checked(self, values: Sequence[float]) -> bytes:
        vector = signed_bytes(values)
        if not vector or len(vector) != (self._dim or len(vector)):
            raise ValueError(f"{len(vector)} values, not {self._dim or 'a vector'}")
        self._dim = len(vector)
        return vector


@contextmanager
def _told_plainly(choice: Choice) -> Iterator[None]:
    """Whatever goes wrong in other people's code, in one line that says what to do."""
    try:
        yield
    except CoError as error:
        raise EmbedderUnavailable(error.sentence()) from error
    except ImportError as error:
        raise EmbedderUnavailable(registry.missing_package(choice).sentence()) from error
    except TimeoutError as error:
        raise EmbedderUnavailable(f"{choice} did not answer in time. Try again later.") from error
    except Exception as error:
        if trouble := explain(error, choice):
            raise EmbedderUnavailable(f"{trouble.line}. {trouble.hint}".rstrip()) from error
        why = " ".join(str(error).split())[:200]
        raise EmbedderUnavailable(f"{choice} cannot be used: {why}") from error
