"""`events.db`: one SQLite file in WAL mode, its tables, and how it is opened.

A commit survives the death of the process at any point (WAL, synchronous = NORMAL); a torn tail is
rolled back by SQLite at the next opening. One process writes, any number read meanwhile.
"""

import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from evener.protocols.error import RunError

VERSION = 1
APPLICATION = 0x65766E72  # "evnr", in the header of the file

TABLES = """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, session INTEGER NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX entries_kind ON entries (kind, seq);
CREATE TABLE objects (
    digest TEXT PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE TABLE episodes (
    seq INTEGER PRIMARY KEY, key TEXT NOT NULL, trajectory TEXT NOT NULL REFERENCES objects,
    purpose TEXT NOT NULL, split TEXT NOT NULL, harness TEXT NOT NULL, model TEXT NOT NULL,
    outcome TEXT NOT NULL, row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX finished_once ON episodes (key) WHERE outcome <> 'infra';
CREATE TABLE replies (key TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, state TEXT NOT NULL, started REAL NOT NULL, beat REAL NOT NULL,
    pid INTEGER NOT NULL, host TEXT NOT NULL, cpu_seconds REAL NOT NULL
) STRICT;
"""

Row: TypeAlias = tuple[Any, ...]


class Database:
    """A connection shared by the threads of one process; statements are short and take turns."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open for writing; a file that is not there or has no tables yet gets them."""
        made = cls(path, _connect(path, f"file:{_quoted(path)}?mode=rwc"))
        with made._translated():
            made._connection.execute("PRAGMA journal_mode = WAL")
            made._connection.execute("PRAGMA synchronous = NORMAL")
            with made.transaction():
                if made.rows("PRAGMA user_version") == [(0,)] and not made._tables():
                    for statement in TABLES.split(";\n"):
                        made.rows(statement)
                    made.rows(f"PRAGMA application_id = {APPLICATION}")
                    made.rows(f"PRAGMA user_version = {VERSION}")
        return made._checked()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing file for writing. An empty file is damaged, never a new one."""
        _there(path)
        return cls.create(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open an existing file for reading, also while another process writes."""
        _there(path)
        found = cls(path, _connect(path, f"file:{_quoted(path)}?mode=ro"))
        try:
            found.rows("SELECT 1 FROM sqlite_master")
        except RunError:
            # A folder that may not be written to has no room for the files WAL needs; without a
            # WAL there is no writer either, and the file can be read as it lies.
            if path.with_name(path.name + "-wal").exists():
                raise
            found.close()
            found = cls(path, _connect(path, f"file:{_quoted(path)}?mode=ro&immutable=1"))
        return found._checked()

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of one statement."""
        with self._translated(), self._lock:
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """What happens inside is written as a whole or not at all."""
        with self._translated(), self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # the first error is the one that counts
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _tables(self) -> set[str]:
        return {row[0] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _checked(self) -> Self:
        application = self.rows("PRAGMA application_id")[0][0]
        version = self.rows("PRAGMA user_version")[0][0]
        if application != APPLICATION or version != VERSION:
            self.close()
            if application == APPLICATION and version > VERSION:
                raise RunError(
                    f"written by a newer evener (format {version}, this one reads {VERSION})",
                    where=str(self.path),
                    remedy="update evener",
                )
            raise RunError("damaged, or no event log of evener", where=str(self.path))
        return self

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL:
                raise RunError(
                    "disk full",
                    where=str(self.path),
                    remedy="what was written before is intact; make room and run again",
                ) from error
            raise RunError(str(error), where=str(self.path)) from error
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise RunError(f"damaged: {error}", where=str(self.path)) from error


def _connect(path: Path, uri: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10.0
        )
    except sqlite3.Error as error:
        raise RunError(f"cannot be opened: {error}", where=str(path)) from error


def _quoted(path: Path) -> str:
    return path.resolve().as_uri().removeprefix("file://")


def _there(path: Path) -> None:
    if not path.is_file():
        raise RunError("no event log there", where=str(path), remedy="give a run folder")
    if path.stat().st_size == 0:
        raise RunError("damaged: the event log is empty", where=str(path))
