"""The `co` command: which module serves which word, and how it ends. Loads what is asked for."""

import gc
import os
import sys
from typing import NoReturn

import click

from co_cli.cli.group import LazyGroup
from co_cli.errors import CoError

COMMANDS = {
    "chat": ("chat", "Chat with Co."),
    "ask": ("ask", "Ask one question and print the answer."),
    "session": ("sessions", "List this folder's conversations, or delete one."),
    "learn": ("learn", "Save a memory."),
    "recall": ("recall", "Search your memories and articles."),
    "ingest": ("ingest", "Save web pages and documents as articles."),
    "list": ("list", "List memories."),
    "show": ("show", "Show a memory or article."),
    "edit": ("edit", "Edit a memory or article in your editor."),
    "forget": ("forget", "Archive a memory or article; --purge deletes every copy."),
    "undo": ("undo", "Undo a change."),
    "inbox": ("inbox", "Review drafts before they become memories."),
    "web": ("web", "Open your notes in the browser."),
    "import": ("import_", "Import notes and other assistants' memories."),
    "export": ("export", "Export memories as JSON Lines."),
    "knowledge": ("knowledge", "List, show, edit, merge, restore, undo, import and more."),
    "context": ("context", "Print what every session here loads."),
    "mcp": ("mcp", "Serve your memory to other agents and editors."),
    "init": ("init", "Set up Co for this folder, or with -g for yourself."),
    "status": ("status", "Show what Co loads here, how many memories it holds, and any problems."),
    "trust": ("trust", "Let Co use this folder's context, instructions and settings."),
    "completion": ("completion", "Print the completion script for your shell."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="co-cli", prog_name="co")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Co remembers what you tell it, in plain markdown files you can read, edit and commit.

    \b
    co learn "We deploy on Tuesdays"     remember something for this project
    co learn -g "I prefer pytest"        remember something everywhere
    co recall deploy                     find it again
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code: 0, 1 expected, 2 usage, 3 bug, 130 stopped."""
    if arguments is None:  # the process is ours, and what is loaded by now is never garbage
        gc.freeze()
        for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(threads, "1")  # more of them start slowly and gain nothing
        os.environ.setdefault("CO_CLI_READER_THREADS", str(min(4, os.cpu_count() or 1)))
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="co", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nStopped; nothing more was done.", err=True)
        return 130
    except (BrokenPipeError, SystemExit):  # the reader left; click says so by leaving too
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except CoError as error:
        from co_cli.cli.output import warn

        warn(error, hint=error.hint)
        return 1
    except Exception as error:
        return _surprise(error)


def _surprise(error: Exception) -> int:
    """Say that it is our fault and where the details are; stored text stays out of them."""
    if isinstance(error, OSError) and error.filename is None:  # or the fault of the disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        click.echo(f"co: the answer could not be written: {error.strerror}", err=True)
        return 1
    import traceback

    from co_cli.cli.output import warn
    from co_cli.knowledge.format.note import now, timestamp
    from co_cli.knowledge.store import disk
    from co_cli.paths import state_folder

    stamp = timestamp(now())
    text = f"{stamp} {type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
    try:
        path = os.path.join(state_folder(), f"crash-{stamp.replace(':', '')[:17]}.log")
        disk.make_folder(os.path.dirname(path), 0o700)
        disk.put(path, text.encode("utf-8", "backslashreplace"))
        where = f"Details are in {path}; please report them."
    except (OSError, CoError):
        where = text
    warn(f"this is a bug in Co ({type(error).__name__}: {error}).", hint=where)
    return 3
