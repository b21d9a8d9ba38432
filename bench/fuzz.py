"""Does any query break recall, or keep it busy? Strings nobody would ask."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does

from lab import Prose, scratch, tell, write_notebook

from co_cli.knowledge import Notebook

LIMIT = 2.0  # CPU seconds for one query
SYNTAX = (
    """AND OR NOT NEAR NEAR(a,3) title: body:x {a} -body: ^ * a* " "" ' '' ( ) + - : ; -- /* % _ """
    "\\ ` $1 ? :q @x '; drop/**/table/**/notes;-- \"OR/**/1=1-- match rank rowid"
).split()
SYNTAX += ["\0", "\ufeff", "\u200b", "\u202e"]
ALPHABETS = [  # CJK, kana, hangul, Arabic, Hebrew, Thai, emoji, marks, control, lone surrogates...
    (0x4E00, 0x9FFF), (0x3040, 0x30FF), (0xAC00, 0xD7A3), (0x600, 0x6FF), (0x590, 0x5FF),
    (0xE00, 0xE7F), (0x1F300, 0x1FAFF), (0x300, 0x36F), (0, 0x1F), (0xD800, 0xDFFF),
    (0xE000, 0xF8FF), (0xE0000, 0xE007F), (0x1D400, 0x1D7FF), (0x20, 0x7E), (0, 0x10FFFF),
]  # fmt: skip
BOMBS = ["(a+)+$", "a" * 40 + "!", "(" * 10, "[" * 500, "a?" * 60 + "a" * 60, ".*" * 200, "é" * 300]
EDGES = ["", " ", "\t\n\r", "a", "0", "-1", "1e309", "NaN", "٣٤", "½", "1.2.3.4", "#", "v", "C++"]
EDGES += ["https://x.y/z?q=1#f", "../../etc/passwd", "C:\\x", "a@b.c", "May 2026", "2026-13-45"]
UNITS = ["a", '"', "a ", "* ", "漢", "字 ", "(", "\0", "\ud800", "👩‍👩‍👧", "OR ", "x_", "word "]


def kinds(chance: random.Random) -> dict[str, Callable[[], str]]:
    """Makers of strings, by what they make."""
    words = Prose().vocabulary[:5000]

    def letters(longest: int = 60) -> str:
        low, high = chance.choice(ALPHABETS)
        return "".join(chr(chance.randint(low, high)) for _ in range(chance.randint(1, longest)))

    def mixed() -> str:
        pieces = chance.choices(SYNTAX, k=4) + chance.choices(words, k=3) + [letters(5), letters(5)]
        chance.shuffle(pieces)
        return chance.choice(["", " ", "-", '"']).join(pieces)

    def mutilated() -> str:
        word = chance.choice(words)
        at = chance.randrange(len(word))
        return word[:at] + chr(chance.randrange(0x3000)) + word[at + 1 :]

    def long() -> str:
        size = chance.choice([1_000, 10_000, 100_000])
        if chance.random() < 0.5:
            return " ".join(f"{chance.choice(words)}{n}" for n in range(size // 10))[:size]
        return (chance.choice(UNITS) * size)[:size]

    return {
        "letters": letters,
        "syntax": lambda: " ".join(chance.choices(SYNTAX, k=chance.randint(1, 12))),
        "mixed": mixed,
        "edges": lambda: chance.choice(EDGES) * chance.choice([1, 1, 1, 3, 50]),
        "bombs": lambda: chance.choice(BOMBS) + chance.choice(["", "x", " y" * 9]),
        "numbers": lambda: chance.choice(" #v-+") + str(10 ** chance.uniform(-300, 300)),
        "words": lambda: " ".join(chance.choices(words, k=chance.randint(1, 40))),
        "mutilated": mutilated,
        "long": long,
    }


def main() -> int:
    """Ask them all; 1 on an error or a query that took too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 strings in place of 20,000")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    count = 1_000 if options.quick else 20_000
    chance = random.Random(options.seed)
    makers = kinds(chance)
    often = [5, 5, 5, 3, 3, 3, 5, 5, 1]  # one in 35 is long
    times: list[tuple[float, str]] = []
    errors = 0
    with scratch() as folder:
        write_notebook(folder / "book", Prose().facts(1_000))
        with Notebook.open(folder / "book", watch=True) as book:
            book.recall("warm")
            for kind in chance.choices(list(makers), often, k=count):
                query = makers[kind]()
                about = f"{kind}: {query[:50]!r} of {len(query):,}"
                before = time.process_time()
                try:
                    book.recall(query, 10)
                except Exception as error:  # noqa: BLE001 - any error at all is looked for
                    errors += 1
                    print(f"  {about}: {error!r:.200}", flush=True)
                times.append((time.process_time() - before, about))
    spent = [each for each, _ in times]
    p99 = statistics.quantiles(spent, n=100)[-1] * 1000
    print(f"  {count:,} strings: p50 {statistics.median(spent) * 1000:.2f} ms, p99 {p99:.1f} ms")
    missed = tell("the slowest query, CPU seconds", max(spent), LIMIT, more=max(times)[1])
    missed += tell("queries that raised an error", errors, 0)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
