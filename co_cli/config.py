"""Settings: one table, read from two files and the environment. Knows no notes and no models."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from co_cli import paths
from co_cli.errors import FormatError, SettingsError, nearest
from co_cli.knowledge.format.json_reader import read_json
from co_cli.knowledge.format.note import decode
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk

MOST_WARNINGS = 10
_ENV_PREFIX = "CO_CLI_MEMORY_"
_TEXTS: dict[type, str] = {  # what a variable may hold
    int: r"[-+]?[0-9]{1,18}",
    float: r"[-+]?(?:[0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})(?:[eE][-+]?[0-9]{1,3})?",
    str: r"(?s:.*)",
}
_LIMIT = r"(?:preference|correction|decision|context|pattern|other)=[1-9]\d{0,5}"
_LIMITS = rf"(?:{_LIMIT}(?:, ?{_LIMIT}){{0,5}})?"
OWN_EMBEDDER = ("", "co")


class Settings(NamedTuple):
    """What a person can set; `warnings` says what was found and not used."""

    memory_max_count: int = 200
    memory_dedup_window_days: int = 7
    memory_dedup_threshold: int = 85
    memory_decay_strategy: str = "summarize"
    memory_decay_percentage: float = 0.2
    memory_decay_order: str = "oldest"
    memory_category_limits: str = ""
    memory_dedup_action: str = "ask"
    context_budget: int = 32
    search_backend: str = "auto"
    search_reader: str = "on"
    embedder: str = "co"
    model: str = ""
    model_base_url: str = ""
    answer_seconds: float = 600.0
    personality: str = "finch"
    auto_learn: str = "off"
    log_level: str = "warning"
    warnings: tuple[str, ...] = ()


class Setting(NamedTuple):
    """One row of the table: the kind of value, what is allowed, and what it is for."""

    name: str
    kind: type[int] | type[float] | type[str]
    allowed: str
    help: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    pattern: str = ""
    project_may_set: bool = True

    @property
    def env(self) -> str:
        """The variable that overrides the files."""
        return f"CO_CLI_{self.name.upper()}"

    def accept(self, value: object) -> int | float | str | None:
        """The value as this setting holds it, or None when it is not allowed."""
        if self.kind is str:
            if not isinstance(value, str):
                return None
            fits = value in self.choices if self.choices else value.isprintable()
            fits = fits and re.fullmatch(self.pattern or "(?s:.*)", value) is not None
            return value if fits and len(value) <= 200 else None
        if type(value) is int or (type(value) is float and self.kind is float):
            return self.kind(value) if self.low <= value <= self.high else None
        return None


TABLE = (
    Setting("memory_max_count", int, "a whole number from 1 to 1000000",
            "How many memories a notebook holds before the oldest decay.", 1, 1_000_000),
    Setting("memory_dedup_window_days", int, "a whole number of days from 0 to 36500",
            "How many days back Co looks for the ten newest memories to compare a new one with; it "
            "is also compared with the most similar of all.", 0, 36_500),
    Setting("memory_dedup_threshold", int, "a whole number from 0 to 100",
            "How similar two memories must be, in percent, before Co asks about them.", 0, 100),
    Setting("memory_decay_strategy", str, '"summarize" or "cut"',
            "What happens to the oldest memories: joined into one note, or only archived.",
            choices=("summarize", "cut")),
    Setting("memory_decay_percentage", float, "a number from 0.0 to 1.0",
            "What share of the limit decays at once.", 0, 1),
    Setting("memory_decay_order", str, '"oldest" or "unused"',
            "Which memories decay: the oldest, or of the oldest those first that were never "
            "recalled.", choices=("oldest", "unused")),
    Setting("memory_category_limits", str, '"CATEGORY=COUNT, …" with preference, correction, '
            "decision, context, pattern or other",
            "How many memories of a category a notebook should hold, such as preference=50, "
            "pattern=30; a save that reaches it says so.", pattern=_LIMITS),
    Setting("memory_dedup_action", str, '"ask" or "consolidate"',
            "What Co does about a memory that is similar to a recent one: ask and keep both, or "
            "give the old one the new wording.", choices=("ask", "consolidate")),
    Setting("context_budget", int, "a whole number of KiB from 1 to 1024",
            "How much context and how many pinned memories a session starts with, at most; a model "
            "with a small window gets less.", 1, 1024, project_may_set=False),
    Setting("search_backend", str, '"auto", "hybrid", "fts5" or "grep"',
            "How recall searches: by words and meaning, by words alone, or by reading every note.",
            choices=("auto", "hybrid", "fts5", "grep")),
    Setting("search_reader", str, '"on" or "off"',
            "Whether the reader reads the best few results with the question, to order them and to "
            "say how sure they are; `co recall --fast` leaves it out once.",
            choices=("on", "off")),
    Setting("embedder", str, '"co", "sentence-transformers:MODEL" or "PROVIDER:MODEL"',
            "What turns text into vectors for search by meaning; a provider's model sees your "
            "notes.", project_may_set=False),
    Setting("model", str, '"PROVIDER:MODEL", "PROVIDER" or "offline"',
            "The model you talk to, from gemini, anthropic, openai, ollama or compatible; if "
            "empty, the first of them that a variable such as GEMINI_API_KEY sets up.",
            project_may_set=False),
    Setting("model_base_url", str, "an http or https address",
            "Where compatible:MODEL answers, such as http://localhost:8000/v1; a key, if it needs "
            "one, goes into CO_CLI_MODEL_API_KEY and never into a file.", project_may_set=False),
    Setting("answer_seconds", float, "a number of seconds from 0.1 to 86400",
            "How long a model may take for one answer, including all its steps; time spent waiting "
            "for you does not count.", 0.1, 86_400, project_may_set=False),
    Setting("personality", str, '"finch", "sonnet", "friendly", "professional" or one of your own',
            "How Co talks; add your own as ~/.config/co-cli/personalities/NAME.md.",
            project_may_set=False),
    Setting("auto_learn", str, '"on" or "off"',
            "Whether Co drafts memories from what you said when a chat ends, for you to review; "
            "`co learn --auto` sets it.", choices=("on", "off"), project_may_set=False),
    Setting("log_level", str, '"error", "warning", "info" or "debug"',
            "How much is written to the log.",
            choices=("error", "warning", "info", "debug"), project_may_set=False),
)  # fmt: skip


def load_settings(
    *,
    user_file: paths.AnyPath | None = None,
    project_file: paths.AnyPath | None = None,
    env: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force: variables over a trusted project's file over the person's own."""
    warnings: list[str] = []
    user_file = user_file or os.path.join(paths.user_folder(), "settings.json")
    found = _from_file(user_file, False, warnings)
    if project_file:
        found |= _from_file(project_file, True, warnings)
    found |= _from_env(os.environ if env is None else env, warnings)
    return Settings(**found, warnings=tuple(warnings))


