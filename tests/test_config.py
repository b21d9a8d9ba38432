"""Settings: where they come from, which one wins, and what is said about a bad one."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_cli import config, paths, trust
from co_cli.config import MOST_WARNINGS, Settings, load_settings
from co_cli.errors import CoError, SettingsError
from co_cli.workspace import Workspace

WHERE = "~/.config/co-cli/settings.json"


@pytest.fixture
def user() -> Path:
    """The user's settings file, in a folder that is there."""
    path = Path(os.environ["HOME"]) / ".config/co-cli/settings.json"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The settings file of the project in the working folder."""
    path = tmp_path / "work/.co-cli/settings.json"
    path.parent.mkdir(parents=True)
    return path


def test_without_any_file_the_defaults_hold() -> None:
    assert load_settings() == Settings(
        memory_max_count=200,
        memory_dedup_window_days=7,
        memory_dedup_threshold=85,
        memory_decay_strategy="summarize",
        memory_decay_percentage=0.2,
    )
    assert load_settings().warnings == ()


def _defaults() -> list[tuple[config.Setting, object]]:
    return [(row, getattr(Settings(), row.name)) for row in config.TABLE]


def test_the_table_and_the_settings_name_the_same_things() -> None:
    names = [name for name in Settings._fields if name != "warnings"]
    assert [row.name for row in config.TABLE] == names
    assert [row.accept(value) for row, value in _defaults()] == [*Settings()[:-1]]


def test_every_setting_has_a_variable_a_type_and_a_default() -> None:
    assert [(row.env, row.kind.__name__, value) for row, value in _defaults()] == [
        ("CO_CLI_MEMORY_MAX_COUNT", "int", 200),
        ("CO_CLI_MEMORY_DEDUP_WINDOW_DAYS", "int", 7),
        ("CO_CLI_MEMORY_DEDUP_THRESHOLD", "int", 85),
        ("CO_CLI_MEMORY_DECAY_STRATEGY", "str", "summarize"),
        ("CO_CLI_MEMORY_DECAY_PERCENTAGE", "float", 0.2),
        ("CO_CLI_MEMORY_DECAY_ORDER", "str", "oldest"),
        ("CO_CLI_MEMORY_CATEGORY_LIMITS", "str", ""),
        ("CO_CLI_MEMORY_DEDUP_ACTION", "str", "ask"),
        ("CO_CLI_CONTEXT_BUDGET", "int", 32),
        ("CO_CLI_SEARCH_BACKEND", "str", "auto"),
        ("CO_CLI_SEARCH_READER", "str", "on"),
        ("CO_CLI_EMBEDDER", "str", "co"),
        ("CO_CLI_MODEL", "str", ""),
        ("CO_CLI_MODEL_BASE_URL", "str", ""),
        ("CO_CLI_ANSWER_SECONDS", "float", 600.0),
        ("CO_CLI_PERSONALITY", "str", "finch"),
        ("CO_CLI_AUTO_LEARN", "str", "off"),
        ("CO_CLI_LOG_LEVEL", "str", "warning"),
    ]


def test_what_reads_the_notes_is_for_the_person_to_choose(user: Path, project: Path) -> None:
    """G16. Red when a cloned folder can send notes to a server."""
    user.write_text('{"embedder": "ollama:nomic-embed-text"}')
    project.write_text('{"embedder": "openai:theirs", "search_backend": "fts5"}')
    settings = load_settings(project_file=project)
    assert (settings.embedder, settings.search_backend) == ("ollama:nomic-embed-text", "fts5")
    assert settings.warnings == (f"{project}: a project may not set 'embedder'; it was ignored",)


def test_what_a_person_talks_to_and_how_is_theirs_to_choose(user: Path, project: Path) -> None:
    """G16. Red when a cloned folder can pick the model, its address or its manners."""
    mine = {
        "model": "ollama:llama3.2",
        "model_base_url": "http://localhost:8000/v1",
        "personality": "friendly",
        "log_level": "info",
    }
    theirs = {
        "model": "openai:theirs",
        "model_base_url": "https://evil.example",
        "personality": "sonnet",
        "log_level": "debug",
    }
    user.write_text(json.dumps(mine))
    project.write_text(json.dumps(theirs))
    settings = load_settings(project_file=project)
    assert {name: getattr(settings, name) for name in mine} == mine
    assert settings.warnings == tuple(
        f"{project}: a project may not set '{name}'; it was ignored" for name in theirs
    )


@pytest.mark.parametrize("value", ['"a\\u001b[2Jb"', f'"{"x" * 201}"', "3", "null"])
def test_a_free_text_is_printable_and_short(user: Path, value: str) -> None:
    user.write_text(f'{{"embedder": {value}}}')
    with pytest.raises(SettingsError, match="embedder must be"):
        load_settings()


def test_a_variable_wins_over_the_project_and_the_project_over_the_user(
    user: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write_text(
        '{"memory_max_count": 1, "memory_dedup_window_days": 1, "memory_dedup_threshold": 1}'
    )
    project.write_text('{"memory_max_count": 2, "memory_dedup_window_days": 2}')
    monkeypatch.setenv("CO_CLI_MEMORY_MAX_COUNT", "3")
    assert load_settings(project_file=project) == Settings(
        memory_max_count=3, memory_dedup_window_days=2, memory_dedup_threshold=1
    )


def test_a_project_does_not_govern_the_users_notebook(user: Path, project: Path) -> None:
    """G16. Red when the project's file is read, or checked, without being named."""
    user.write_text('{"memory_max_count": 300}')
    project.write_text('{"memory_max_count": 1, "memory_decay_strategy": "cut"}')
    assert load_settings() == Settings(memory_max_count=300)
    project.write_text("not JSON")
    assert load_settings() == Settings(memory_max_count=300)


