"""The vectors of passages that were read closely, kept beside the index and outliving it.

One file of rows that only grows: the passage's hash, the vector, a checksum. A row that does not
fit its checksum is not believed, and what a crash left half written is cut off. Made by other
weights, the whole file counts for nothing.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from co_cli.knowledge.store import disk

KEY = 12
_HEAD = 64
_FEW = 30  # keys that are looked for one by one


class Vectors:
    """The vectors of one notebook, of `dim` bytes each, made by what `name` says."""

    def __init__(self, path: str, name: str, dim: int) -> None:
        self.path = path
        self._head = f"co vectors 1 {name}".encode()[: _HEAD - 1].ljust(_HEAD - 1) + b"\n"
        self._row = struct.Struct(f"<{KEY}s{dim}sI")

    def find(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors that there are of these passages."""
        wanted = set(keys)
        with self._mapped() as data:
            if not wanted or len(data) < _HEAD or data[:_HEAD] != self._head:
                return {}
            if len(wanted) > _FEW:
                return {key: vector for key, vector in self._rows(data) if key in wanted}
            return {key: found for key in wanted if (found := self._one(data, key))}

    def add(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep these as well; on the disk before it returns."""
        rows = self._packed(vectors.items())
        with disk.locked(self.path):
            fd = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                size = os.fstat(fd).st_size
                if os.pread(fd, _HEAD, 0) != self._head:
                    os.ftruncate(fd, 0)
                    rows, size = self._head + rows, 0
                else:
                    size -= (size - _HEAD) % self._row.size
                    os.ftruncate(fd, size)
                os.lseek(fd, size, os.SEEK_SET)
                disk.write_all(fd, rows)
                disk.sync_file(fd)
            finally:
                os.close(fd)

    def keep(self, keys: Iterable[bytes]) -> None:
        """Forget all but these; for a purge, and to tidy up."""
        if not os.path.lexists(self.path):
            return
        wanted = set(keys)
        with disk.locked(self.path):
            with self._mapped() as data:
                ours = data[:_HEAD] == self._head
                kept = dict(self._rows(data)) if ours else {}
            rows = self._packed(row for row in kept.items() if row[0] in wanted)
            disk.replace(self.path, self._head + rows)

    def _packed(self, rows: Iterable[tuple[bytes, bytes]]) -> bytes:
        return b"".join(self._row.pack(key, v, zlib.crc32(key + v)) for key, v in rows)

    def _rows(self, data: mmap.mmap | bytes) -> Iterator[tuple[bytes, bytes]]:
        whole = _HEAD + (len(data) - _HEAD) // self._row.size * self._row.size
        for key, vector, told in self._row.iter_unpack(memoryview(data)[_HEAD:whole]):
            if zlib.crc32(key + vector) == told:
                yield key, vector

    def _one(self, data: mmap.mmap | bytes, key: bytes) -> bytes | None:
        at = data.find(key, _HEAD)
        while at >= 0:
            if (at - _HEAD) % self._row.size == 0 and at + self._row.size <= len(data):
                _, vector, told = self._row.unpack_from(data, at)
                if zlib.crc32(key + vector) == told:
                    return bytes(vector)
            at = data.find(key, at + 1)
        return None

    @contextmanager
    def _mapped(self) -> Iterator[mmap.mmap | bytes]:
        """The file's bytes; none where there is no such file or it is no plain one."""
        data = None
        with suppress(OSError, ValueError):
            fd = os.open(self.path, disk.READ_FLAGS)
            try:
                data = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(fd)
        if data is None:
            yield b""
        else:
            with data:
                yield data
