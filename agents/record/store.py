"""The record of a run: event log, values by content digest, and finished episodes by their key.

The digest is checked whenever a value is read. An episode becomes finished in one transaction:
body, index row and log entry together; a key is finished at most once, and the first one stays.
"""

import hashlib
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from evener.agents.record.log import PAGE, EventLog
from evener.agents.record.schema import Database
from evener.protocols.digest import Wire, canonical
from evener.protocols.error import RunError
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import EpisodeKey, Outcome, Trajectory

T = TypeVar("T", bound=Wire)


class EpisodeRow(EpisodeRef):
    """An episode in the index: what `EpisodeRef` says and where the episode came from. `harness`
    is a digest, `model` a revision."""

    purpose: Purpose
    split: Split
    harness: str
    model: str
    seed: int
    attempt: int
    temperature: float


class Record(EventLog):
    """Store and log over one `events.db`."""

    def __init__(self, database: Database, *, session: int = 0) -> None:
        super().__init__(database, session=session)
        self.database = database
        self._known: set[str] = set()

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Generator[Self]:
        """The record at `path`, made if it is not there."""
        database = Database.create(path)
        try:
            yield cls(database)
        finally:
            database.close()

    @classmethod
    @contextmanager
    def read(cls, path: Path) -> Generator[Self]:
        """The record at `path` for reading, also while a run writes it."""
        database = Database.read(path)
        try:
            yield cls(database)
        finally:
            database.close()

    def put(self, value: Wire) -> str:
        """Store a value; returns its digest. Storing it again is free."""
        digest, body = _packed(value)
        if digest not in self._known:
            self.database.rows(
                "INSERT OR IGNORE INTO objects VALUES (?, ?, ?)",
                (digest, type(value).__name__, zlib.compress(body)),
            )
            self._known.add(digest)
        return digest

    def get(self, kind: type[T], digest: str) -> T:
        """The value of that digest, checked. Raises RunError where it is missing or damaged."""
        rows = self.database.rows("SELECT kind, body FROM objects WHERE digest = ?", (digest,))
        where = f"{self.database.path}: {digest[:12]}"
        if not rows:
            raise RunError(f"no {kind.__name__} with this digest is stored", where=where)
        try:
            body = zlib.decompress(rows[0][1])
        except zlib.error as error:
            raise RunError(f"damaged: {error}", where=where) from error
        if hashlib.sha256(body).hexdigest() != digest:
            raise RunError("damaged: the content does not have this digest", where=where)
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise RunError(
                f"stored as {rows[0][0]}, cannot be read as {kind.__name__}: "
                f"{error.errors()[0]['msg']}",
                where=where,
            ) from error

    def finished(self, key: EpisodeKey) -> str | None:
        """The digest of the finished trajectory with that key, if it is there (infra is not)."""
        rows = self.database.rows(
            "SELECT trajectory FROM episodes WHERE key = ? AND outcome <> 'infra'", (key.id(),)
        )
        return str(rows[0][0]) if rows else None

    def finish(self, trajectory: Trajectory) -> str:
        """Store an episode under its key; returns its digest.

        Where the key is finished already the first trajectory stays, its digest is returned and
        the log says `repeated`. An `infra` episode is kept, but its key stays open.
        """
        digest, body = _packed(trajectory)
        key, row = trajectory.key.id(), _row(trajectory, digest)
        with self.database.transaction():
            if row.outcome is not Outcome.INFRA:
                first = self.finished(trajectory.key)
                if first is not None:
                    if first != digest:
                        self.append("repeated", {"key": key, "kept": first, "offered": digest})
                    return first
            self.database.rows(
                "INSERT OR IGNORE INTO objects VALUES (?, 'Trajectory', ?)",
                (digest, zlib.compress(body)),
            )
            seq = self.append("episode", {"key": key, **row.document()})
            self.database.rows(
                "INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    seq,
                    key,
                    digest,
                    str(row.purpose),
                    str(row.split),
                    row.harness,
                    row.model,
                    str(row.outcome),
                    canonical(row.document()),
                ),
            )
        return digest

    def trajectories(
        self,
        *,
        purpose: Purpose | None = None,
        split: Split | None = None,
        harness: str | None = None,
        model: str | None = None,
        outcome: Outcome | None = None,
    ) -> Iterator[EpisodeRow]:
        """The index in the order of finishing; `harness` and `model` may be beginnings of a digest
        and a revision. Bodies come from `get(Trajectory, row.trajectory)`."""
        filters = {
            "purpose = ?": purpose,
            "split = ?": split,
            "outcome = ?": outcome,
            "instr(harness, ?) = 1": harness,
            "instr(model, ?) = 1": model,
        }
        chosen = {sql: str(value) for sql, value in filters.items() if value is not None}
        where = "".join(f" AND {sql}" for sql in chosen)
        after = 0
        while page := self.database.rows(
            f"SELECT seq, row FROM episodes WHERE seq > ?{where} ORDER BY seq LIMIT {PAGE}",
            (after, *chosen.values()),
        ):
            for seq, row in page:
                try:
                    yield EpisodeRow.model_validate_json(row)
                except ValidationError as error:
                    raise RunError(
                        f"damaged: {error.errors()[0]['msg']}",
                        where=f"{self.database.path}: episode {seq}",
                    ) from error
            after = page[-1][0]


def _packed(value: Wire) -> tuple[str, bytes]:
    body = canonical(value.document()).encode("utf-8", "surrogatepass")
    return hashlib.sha256(body).hexdigest(), body


def _row(trajectory: Trajectory, digest: str) -> EpisodeRow:
    key = trajectory.key
    return EpisodeRow(
        trajectory=digest,
        episode=trajectory.id,
        task=trajectory.task.id,
        kind=trajectory.task.kind,
        outcome=trajectory.outcome,
        reward=trajectory.reward,
        prompt_tokens=trajectory.usage.read,
        completion_tokens=trajectory.usage.written,
        calls=trajectory.usage.made,
        purpose=key.purpose,
        split=trajectory.task.split,
        harness=key.harness,
        model=key.model,
        seed=key.seed,
        attempt=key.attempt,
        temperature=key.temperature,
    )
