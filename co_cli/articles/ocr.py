"""Pictures: their format and size from their first bytes, and their text where OCR is installed."""

import os
import shutil
import subprocess
from typing import NamedTuple

from co_cli.articles.outcome import Read, Unread

_PATIENCE = 60  # seconds for one picture
_LEAST = 26  # bytes of the smallest picture


class Picture(NamedTuple):
    """What the first bytes of a picture say of it; a size of 0 is not known."""

    format: str
    width: int
    height: int


def picture(data: bytes) -> Picture | None:
    """What a file is if it is a picture."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture("PNG", int.from_bytes(data[16:20]), int.from_bytes(data[20:24]))
    if data[:6] in (b"GIF87a", b"GIF89a"):
        sides = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        return Picture("GIF", *sides)
    if data.startswith(b"\xff\xd8\xff"):
        return Picture("JPEG", *_jpeg_sides(data))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Picture("WebP", 0, 0)
    if data[:4] in (b"II*\0", b"MM\0*"):
        return Picture("TIFF", 0, 0)
    return None


def _jpeg_sides(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        mark = data[at + 1]
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return 0, 0


def read_image(data: bytes, found: Picture, name: str) -> Read:
    """What is known of a picture, and its text if there is a program that can read it."""
    if len(data) < _LEAST:
        raise Unread("the picture is broken: nothing follows its first bytes")
    title = os.path.splitext(name)[0] or f"A picture ({found.format})"
    sides = f", {found.width} x {found.height} pixels" if found.width else ""
    known = f"# {title}\n\n{found.format} picture{sides}, {len(data)} bytes.\n"
    text = read_picture(data)
    if text:
        read = "The text was read from a picture, by OCR; letters may be wrong."
        return Read(title, f"{known}\n{text}\n", [read])
    why = "No text could be read in the picture."
    if not shutil.which("tesseract"):
        why = "Text in the picture was not read: tesseract is not installed."
    return Read(title, f"{known}\n{why}\n", [why])


def read_picture(data: bytes) -> str:
    """The text in a picture by tesseract; empty where it is not installed or finds none."""
    line = ["tesseract", "stdin", "stdout"]
    try:
        done = subprocess.run(line, input=data, capture_output=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").replace("\f", "").strip()
