"""What a person wants with a turn: how often it is understood, and what is kept of it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from co_cli.knowledge import Notebook, Shelf
from co_cli.knowledge.meaning import turns as reader
from co_cli.knowledge.meaning.turns import STATEMENTS
from co_cli.learning import turns
from co_cli.learning.amend import placed
from co_cli.learning.own_words import MOST
from co_cli.learning.turns import KEPT, Turn, tags_for, understand
from co_cli.learning.voice import second_person, third_person
from co_cli.providers.conversation import topic

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
KINDS = {"preference", "correction", "decision", "context", "pattern"}


def _rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def _kept(said: str, *, sure: bool = True) -> list[Turn]:
    return [turn for turn in understand(said) if turn.want in KEPT and (turn.sure or not sure)]


def _figures(name: str, *, sure: bool) -> dict[str, float]:
    """How a labelled half is judged; numbers only, since one half is nobody's to read."""
    rows = _rows(name)
    wanted = [row["label"] in KINDS for row in rows]
    given = [_kept(row["text"], sure=sure) for row in rows]
    both = sum(want and bool(got) for want, got in zip(wanted, given, strict=True))
    kinds = [got[0].tags[0] == row["label"] for got, row in zip(given, rows, strict=True) if got]
    return {
        "precision": round(both / max(1, sum(map(bool, given))), 3),
        "recall": round(both / max(1, sum(wanted)), 3),
        "kind": round(sum(kinds) / max(1, both), 3),
    }


@pytest.mark.parametrize("half", ["open", "held"])
def test_what_is_worth_keeping_is_told_from_what_is_not(half: str) -> None:
    """The held half was never trained on: .98 and .90 of what is sure, .91 and 1.0 with offers."""
    sure = _figures(f"utterances_{half}.jsonl", sure=True)
    offered = _figures(f"utterances_{half}.jsonl", sure=False)
    assert (sure["precision"] >= 0.95, sure["recall"] >= 0.90) == (True, True), sure
    assert (offered["recall"] >= 0.95, offered["kind"] >= 0.85) == (True, True), offered


@pytest.mark.parametrize("half", ["open", "held"])
def test_everyday_turns_are_understood(half: str) -> None:
    """The held half was never trained on; which of it are missed is not told."""
    same = {
        "offer": STATEMENTS,
        "correct": ("correct", "amend"),
        "followup": ("followup", "earlier"),
        "list": ("list", "count"),
        "nothing": ("nothing", "greet"),  # neither kept nor answered from notes
    }
    right = kept = 0
    rows = _rows(f"turns_{half}.jsonl")
    for row in rows:
        found = understand(row["text"]) or [Turn("nothing")]
        right += len(found) == 1 and found[0].want in same.get(row["want"], (row["want"],))
        text = third_person(row.get("keep", "")).casefold()
        kept += row["want"] in ("keep", "offer") and found[0].text.casefold() == text
    assert right / len(rows) >= 0.95
    assert kept / sum(row["want"] in ("keep", "offer") for row in rows) >= 0.9


@pytest.mark.parametrize("half", ["open", "held"])
def test_corrections_make_the_note_that_was_meant(half: str) -> None:
    right, rows = 0, [row for row in _rows(f"turns_{half}.jsonl") if row["want"] == "correct"]
    for row in rows:
        found = understand(row["text"])
        text = found[0].text if found else ""
        if found and found[0].want == "amend":
            text = placed(row["after"], text, row["text"])[1]
        right += third_person(text).casefold() == third_person(row["keep"]).casefold()
    assert right / len(rows) >= 0.8


def test_no_held_turn_is_among_those_that_were_learned() -> None:
    """Red when one is; which is not told."""
    learned = (ROOT / "training" / "turns.jsonl").read_text("utf-8").splitlines()
    known = {json.loads(line)["text"].casefold().strip(" .!?") for line in learned}
    held = [*_rows("turns_held.jsonl"), *_rows("utterances_held.jsonl")]
    assert sum(row["text"].casefold().strip(" .!?") in known for row in held) == 0


