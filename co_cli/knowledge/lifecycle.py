"""What should happen to notes: collisions, merging, decay, expiry. Touches no file."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from typing import Any

from co_cli.errors import FormatError, RefusedText
from co_cli.knowledge.compare.same import key, longest_word
from co_cli.knowledge.format.note import Note, Part, sections
from co_cli.knowledge.policy import RECENT, Policy
from co_cli.knowledge.search.hits import Around
from co_cli.knowledge.use import Use

SUMMARY = "summary"  # the source of a memory that was made of several, with what it cites
CITED = re.compile(r"(?m) \(#\d{1,9}(?:, #\d{1,9})*\)$")  # which memories say a line of it
SIGNALS = ("preference", "correction", "decision", "context", "pattern")
DECAY_TAGS = ["_consolidated", "_auto_decay"]
MAX_SUMMARY = 4 * 1024 * 1024
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def judge(
    text: str, around: Around, threshold: float
) -> tuple[Note | None, list[tuple[Note, float]]]:
    """The note that says the same, if any; else the notes in similar words, each with its score.

    No similar note is changed without a person's word.
    """
    said, longest = key(text), longest_word(text).lower()
    for note in around.same:
        body = note.body
        if (not body.isascii() or longest in body.lower()) and key(body) == said:
            return note, []
    others = {note.path: note for note in around.near if not note.consolidated}.values()
    alike = [note for note in others if _may_reach(note.body, text, threshold)]
    scored = [(note, similarity(note.body, text)) for note in alike]
    return None, sorted((pair for pair in scored if pair[1] >= threshold), key=lambda p: -p[1])


def similarity(old: str, new: str) -> float:
    """RapidFuzz's token_sort_ratio of the lower-cased texts, 0 to 100."""
    from rapidfuzz import fuzz  # only a save with recent neighbours needs it

    return fuzz.token_sort_ratio(old.lower(), new.lower())


def _may_reach(old: str, new: str, threshold: float) -> bool:
    """Whether the score can be that high at all, by the characters that the two texts share.

    The score compares the sorted words, joined by single spaces, so no more than these can match.
    """
    old, new = " ".join(old.lower().split()), " ".join(new.lower().split())
    if 200 * min(len(old), len(new)) < threshold * (len(old) + len(new)):
        return False
    shared = sum(min(old.count(char), new.count(char)) for char in set(new))
    return 200 * shared >= threshold * (len(old) + len(new))


