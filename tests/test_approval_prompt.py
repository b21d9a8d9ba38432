"""The approval screen: the exact text behind a bar, and an answer that means what it says."""

from __future__ import annotations

import asyncio
import io
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import wcwidth
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from co_cli import paths, trust
from co_cli.agent.approval import (
    DECLINED,
    NOBODY,
    ONLY_OFFERED,
    STOPPED,
    Approvals,
    Proposal,
    Review,
    Reviewed,
    carry_out,
    prepare,
)
from co_cli.chat.approval_prompt import Screen
from co_cli.cli.ask import _by_rule
from co_cli.deps import CoDeps
from co_cli.errors import MovedOn
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.inbox import waiting

NOTES = Path(".co-cli/knowledge")


class Typist:
    """Types these answers; ^C and ^D by raising."""

    def __init__(self, *answers: str | type[BaseException]) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []
        self.offered: list[str] = []
        self.sent: list[str] = []  # what was said in the place of an answer

    async def __call__(self, question: str, default: str) -> str:
        self.questions.append(question)
        self.offered.append(default)
        answer = self.answers.pop(0)
        if not isinstance(answer, str):
            raise answer
        return answer


def proposal(text: str, *tags: str, call: str = "c1", scope: str | None = None) -> Proposal:
    arguments: dict[str, Any] = {"content": text, "tags": list(tags), "scope": scope}
    return prepare(CoDeps(), call, "save_memory", arguments)


def ask(
    typist: Typist,
    *proposals: Proposal,
    external: tuple[str, ...] = (),
    width: int = 100,
    colours: bool = False,
) -> tuple[Reviewed, str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, force_terminal=colours,
                      color_system="standard" if colours else None)  # fmt: skip
    review = Review(list(proposals), external, CoDeps())
    reviewed = asyncio.run(Screen(console, typist, typist.sent.append)(review))
    assert isinstance(console.file, io.StringIO)
    return reviewed, console.file.getvalue()


def verdicts(reviewed: Reviewed) -> list[str]:
    return [one.verdict for one in reviewed.decisions]


def test_yes_and_what_is_shown_before_it() -> None:
    reviewed, shown = ask(Typist("y"), proposal("User prefers tabs", "preference", "go"))
    assert verdicts(reviewed) == ["yes"]
    assert "  │ User prefers tabs\n" in shown
    assert "Tags   preference, go" in shown
    assert "this project" in shown
    assert "001-user-prefers-tabs.md" in shown


def test_a_secret_is_left_out_and_the_screen_says_so() -> None:
    """Red when the approval shows a secret, or leaves it out without a word."""
    reviewed, shown = ask(Typist("y"), proposal("the nas pass" + "word is Win" + "ter2026!"))
    assert [one.proposal.text for one in reviewed.decisions] == ["the nas password is [left out]"]
    assert "  │ the nas password is [left out]\n" in shown
    assert "Left out: this looks like a password or key (rule assigned-secret)" in shown
    assert "ter2026" not in shown


@pytest.mark.parametrize("answer", ["n", "N", "no", "1n"])
def test_no_declines(answer: str) -> None:
    reviewed, _ = ask(Typist(answer), proposal("User prefers tabs"))
    assert [(one.verdict, one.refusal) for one in reviewed.decisions] == [("no", DECLINED)]


@pytest.mark.parametrize("end", [KeyboardInterrupt, EOFError])
def test_control_c_and_the_end_of_input_refuse_everything(end: type[BaseException]) -> None:
    """Red when leaving the screen counts as anything but no."""
    reviewed, _ = ask(Typist(end), proposal("one"), proposal("two", call="c2"))
    assert [(one.verdict, one.refusal) for one in reviewed.decisions] == [("no", STOPPED)] * 2


def test_always_names_the_tool() -> None:
    reviewed, _ = ask(Typist("a"), proposal("User prefers tabs"))
    assert (verdicts(reviewed), set(reviewed.always)) == (["yes"], {"save_memory"})


def test_always_is_not_offered_and_not_taken_after_outside_text() -> None:
    """G15. Red when `a` is accepted once something external is in the conversation."""
    typist = Typist("a", "n")
    reviewed, shown = ask(typist, proposal("User prefers tabs"), external=("tool fetch",))
    assert verdicts(reviewed) == ["no"]
    assert "lways" not in typist.questions[0]
    assert "tool fetch" in shown