@pytest.mark.parametrize(
    ("said", "turn"),
    [
        ("I prefer tabs", Turn("preference", "User prefers tabs", ("preference", "style"))),
        ("We decided to use Postgres", Turn("decision", "We decided to use Postgres",
                                            ("decision", "database"))),
        ("forget memory 3", Turn("forget", "3")),
        ("list my memories", Turn("list", "list my memories")),
        ("who owns billing?", Turn("recall", "who owns billing")),
    ],
)  # fmt: skip
def test_a_turn_says_what_is_wanted_and_of_what(said: str, turn: Turn) -> None:
    [found] = understand(said)
    assert found._replace(text=found.text.rstrip("?")) == turn


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("btw I'm left-handed", "User is left-handed"),
        ("fyi, I've got a cat", "User has got a cat"),
        ("hey co, please remember that I like oolong", "User likes oolong"),
        ("Please note that our VAT id is AT-1", "Our VAT id is AT-1"),
        ("remember Bob prefers tabs", "Bob prefers tabs"),
        ("remember the API lives on port 80", "The API lives on port 80"),
        ("remember to buy milk", "buy milk"),
        ("no, use the staging db for demos", "Use the staging db for demos"),
        ("Call me Ishmael", "User wants to be called Ishmael"),
        ("don't call me Mr. Lee", "User does not want to be called Mr. Lee"),
        ("you keep forgetting that we're a remote-only company", "We're a remote-only company"),
        ("Keep answers short", "Keep answers short"),
        ("remember that the key is K7-OSFO-DNN7", "The key is K7-OSFO-DNN7"),
        ("remember Ólafur prefers tea", "Ólafur prefers tea"),
        ("remember: Wir deployen donnerstags", "Wir deployen donnerstags"),
        ("keep in mind the lift is slow", "The lift is slow"),
        ("dont forget that bins go out on Mondays", "bins go out on Mondays"),
        ("take a note, the tuner comes in April", "The tuner comes in April"),
        ("I don't like mocks, I like fakes", "User doesn't like mocks, User likes fakes"),
        ("I hate YAML and love TOML", "User hates YAML and loves TOML"),
        ("I'd rather read code", "User would rather read code"),
        ("I always carry cash", "User always carries cash"),
        ("I am the only DBA", "User is the only DBA"),
        ("I love Elm. It is so tidy.", "User loves Elm. It is so tidy"),
        ("scrap that, my GP is Dr. Halloran", "User's GP is Dr. Halloran"),
        (
            "btw the API is on port 80 and the db is on 5432 thx",
            "The API is on port 80 and the db is on 5432",
        ),
        ("the lift is slow, it takes a minute btw", "The lift is slow, it takes a minute"),
        ("Tom left and Sam owns billing now, please", "Tom left and Sam owns billing now"),
        (
            "hello.txt in the root is what the smoke test looks for",
            "hello.txt in the root is what the smoke test looks for",
        ),
    ],
)
def test_what_is_kept_is_what_was_meant_in_the_third_person(said: str, stored: str) -> None:
    [found] = _kept(said, sure=False)
    assert found.text == stored


@pytest.mark.parametrize(
    ("said", "stored", "told"),
    [
        ("I go by Max and I try to keep my desk tidy",
         "User goes by Max and User tries to keep User's desk tidy",
         "You go by Max and you try to keep your desk tidy"),
        ("I do the payroll myself", "User does the payroll themselves",
         "You do the payroll yourself"),
        ("im on Fedora and ive got no Docker", "User is on Fedora and User has got no Docker",
         "You are on Fedora and you have got no Docker"),
        ("I prefer `I am` in the header", "User prefers `I am` in the header",
         "You prefer `I am` in the header"),
        ("I wasn't there. I never, ever squash", "User wasn't there. User never, ever squash",
         "You weren't there. You never, ever squash"),
        ("We keep the I/O layer in src/me/io.py", "We keep the I/O layer in src/me/io.py",
         "We keep the I/O layer in src/me/io.py"),
        ("we always write i in the loops", "We always write i in the loops",
         "We always write i in the loops"),
        ("ask me first", "ask User first", "ask you first"),
        ("I lent my drill to Bo, mine is red", "User lent User's drill to Bo, User's is red",
         "You lent your drill to Bo, yours is red"),
        ("I no longer work at Siemens", "User no longer works at Siemens",
         "You no longer work at Siemens"),
        ("I quit my job", "User quit User's job", "You quit your job"),
        ("I use vim and I close it",
         "User uses vim and User closes it",
         "You use vim and you close it"),
        ("I organize it, I pass it on and I go",
         "User organizes it, User passes it on and User goes",
         "You organize it, you pass it on and you go"),
        ("I choose the music and I wash up", "User chooses the music and User washes up",
         "You choose the music and you wash up"),
    ],
)  # fmt: skip
def test_people_are_spoken_of_and_to(said: str, stored: str, told: str) -> None:
    assert (third_person(said), second_person(stored)) == (stored, told)


