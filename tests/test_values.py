"""The values in a sentence, however they are told."""

from __future__ import annotations

import pytest

from co_cli.knowledge.values import differ, figures


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CI takes about twenty minutes", {"20"}),
        ("sixteen gigs, not 32GB", {"16", "32"}),
        ("two thousand five hundred, or 2,500", {"2500"}),
        ("two hundred thousand, or 200,000", {"200000"}),
        ("standup is at quarter past nine", {"9.15"}),
        ("standup is at 9:15", {"9.15"}),
        ("be home by 15:00, at 3pm", {"3"}),
        ("kept for two weeks", {"2"}),
        ("a dozen eggs on the 21st", {"12", "21"}),
        ("one of them is py3.8", {"3.8"}),
        ("below -1 and <5", {"-1", "<5"}),
    ],
)
def test_a_figure_is_the_same_in_digits_and_in_words(text: str, found: set[str]) -> None:
    assert figures(text) == found


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("We deploy on Fridays", "Deploys are on Wed", True),
        ("Release in March", "Release in Apr", True),
        ("We use MySQL", "Postgres is our database", True),
        ("We use PostgreSQL", "Postgres is our database", False),
        ("Logs are kept two weeks", "We keep logs for 14 days", False),
        ("Logs are kept two weeks", "We keep logs for three weeks", True),
        ("Our two kids are 4 and 7", "We have kids of 4 and 7 years", False),
        ("We deploy on Fridays", "We deploy at the end of the week", False),
        ("The timeout is 30 s", "The timeout is 30 min", True),
        ("The timeout is 30 seconds", "A 30-second timeout", False),
        ("Tokens live 24h", "Tokens live for 24 hours", False),
        ("We moved from MySQL to Postgres", "We run Postgres", False),
    ],
)
def test_sentences_differ_where_each_names_a_value_of_its_own(
    one: str, other: str, apart: bool
) -> None:
    assert differ(one, other) is differ(other, one) is apart


def test_a_figure_of_thousands_of_digits_stops_nothing() -> None:
    many = "1" * 5000
    assert differ(f"It takes {many} weeks from {many}:00", "It takes 2 weeks")
