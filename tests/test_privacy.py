"""What stays private: sensitive notes, a chat that writes nothing, a conversation deleted alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli import Talking, co
from repos import git
from test_offline import Person, begin, say, shown

from co_cli import paths, trust
from co_cli.chat import transcripts
from co_cli.chat.transcripts import Transcript
from co_cli.errors import CoError, ReadOnly
from co_cli.knowledge import Filters, Notebook, inbox
from co_cli.knowledge.format.note import now
from co_cli.knowledge.store import disk

KNOWLEDGE = Path(".co-cli/knowledge")
WHY = "incognito, so nothing is kept"


def tree(*roots: Path) -> dict[str, tuple[object, ...]]:
    """Every file and folder below these: its kind, bytes and time."""
    found: dict[str, tuple[object, ...]] = {}
    for root in roots:
        for path in sorted([root, *root.rglob("*")]):
            info = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (info.st_mode, info.st_mtime_ns, info.st_ino, data)
    return found


@contextmanager
def incognito() -> Iterator[None]:
    """In here, this process writes nothing, which the file tree proves."""
    before = tree(Path(os.environ["HOME"]), Path.cwd())
    disk.only_reads = WHY
    try:
        yield
    finally:
        disk.only_reads = ""
    assert tree(Path(os.environ["HOME"]), Path.cwd()) == before


def test_an_incognito_chat_reads_and_leaves_every_file_as_it_was() -> None:
    """Red when anything is written: an index, a transcript, a count of uses, a lock."""
    home = Path(os.environ["HOME"])
    assert co("learn", "We deploy on Tuesdays").code == 0
    assert co("learn", "-g", "I prefer pytest").code == 0
    assert co("recall", "deploy").code == 0
    (KNOWLEDGE / "memories/007-hand.md").write_text("The harbour floods at neaps")  # not indexed
    before = tree(home, Path.cwd())
    with Talking("--incognito") as chat:
        chat.until("Incognito: I read what you saved, and nothing of this is kept.")
        chat.say("when do we deploy?")
        chat.until("We deploy on Tuesdays")
        chat.say("when does the harbour flood?")
        chat.until("floods at neaps")
        for line in ("remember that the VPN needs a token", "/remember Tea is at four",
                     "/forget 1", "/pin 1", "/undo", "/edit 1", "/ingest notes.txt"):  # fmt: skip
            chat.say(line)
            chat.until(WHY)
        chat.say("/memories")
        chat.until("I prefer pytest")
        chat.say("/clear")
        chat.until("Started a new conversation")
        chat.say("/quit")
        chat.until("Bye.")
    assert tree(home, Path.cwd()) == before


def test_an_incognito_chat_promises_to_keep_nothing_and_leaves_drafts_alone() -> None:
    """Red when Co offers to remember, or refuses each draft by itself."""
    with Talking("--incognito") as chat:
        assert "worth keeping" not in chat.until("\n>")
        chat.say("/inbox")
        chat.until("No drafts wait.")
        assert chat.leave().code == 0
    with Notebook.open(KNOWLEDGE) as book:
        drafts = [inbox.Draft("We deploy on Tuesdays"), inbox.Draft("Tea is at four")]
        inbox.put(book, drafts, actor="test")
    with Talking("--incognito") as chat:
        assert "drafts" not in chat.until("\n>")
        chat.say("what do you know about sourdough?")
        chat.until("Nothing about that yet.")
        chat.say("running five minutes late")
        chat.until("Not saved: that may not matter for long.")
        chat.say("We deploy on Wednesdays")
        chat.until(f"Not saved: {WHY}")
        chat.say("/inbox")
        chat.until(f"{WHY}; 2 drafts wait until you leave: co inbox")
        left = chat.leave()
    assert (left.code, "Press y" in left.out) == (0, False)


def test_a_notebook_that_is_only_read_answers_from_its_index_or_without() -> None:
    with Notebook.open(KNOWLEDGE) as book:
        for text in ("We deploy on Tuesdays", "Dana owns billing"):
            book.remember(text)
        book.recall("billing")
    with incognito(), Notebook.open(KNOWLEDGE) as book:
        assert book.recall("who owns billing?")[0].note.body == "Dana owns billing"
        for refused in (lambda: book.remember("More"), lambda: book.forget("1"), book.undo):
            with pytest.raises(ReadOnly, match=WHY):
                refused()
    (KNOWLEDGE / "memories/007-hand.md").write_text("The harbour floods at neaps")
    (KNOWLEDGE / "memories/.co-0123456789abcdef.tmp").write_text("left by a crash")
    with incognito(), Notebook.open(KNOWLEDGE) as book:
        found = book.recall("harbour")
        assert found[0].note.body == "The harbour floods at neaps"
        assert [one.state for one in found.degraded] == ["not kept"]


def test_a_model_is_refused_before_anybody_is_asked() -> None:
    anna = Person()
    chat = begin(anna)
    say(chat, "remember that we deploy on Tuesdays")
    asked = len(anna.cards)
    with incognito():
        assert WHY in shown(say(chat, "remember that Dana owns billing"))
    assert len(anna.cards) == asked


def test_what_is_trusted_is_looked_at_and_not_written_down() -> None:
    """Red when the list of known notes, or of trusted files, grows."""
    git(Path.cwd(), "init", "-q")
    co("learn", "We deploy on Tuesdays")
    Path("AGENTS.md").write_text("Use tabs.\n")
    (KNOWLEDGE / "memories/007-hand.md").write_text("The harbour floods at neaps")
    with incognito():
        assert co("status").code == 0
        assert "neaps" in co("ask", "when does the harbour flood?").out


def test_sensitive_notes_stay_out_of_exports_unless_asked_for() -> None:
    """Red when one is exported, or told through the filter, without being asked for."""
    co("learn", "We deploy on Tuesdays")
    co("learn", "Our safe is behind the harbour picture")
    co("knowledge", "sensitive", "2")
    out = co("knowledge", "export")
    assert [json.loads(line)["id"] for line in out.out.splitlines()] == [1]
    assert "1 sensitive note left out" in out.err
    told = co("knowledge", "export", "all.jsonl", "--sensitive")
    assert told.out == "✓ Exported 2 memories to all.jsonl\n"
    assert co("knowledge", "export", "some.jsonl").out == "✓ Exported 1 memory to some.jsonl\n"
    assert "safe" not in Path("some.jsonl").read_text()
    for backend in ("auto", "grep"):
        with Notebook.open(KNOWLEDGE, backend=backend) as book:
            assert book.recall("harbour safe")[0].note.id == 2
            hidden = book.recall("harbour safe", filters=Filters(sensitive=False))
            assert 2 not in [hit.note.id for hit in hidden]
            assert hidden.matched == len(hidden)
            assert book.recall("deploy", filters=Filters(sensitive=False))[0].note.id == 1


def test_a_memory_is_sensitive_from_its_first_version_on() -> None:
    """Red when a version without the mark stays behind."""
    assert co("learn", "Our safe is behind the harbour picture", "--sensitive").code == 0
    held = [p for p in KNOWLEDGE.rglob("*.md") if b"harbour" in p.read_bytes()]
    assert [b"sensitive: true" in p.read_bytes() for p in held] == [True]
    assert "1 sensitive note left out" in co("knowledge", "export").err


def _talk(said: str) -> str:
    kept = Transcript(Path.cwd(), now)
    kept.write(said=said)
    kept.write(turn=[{"kind": "request", "parts": []}])
    return transcripts._id(kept.path)


@pytest.mark.parametrize("drafts", [[], ["--drafts"]])
def test_drafts_of_a_conversation_that_goes_are_named_and_go_along_if_wanted(
    drafts: list[str],
) -> None:
    """Red when its words stay in a draft unsaid, or a draft goes that nobody meant."""
    trust.claim(Path.cwd(), "2026-02-09T14:30:00+00:00")
    gone, book = _talk("the harbour secret"), Notebook(KNOWLEDGE)
    mine = inbox.Draft("Boats lie in the harbour", quote="the harbour secret", origin=gone)
    inbox.put(book, [mine, inbox.Draft("User drinks tea", origin="other")], actor="chat")
    done = co("session", "delete", gone, "--yes", *drafts)
    assert "waits: i:boats-lie-in-the-harbour  Boats lie in the harbour" in done.out
    left = [note.body for note in inbox.waiting(book)]
    assert ("Boats lie in the harbour" in left, "User drinks tea" in left) == (not drafts, True)
    held = [p for p in KNOWLEDGE.rglob("*") if p.is_file() and b"harbour" in p.read_bytes()]
    assert bool(held) == (not drafts)


def test_archived_drafts_of_a_conversation_are_named_and_can_go_after_it() -> None:
    """Red when the archive holds its words unsaid, or nothing but a purge by name removes them."""
    trust.claim(Path.cwd(), "2026-02-09T14:30:00+00:00")
    gone, book = _talk("the harbour secret"), Notebook(KNOWLEDGE)
    texts = ("Boats lie in the harbour", "The harbour floods", "User drinks tea at the harbour")
    said = [inbox.Draft(text, quote="the harbour secret", origin=gone) for text in texts]
    kept, dropped, _ = inbox.put(book, said, actor="chat").added
    inbox.accept(book, kept, actor="cli")
    inbox.reject(book, dropped, actor="cli")
    done = co("session", "delete", gone, "--yes")
    assert "A draft from it is in the archive: i:boats-lie-in-the-harbour" in done.out
    assert "A draft from it is in the archive: i:the-harbour-floods" in done.out
    assert "A draft from it still waits: i:user-drinks-tea-at-the-harbour" in done.out
    assert f"To delete them all: co session delete {gone} --drafts" in done.err
    again = co("session", "delete", gone, "--drafts")
    assert (again.code, again.out.splitlines()[-1]) == (0, "✓ Deleted 3 drafts")
    held = [p for p in KNOWLEDGE.rglob("*.md") if b"harbour" in p.read_bytes()]
    assert [p.name for p in held] == ["001-boats-lie-in-the-harbour.md"]
    assert b"secret" not in held[0].read_bytes()
    assert co("session", "delete", gone, "--drafts").code == 1
    assert co("knowledge", "undo").code == 1  # nothing of it comes back


def test_a_draft_that_another_conversation_gave_too_stays() -> None:
    trust.claim(Path.cwd(), "2026-02-09T14:30:00+00:00")
    gone, book = _talk("the harbour secret"), Notebook(KNOWLEDGE)
    text = "Boats lie in the harbour"
    [first] = inbox.put(book, [inbox.Draft(text, origin=gone)], actor="chat").added
    inbox.reject(book, first, actor="cli")
    inbox.put(book, [inbox.Draft(text, origin="other")], actor="chat")
    done = co("session", "delete", gone, "--yes", "--drafts")
    assert "stays, as another conversation gave the same" in done.err
    assert [note.body for note in inbox.waiting(book)] == [text]


@pytest.mark.parametrize("every", [True, False])
def test_a_sensitive_draft_makes_the_memory_sensitive_that_says_the_same(every: bool) -> None:
    """Red when a memory is told to others that the person accepted as sensitive."""
    trust.claim(Path.cwd(), "2026-02-09T14:30:00+00:00")
    book = Notebook(KNOWLEDGE)
    text, fields = "Boats lie in the harbour", (("sensitive", True),)
    [draft] = inbox.put(book, [inbox.Draft(text, fields=fields)], actor="chat").added
    book.remember(text)
    if every:
        inbox.accept_every(book, Notebook(paths.user_knowledge()), [draft], "cli", None)
    else:
        inbox.accept(book, draft, actor="cli")
    assert [note.meta.get("sensitive") for note in book.notes()] == [True]


def test_drafts_of_a_conversation_go_whose_names_others_have_now() -> None:
    """Red when a name is taken for the draft that waits under it, and the archived ones stay."""
    trust.claim(Path.cwd(), "2026-02-09T14:30:00+00:00")
    gone, book = _talk("the harbour secret"), Notebook(KNOWLEDGE)
    text = "The spare key of the boat that lies in the old harbour is under the pot on the "
    for side, origin in (("left", gone), ("right", gone), ("roof", "other")):
        said = inbox.Draft(text + side, quote=f"it is {side}", origin=origin)
        [draft] = inbox.put(book, [said], actor="chat").added
        if origin == gone:
            inbox.reject(book, draft, actor="cli")
    done = co("session", "delete", gone, "--yes", "--drafts")
    assert (done.out.splitlines()[-1], done.err) == ("✓ Deleted 2 drafts", "")
    assert [note.body for note in inbox.waiting(book)] == [text + "roof"]
    held = [p.read_bytes() for p in KNOWLEDGE.rglob("*.md")]
    assert not any(b"it is left" in data or b"it is right" in data for data in held)


@pytest.mark.parametrize("rejected", [True, False])
def test_a_purged_draft_takes_the_conversations_in_which_it_was_said_along(rejected: bool) -> None:
    """Red when what was typed stays because the draft says it of the person."""
    trust.claim(Path.cwd(), "2026-02-09T14:30:00+00:00")
    gone, same = _talk("I live in Lisbon, you know"), _talk("i live in lisbon.")
    stays, book = _talk("we deploy on Tuesdays"), Notebook(KNOWLEDGE)
    said = inbox.Draft("User lives in Lisbon", quote="I live in Lisbon", origin=gone)
    [draft] = inbox.put(book, [said], actor="chat").added
    ref = "i:user-lives-in-lisbon"
    if rejected:
        inbox.reject(book, draft, actor="cli")
    else:
        ref = inbox.accept(book, draft, actor="cli").ref
    done = co("forget", ref, "--purge", "--yes")
    assert [f"deleted too: {one}" in done.err for one in (gone, same, stays)] == [True, True, False]
    assert [one.id for one in transcripts.recent(Path.cwd(), 9)] == [stays]


def test_one_conversation_is_deleted_alone_after_a_yes() -> None:
    """Red when a word of it stays in the state folder, or another conversation goes."""
    gone, stays = _talk("the harbour secret"), _talk("we deploy on Tuesdays")
    listed = json.loads(co("session", "--json").out)
    assert {row["id"] for row in listed["sessions"]} == {gone, stays}
    assert "the harbour secret" in co("session").out
    unsure = co("session", "delete", gone)
    assert (unsure.code, "nothing was deleted" in unsure.err) == (1, True)
    no = co("session", "delete", gone, tty=True, input="n\n")
    assert (no.code, len(transcripts.files())) == (1, 2)
    assert co("session", "delete", gone[-4:], "--yes").out == f"✓ Deleted the conversation {gone}\n"
    state = Path(os.environ["HOME"]) / ".local/state/co-cli"
    assert [p for p in state.rglob("*") if p.is_file() and b"harbour" in p.read_bytes()] == []
    assert [one.id for one in transcripts.recent(Path.cwd(), 9)] == [stays]
    assert co("session", "delete", gone).code == 1
    with pytest.raises(CoError):
        transcripts.find(Path.cwd(), gone)
