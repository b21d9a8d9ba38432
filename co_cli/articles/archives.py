"""Zip files that come from anywhere: whole, not locked, and not larger inside than is bearable."""

import io
import zipfile
import zlib

from co_cli.articles.outcome import Unread

MOST_UNPACKED = 50_000_000  # bytes of all that is in one archive


def open_archive(data: bytes, what: str) -> zipfile.ZipFile:
    """A zip file that is whole and does not unpack to more than is bearable."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise Unread(f"the {what} is broken: it is no whole zip file") from error
    parts = archive.infolist()
    if sum(part.file_size for part in parts) > MOST_UNPACKED or len(parts) > 10_000:
        raise too_large(what)
    if any(part.flag_bits & 1 for part in parts):
        raise Unread(f"the {what} is locked with a password", "Save a copy without a password.")
    return archive


def unpacked(archive: zipfile.ZipFile, path: str, what: str) -> bytes:
    """One file of an archive; what the archive says of its size may be a lie."""
    try:
        with archive.open(path) as file:
            data = file.read(MOST_UNPACKED + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise Unread(f"the {what} is broken: {path} cannot be unpacked") from error
    if len(data) > MOST_UNPACKED:
        raise too_large(what)
    return data


def too_large(what: str) -> Unread:
    """The error for an archive that is a bomb, or as good as one."""
    return Unread(f"the {what} unpacks to more than {MOST_UNPACKED // 1_000_000} MB")
