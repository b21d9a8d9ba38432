"""Which languages a project uses, by the names of its files, and what people call them.

Opens no file. Looks at some names of some folders, so that a large project costs no more.
"""

import os
from collections import Counter, deque
from itertools import islice
from shlex import quote

from co_cli.errors import CoError, nearest

_SIGNS = {  # how names end, or the whole name of a file that only such projects have
    "c": "c h", "clojure": "clj cljs", "cpp": "cc cpp cxx hh hpp", "csharp": "cs", "dart": "dart",
    "css": "css less scss", "elixir": "ex exs mix.exs", "elm": "elm", "erlang": "erl hrl",
    "fsharp": "fs fsx", "go": "go go.mod", "haskell": "hs", "html": "htm html",
    "java": "java pom.xml build.gradle", "javascript": "cjs js jsx mjs package.json",
    "julia": "jl", "kotlin": "kt kts", "lua": "lua", "nix": "nix", "ocaml": "ml mli",
    "perl": "pl pm", "php": "php composer.json", "r": "r rmd", "ruby": "rb gemfile gemfile.lock",
    "python": "ipynb py pyi pyproject.toml requirements.txt", "rust": "rs cargo.toml",
    "scala": "sbt scala", "shell": "bash sh zsh", "sql": "sql", "swift": "swift",
    "terraform": "tf", "typescript": "cts mts ts tsx tsconfig.json", "zig": "zig",
}  # fmt: skip
_BY_SIGN = {sign: name for name, some in _SIGNS.items() for sign in some.split()}
_CALLED = {"bash": "shell", "c#": "csharp", "c++": "cpp", "f#": "fsharp", "golang": "go"}
_OTHERS = frozenset(  # folders of other people's code, or of what was made from one's own
    "__pycache__ bower_components build dist env external node_modules out site-packages target "
    "third_party third-party vendor venv".split()
)
_WHOLE = ("gemfile",)  # the only whole name without a dot: a file called `go` tells nothing
_FOLDERS, _NAMES = 200, 200  # how many are looked into, and how many names of each
_ALL_NAMES = 6000  # of all folders together
_SHARE = 10  # one in so many source files makes a language one that is used


def used_in(folder: str) -> frozenset[str]:
    """The languages of a project: those that a manifest tells, or a tenth of its source files."""
    told, count = set[str](), Counter[str]()
    waiting, left = deque([folder]), _ALL_NAMES
    for _ in range(_FOLDERS):
        if not (waiting and left):
            break
        try:
            with os.scandir(waiting.popleft()) as found:
                entries = [*islice(found, min(_NAMES, left))]
        except OSError:
            continue
        left -= len(entries)
        for entry in (one for one in entries if one.name[0] != "."):
            name = entry.name.lower()
            if entry.is_dir(follow_symlinks=False):
                waiting.extend(() if name in _OTHERS else [entry.path])
            elif ("." in name or name in _WHOLE) and name in _BY_SIGN:
                told.add(_BY_SIGN[name])
            elif "." in name and (language := _BY_SIGN.get(name.rpartition(".")[2])):
                count[language] += 1
    return frozenset(told | {one for one, many in count.items() if many * _SHARE >= count.total()})


def named(text: str, used: frozenset[str]) -> str:
    """The language that a person means; without a name the one that is used here."""
    name = text.strip().lower()
    if not name and len(used) == 1:
        return next(iter(used))
    name = _CALLED.get(name, _BY_SIGN.get(name, name))
    if name in _SIGNS:
        return name
    here = f"This project uses {', '.join(sorted(used))}." if used else ""
    if not name:
        raise CoError("which language is it for?", hint=f"Add --language NAME. {here}".strip())
    near = nearest(name, [*_SIGNS])
    hint = f"Did you mean {near}?" if near else f"Co knows {', '.join(_SIGNS)}."
    raise CoError(f"Co knows no language {quote(name[:40])}", hint=hint)