def test_what_came_from_outside_is_named_once_and_then_only_marked() -> None:
    """Red when every save repeats the whole notice, or none says why Co asks."""
    console = Console(file=io.StringIO(), width=100)
    screen, shown = Screen(console, Typist("n", "n", "n", "n")), []
    for external in (("article a.md",), ("article a.md",), ("article a.md", "page b"), ()):
        assert isinstance(console.file, io.StringIO)
        console.file.truncate(0)
        asyncio.run(screen(Review([proposal("User prefers tabs")], external, CoDeps())))
        text = console.file.getvalue()
        notice = "This chat contains external text, so every save needs your OK." in text
        shown.append((notice, "  From   " in text))
    assert shown == [(True, True), (True, False), (True, True), (False, False)]


def test_beside_an_outdated_memory_the_card_says_what_yes_does() -> None:
    """Red when `y` links two memories and nobody was told, or Enter decides."""
    Notebook(NOTES).remember("We deploy on Tuesdays at noon")
    typist = Typist("", "n")
    _, shown = ask(typist, proposal("We deploy on Thursdays at noon"))
    assert "This brings memory 1 out of date, saved " in shown
    assert "  y keeps both; recall then shows the new one first, the old as earlier.\n" in shown
    assert typist.questions[0].startswith(
        "  [y]es, [u]pdate 1  [n]o  [r]eplace 1  [k]eep both  [e]dit  [l]ater  [g] everywhere"
    )
    assert "Please answer with" in shown


def test_similar_wording_is_shown_and_is_no_obstacle() -> None:
    """Red when two notes that only look alike take another answer than a plain yes."""
    Notebook(NOTES).remember("User prefers tabs over spaces in Go files at work")
    typist = Typist("y")
    reviewed, shown = ask(typist, proposal("User prefers tabs over spaces in Go files at home"))
    assert verdicts(reviewed) == ["yes"]
    assert "Similar wording to memory 1, 90%:" in shown
    assert typist.questions[0].startswith("  [y]es  [n]o  [a]lways this session  [e]dit")


def test_a_text_that_restates_a_memory_asks_before_it_is_saved_again() -> None:
    Notebook(NOTES).remember("Standup is at 9:30")
    typist = Typist("y")
    reviewed, shown = ask(typist, proposal("The team's standup takes place at half past nine"))
    assert verdicts(reviewed) == ["yes"]
    assert "Already noted as 1. Save this as well?\n" in shown
    assert "Already noted as memory 1:\n  │ Standup is at 9:30\n" in shown
    assert typist.questions[0].startswith("  [y]es, save again  [n]o  [r]eplace 1")


@pytest.mark.parametrize("noise", ["", "x", "yy", "3y", "y2", "maybe", "é", "9" * 5000 + "y"])
def test_anything_else_is_asked_again(noise: str) -> None:
    reviewed, shown = ask(Typist(noise, "n"), proposal("User prefers tabs"))
    assert verdicts(reviewed) == ["no"]
    assert "Please answer with" in shown


def test_editing_changes_text_tags_and_scope_and_shows_them_again() -> None:
    typist = Typist("e", "User prefers two spaces", "style, go", "u", "y")
    reviewed, shown = ask(typist, proposal("User prefers tabs", "preference"))
    [answer] = reviewed.decisions
    assert typist.offered[1:4] == ["User prefers tabs", "preference", ""]
    assert (answer.proposal.text, answer.proposal.tags, answer.proposal.scope) == (
        "User prefers two spaces", ("style", "go"), "user",
    )  # fmt: skip
    assert "  │ User prefers two spaces\n" in shown
    assert "your own notebook" in shown


def test_an_edit_that_cannot_be_stored_says_why_and_goes_on_from_there() -> None:
    """Red when one mistake throws away what was typed."""
    bad = "key AKIAIOSFODNN7EXAMPLA"
    typist = Typist("e", bad, "mine", "", "The key is in the vault", "mine", "", "y")
    reviewed, shown = ask(typist, proposal("User prefers tabs"))
    assert "looks like an AWS access key" in shown
    assert typist.offered[4:6] == [bad, "mine"]
    answer = reviewed.decisions[0].proposal
    assert (answer.text, answer.tags) == ("The key is in the vault", ("mine",))


def test_one_letter_takes_it_to_the_persons_own_notebook() -> None:
    typist = Typist("g", "y")
    reviewed, shown = ask(typist, proposal("User prefers tabs"))
    assert reviewed.decisions[0].proposal.scope == "user"
    assert "[g] everywhere" in typist.questions[0]
    assert "[g] everywhere" not in typist.questions[1]
    assert "your own notebook" in shown