def union(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Both lists as one, each item once, in order."""
    return list(dict.fromkeys((*old, *new)))


def linked(notes: Iterable[Note], field: str) -> list[Any]:
    """What these notes' headers link to in this field: a list, or one alone."""
    links = [note.meta.get(field) or [] for note in notes]
    return [one for some in links for one in (some if isinstance(some, list) else [some])]


def still_updated(notes: Sequence[Note]) -> list[Any]:
    """What a note that takes these in keeps out of date: what they update, but for each other."""
    own = {note.uid for note in notes} | {str(note.id) for note in notes}
    return [link for link in union((), linked(notes, "updates")) if str(link) not in own]


def detect_source(tags: Iterable[str] | None) -> str:
    """`detected` when a tag names a signal, else `user-told`."""
    return "detected" if detect_category(tags) else "user-told"


def detect_category(tags: Iterable[str] | None) -> str | None:
    """The first tag that names a signal."""
    return next((tag for tag in tags or () if tag in SIGNALS), None)


def by_age(notes: Iterable[Note], at: str, stamps: Set[str] = frozenset()) -> list[Note]:
    """Notes from the oldest to the newest, by `created`, then by number.

    A date more than a day ahead of `at` counts as `at`. What Co dated itself, one of `stamps`, is
    no older than what it had numbered and dated before, so a clock that jumped makes no note old.
    """
    ages: dict[str, datetime] = {}
    now, latest = _moment(at) or _LAST, _FIRST
    for note in sorted(notes, key=lambda note: (note.id, note.name)):
        when = _moment(note.created) or now
        when = now if when - now > timedelta(days=1) else when
        if note.created in stamps:
            when = latest = max(when, latest)
        ages[note.path] = when
    return sorted(notes, key=lambda note: (ages[note.path], note.id, note.name))


def _moment(text: str) -> datetime | None:
    """A time as people write it; where the day or the hour makes no sense, the month it names."""
    for part in (text, text[:19], f"{text[:7]}-01"):
        with suppress(ValueError):
            when = datetime.fromisoformat(part)
            return when if when.tzinfo else when.replace(tzinfo=UTC)
    return None


def alike(
    close: Iterable[tuple[Note, float]], near: Iterable[Note], policy: Policy, at: str
) -> list[tuple[Note, float]]:
    """The documents' duplicates: of the ten newest notes of the last days, those that are close.

    What a person set apart, and what came from outside, takes no other wording.
    """
    now, window = _moment(at) or _FIRST, timedelta(days=policy.window_days)
    found = [note for note in near if now - (_moment(note.created) or _FIRST) <= window]
    recent = {note.path for note in sorted(found, key=lambda note: -note.id)[:RECENT]}
    return [
        (note, score)
        for note, score in close
        if score >= policy.threshold
        and note.path in recent
        and not (note.protected or note.pinned or note.external or note.plain)
        and not note.meta.get("sensitive")
    ]


def pick_decay(
    notes: Iterable[Note], policy: Policy, last_used: Callable[[], Use], at: str,
    stamps: Set[str] = frozenset(), category: str = "",
) -> list[Note]:  # fmt: skip
    """The oldest notes that may decay, or those of a category.

    Where the policy prefers the unused, those come first, then what nobody counted, then what was
    used longest ago, but only among the oldest, twice as many as decay.
    """
    able = [
        note
        for note in notes  # not what a person set apart, decay made, or has a mark of its own
        if not (note.protected or note.pinned or note.consolidated or note.origin or note.plain)
        and not any(note.meta.get(name) for name in ("sensitive", "check", "expires"))
        and category in ("", note.category)
    ]
    able = by_age(able, at, stamps)
    least = 2 if policy.strategy == "summarize" else 1
    if least == 2:  # what is for one language is joined with nothing else
        [(most, _)] = Counter(note.language for note in able).most_common(1) or [("", 0)]
        able = [note for note in able if note.language == most]
    share = int((policy.limit(category) or len(able)) * policy.percentage)
    count = max(least, share) if policy.percentage else 0
    if policy.order == "unused":
        able, use = able[: 2 * count], last_used()
        picks = {note.path for note in sorted(able, key=use.rank)[:count]}
        able = [note for note in able if note.path in picks]
    sizes = accumulate(len(note.raw) for note in able)
    picked = [note for note, size in zip(able[:count], sizes, strict=False) if size <= MAX_SUMMARY]
    return picked if len(picked) >= least else []


def inherited(notes: Sequence[Note]) -> dict[str, Any]:
    """The marks that follow the words of these notes wherever they go."""
    found = [note.meta.get("trust") for note in notes if note.external]
    marks: dict[str, Any] = {}
    if found:
        marks["trust"] = found[0] if isinstance(found[0], str | bool) else "external"
    if any(note.meta.get("sensitive") is True for note in notes):
        marks["sensitive"] = True
    origins = (note.meta.get("origin") for note in notes if note.kind == "memory")
    if named := [origin for origin in origins if isinstance(origin, str) and origin]:
        marks["origin"] = named[0]
    return marks


def put_back(old: Note, edited: Note) -> dict[str, Any]:
    """What an edit may not take from an article; FormatError for what no text from outside has."""
    if edited.external and edited.pinned:
        raise FormatError(f"this {edited.kind} came from outside, so it is never pinned")
    if old.kind != "article":
        return {}
    if not edited.body:
        raise FormatError("the article would be empty; `co forget` takes one away")
    kept = {"trust": "external", "uid": edited.meta.get("uid") or old.meta.get("uid")}
    lost = {name: value for name, value in kept.items() if value != edited.meta.get(name)}
    return lost | {name: old.meta[name] for name in edited.filled}


def with_tags(note: Note) -> str:
    """What a summary says of a note below its heading; lines like such a heading are escaped."""
    tags = f"Tags: {', '.join(note.tags)}\n\n" if note.tags else ""
    words = re.sub(r"(?m)^## Memory (?=\d)", r"\\\g<0>", note.body.replace("\r\n", "\n"))
    return f"{tags}{words}".strip()


def words_of(part: str) -> str:
    """A note's words in its part of a summary, without the tags."""
    return re.sub(r"\ATags: .*\n\n", "", part)


def decay_text(notes: Sequence[Note]) -> str:
    """A summary: every original in its own words, under its number, date and uid."""
    first, last = min(n.created for n in notes)[:10], max(n.created for n in notes)[:10]
    parts = [f"{len(notes)} older memories, {first} to {last}, in their own words."]
    for note in notes:
        uid = str(note.meta.get("uid") or "")
        told = f", {uid}" if re.fullmatch(r"[\w-]{1,64}", uid) else ""
        parts.append(f"## Memory {note.id} ({note.created[:10]}{told})\n\n{with_tags(note)}")
    return "\n\n".join(parts)


def without_parts(note: Note, gone: Sequence[Part]) -> str:
    """The text of a note that holds others without these parts of it."""
    if not note.consolidated:
        told = [part.text for part in gone]
        lines = note.body.replace("\r\n", "\n").split("\n")
        return "\n".join(one for one in lines if one not in told) or "All that it said was purged."
    left = [part.text for part in sections(note) if part not in gone]
    first = note.body.replace("\r\n", "\n").split("\n\n## Memory ", 1)[0]
    return "\n\n".join([re.sub(r"^\d+(?= older memor)", str(len(left)), first), *left])


def joined(texts: Iterable[str]) -> str:
    """Several texts as one: each once, in order, with an empty line between."""
    kept: dict[tuple[str, ...], str] = {}
    for text in texts:
        kept.setdefault(key(text), text)
    return "\n\n".join(kept.values())


def parse_expiry(text: str, today: date) -> str:
    """A date such as 2026-12-31, or a span such as 30d, 2w, 6m, 1y from today, as an ISO date."""
    if match := re.fullmatch(r"(\d{1,5})([dwmy])", text.strip().lower()):
        days = int(match.group(1)) * {"d": 1, "w": 7, "m": 30, "y": 365}[match.group(2)]
        if days <= 36500:
            return (today + timedelta(days=days)).isoformat()
    message = f"cannot read the expiry {text!r:.40}"
    with suppress(ValueError):
        day = date.fromisoformat(text.strip())
        if day >= today:
            return day.isoformat()
        message = f"the expiry {day} lies in the past"
    hint = "Use a date (2026-12-31) or a span (30d, 2w, 6m, 1y)."
    raise RefusedText(message, rule="expiry", hint=hint)