def set_own(name: str, value: str) -> None:
    """Write one of the person's own settings; the others stay as they are."""
    path = os.path.realpath(os.path.join(paths.user_folder(), "settings.json"))
    folder = os.path.dirname(path)
    with disk.in_words():
        disk.make_folder(folder, 0o700)
        with disk.locked(os.path.join(folder, ".settings.lock")):
            data = json.dumps(_read(path, paths.short(path)) | {name: value}, indent=2)
            with disk.staged(folder, data.encode() + b"\n", 0o600) as temp:
                os.replace(temp, path)
            disk.sync_folder(folder)


def _from_file(path: paths.AnyPath, of_project: bool, warnings: list[str]) -> dict[str, Any]:
    shown = escape(paths.short(path), keep="")
    rows = {row.name: row for row in TABLE}
    found: dict[str, Any] = {}
    unused = []
    for name, value in _read(path, shown).items():
        row = rows.get(name)
        if row and (row.project_may_set or not of_project):
            found[name] = _accepted(row.accept(value), f"{shown}: {name}", row, value)
        else:
            unused.append(name)
    for name in unused[:MOST_WARNINGS]:
        barred = f"a project may not set '{name}'; it was ignored"
        warnings.append(f"{shown}: {barred if name in rows else _unknown('setting', name, rows)}")
    if len(unused) > MOST_WARNINGS:
        warnings.append(f"{shown}: {len(unused) - MOST_WARNINGS} more settings were ignored")
    return found


def _from_env(env: Mapping[str, str], warnings: list[str]) -> dict[str, Any]:
    """What the variables say; an empty one says nothing."""
    rows = {row.env: row for row in TABLE}
    for name in sorted(env):
        if name.startswith(_ENV_PREFIX) and name not in rows:
            warnings.append(_unknown("variable", name, rows))
    found = {}
    for row in TABLE:
        if text := env.get(row.env, "").strip():
            value = row.kind(text) if re.fullmatch(_TEXTS[row.kind], text) else None
            found[row.name] = _accepted(row.accept(value), row.env, row, text)
    return found


def _accepted(value: int | float | str | None, where: str, row: Setting, given: object) -> Any:
    """The value; an error tells what was given in short, and never what is inside a list."""
    if value is None:
        kinds: dict[type, str] = {list: "a list", dict: "an object"}
        text = kinds.get(type(given)) or json.dumps(given)
        text = text if len(text) <= 40 else text[:37] + "..."
        raise SettingsError(f"{where} must be {row.allowed}, not {text}")
    return value


def _read(path: paths.AnyPath, shown: str) -> dict[str, Any]:
    try:
        data = disk.read_if_any(os.fspath(path))
        found = read_json(decode(data).removeprefix("\ufeff")) if data else {}
    except FormatError as error:
        line = f", line {error.line}," if error.line else ""
        raise SettingsError(f"{shown}{line} {escape(str(error), keep='')}") from error
    if not isinstance(found, dict):
        raise SettingsError(f'{shown} must be an object such as {{"memory_max_count": 200}}')
    return found


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    meant = f"; did you mean {near!r}?" if near else ""
    return f"unknown {what} '{escape(name[:64], keep='')}'{meant}"


settings: Settings  # the person's own, read whenever somebody asks for this name

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Settings:
        if name == "settings":
            return load_settings()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