def test_the_same_letter_takes_it_back_as_it_was_asked_for() -> None:
    """Red when the letter goes one way only, or brings the other notebook's tags along."""
    Notebook(paths.user_knowledge()).remember("User prefers tabs", ["editor"])
    typist = Typist("g", "g", "y")
    reviewed, shown = ask(typist, proposal("User prefers tabs.", "preference"))
    assert "Tags   editor, preference" in shown
    assert "[g] in this project only" in typist.questions[1]
    assert typist.questions[2] == typist.questions[0]
    [answer] = reviewed.decisions
    assert (answer.proposal.scope, answer.proposal.tags) == ("project", ("preference",))


def test_what_was_left_out_of_a_text_does_not_hold_it_where_it_is() -> None:
    reviewed, shown = ask(Typist("g", "y"), proposal("the nas pass" + "word is Win" + "ter2026!"))
    [answer] = reviewed.decisions
    assert (answer.verdict, answer.proposal.scope) == ("yes", "user")
    assert answer.proposal.text == "the nas password is [left out]"
    assert shown.count("Left out: ") == 2


def test_one_letter_moves_a_whole_batch_or_one_of_it_and_back() -> None:
    pair = proposal("one fact"), proposal("two facts", call="c2")
    typist = Typist("g", "g2", "y")
    reviewed, _ = ask(typist, *pair)
    assert [one.proposal.scope for one in reviewed.decisions] == ["user", "project"]
    assert "[g] all everywhere" in typist.questions[0]
    assert "[g] all in this project only" in typist.questions[1]
    reviewed, _ = ask(Typist("n1", "g", "g", "y"), *pair)
    scopes = [(one.verdict, one.proposal.scope) for one in reviewed.decisions]
    assert scopes == [("no", "project"), ("yes", "project")]


def test_why_the_other_notebook_refuses_is_said_and_the_place_stays_as_it_was() -> None:
    """Red when the screen shows the old place as if it were the new one and all were well."""
    own = Notebook(paths.user_knowledge())
    own.remember("User prefers tabs", [])
    own.protect("1")
    typist = Typist("g", "y")
    reviewed, shown = ask(typist, proposal("User prefers tabs"))
    assert "That cannot be saved: memory g1 already says this and is protected\n" in shown
    assert "your own notebook" not in shown
    assert typist.questions[1] == typist.questions[0]
    [answer] = reviewed.decisions
    assert (answer.verdict, answer.proposal.scope, answer.proposal.refused) == (
        "yes",
        "project",
        "",
    )


def test_the_same_in_the_other_notebook_is_told() -> None:
    Notebook(paths.user_knowledge()).remember("User prefers tabs", [])
    _, shown = ask(Typist("n"), proposal("user prefers tabs."))
    assert "Already noted as memory g1 in your other notebook:" in shown


@pytest.fixture
def known() -> None:
    Notebook(NOTES).remember("We use PostgreSQL 14", ["decision"])
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("letter", "verdict"),
    [("y", "update"), ("u", "update"), ("r", "replace"), ("k", "keep"), ("n", "no"),
     ("l", "later")],
)  # fmt: skip
def test_an_outdated_memory_is_shown_beneath_with_its_choices(letter: str, verdict: str) -> None:
    reviewed, shown = ask(Typist(letter), proposal("We use PostgreSQL 16"))
    assert verdicts(reviewed) == [verdict]
    assert "This brings memory 1 out of date, saved " in shown
    assert "\n  │ We use PostgreSQL 14\n" in shown


@pytest.mark.usefixtures("known")
def test_what_is_out_of_date_is_told_apart_by_colour() -> None:
    """Red when a row that an old text goes on with loses its colour, or NO_COLOR would show one."""
    one = proposal("We use PostgreSQL 16")
    _, shown = ask(Typist("k"), one, width=22, colours=True)
    rows = ("We use ", "PostgreSQL 14")
    assert "\n".join(f"\x1b[31m  │ {row}\x1b[0m" for row in rows) in shown
    assert "\x1b" not in ask(Typist("k"), one)[1]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("answers", "verdict", "chosen"),
    [(("r", "1"), "replace", ("1",)), (("r2",), "replace", ("2",)), (("r 1",), "replace", ("1",)),
     (("u2",), "update", ("2",)), (("y",), "update", ())],
)  # fmt: skip
def test_of_two_outdated_memories_the_person_picks_one_or_means_both(
    answers: tuple[str, ...], verdict: str, chosen: tuple[str, ...]
) -> None:
    Notebook(NOTES).remember("We use PostgreSQL 15")
    typist = Typist(*answers)
    reviewed, _ = ask(typist, proposal("We use PostgreSQL 16"))
    [answer] = reviewed.decisions
    assert (answer.verdict, answer.proposal.chosen) == (verdict, chosen)
    assert "[u]pdate " in typist.questions[0]
    assert " and " in typist.questions[0]