def test_the_places_can_be_named(tmp_path: Path, user: Path) -> None:
    user.write_text('{"memory_max_count": 1}')
    mine, here = tmp_path / "mine.json", tmp_path / "here.json"
    mine.write_text('{"memory_max_count": 11}')
    here.write_text('{"memory_dedup_threshold": 12}')
    env = {"CO_CLI_MEMORY_DECAY_PERCENTAGE": "0.5"}
    assert load_settings(user_file=mine, project_file=here, env=env) == Settings(
        memory_max_count=11, memory_dedup_threshold=12, memory_decay_percentage=0.5
    )


def test_settings_are_read_when_they_are_asked_for(user: Path) -> None:
    from co_cli.config import settings as before  # noqa: PLC0415

    user.write_text('{"memory_max_count": 5}')
    from co_cli.config import settings as after  # noqa: PLC0415

    assert (before, after) == (Settings(), Settings(memory_max_count=5))
    with pytest.raises(AttributeError, match="has no attribute 'setting'"):
        config.setting  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("text", ["", "{}", "\ufeff{}", " {\n}\n"])
def test_a_file_that_says_nothing_changes_nothing(user: Path, text: str) -> None:
    user.write_bytes(text.encode())
    assert load_settings() == Settings()


COUNT = "memory_max_count must be a whole number from 1 to 1000000"
DAYS = "memory_dedup_window_days must be a whole number of days from 0 to 36500"
THRESHOLD = "memory_dedup_threshold must be a whole number from 0 to 100"
STRATEGY = 'memory_decay_strategy must be "summarize" or "cut"'
PERCENTAGE = "memory_decay_percentage must be a number from 0.0 to 1.0"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"memory_max_count": 0}', f"{COUNT}, not 0"),
        ('{"memory_max_count": 1000001}', f"{COUNT}, not 1000001"),
        ('{"memory_max_count": "200"}', f'{COUNT}, not "200"'),
        ('{"memory_max_count": true}', f"{COUNT}, not true"),
        ('{"memory_max_count": 200.0}', f"{COUNT}, not 200.0"),
        ('{"memory_max_count": null}', f"{COUNT}, not null"),
        ('{"memory_max_count": [200]}', f"{COUNT}, not a list"),
        ('{"memory_max_count": {"n": 200}}', f"{COUNT}, not an object"),
        ('{"memory_max_count": ' + "9" * 4000 + "}", f"{COUNT}, not {'9' * 37}..."),
        ('{"memory_dedup_window_days": -1}', f"{DAYS}, not -1"),
        ('{"memory_dedup_window_days": 36501}', f"{DAYS}, not 36501"),
        ('{"memory_dedup_threshold": 101}', f"{THRESHOLD}, not 101"),
        ('{"memory_dedup_threshold": -1}', f"{THRESHOLD}, not -1"),
        ('{"memory_decay_strategy": "delete"}', f'{STRATEGY}, not "delete"'),
        ('{"memory_decay_strategy": 1}', f"{STRATEGY}, not 1"),
        ('{"memory_decay_strategy": "\\u001b[2J"}', f'{STRATEGY}, not "\\u001b[2J"'),
        ('{"memory_decay_percentage": 1.01}', f"{PERCENTAGE}, not 1.01"),
        ('{"memory_decay_percentage": -0.1}', f"{PERCENTAGE}, not -0.1"),
        ('{"memory_decay_percentage": NaN}', f"{PERCENTAGE}, not NaN"),
        ('{"memory_decay_percentage": -Infinity}', f"{PERCENTAGE}, not -Infinity"),
        ('{"memory_decay_percentage": 1e999}', f"{PERCENTAGE}, not Infinity"),
        ('{"memory_decay_percentage": false}', f"{PERCENTAGE}, not false"),
        ('{"memory_decay_percentage": "0.5"}', f'{PERCENTAGE}, not "0.5"'),
    ],
    ids=lambda value: value[:60],
)
def test_a_bad_value_names_file_key_and_what_is_allowed(user: Path, text: str, error: str) -> None:
    user.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value) == f"{WHERE}: {error}"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            b"{\n  memory_max_count: 5}",  # a message that is the same in every Python
            ", line 2, is not valid JSON: Expecting property name enclosed in double quotes",
        ),
        (b"memory_max_count = 5", ", line 1, is not valid JSON: Expecting value"),
        (b"[1, 2]", ' must be an object such as {"memory_max_count": 200}'),
        (b"null", ' must be an object such as {"memory_max_count": 200}'),
        (
            b'{"memory_max_count": 5, "memory_max_count": 6}',
            " is not valid JSON: 'memory_max_count' appears twice",
        ),
        (
            b'{"x": {"a": 1, "a\\u001b": 2, "a\\u001b": 3}}',
            " is not valid JSON: 'a\\x1b' appears twice",
        ),
        (b'{\n"x": "\xe9"}', ", line 2, is not UTF-8"),
        ("{}".encode("utf-16"), ", line 1, is UTF-16, not UTF-8"),
        (b'{"x": ' + b"[" * 200_000, " is not valid JSON: nested too deeply, or a number too long"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_file_that_cannot_be_read_says_where_and_why(user: Path, data: bytes, error: str) -> None:
    """G10. Red when a hostile file gives a traceback instead of a SettingsError."""
    user.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value).removeprefix(WHERE) == error