@pytest.mark.parametrize(
    ("text", "value", "said", "becomes"),
    [
        ("We deploy on Thursdays", "mondays", "no, mondays", "We deploy on Mondays"),
        ("The pool holds 12 workers", "20", "make that 20", "The pool holds 20 workers"),
        ("Alice owns billing", "Bogdan", "it's Bogdan who owns it", "Bogdan owns billing"),
        ("The bins are green and blue", "red", "not blue, red", "The bins are green and red"),
        ("We use Flask for the API", "Litestar", "that's wrong, it's Litestar",
         "We use Litestar for the API"),
        ("We deploy on Mondays", "Mondays", "Mondays", ""),
        ("It is so", "Berlin", "Berlin", ""),
    ],
)  # fmt: skip
def test_a_new_value_takes_the_place_of_the_old_one(
    text: str, value: str, said: str, becomes: str
) -> None:
    assert placed(text, value, said)[1] == becomes


def test_a_long_text_and_a_long_value_take_no_long_time() -> None:
    text = " ".join(f"the server keeps item {number} of shelf" for number in range(300))
    start = time.process_time()
    placed(
        text, "the second Tuesday of every month", "no, I meant the second Tuesday of every month"
    )
    assert placed(text, "word " * 60, "no") == (0.0, "")
    assert time.process_time() - start < 8


@pytest.mark.parametrize(
    ("text", "tags"),
    [("I prefer pytest fixtures", ["preference", "testing"]),
     ("The branch office is in Turin", ["context"]), ("My bun recipe needs flour", ["context"]),
     ("Our token budget is 4000 euros", ["context"]), ("I like mock exams", ["preference"]),
     ("Je préfère le thé au café", ["preference"])],
)  # fmt: skip
def test_tags_name_what_a_text_is_about_and_not_a_word_of_it(text: str, tags: list[str]) -> None:
    """Red when an everyday word becomes a tag of a trade."""
    assert tags_for(text) == tags


def test_tags_that_are_asked_for_are_not_part_of_the_note() -> None:
    [found] = understand("save a memory: we pin numpy below 2, tag it with science and #deps")
    assert (found.want, found.text) == ("keep", "We pin numpy below 2")
    assert found.tags[-2:] == ("science", "deps")


def test_what_somebody_close_prefers_is_no_preference_of_the_persons() -> None:
    [found] = understand("My advisor is Prof. Okafor, she prefers short emails")
    assert found.tags == ("context",)


def test_who_says_yes_puts_nothing_right() -> None:
    """Red when an agreement becomes a correction, which asks what it corrects."""
    [found] = understand("yes we also freeze in December")
    assert (found.text, found.tags) == ("We also freeze in December", ("pattern",))
    assert [one.want for one in understand("yes, the port is 8443 now")] == ["correct"]


def test_what_is_about_the_person_is_told_from_what_is_about_the_work() -> None:
    own = [
        "my name is Tove",
        "I'm allergic to peanuts",
        "I hate Mondays",
        "I want answers without preamble",
        "please don't use bullet points when you write to me",
        "My advisor is Prof. Okafor, she prefers short emails",
    ]
    work = [
        "I prefer async/await over callbacks",
        "our staging runs on k3s",
        "the harbour crane needs oil",
    ]
    assert [_kept(said, sure=False)[0].mine for said in (*own, *work)] == [True] * 6 + [False] * 3


def test_several_statements_are_several_turns_each_once() -> None:
    said = "I prefer tabs. Thanks! We never deploy on Fridays. I prefer tabs. Now fix the test."
    assert [turn.text for turn in _kept(said)] == [
        "User prefers tabs",
        "We never deploy on Fridays",
    ]
    both = _kept("We use Redis and also I prefer vim", sure=False)
    assert [turn.text for turn in both] == ["We use Redis", "User prefers vim"]


def test_twelve_turns_are_enough_of_one_message() -> None:
    said = " ".join(f"I prefer drink number {number}." for number in range(19))
    assert len(understand(said)) == 12


def test_a_list_is_read_item_by_item_without_its_heading() -> None:
    said = (
        "Some facts about the project:\n- Our CEO is Maud\n* the QA lead is Finn\n3. we use Ansible"
    )
    assert [turn.text for turn in _kept(said, sure=False)] == [
        "Our CEO is Maud",
        "The QA lead is Finn",
        "We use Ansible",
    ]


def test_no_line_of_a_pasted_block_is_lost() -> None:
    """Red when a line that says nothing by itself is dropped beside one that is kept."""
    block = "Gate code\nThe gate opens at 7\nring twice"
    assert [turn.text for turn in understand(block)] == [block]
    safe = "line one: the till password is in the safe\nthe safe is behind the fridge\nline three"
    [whole] = understand(safe)
    assert whole.text.splitlines()[1:] == ["the safe is behind the fridge", "line three"]
    assert [turn.want for turn in understand("We use Redis\nwhere is the manual?")] == [
        "context",
        "recall",
    ]


