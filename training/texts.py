"""Sentences for the table: glosses of WordNet and descriptions of Debian's packages, from Debian.

    python training/texts.py WORDNET_FOLDER > sentences.txt

WORDNET_FOLDER is `usr/share/wordnet` of the package wordnet-base; descriptions are asked of
`apt-cache dumpavail`. Neither is kept in this project.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def glosses(folder: Path) -> Iterator[str]:
    """What WordNet says of each sense, and its examples."""
    for path in sorted(folder.glob("data.*")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("  ") or "|" not in line:
                continue
            words = line.split("|")[0].split()
            name = words[4].replace("_", " ")
            meaning, *examples = line.split("|", 1)[1].strip().split('; "')
            yield f"{name}: {meaning}"
            yield from (example.strip('" ') for example in examples)


def descriptions() -> Iterator[str]:
    """The first lines of what each package says of itself."""
    text = subprocess.check_output(["apt-cache", "dumpavail"], text=True, errors="replace")
    for match in re.finditer(r"^Description(?:-en)?: (.+)\n((?: .+\n)*)", text, re.MULTILINE):
        yield match[1]
        body = " ".join(line.strip() for line in match[2].splitlines()).replace(" . ", "\n")
        yield from (part.strip()[:400] for part in re.split(r"\n|(?<=[.!?])\s+(?=[A-Z])", body)[:4])


def main() -> None:
    """Print each sentence once."""
    texts = (*glosses(Path(sys.argv[1])), *descriptions())
    for line in dict.fromkeys(" ".join(text.split()) for text in texts):
        if len(line) > 15:
            print(line)


if __name__ == "__main__":
    main()