def test_a_link_or_a_folder_is_no_settings_file(user: Path, project: Path) -> None:
    project.mkdir()
    with pytest.raises(SettingsError, match=r"settings\.json is a folder, not a file"):
        load_settings(project_file=project)
    user.symlink_to("/etc/hostname")
    with pytest.raises(SettingsError, match=r"^~/\.config/co-cli/settings\.json is a symbolic"):
        load_settings(project_file=project)


def test_a_project_that_points_elsewhere_is_refused(tmp_path: Path) -> None:
    """G12. Red when settings are read through a .co-cli that leads out of the project."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/settings.json").write_text('{"memory_max_count": 1}')
    (tmp_path / "work/.co-cli").symlink_to(tmp_path / "outside")
    trust.trust(tmp_path / "work", "2026-01-01T00:00:00+00:00")
    here = Workspace(tmp_path / "work")
    assert here.settings == Settings()
    assert "leads out of the project" in here.trust.refused[paths.SETTINGS]


@pytest.mark.parametrize(
    ("variable", "text", "error"),
    [
        ("CO_CLI_MEMORY_MAX_COUNT", "many", f'{COUNT}, not "many"'),
        ("CO_CLI_MEMORY_MAX_COUNT", "0", f'{COUNT}, not "0"'),
        ("CO_CLI_MEMORY_MAX_COUNT", "2e2", f'{COUNT}, not "2e2"'),
        ("CO_CLI_MEMORY_MAX_COUNT", "٢٠٠", f'{COUNT}, not "\\u0662\\u0660\\u0660"'),
        ("CO_CLI_MEMORY_MAX_COUNT", "9" * 5000, f'{COUNT}, not "{"9" * 36}...'),
        ("CO_CLI_MEMORY_DEDUP_WINDOW_DAYS", "-1", f'{DAYS}, not "-1"'),
        ("CO_CLI_MEMORY_DEDUP_THRESHOLD", "85%", f'{THRESHOLD}, not "85%"'),
        ("CO_CLI_MEMORY_DECAY_STRATEGY", "Cut", f'{STRATEGY}, not "Cut"'),
        ("CO_CLI_MEMORY_DECAY_PERCENTAGE", "nan", f'{PERCENTAGE}, not "nan"'),
        ("CO_CLI_MEMORY_DECAY_PERCENTAGE", "1e999", f'{PERCENTAGE}, not "1e999"'),
        ("CO_CLI_MEMORY_DECAY_PERCENTAGE", "1_0", f'{PERCENTAGE}, not "1_0"'),
    ],
    ids=lambda value: value[:60],
)
def test_a_bad_variable_is_named(variable: str, text: str, error: str) -> None:
    name, _, rest = error.partition(" ")
    with pytest.raises(SettingsError) as caught:
        load_settings(env={variable: text})
    assert str(caught.value) == f"{variable} {rest}"
    assert variable == f"CO_CLI_{name.upper()}"


def test_variables_are_read_as_text() -> None:
    env = {
        "CO_CLI_MEMORY_MAX_COUNT": " 50 ",
        "CO_CLI_MEMORY_DEDUP_WINDOW_DAYS": "0",
        "CO_CLI_MEMORY_DEDUP_THRESHOLD": "",
        "CO_CLI_MEMORY_DECAY_STRATEGY": "cut",
        "CO_CLI_MEMORY_DECAY_PERCENTAGE": "1",
        "CO_CLI_OTHER": "ignored",
    }
    settings = load_settings(env=env)
    assert settings == Settings(50, 0, 85, "cut", 1.0)
    assert settings.warnings == ()


def test_an_unknown_setting_is_named_with_the_nearest(user: Path, project: Path) -> None:
    user.write_text('{"memory_max_cuont": 5, "theme": "dark"}')
    project.write_text('{"memory_decay_stratgy\\u001b": "cut"}')
    env = {"CO_CLI_MEMORY_MAX": "5", "CO_CLI_MEMORY_ZZZZZZZZZZZZZZ": "1"}
    settings = load_settings(project_file=project, env=env)
    assert settings._replace(warnings=()) == Settings()
    assert settings.warnings == (
        f"{WHERE}: unknown setting 'memory_max_cuont'; did you mean 'memory_max_count'?",
        f"{WHERE}: unknown setting 'theme'",
        f"{project}: unknown setting 'memory_decay_stratgy\\x1b'; "
        "did you mean 'memory_decay_strategy'?",
        "unknown variable 'CO_CLI_MEMORY_MAX'; did you mean 'CO_CLI_MEMORY_MAX_COUNT'?",
        "unknown variable 'CO_CLI_MEMORY_ZZZZZZZZZZZZZZ'",
    )


def test_a_flood_of_unknown_settings_is_counted_not_listed(user: Path, project: Path) -> None:
    """G10. Red when every unknown name is compared with every known one, or listed."""
    user.write_text(json.dumps({"memory_" + "x" * 100 + str(n): n for n in range(20_000)}))
    warnings = load_settings(project_file=project).warnings
    assert len(warnings) == MOST_WARNINGS + 1
    assert warnings[-1] == f"{WHERE}: 19990 more settings were ignored"
    assert warnings[0] == f"{WHERE}: unknown setting 'memory_{'x' * 57}'"
    user.rename(project)
    project.write_text(json.dumps({f"api_key_{n}": n for n in range(12)}))
    warnings = load_settings(project_file=project).warnings
    assert len(warnings) == MOST_WARNINGS + 1
    assert warnings[-1] == f"{project}: 2 more settings were ignored"


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "openaiApiKey",
        "GEMINI-API-KEY",
        "hub_token",
        "base_url",
        "ollamaUrl",
        "api_base",
        "client_secret",
        "provider",
        "models",
    ],
)
def test_a_project_never_sets_a_key_a_url_or_a_provider(
    user: Path, project: Path, name: str
) -> None:
    """G16. Red when a project's file is read like the user's."""
    project.write_text(json.dumps({name: "https://evil.example", "memory_max_count": 5}))
    settings = load_settings(project_file=project)
    assert settings._replace(warnings=()) == Settings(memory_max_count=5)
    assert len(settings.warnings) == 1
    assert settings.warnings[0].startswith(f"{project}: unknown setting '{name}'")
    user.write_text(json.dumps({name: "mine"}))
    assert load_settings().warnings[0].startswith(f"{WHERE}: unknown setting")


def test_a_project_does_not_set_what_is_the_users_alone(
    user: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G16. Red when the table's project_may_set is not looked at."""
    first, *rest = config.TABLE
    table = (first._replace(project_may_set=False), *rest)
    monkeypatch.setattr(config, "TABLE", table)
    user.write_text('{"memory_max_count": 5}')
    project.write_text('{"memory_max_count": 6, "memory_dedup_threshold": 7}')
    settings = load_settings(project_file=project)
    assert settings._replace(warnings=()) == Settings(memory_max_count=5, memory_dedup_threshold=7)
    assert settings.warnings == (
        f"{project}: a project may not set 'memory_max_count'; it was ignored",
    )