def test_what_follows_says_more_of_what_was_just_said() -> None:
    [found] = _kept("the baby is here! it's a girl, named Mila", sure=False)
    assert found.text == "The baby is here! it's a girl, named Mila"


def test_a_fact_before_a_question_is_kept_and_the_question_is_asked() -> None:
    found = understand("Our queue is RabbitMQ. How do I purge it?")
    assert [turn.want in KEPT for turn in found] == [True, False]
    [kept] = _kept("I prefer fish. How do I set a variable in it?")
    assert kept.want == "preference"


@pytest.mark.parametrize(
    "said",
    [
        "User's dentist is Dr. Okafor, tel. 030 1234567",
        "Release 1.0 went out on Jan. 5th",
        "Our approx. budget is 40k, incl. travel",
        "Max. upload size is 25 MB",
        "The flat is no. 7",
        "The office is at Lindenstr. 4, 2nd floor",
        "We meet on 3. Mai at J. Smith's place",
        "We have two kids, Nora (6) and Emil (3)",
        "The shop is closed on Sundays (and public holidays)",
        "The vpn gateway is vpn2.fjordbank.no",
    ],
)
def test_what_only_looks_like_the_end_of_a_sentence_cuts_nothing(said: str) -> None:
    assert [turn.text for turn in understand(said)] == [said]
    assert [turn.text for turn in understand(f"remember: {said}")] == [said]


def test_a_sentence_ends_where_another_begins_large_or_small() -> None:
    found = understand("the standup is at 9. the port is 8080. Prod is in Graz. where is prod?")
    assert [turn.text.rstrip("?") for turn in found] == [
        "The standup is at 9",
        "The port is 8080",
        "Prod is in Graz",
        "where is prod",
    ]


@pytest.mark.parametrize(
    "said",
    [
        "I sold the boat",
        "Bo is on call this week",
        "lunch with Agnes tomorrow at noon",
        "my shift now starts at 6",
        "training starts half an hour later now",
        "the price went up to 12 euros",
        "I parked on level 3, spot 42",
        "Der Müll wird dienstags abgeholt",
        "Pavel gave the drill back",
        "Tom gave my book back",
        "she took it back",
        "Mum took her words back",
        "we just got the keys back",
    ],
)
def test_what_somebody_tells_is_offered_whatever_else_it_might_be(said: str) -> None:
    assert [(turn.text, turn.sure) for turn in _kept(said, sure=False)] == [
        (third_person(said), False)
    ]


@pytest.mark.parametrize(
    "said",
    [
        "take it back",
        "i take it back",
        "no put it back",
        "that was a mistake, reverse it",
        "i changed my mind, put it back",
        "restore what you just deleted",
    ],
)
def test_what_asks_to_undo_is_no_statement(said: str) -> None:
    assert [turn.want for turn in understand(said)] == ["undo"]


def test_words_that_take_something_back_make_a_correction_of_the_next_sentence() -> None:
    [found] = _kept("That's wrong. Our tracker is Linear.")
    assert (found.want, found.text) == ("correct", "Our tracker is Linear")


@pytest.mark.parametrize(
    "said",
    [
        "don't save this, but our new office is in Graz",
        "Our new office is in Graz, but that stays between us",
        "off the record: I am leaving in May",
        "Please don't remember that I was here",
    ],
)
def test_what_is_to_be_kept_out_is_not_kept(said: str) -> None:
    assert understand(said) == []


@pytest.mark.parametrize(
    "pasted",
    [
        "I prefer\n```python\nprint(1)\n```",
        "We always do\nfor x in y:\n    go(x);\n",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: our bad',
        "2026-01-02 our gateway started\n2026-01-02 our gateway stopped",
        "> I prefer tabs\n> and so does she",
        "We use Redis. " * 200,
    ],
)
def test_code_logs_traces_and_long_texts_are_nothing_said(pasted: str) -> None:
    assert understand(pasted) == []


@settings(max_examples=60)
@given(st.text(max_size=200) | st.text("iI'mwe \"`?.!,-rdt", max_size=200))
@example("\ud800 I prefer tabs")
@example("I" * 2000)
@example("\x00")
@example("…")
@example("NOTE")
def test_anything_can_be_said(said: str) -> None:
    for found in understand(said):
        assert found.want in {*reader.WANTS, *turns._PHRASES, "show"}
        if found.want in STATEMENTS:
            assert found.tags[0] == found.want
            assert found.text in third_person(said) or len(found.text) <= len(third_person(said))


