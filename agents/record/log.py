"""The append-only event log: one row an entry, numbered without gaps or reuse, never changed."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evener.agents.record.schema import Database, Row
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.error import RunError

PAGE = 500  # rows fetched at once, so that a slow reader holds no transaction open


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its number, when (Unix time) and in which session it was written, and what."""

    seq: int
    at: float
    session: int
    kind: str
    body: JsonObject


class EventLog:
    """Entries of one `events.db`."""

    def __init__(self, database: Database, *, session: int = 0) -> None:
        self.session = session
        self._database = database

    def append(self, kind: str, body: JsonObject) -> int:
        """Write one entry durably; returns its sequence number. Raises RunError on a full disk."""
        rows = self._database.rows(
            "INSERT INTO entries (at, session, kind, body) VALUES (?, ?, ?, ?) RETURNING seq",
            (time.time(), self.session, kind, _text(body)),
        )
        return int(rows[0][0])

    def entries(self, *kinds: str, after: int = 0) -> Iterator[Entry]:
        """Entries in order, from sequence number `after` on (exclusive): all kinds, or some."""
        chosen = f"AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        while page := self._database.rows(
            "SELECT seq, at, session, kind, body FROM entries "
            f"WHERE seq > ? {chosen} ORDER BY seq LIMIT {PAGE}",
            (after, *kinds),
        ):
            for row in page:
                yield self._entry(row)
            after = page[-1][0]

    def _entry(self, row: Row) -> Entry:
        seq, at, session, kind, body = row
        try:
            return Entry(seq, at, session, kind, json.loads(body))
        except ValueError as error:
            where = f"{self._database.path}: entry {seq}"
            raise RunError(f"damaged: {error}", where=where) from error

    def bodies(self, *kinds: str) -> Iterator[JsonObject]:
        """The bodies alone."""
        return (entry.body for entry in self.entries(*kinds))


def latest(bodies: Iterable[JsonObject], *fields: str) -> list[JsonObject]:
    """The last body with each value of `fields`, in the order of the first ones: a resumed run logs
    a stage again, and what it found then counts."""
    return [*{tuple(body[field] for field in fields): body for body in bodies}.values()]


def _text(body: JsonObject) -> str:
    text = canonical(body)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which SQLite does not take: escape it
        return json.dumps(body, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text