@pytest.mark.usefixtures("known")
def test_of_two_memories_with_one_number_the_file_tells_which_gives_way() -> None:
    """G8. Red when the number that two share is offered, or means one of them."""
    [first] = Notebook(NOTES).notes()
    twin = Path(first.path).with_name("001-other.md")
    twin.write_bytes(first.raw.replace(b"14", b"15").replace(first.uid.encode(), b"twin"))
    reviewed, shown = ask(Typist("r", "1", "r", "001-other"), proposal("We use PostgreSQL 16"))
    [answer] = reviewed.decisions
    assert (answer.verdict, answer.proposal.chosen) == ("replace", ("001-other",))
    assert f"This brings memory {first.name[:-3]} out of date" in shown
    saved = carry_out(CoDeps(), answer)
    assert saved is not None
    assert saved.replaced is not None
    assert saved.replaced.name == "001-other.md"
    assert prepare(
        CoDeps(), "c", "save_memory", {"content": "x", "replaces": "001-we-use-postgresql-14"}
    ).replaces == ("1")


@pytest.mark.usefixtures("known")
def test_an_answer_that_names_no_outdated_memory_replaces_none() -> None:
    """Red when a slip of the finger archives a memory that was not named."""
    Notebook(NOTES).remember("We use PostgreSQL 15")
    reviewed, _ = ask(Typist("r", "7", "r9", "k"), proposal("We use PostgreSQL 16"))
    assert verdicts(reviewed) == ["keep"]
    Notebook(NOTES).protect("2")
    reviewed, _ = ask(Typist("r2", "k"), proposal("We use PostgreSQL 16"))
    assert verdicts(reviewed) == ["keep"]


@pytest.mark.usefixtures("known")
def test_in_a_batch_each_says_what_becomes_of_it_until_all_is_decided() -> None:
    typist = Typist("r1", "2", "2", "k1", "u1", "y")
    batch = proposal("We use PostgreSQL 16"), proposal("Dana owns billing", call="c2")
    reviewed, shown = ask(typist, *batch)
    for state in ("update 1", "replace 1", "keep both"):
        assert f"1  Remember this?  [{state}]\n" in shown
    assert shown.count("2  Remember this?  [no]\n") == 1
    assert verdicts(reviewed) == ["update", "yes"]


@pytest.mark.usefixtures("known")
def test_a_protected_memory_is_updated_but_not_replaced_or_edited_from_here() -> None:
    Notebook(NOTES).protect("1")
    typist = Typist("r", "y")
    reviewed, shown = ask(typist, proposal("We use PostgreSQL 16"))
    assert verdicts(reviewed) == ["update"]
    assert "This brings memory 1 (protected) out of date" in shown
    assert "eplace" not in typist.questions[0]


@pytest.mark.usefixtures("known")
def test_the_old_memory_can_be_edited_in_the_place_of_saving_the_new_text() -> None:
    """Red when `e` beside an outdated memory only knows the new text, or both are written."""
    typist = Typist("e", "1", "We use PostgreSQL 16 since May")
    reviewed, _ = ask(typist, proposal("PostgreSQL is at 16 now"))
    [answer] = reviewed.decisions
    assert "Edit this text (Enter), or memory 1 instead of saving it?" in typist.questions[1]
    assert typist.offered[2] == "We use PostgreSQL 14"
    assert answer.verdict == "edit"
    saved = carry_out(CoDeps(), answer)
    assert saved is not None
    assert (saved.action, saved.ref) == ("edited", "1")
    assert [note.body for note in Notebook(NOTES).notes()] == ["We use PostgreSQL 16 since May"]
    Notebook(NOTES).undo()
    assert [note.body for note in Notebook(NOTES).notes()] == ["We use PostgreSQL 14"]


@pytest.mark.usefixtures("known")
def test_beside_an_outdated_memory_enter_edits_the_text_and_an_untouched_note_stays() -> None:
    typist = Typist("e", "", "We use PostgreSQL 17", "", "", "e", "1", "We use PostgreSQL 14", "n")
    reviewed, shown = ask(typist, proposal("We use PostgreSQL 16"))
    assert verdicts(reviewed) == ["no"]
    assert "  │ We use PostgreSQL 17\n" in shown


