"""A run on disk: the folder, its lock, its manifest, its record, its sessions.

The manifest is written last: a folder without one was never begun. Opening again is resuming, and
is refused where anything that decides the result has changed.
"""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from evener.agents.record.atomic import sweep, write_atomically, write_error
from evener.agents.record.lock import Lock, held
from evener.agents.record.manifest import Manifest
from evener.agents.record.reply import ReplyStore
from evener.agents.record.schema import Database
from evener.agents.record.session import Session, SessionRow, State, sessions
from evener.agents.record.store import Record
from evener.protocols.error import RunError

MANIFEST, EVENTS, LOCK, SUMMARY = "manifest.json", "events.db", "lock", "summary.json"


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """An open run. `session` is None where it was opened for reading."""

    path: Path
    manifest: Manifest
    record: Record
    session: Session | None = None

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, manifest: Manifest) -> Generator["RunFolder"]:
        """Begin the run, or go on with it; holds the lock until the block ends.

        Raises RunError where another process has it, where the manifest there is another one,
        where the folder holds something else, or where it is damaged.
        """
        _prepare(path)
        lock = Lock.acquire(path / LOCK)
        try:
            sweep(path)
            kept, database = _begin(path, manifest)
            try:
                session = Session(database)
                record = Record(database, session=session.id)
                run = cls(path=path, manifest=kept, record=record, session=session)
                changed = kept.library_changes(manifest)
                if changed:
                    record.append("libraries", {"changed": list(changed)})
                try:
                    yield run
                finally:
                    session.close()
            finally:
                database.close()
        finally:
            lock.release()

    @classmethod
    @contextlib.contextmanager
    def read(cls, path: Path) -> Generator["RunFolder"]:
        """Look at a run, also while it goes on. Needs no lock and changes nothing."""
        if not path.is_dir():
            raise _no_run(path)
        manifest = Manifest.load(path / MANIFEST)
        database = Database.read(path / EVENTS)
        try:
            yield cls(path=path, manifest=manifest, record=Record(database))
        finally:
            database.close()

    @classmethod
    @contextlib.contextmanager
    def change(cls, path: Path) -> Generator["RunFolder"]:
        """Write to a run that is there, for a person: a rollback, a proposal. Holds the lock, keeps
        the manifest, begins no session."""
        if not path.is_dir():
            raise _no_run(path)
        manifest = Manifest.load(path / MANIFEST)
        lock = Lock.acquire(path / LOCK)
        try:
            database = Database.open(path / EVENTS)
            try:
                past = sessions(database)
                record = Record(database, session=past[-1].id if past else 0)
                yield cls(path=path, manifest=manifest, record=record)
            finally:
                database.close()
        finally:
            lock.release()

    @property
    def harness(self) -> Path:
        """Folder of the harness registry."""
        return self.path / "harness"

    @property
    def models(self) -> Path:
        """Folder of trained adapters, one sealed folder each."""
        return self.path / "models"

    @property
    def replies(self) -> ReplyStore:
        """Model replies by request."""
        return ReplyStore(self.record.database)

    @property
    def state(self) -> State:
        """Of the last session. One that says `running` while nobody holds the lock has died."""
        past = self.sessions()
        if not past:
            return "interrupted"
        if past[-1].state == "running" and not held(self.path / LOCK):
            return "interrupted"
        return past[-1].state

    @property
    def resumed(self) -> bool:
        """Whether there was a session before this one."""
        return len(self.sessions()) > 1

    def sessions(self) -> tuple[SessionRow, ...]:
        """Every time the run was started, oldest first."""
        return sessions(self.record.database)

    def cpu_seconds(self) -> float:
        """Of all sessions, as far as known."""
        if self.session is not None:
            return self.session.cpu_seconds()
        return sum(one.cpu_seconds for one in self.sessions())

    def write(self, name: str, text: str) -> None:
        """A file of results in the run folder, `summary.json` for example, whole or not at all."""
        write_atomically(self.path / name, text)


def _prepare(path: Path) -> None:
    """The folder, made if needed. One that holds something else is left alone."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        there = {child.name for child in path.iterdir()}
    except FileExistsError:
        raise RunError("is a file, not a folder", where=str(path)) from None
    except OSError as error:
        raise write_error(path, error) from error
    ours = {MANIFEST, LOCK, EVENTS, f"{EVENTS}-wal", f"{EVENTS}-shm", f"{EVENTS}-journal"}
    strange = {name for name in there - ours if not name.startswith(".")}
    if MANIFEST not in there and strange:
        raise RunError(
            f"not a run folder, and not empty: it holds {sorted(strange)[0]!r}",
            where=str(path),
            remedy="give another folder with --out",
        )


def _begin(path: Path, manifest: Manifest) -> tuple[Manifest, Database]:
    if not (path / MANIFEST).exists():
        database = Database.create(path / EVENTS)
        try:
            write_atomically(path / MANIFEST, manifest.text())
        except BaseException:
            database.close()
            raise
        return manifest, database
    kept = Manifest.load(path / MANIFEST)
    changes = kept.changes(manifest)
    if kept.code != manifest.code:
        raise RunError(
            f"this run was made by another version of evener (code: {kept.code[:12]} → "
            f"{manifest.code[:12]}), and would not go on as it began",
            where=str(path),
            remedy="use that version, or give another folder with --out; reading it needs neither",
        )
    if changes:
        more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
        raise RunError(
            f"this run was begun with other settings: {'; '.join(changes[:3])}{more}",
            where=str(path),
            remedy="put them back, or give another folder with --out",
        )
    return kept, Database.open(path / EVENTS)


def _no_run(path: Path) -> RunError:
    return RunError(
        "no such run folder",
        where=str(path),
        remedy="give the folder that --out named when the run was begun",
    )
