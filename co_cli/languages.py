"""Which languages a project uses, by the names of its files, and what people call them.

Opens no file. Looks at some names of some folders, so that a large project costs no more.
"""

import os
from collections import Counter, deque
from itertools import islice
from shlex import quote

from co_cli.errors import CoError, nearest

_SUFFIXES = {
    "c": "c h", "clojure": "clj cljs cljc", "cpp": "cc cpp cxx hh hpp", "csharp": "cs",
    "css": "css less scss", "dart": "dart", "elixir": "ex exs", "elm": "elm", "erlang": "erl hrl",
    "fsharp": "fs fsx", "go": "go", "haskell": "hs", "html": "htm html", "java": "java",
    "javascript": "cjs js jsx mjs", "julia": "jl", "kotlin": "kt kts", "lua": "lua", "nix": "nix",
    "ocaml": "ml mli", "perl": "pl pm", "php": "php", "python": "ipynb py pyi", "r": "r rmd",
    "ruby": "rake rb", "rust": "rs", "scala": "sbt scala", "shell": "bash sh zsh", "sql": "sql",
    "swift": "swift", "terraform": "tf", "typescript": "cts mts ts tsx", "zig": "zig",
}  # fmt: skip
_MANIFESTS = {
    "build.gradle": "java", "cargo.toml": "rust", "composer.json": "php", "gemfile": "ruby",
    "go.mod": "go", "mix.exs": "elixir", "package.json": "javascript", "pom.xml": "java",
    "pubspec.yaml": "dart", "pyproject.toml": "python", "requirements.txt": "python",
    "setup.py": "python", "tsconfig.json": "typescript",
}  # fmt: skip
_BY_SUFFIX = {suffix: name for name, some in _SUFFIXES.items() for suffix in some.split()}
_CALLED = {"bash": "shell", "c#": "csharp", "c++": "cpp", "f#": "fsharp", "golang": "go"}
_OTHERS = frozenset(  # folders of other people's code, or of what was made from one's own
    "__pycache__ bower_components build dist env external node_modules out site-packages target "
    "third_party third-party vendor venv".split()
)
_FOLDERS, _NAMES = 100, 200  # how many are looked into, and how many names of each
_SHARE = 10  # one in so many source files makes a language one that is used


def used_in(folder: str) -> frozenset[str]:
    """The languages of a project: those that a manifest tells, or a tenth of its source files."""
    told, count = set[str](), Counter[str]()
    waiting = deque([folder])
    for _ in range(_FOLDERS):
        if not waiting:
            break
        try:
            with os.scandir(waiting.popleft()) as found:
                entries = [one for one in islice(found, _NAMES) if one.name[0] != "."]
        except OSError:
            continue
        for entry in entries:
            name = entry.name.lower()
            if entry.is_dir(follow_symlinks=False):
                waiting.extend(() if name in _OTHERS else [entry.path])
            elif name in _MANIFESTS:
                told.add(_MANIFESTS[name])
            elif language := _BY_SUFFIX.get(name.rpartition(".")[2] if "." in name else ""):
                count[language] += 1
    return frozenset(told | {one for one, many in count.items() if many * _SHARE >= count.total()})


def named(text: str, used: frozenset[str]) -> str:
    """The language that a person means; without a name the one that is used here."""
    name = text.strip().lower()
    if not name and len(used) == 1:
        return next(iter(used))
    name = _CALLED.get(name, _BY_SUFFIX.get(name, name))
    if name in _SUFFIXES:
        return name
    here = f"This project uses {', '.join(sorted(used))}." if used else ""
    if not name:
        raise CoError("which language is it for?", hint=f"Add --language NAME. {here}".strip())
    near = nearest(name, [*_SUFFIXES])
    hint = f"Did you mean {near}?" if near else f"Co knows {', '.join(_SUFFIXES)}."
    raise CoError(f"Co knows no language {quote(name[:40])}", hint=hint)