def carried(answer: str, text: str = "We use PostgreSQL 16") -> list[tuple[str, Any, Any, Any]]:
    """The notes after this answer: text, and what their headers say of others."""
    reviewed, _ = ask(Typist(answer), proposal(text))
    carry_out(CoDeps(), reviewed.decisions[0])
    names = ("updates", "related", "supersedes")
    header = [[n.meta.get(name) for name in names] for n in Notebook(NOTES).notes()]
    bodies = [note.body for note in Notebook(NOTES).notes()]
    return [(body, *rest) for body, rest in zip(bodies, header, strict=True)]  # type: ignore[misc]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("answer", "links"), [("y", (1, 0, 0)), ("u", (1, 0, 0)), ("r", (0, 0, 1)), ("k", (0, 1, 0))]
)
def test_a_decision_is_written_as_a_link_and_never_into_a_sentence(
    answer: str, links: tuple[int, int, int]
) -> None:
    """G20. Red when what the person chose is not what the headers hold, or a text is changed."""
    [old] = Notebook(NOTES).notes()
    there = [(old.body, None, None, None)] if answer != "r" else []
    linked = [[old.uid] if one else None for one in links]
    assert carried(answer) == [*there, ("We use PostgreSQL 16", *linked)]


@pytest.mark.usefixtures("known")
def test_a_text_put_aside_is_a_draft_that_asks_again_when_it_is_reviewed() -> None:
    assert carried("l") == [("We use PostgreSQL 14", None, None, None)]
    assert [one.body for one in waiting(Notebook(NOTES))] == ["We use PostgreSQL 16"]


def test_an_update_in_the_other_notebook_is_linked_and_that_one_is_not_written() -> None:
    own = Notebook(paths.user_knowledge())
    old = own.remember("User's favourite editor is Neovim").note
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    typist = Typist("r", "y")
    reviewed, shown = ask(typist, proposal("User's favourite editor is Helix"))
    assert "This brings memory g1 in your other notebook out of date" in shown
    assert "eplace" not in typist.questions[0]
    saved = carry_out(CoDeps(), reviewed.decisions[0])
    assert saved is not None
    assert saved.note.meta["updates"] == [old.uid]
    assert Path(old.path).read_bytes() == old.raw


@pytest.mark.usefixtures("known")
def test_what_changed_after_the_card_was_shown_is_asked_about_again() -> None:
    """Red when a yes is carried out beside another note than the one on the screen."""
    reviewed, _ = ask(Typist("y"), proposal("We use PostgreSQL 16"))
    [note] = Notebook(NOTES).notes()
    Path(note.path).write_bytes(note.raw.replace(b"PostgreSQL 14", b"PostgreSQL 15"))
    with pytest.raises(MovedOn):
        carry_out(CoDeps(), reviewed.decisions[0])
    assert len(Notebook(NOTES).notes()) == 1


@pytest.mark.usefixtures("known")
def test_a_yes_without_a_person_links_nothing_and_the_pair_stays_unconfirmed() -> None:
    """Red when a rule decides what becomes of a memory."""
    [decision] = asyncio.run(
        Approvals(partial(_by_rule, True)).decide(CoDeps(), [proposal("We use PostgreSQL 16")])
    )
    assert carry_out(CoDeps(), decision) is not None
    book = Notebook(NOTES)
    assert [note.meta.get("updates") for note in book.notes()] == [None, None]
    book.search.compare_notes()
    assert [(new.id, old.id) for new, old, _ in book.unconfirmed()] == [(2, 1)]


def test_several_are_on_one_screen_and_one_can_be_left_out() -> None:
    typist = Typist("n2", "y")
    reviewed, shown = ask(typist, proposal("one fact"), proposal("two facts", call="c2"))
    assert verdicts(reviewed) == ["yes", "no"]
    assert shown.index("one fact") < shown.index("two facts")
    assert "[no]" in shown


FORGED = [
    "safe\n\n[y]es  [n]o > y\n✓ Saved",
    "\x1b[2J\x1b[Hnothing to see",
    "x\rRemember this? (approved)",
    "a\u202eb",
    "tail\n  Tags   none",
]


@pytest.mark.parametrize("text", FORGED)
def test_no_text_can_pass_for_the_screens_own_words(text: str) -> None:
    """G13. Red when a line of the text stands without its bar."""
    one = Proposal("c1", "save_memory", text, (), "project", "/tmp/x.md", "created")
    _, shown = ask(Typist("n"), one)
    for piece in ("[n]o > y", "✓ Saved", "(approved)", "Tags   none"):
        for line in shown.splitlines():
            if piece in line and piece in text:
                assert line.startswith("  │ ") or line == "  Tags   none"
    assert not set("\x1b\r\u202e") & set(shown)


