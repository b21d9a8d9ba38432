"""What reads passages for their meaning, and the vectors of those that were read closely.

These are kept beside the index and outlive it, in one file of rows that only grows: the passage's
hash, the vector, a checksum; the index holds only what is not in there. A row that does not fit its
checksum is not believed, and what a crash left half written is cut off. Made by other weights, the
whole file counts for nothing.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import Embedder, Meaning, built_in
from co_cli.knowledge.search.passages import KEY, digest
from co_cli.knowledge.store import disk

_HEAD = 64
SKIMMED, CLOSELY, OTHER = 0, 1, 2  # how a passage was read; OTHER: by the extra `languages`
_AT_ONCE = 20_000  # characters in other languages that one sync reads; the rest waits


class Vectors:
    """The vectors of one notebook, of `dim` bytes each, made by what `name` says."""

    def __init__(self, path: str, name: str, dim: int) -> None:
        self.path = path
        self._head = f"co vectors 1 {name}".encode()[: _HEAD - 1].ljust(_HEAD - 1) + b"\n"
        self._row = struct.Struct(f"<{KEY}s{dim}sI")
        self._data, self._places = b"", dict[bytes, int]()  # as the file was when it was read
        self._read: tuple[int, ...] = ()

    def get(self, key: bytes) -> bytes | None:
        """The vector of a passage, if there is one to be believed."""
        if key not in self._places:
            self._look()
        if key not in self._places:
            return None
        vector: bytes
        _, vector, told = self._row.unpack_from(self._data, self._places[key])
        return vector if zlib.crc32(key + vector) == told else None

    def find(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors that there are of these passages."""
        self._look()
        there = sorted(self._places.keys() & keys, key=self._places.__getitem__)
        return {key: vector for key in there if (vector := self.get(key)) is not None}

    def add(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep these as well; on the disk before it returns."""
        rows = self._packed(vectors)
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        with disk.locked(self.path), disk.opened(self.path, flags) as fd:
            ours, size = os.pread(fd, _HEAD, 0) == self._head, os.fstat(fd).st_size
            size = size - (size - _HEAD) % self._row.size if ours else 0
            os.ftruncate(fd, size)
            os.lseek(fd, size, os.SEEK_SET)
            disk.write_all(fd, rows if ours else self._head + rows)
            disk.sync_file(fd)
        self._read = ()

    def keep(self, keys: Iterable[bytes]) -> None:
        """Forget all but these; for a purge, and to tidy up."""
        if not os.path.lexists(self.path):
            return
        with disk.locked(self.path):
            disk.put(self.path, self._head + self._packed(self.find(keys)))

    def _packed(self, vectors: Mapping[bytes, bytes]) -> bytes:
        rows = (self._row.pack(key, v, zlib.crc32(key + v)) for key, v in vectors.items())
        return b"".join(rows)

    def _look(self) -> None:
        """Read the file again if it has changed; none, or one of other weights, counts as empty.

        It is copied: whoever maps a file that another program cuts off is killed.
        """
        data, state = b"", tuple[int, ...]()
        with suppress(OSError), disk.opened(self.path) as fd:
            info = os.fstat(fd)
            state = info.st_ino, info.st_size, info.st_mtime_ns
            if state == self._read:
                return
            with open(fd, "rb", closefd=False) as file:
                data = file.read()
        ends = len(data) + 1 - self._row.size if data[:_HEAD] == self._head else 0
        places = range(_HEAD, ends, self._row.size)
        self._data, self._places = data, {data[at : at + KEY]: at for at in places}
        self._read = state


class Reader:
    """The embedder of one notebook, if it has one, and what it said when it failed last."""

    def __init__(self, embedder: Embedder | None, path: str) -> None:
        self.embedder = embedder
        self.trouble = ""
        self.unread_languages = ""  # why text in other languages could not be read
        self._own = own = embedder if isinstance(embedder, Meaning) else None
        self.kept = Vectors(path, own.encoders, own.dim) if own else None  # these outlive the index

    def vector(self, key: bytes, how: int = CLOSELY) -> bytes | None:
        """The vector that is kept of a passage, if there is one."""
        if self.kept is None or self._own is None:
            return None
        return self.kept.get(other_key(self._own, key) if how == OTHER else key)

    def query(self, text: str, *, quick: bool = False) -> bytes:
        """A question as a vector; nothing when no embedder answers."""
        if quick and self._own:
            return self._own.quickly(text)
        try:
            return self.embedder.query(text) if self.embedder else b""
        except EmbedderUnavailable as error:
            if self._own and self._own.is_other(text):
                self.unread_languages = str(error)
            else:
                self.trouble = str(error)
            return b""

    def passages(
        self, texts: Mapping[bytes, str], known: Mapping[bytes, bytes]
    ) -> dict[bytes, tuple[bytes, int]] | None:
        """Vectors for these readings, and how each was made; None without an answer.

        `known` are vectors of a provider, which is not asked twice; it has one way to read. What
        has no meaning is left out; what waits for the extra `languages` has a vector of zeros.
        """
        if self.embedder is None or self.trouble:  # once a sync is enough
            return None
        known = self.kept.find(texts) if self.kept else known
        wanted = {key: text for key, text in texts.items() if key not in known}
        try:
            made = dict(zip(wanted, self.embedder.documents([*wanted.values()]), strict=True))
        except EmbedderUnavailable as error:
            self.trouble = str(error)
            return None
        found = {key: (known[key], CLOSELY) for key in texts.keys() & known.keys()}
        how = SKIMMED if self.kept else CLOSELY
        found |= {key: (vector, how) for key, vector in made.items() if any(vector)}
        rest = {key: text for key, text in wanted.items() if key not in found}
        return found | self._others({k: text for k, text in rest.items() if self._is_other(text)})

    def _is_other(self, text: str) -> bool:
        return bool(self._own and self._own.is_other(text))

    def _others(self, texts: Mapping[bytes, str]) -> dict[bytes, tuple[bytes, int]]:
        """Vectors of text in other languages: those that are kept, and some that are made now."""
        if not texts or self._own is None or self.kept is None:
            return {}
        keys = {other_key(self._own, key): key for key in texts}
        found = {keys[other]: (v, OTHER) for other, v in self.kept.find(keys).items()}
        some, left = dict[bytes, str](), _AT_ONCE
        for key, text in texts.items():
            if key not in found and (left := left - len(text)) > 0:
                some[key] = text
        waiting = {key: (bytes(self._own.dim), SKIMMED) for key in texts}
        return waiting | found | self.closely(some)

    def closely(self, texts: Mapping[bytes, str]) -> dict[bytes, tuple[bytes, int]]:
        """Read these closely, and keep the vectors; nothing where there is one way to read."""
        if self._own is None or self.kept is None:
            return {}
        found = dict[bytes, tuple[bytes, int]]()
        kept = dict[bytes, bytes]()
        for key, text in texts.items():
            other = self._own.is_other(text)
            if other and self.unread_languages:  # once is enough
                continue
            try:
                vector = self._own.closely(text)
            except EmbedderUnavailable as error:
                if not other:
                    raise
                self.unread_languages = str(error)
                continue
            found[key] = vector, OTHER if other else CLOSELY
            kept[other_key(self._own, key) if other else key] = vector
        with suppress(OSError):  # a folder that takes no file
            self.kept.add(kept)
        return found


def other_key(weights: Meaning, key: bytes) -> bytes:
    """By what the vector is known that the extra made of a passage, with the matrix of today."""
    return digest(key + weights.files["languages.bin"]["sha256"].encode())


def forget_others(path: str, keys: Iterable[bytes]) -> None:
    """Forget all vectors that are kept but those of these passages."""
    try:
        weights, there = built_in(), set(keys)
    except EmbedderUnavailable:
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    there.update([other_key(weights, key) for key in there])
    Vectors(path, weights.encoders, weights.dim).keep(there)