def test_a_negation_is_never_lost() -> None:
    for said in ("I don't drink tea", "We never, ever squash", "remember we do not use mocks"):
        [found] = _kept(said, sure=False)
        for word in ("not", "never", "n't"):
            assert len(re.findall(word, found.text)) == len(re.findall(word, said))


def test_time_is_bounded_whatever_is_said() -> None:
    """Forty sentences of two thousand characters at most are read."""
    understand("we use Redis")
    for piece in (
        "i ",
        "a, ",
        "x",
        '"',
        "'x' ",
        "it's ",
        "x-",
        ". ",
        "a. ",
        "no, ",
        "\n",
        "(",
        "  ",
    ):
        start = time.process_time()
        understand((piece * MOST)[:MOST])
        understand(piece * MOST * 1000)
        assert time.process_time() - start < 20


PAIRS = [
    ("User prefers async/await over callbacks", "what do I prefer for concurrency?"),
    ("User's editor is Kakoune", "which editor do I use"),
    ("We decided to use CockroachDB for the ledger", "what database did we pick for the ledger?"),
    ("We always squash merge", "do we squash or rebase?"),
    ("Prod lives in eu-north-1", "hey co, which region is prod in"),
    ("Ines owns the billing service", "who owns billing"),
    ("User prefers tabs over spaces", "tabs or spaces?"),
    ("Our sprint starts on Wednesday", "when does our sprint start?"),
    ("We moved from Jenkins to GitHub Actions", "why did we leave Jenkins"),
    ("User is colour blind", "am I colour blind?"),
    ("Tests must not touch the network", "can tests use the network?"),
    ("The staging database is on port 5439", "what port is the staging db on"),
    ("User's name is Tove", "what's my name?"),
    ("User dislikes ORMs", "do I like ORMs?"),
    ("We never deploy on Fridays", "can we deploy on friday?"),
    ("The licence is MPL 2.0", "can you tell me what licence we use"),
    ("Our API is limited to 300 requests per minute", "what's our API limit"),
    ("Secrets are stored in Vault", "where are secrets stored?"),
    ("Branch names start with the ticket id", "remind me how we name branches"),
    ("User uses pytest for all python tests", "which test framework do I use for python"),
    ("The frontend is written in Svelte", "what is the frontend written in"),
    ("User lives in Graz", "where do I live?"),
    ("We chose NATS over RabbitMQ for the event bus", "why did we choose NATS"),
    ("Backups are kept for 30 days", "how long do we keep backups?"),
    ("User's laptop has 24 GB of RAM", "how much ram do i have"),
]  # fmt: skip


def test_recall_finds_the_note_that_a_question_is_about(tmp_path: Path) -> None:
    """A question goes to recall as it was asked, without what leads up to it."""
    shelf = Shelf(Notebook(tmp_path / "here"), Notebook(tmp_path / "own", scope="user"))
    for note, _ in PAIRS:
        shelf.project.remember(note, ["context"])
    asked = [(note, understand(question)) for note, question in PAIRS]
    assert [question[0].want for _, question in asked].count("recall") >= len(PAIRS) - 3
    found = {
        note: [hit.note.body for _, hit in shelf.recall(question[0].text, 5)]
        for note, question in asked
    }
    shelf.close()
    missed = [note for note in found if note not in found[note]]
    assert missed == []
    assert sum(found[note][0] == note for note in found) >= len(PAIRS) - 2


@pytest.mark.parametrize(
    ("said", "turn"),
    [
        ("bring back the note about callbacks", Turn("restore", "callbacks")),
        ("what have you forgotten?", Turn("restore")),
        ("what did we use before?", Turn("earlier")),
        ("who owned auth before tom?", Turn("earlier", "who owned auth before tom")),
        ("why did we pick it", Turn("followup", "why did we pick it")),
        ("why do we use kafka", Turn("recall", "why do we use kafka")),
    ],
)
def test_questions_about_what_was_are_understood(said: str, turn: Turn) -> None:
    [found] = understand(said)
    named = found.want in ("restore", "earlier")
    assert found._replace(text=topic(found.text) if named else found.text) == turn


def test_a_label_of_the_persons_own_costs_nothing_they_say() -> None:
    """Words alone do not tell "Editor: I use vim" from "Karl: I use vim", and the chat asks."""
    assert "vim" in understand("Editor: I use vim")[0].text