def test_always_holds_only_for_what_was_agreed_to() -> None:
    """Red when a tool that was just declined gets a blanket yes."""
    other = Proposal("c2", "forget_memory", "old", (), "project", "/tmp/x.md", "forgotten", "1")
    reviewed, _ = ask(Typist("n2", "a"), proposal("one fact"), other)
    assert (verdicts(reviewed), set(reviewed.always)) == (["yes", "no"], {"save_memory"})


FORGETTING = Proposal("c2", "forget_memory", "old", (), "project", "/tmp/x.md", "forgotten", "1")


def test_an_article_is_forgotten_by_its_own_name() -> None:
    article = replace(FORGETTING, ref="ga:tides")
    assert "Forget this article?" in ask(Typist("n"), article)[1]
    assert "Forget this memory?" in ask(Typist("n"), FORGETTING)[1]


def test_always_is_never_offered_for_forgetting_nor_taken() -> None:
    """Red when one key can make Co forget without asking, alone or beside a save."""
    for batch in ([FORGETTING], [proposal("one fact"), FORGETTING]):
        typist = Typist("a", "n")
        reviewed, _ = ask(typist, *batch)
        assert "lways" not in typist.questions[0]
        assert not any(one.agreed for one in reviewed.decisions)

    async def blanket(review: Review) -> Reviewed:
        agreed = Reviewed([], frozenset({"forget_memory"})).always
        typist = Typist("y")
        return (await Screen(Console(file=io.StringIO()), typist)(review))._replace(always=agreed)

    approvals = Approvals(blanket)
    asyncio.run(approvals.decide(CoDeps(), [FORGETTING]))
    assert approvals.always == set()


def test_always_says_that_it_is_on_and_how_to_turn_it_off() -> None:
    _, shown = ask(Typist("a"), proposal("one fact"))
    assert "Saving without asking until you leave. /ask turns that off." in shown


@pytest.mark.parametrize("width", [40, 60, 100])
def test_the_question_fits_the_screen(width: int) -> None:
    """Red when the terminal has to break the line in the middle of a word."""
    typist = Typist("n", "n")
    ask(typist, proposal("one fact"), width=width)
    ask(typist, proposal("one fact"), proposal("two facts", call="c2"), width=width)
    for question in typist.questions:
        assert max(map(len, question.split("\n"))) < width
        assert question.endswith(" > ")


# What nobody asked to keep


def offer(text: str) -> Proposal:
    return replace(proposal(text), offered=True)


def test_what_is_only_offered_is_asked_as_such_and_kept_by_a_key() -> None:
    typist = Typist("a", "y")
    reviewed, shown = ask(typist, offer("The sky over Turin is grey"))
    assert "Keep this as a note? [y/n]\n  │ The sky over Turin is grey\n" in shown
    assert "lways" not in typist.questions[0]
    [decision] = asyncio.run(Approvals(answering(reviewed)).decide(CoDeps(), [offer("x")]))
    assert decision.agreed


def test_beside_a_similar_note_an_offer_asks_for_no_letter_that_is_refused() -> None:
    """Red when the title says [y/n] where there is more to choose from."""
    Notebook(NOTES).remember("We deploy on Tuesdays at noon")
    typist = Typist("n")
    _, shown = ask(typist, offer("We deploy on Thursdays at noon"))
    assert "Keep this as a note?\n" in shown
    assert "[y]es, [u]pdate 1" in typist.questions[0]


@pytest.mark.parametrize("answer", ["y", "u"])
def test_a_model_that_names_what_is_corrected_gets_the_same_card(answer: str) -> None:
    """Red when a memory that a model names is not shown, or gives way without its key."""
    Notebook(NOTES).remember("Lunch is in the blue room")
    said = {"content": "We deploy on Thursdays at noon", "replaces": "1"}
    typist = Typist(answer)
    reviewed, shown = ask(typist, prepare(CoDeps(), "c1", "save_memory", said))
    assert verdicts(reviewed) == ["update"]
    assert "Correct memory 1?\n" in shown
    assert "This brings memory 1 out of date" in shown
    assert "[y]es, [u]pdate 1" in typist.questions[0]


def test_several_proposals_stand_apart_and_yes_says_to_which() -> None:
    Notebook(NOTES).remember("We deploy on Tuesdays at noon")
    pair = proposal("We deploy on Thursdays at noon"), proposal("two facts", call="c2")
    typist = Typist("n2", "n1", "n")
    _, shown = ask(typist, *pair)
    assert "\n\n2  Remember this?\n" in shown
    assert [question.split("  ")[1] for question in typist.questions] == [
        "[y]es to all", "[y]es to the others", "[y]es to all",
    ]  # fmt: skip


def answering(reviewed: Reviewed) -> Any:
    async def answer(_review: Review) -> Reviewed:
        return reviewed

    return answer


