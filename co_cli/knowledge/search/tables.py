"""The tables of the index, and how its database is opened: derived, disposable at any moment."""

from __future__ import annotations

import os
import sys

import apsw

from co_cli.errors import EmbedderUnavailable

SCHEMA = "co 8"

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE file(
    id INTEGER PRIMARY KEY, name TEXT, sign INTEGER, hash BLOB, number INTEGER,
    created TEXT, expires TEXT, tags TEXT, passages INTEGER, speaker TEXT, why TEXT, line INTEGER,
    owed INTEGER, uid TEXT);
CREATE INDEX owing ON file(name) WHERE owed;
CREATE INDEX long ON file(passages) WHERE passages > 1;
CREATE INDEX names ON file(name);
CREATE INDEX unread ON file(name) WHERE why IS NOT NULL;
CREATE INDEX numbers ON file(number);
CREATE INDEX uids ON file(uid) WHERE uid IS NOT NULL;
CREATE INDEX speakers ON file(speaker) WHERE speaker IS NOT NULL;
CREATE TABLE word(word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE vector(id INTEGER PRIMARY KEY, hash BLOB, v BLOB, closely INTEGER);
CREATE INDEX skimmed ON vector(id) WHERE NOT closely;
CREATE TABLE bits(id INTEGER PRIMARY KEY, b BLOB);
CREATE VIRTUAL TABLE terms USING fts5(
    body, title, tags, date, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 tokenchars '_./#+:@-'''");
CREATE VIRTUAL TABLE letters USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE counts USING fts5vocab(terms, 'row');
"""


def stamp(embedder: str) -> str:
    """What an index is made by; it is built anew for another."""
    return f"{SCHEMA} {apsw.sqlite_lib_version()} {embedder}"


def connect(path: str, *, checked: bool, vectors: bool) -> apsw.Connection:
    """An open database, each page checked when it is read, with distances between vectors."""
    db = apsw.Connection(path, vfs=_checking() if checked else None)
    db.set_busy_timeout(2000)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.pragma("journal_mode", "memory")
    db.pragma("synchronous", "off")
    db.pragma("temp_store", "memory")
    if vectors:
        _load(db, vec_path())
    return db


def create(db: apsw.Connection) -> None:
    """Make the tables in a new database."""
    db.reserve_bytes("main", 8)  # for the checksum of each page
    db.execute(_TABLES)
    for table in ("terms", "letters"):  # so that a leaf and its checksum fit one page
        db.execute(f"INSERT INTO {table}({table}, rank) VALUES('pgsz', 4040)")


def vec_path() -> str:
    """Where sqlite-vec's library lies; importing the package would load numpy."""
    for folder in sys.path:
        path = os.path.join(folder, "sqlite_vec", "vec0")
        if os.path.isabs(folder) and os.path.isdir(os.path.dirname(path)):
            return path
    raise EmbedderUnavailable("the package sqlite-vec is not installed")


def _load(db: apsw.Connection, extension: str) -> None:
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    try:
        db.load_extension(extension)
    finally:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)


def _checking() -> str:
    """The file layer that checks each page's checksum when it is read; apsw brings it along."""
    if "cksmvfs" not in apsw.vfs_names():
        folder = os.path.join(os.path.dirname(apsw.__file__), "sqlite_extra_binaries")
        _load(apsw.Connection(":memory:"), os.path.join(folder, "cksumvfs"))
    return "cksmvfs"