SETTINGS = st.builds(
    Settings,
    memory_max_count=st.integers(1, 1_000_000),
    memory_dedup_window_days=st.integers(0, 36_500),
    memory_dedup_threshold=st.integers(0, 100),
    memory_decay_strategy=st.sampled_from(["summarize", "cut"]),
    memory_decay_percentage=st.floats(0, 1),
    memory_decay_order=st.sampled_from(["oldest", "unused"]),
    memory_category_limits=st.sampled_from(["", "other=1", "preference=50, pattern=999999"]),
    memory_dedup_action=st.sampled_from(["ask", "consolidate"]),
    context_budget=st.just(32),
    search_backend=st.sampled_from(["auto", "hybrid", "fts5", "grep"]),
    search_reader=st.sampled_from(["on", "off"]),
    embedder=st.just("co"),
    model=st.just(""),
    model_base_url=st.just(""),
    answer_seconds=st.just(600.0),
    personality=st.just("finch"),
    auto_learn=st.just("off"),
    log_level=st.just("warning"),
    warnings=st.just(()),
)


@given(wanted=SETTINGS)
def test_what_is_written_is_what_is_read(wanted: Settings) -> None:
    """Red when a file or the variables give another value than they hold."""
    values = {row.name: getattr(wanted, row.name) for row in config.TABLE}
    of_project = {row.name: values[row.name] for row in config.TABLE if row.project_may_set}
    env = {row.env: str(values[row.name]) for row in config.TABLE}
    with tempfile.TemporaryDirectory() as folder:
        none, user, project = (Path(folder, name) for name in ("none", "user", "project"))
        user.write_text(json.dumps(values))
        project.write_text(json.dumps(of_project))
        ways = [
            load_settings(user_file=user, project_file=none, env={}),
            load_settings(user_file=none, project_file=project, env={}),
            load_settings(user_file=none, project_file=none, env=env),
        ]
    assert ways == [wanted] * 3
    assert [settings.warnings for settings in ways] == [()] * 3


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("there is no model x", "there is no model x. Try again."),
        ("did you mean gemini?", "did you mean gemini? Try again."),
    ],
)
def test_an_error_and_its_hint_are_two_sentences(message: str, sentence: str) -> None:
    assert CoError(message, hint="Try again.").sentence() == sentence
    assert CoError(message).sentence() == message