def test_whoever_goes_on_talking_keeps_nothing_and_loses_no_word() -> None:
    """Red when an offer has to be answered before anything else can be said."""
    typist = Typist("yes please", "No, thanks", "What about Milan?")
    reviewed, shown = ask(typist, offer("The sky over Turin is grey"))
    assert verdicts(reviewed) == ["no"]
    assert shown.count("Please answer with") == 2
    assert typist.sent == ["What about Milan?"]
    typist = Typist("What about Milan?", "And Rome, too", "n")
    ask(typist, offer("The sky over Turin is grey"), proposal("two facts", call="c2"))
    assert typist.sent == ["What about Milan?", "And Rome, too"]


@pytest.mark.parametrize(
    ("line", "waits"),
    [("always ask Sandra before deploying", True), ("no, Fridays", True), ("bye", True),
     ("keep it until May", True), ("No, thank you!", False), ("always this session", False),
     ("keep both please", False), ("update memory 12", False)],
)  # fmt: skip
def test_a_line_that_only_begins_like_an_answer_is_not_lost(line: str, waits: bool) -> None:
    typist = Typist(line, "n")
    ask(typist, proposal("We never deploy on Fridays"))
    assert typist.sent == [line] * waits


@pytest.mark.parametrize(
    ("line", "verdict"), [("no, on Fridays", "no"), ("bye", "no"), ("yes, until Friday", "yes")]
)
def test_at_an_offer_a_line_that_begins_with_yes_is_no_refusal(line: str, verdict: str) -> None:
    typist = Typist(line, "y")
    reviewed, _ = ask(typist, offer("The sky over Turin is grey"))
    assert verdicts(reviewed) == [verdict]
    assert typist.sent == [line]


def test_no_rule_and_no_earlier_yes_keeps_what_is_only_offered() -> None:
    """Red when `--yes`, `a` or anything but a key can keep what nobody asked to keep."""
    one = offer("The sky over Turin is grey")
    for approvals, why in (
        (Approvals(partial(_by_rule, True)), ONLY_OFFERED),
        (Approvals(partial(_by_rule, False)), ONLY_OFFERED),
        (Approvals(None, {"save_memory"}), NOBODY),
        (Approvals(answering(ask(Typist("y"), one)[0]._replace(by_key=False))), ONLY_OFFERED),
    ):
        [decision] = asyncio.run(approvals.decide(CoDeps(), [one]))
        assert (decision.agreed, decision.refusal) == (False, why)
    typist = Typist("a", "n")
    ask(typist, one, proposal("two facts", call="c2"))
    assert "lways" not in typist.questions[0]


def test_a_no_to_one_can_be_taken_back_and_no_to_all_is_always_possible() -> None:
    pair = proposal("one fact"), proposal("two facts", call="c2")
    assert verdicts(ask(Typist("n2", "y2", "y"), *pair)[0]) == ["yes", "yes"]
    assert verdicts(ask(Typist("n2", "n"), *pair)[0]) == ["no", "no"]


def test_a_line_longer_than_the_screen_keeps_its_bar() -> None:
    """G13. Red when the terminal wraps a line, for the rest of it then stands without a bar."""
    long = Proposal("c1", "save_memory", "word " * 60 + "Nothing was changed.", (), "project",
                "/tmp/x.md", "created")  # fmt: skip
    _, shown = ask(Typist("n"), long)
    rows = [line for line in shown.splitlines() if "word" in line or "changed." in line]
    assert len(rows) > 2
    assert all(row.startswith("  │ ") and len(row) <= 100 for row in rows)


# Characters that terminals draw in one column, in two or in none, alone or joined.
PIECES = [
    "👍🏽", "🏽", "👨\u200d👩\u200d👧", "🇩🇪", "🇫", "❤️", "1️⃣", "e\u0301", "o" + "\u0301" * 30,
    "\u302a", "漢",
    "±", "Я", "\u1112\u1161\u11ab", "\u1161", "\ud7b0", "\u200b", "\xad", "\t", "क्ष",
    "நி",
    "ก็", "שלום", "لا", "\u0661", "\ue000", "\U000f0000", "\u0378", "\U0001fae9", "⸻", "ｱ", "Ａ",
    "か\u3099", "\u20dd", "\ufdfd", "\u2800", "\xa0", "x" * 50, "word", " ", "  ", "\n", "\r",
    "\x1b[1A", "[y]es  [n]o >",
]  # fmt: skip
ANYTHING = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=120).map("".join)


def one_by_one(text: str) -> int:
    return sum(max(wcwidth.wcwidth(character), 0) for character in text)


