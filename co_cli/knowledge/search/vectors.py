"""What reads passages for their meaning, and the vectors of those that were read closely.

These are kept beside the index and outlive it, in one file of rows that only grows: the passage's
hash, the vector, a checksum. A row that does not fit its checksum is not believed, and what a crash
left half written is cut off. Made by other weights, the whole file counts for nothing.
"""

import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import Embedder, Meaning
from co_cli.knowledge.search.passages import KEY
from co_cli.knowledge.store import disk

_HEAD = 64


class Vectors:
    """The vectors of one notebook, of `dim` bytes each, made by what `name` says."""

    def __init__(self, path: str, name: str, dim: int) -> None:
        self.path = path
        self._head = f"co vectors 1 {name}".encode()[: _HEAD - 1].ljust(_HEAD - 1) + b"\n"
        self._row = struct.Struct(f"<{KEY}s{dim}sI")

    def find(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors that there are of these passages."""
        wanted, data = set(keys), self._mapped()
        whole = len(data) - (len(data) - _HEAD) % self._row.size
        rows = self._row.iter_unpack(memoryview(data)[_HEAD:whole])
        mine = (row for row in rows if row[0] in wanted)
        return {key: vector for key, vector, told in mine if zlib.crc32(key + vector) == told}

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

    def keep(self, keys: Iterable[bytes]) -> None:
        """Forget all but these; for a purge, and to tidy up."""
        if not os.path.lexists(self.path):
            return
        with disk.locked(self.path):
            disk.put(self.path, self._head + self._packed(self.find(keys)))

    def _packed(self, vectors: Mapping[bytes, bytes]) -> bytes:
        rows = (self._row.pack(key, v, zlib.crc32(key + v)) for key, v in vectors.items())
        return b"".join(rows)

    def _mapped(self) -> mmap.mmap | bytes:
        """The file's bytes; none where it is not there, no plain one, or made by other weights."""
        with suppress(OSError, ValueError), disk.opened(self.path) as fd:
            data = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
            if data[:_HEAD] == self._head:
                return data
        return self._head


class Reader:
    """The embedder of one notebook, if it has one, and what it said when it failed last."""

    def __init__(self, embedder: Embedder | None, path: str) -> None:
        self.embedder = embedder
        self.trouble = ""
        self._own = own = embedder if isinstance(embedder, Meaning) else None
        self.kept = Vectors(path, own.name, own.dim) if own else None  # these outlive the index

    def query(self, text: str, *, quick: bool = False) -> bytes:
        """A question as a vector; nothing when no embedder answers."""
        if quick and self._own:
            return self._own.quickly(text)
        try:
            return self.embedder.query(text) if self.embedder else b""
        except EmbedderUnavailable as error:
            self.trouble = str(error)
            return b""

    def passages(
        self, texts: Mapping[bytes, str], known: Mapping[bytes, bytes]
    ) -> dict[bytes, tuple[bytes, bool]] | None:
        """Vectors for these readings, and whether each was made closely; None without an answer.

        `known` are vectors of a provider, which is not asked twice; it has one way to read.
        """
        if self.embedder is None or self.trouble:  # once a sync is enough
            return None
        known = self.kept.find(texts) if self.kept else known
        wanted = {key: text for key, text in texts.items() if key not in known}
        try:
            made = self.embedder.documents(list(wanted.values()))
        except EmbedderUnavailable as error:
            self.trouble = str(error)
            return None
        found = {key: (known[key], True) for key in texts.keys() & known.keys()}
        new = {key: (v, not self.kept) for key, v in zip(wanted, made, strict=True)}
        return found | new

    def closely(self, texts: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """Read these closely, and keep the vectors; nothing where there is one way to read."""
        if self._own is None or self.kept is None:
            return {}
        found = {key: self._own.closely(text) for key, text in texts.items()}
        with suppress(OSError):  # a folder that takes no file
            self.kept.add(found)
        return found