def all_double(text: str) -> int:
    return sum(1 if character.isascii() else 2 for character in text)


def in_clusters(text: str) -> int:
    return wcwidth.wcswidth(text)


MODELS = [one_by_one, in_clusters, all_double]


@given(text=ANYTHING, tag=ANYTHING, columns=st.sampled_from([30, 40, 60, 80, 120, 200]))
@example(text="👍🏽" * 60 + "Nothing was changed.", tag="", columns=80)
def test_no_row_of_a_text_reaches_the_edge_on_any_terminal(
    text: str, tag: str, columns: int
) -> None:
    """G13. Red when widths are added up as one kind of terminal does, or a row lacks its bar."""
    one = Proposal("c1", "save_memory", text, (tag,), "project", "/tmp/x.md", "created")
    console = Console(file=io.StringIO(), width=columns, highlight=False)
    asyncio.run(Screen(console, Typist("n"))(Review([one], (tag,), CoDeps())))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue().split("\n")
    for row in shown:
        assert max(model(row) for model in MODELS) < columns
    [tags] = [number for number, row in enumerate(shown) if row.startswith("  Tags   ")]
    quoted = shown[shown.index("Remember this?") + 1 : tags]
    assert quoted
    assert all(row.startswith("  │ ") for row in quoted)


@pytest.mark.parametrize("text", ["👍🏽 fine", "naïve 漢字", "🇩🇪🇫🇷🇮🇹🇪🇸", "한국어", "עברית"])
def test_ordinary_letters_and_pictures_are_shown_as_they_are(text: str) -> None:
    """Red when what is safe to draw is spelled out."""
    _, shown = ask(Typist("n"), proposal(text))
    assert text in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("o" + "\u0301" * 6, "o" + "\u0301" * 4 + "<U+0301><U+0301>"),
        ("a \u0301b", "a <U+0301>b"),
        ("new \u0378", "new <U+0378>"),
        ("a\u1161", "a<U+1161>"),
    ],
)
def test_what_a_terminal_may_leave_out_is_spelled_out(text: str, shown: str) -> None:
    """G13. Red when a character that tmux draws nowhere can be approved unseen."""
    one = Proposal("c1", "save_memory", text, (), "project", "/tmp/x.md", "created")
    assert f"  │ {shown}\n" in ask(Typist("n"), one)[1]


def test_a_text_that_runs_to_the_left_leaves_the_bar_at_the_left() -> None:
    """G13. Red when a terminal that takes a row's direction from its text may turn the row."""
    one = Proposal("c1", "save_memory", "שלום [y]es", (), "project", "/tmp/x.md", "created")
    assert "  │ \u200eשלום [y]es\n" in ask(Typist("n"), one)[1]


def test_a_save_that_crosses_the_limit_says_which_memories_it_moves() -> None:
    """Red when a yes moves old memories that the screen did not name."""
    book = Notebook(NOTES)
    for name in ("Ann", "Bob", "Cid", "Dot", "Eva"):
        book.remember(f"{name} owns service {name * 3}")
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    deps = CoDeps(memory_max_count=5, memory_decay_percentage=0.6)
    one = prepare(deps, "c1", "save_memory", {"content": "We deploy on Tuesdays"})
    _, shown = ask(Typist("n"), one)
    said = (
        "This save crosses the limit of 5 memories: 3 old memories (1-3) will be joined into one."
    )
    assert f"{said} /undo takes that back." in " ".join(shown.split())
    always = Approvals(None, {"save_memory"})
    assert not asyncio.run(always.decide(deps, [one]))[0].agreed


def test_a_yes_given_below_the_limit_moves_nothing_later() -> None:
    """Red when a save crosses the limit by the time it is done and nobody is asked again."""
    book = Notebook(NOTES, policy=Policy(max_count=2))
    book.remember("Ann owns service one")
    plan = book.plan_remember("We deploy on Tuesdays")
    book.remember("Bob runs the night shift")
    with pytest.raises(MovedOn):
        book.remember("We deploy on Tuesdays", seen=plan.seen)
    assert len(book.notes()) == 2


def test_what_is_to_be_forgotten_is_not_offered_to_be_edited_or_moved() -> None:
    book = Notebook(Path(".co-cli/knowledge"))
    for text in ("Bears eat honey", "The port is 8080"):
        book.remember(text)
    two = [prepare(CoDeps(), f"c{ref}", "forget_memory", {"ref": ref}) for ref in ("1", "2")]
    typist = Typist("n")
    ask(typist, *two)
    assert typist.questions == ["  [y]es to all  [n]one  one alone: 2 for yes or no > "]
