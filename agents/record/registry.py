"""The versions of a run's harness, the diffs between them, and the patches that were turned down.

    HEAD            the version in force
    moves.jsonl     every move of HEAD: from, to, who, why
    v1/             harness.yaml, diffs/001_name.yaml, manifest.json; sealed, never changed
    not_accepted/   001_name.yaml: rejected, indecisive, or not applicable

Committing or refusing the same thing again is free, so a run that starts again leaves no
duplicates. HEAD moves only to a version that was checked.
"""

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

from evener.agents.harness.load import dump_yaml, load
from evener.agents.record.atomic import write_atomically, write_error
from evener.agents.record.diff import diff_fault, dump_diff, identity, load_diff
from evener.agents.record.name import slug
from evener.agents.record.seal import faults, sealing
from evener.protocols.diff import DiffRecord
from evener.protocols.digest import JsonObject
from evener.protocols.error import PatchError, RunError, UserError
from evener.protocols.harness import Harness
from evener.protocols.port import Log

HARNESS, MANIFEST = "harness.yaml", "manifest.json"
_VERSION = re.compile(r"v(0|[1-9][0-9]{0,8})")
_NUMBERED = re.compile(r"([0-9]{3,})_.*\.yaml")


class Registry:
    """The registry in `folder`. Callers that write hold the run's lock."""

    def __init__(self, folder: Path, log: Log | None = None) -> None:
        self._folder = folder
        self._log = log
        self._refused: dict[str, str] | None = None

    def start(self, harness: Harness) -> str:
        """Make `harness` version v0, or check that it is; returns `v0`."""
        if "v0" not in self.versions():
            self._write("v0", harness, parent=None, records=())
        elif self.get("v0").digest() != harness.digest():
            raise RunError(
                f"the run began with the harness {self.get('v0').digest()[:12]}, "
                f"this one is {harness.digest()[:12]}",
                where=str(self._folder),
                remedy="give another folder with --out",
            )
        if not self._reached("v0"):
            self._move("v0", actor="start", reason="the first version")
        return "v0"

    def versions(self) -> tuple[str, ...]:
        """All versions, oldest first."""
        found = (child.name for child in self._children() if child.is_dir())
        return tuple(sorted(filter(_VERSION.fullmatch, found), key=lambda v: int(v[1:])))

    def get(self, version: str) -> Harness:
        """A version's harness, checked to the byte. Raises RunError with the versions there are."""
        folder = self.path(version).parent
        broken = faults(folder)
        if broken:
            raise RunError(f"{version} is damaged: {'; '.join(broken)}", where=str(folder))
        harness = load(folder / HARNESS)
        if harness.digest() != self.manifest(version)["digest"]:
            raise RunError(f"{version} does not have its digest", where=str(folder))
        return harness

    def path(self, version: str) -> Path:
        """The version's `harness.yaml`."""
        known = self.versions()
        if version not in known:
            raise RunError(
                f"no version {version!r}",
                where=str(self._folder),
                remedy=f"there are {', '.join(known)}" if known else "there is none yet",
            )
        return self._folder / version / HARNESS

    def manifest(self, version: str) -> JsonObject:
        """`version`, `parent` (None for v0), `digest`, and `equals`, an earlier version with the
        same content."""
        path = self.path(version).with_name(MANIFEST)
        try:
            found: JsonObject = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise _damaged(path) from error
        return found

    def head(self) -> tuple[str, Harness]:
        """The version in force."""
        try:
            version = (self._folder / "HEAD").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RunError("no HEAD: not a harness registry", where=str(self._folder)) from error
        return version, self.get(version)

    def equal_to(self, harness: Harness) -> str | None:
        """The oldest version with this content, if there is one."""
        digest = harness.digest()
        return next((v for v in self.versions() if self.manifest(v)["digest"] == digest), None)

    def commit(self, harness: Harness, *records: DiffRecord) -> str:
        """Store the next version and move HEAD to it; returns its name.

        The records' patches, in order, must lead from their parent to `harness` (PatchError, and
        nothing is written). The same harness on the same parent is the same version.
        """
        if not records:
            raise PatchError("a version needs the record of its patch", reason="empty")
        parent = records[0].parent
        reached = self.get(parent)
        for record in records:
            reached = record.proposal.patch.apply(reached)
        if reached.digest() != harness.digest():
            raise PatchError(
                f"the patch leads from {parent} to {reached.digest()[:12]}, "
                f"not to {harness.digest()[:12]}",
                reason="invalid_result",
            )
        version = self._child_of(parent, harness)
        if version is None:
            version = f"v{int(self.versions()[-1][1:]) + 1}"
            self._write(version, harness, parent=parent, records=records)
        if not self._reached(version):
            self._move(version, actor=records[0].proposal.author, reason=records[0].proposal.name)
        return version

    def refuse(self, record: DiffRecord) -> str:
        """Keep a patch that was not accepted; returns its file's name."""
        folder = self._not_accepted()
        if self._refused is None:
            self._refused = {identity(load_diff(path)): path.name for path in _numbered(folder)}
        known = self._refused.get(identity(record))
        if known is not None:
            return known
        name = f"{_next(folder):03}_{slug(record.proposal.name)}.yaml"
        text = dump_diff(record, applied=None, equals=self._equals(record))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(folder, error) from error
        write_atomically(folder / name, text)
        self._refused[identity(record)] = name
        return name

    def diffs(self, version: str) -> tuple[DiffRecord, ...]:
        """The records that led to a version."""
        return tuple(map(load_diff, _numbered(self.path(version).parent / "diffs")))

    def not_accepted(self) -> Mapping[str, DiffRecord]:
        """The records of patches that were turned down, by file name."""
        return {path.name: load_diff(path) for path in _numbered(self._not_accepted())}

    def rollback(self, version: str, *, actor: str, reason: str) -> Harness:
        """Put an earlier (or later) version in force. The target is checked before HEAD moves; all
        versions stay."""
        harness = self.get(version)
        self._move(version, actor=actor, reason=reason)
        return harness

    def retreat(self, version: str, *, reason: str) -> None:
        """Roll a run back, once for one reason: a run that starts again repeats its steps, and what
        it did later must stay in force."""
        mark: JsonObject = {"to": version, "actor": "conductor", "reason": reason}
        if not any(mark.items() <= move.items() for move in self._moves()):
            self.rollback(version, actor="conductor", reason=reason)

    def verify(self) -> tuple[str, ...]:
        """Everything that is not as it was written, each with its place; empty if all is well."""
        found: list[str] = []
        for version in self.versions():
            broken = faults(self._folder / version)
            found += [f"{version}: {fault}" for fault in broken]
            if not broken:
                try:
                    self.get(version)
                except UserError as error:
                    found.append(f"{version}: {error}")
        for path in _numbered(self._not_accepted()):
            fault = diff_fault(path)
            if fault:
                found.append(f"not_accepted/{path.name}: {fault}")
        for name, check in (("HEAD", self.head), ("moves.jsonl", self._moves)):
            try:
                check()
            except UserError as error:
                found.append(f"{name}: {error}")
        return tuple(found)

    def _write(
        self, version: str, harness: Harness, *, parent: str | None, records: tuple[DiffRecord, ...]
    ) -> None:
        equals = self.equal_to(harness)
        manifest: JsonObject = {
            "version": version,
            "parent": parent,
            "digest": harness.digest(),
            "equals": equals,
        }
        with sealing(self._folder / version) as work:
            (work / HARNESS).write_text(dump_yaml(harness), "utf-8")
            (work / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
            if records:
                (work / "diffs").mkdir()
            for number, record in enumerate(records, start=1):
                file = work / "diffs" / f"{number:03}_{slug(record.proposal.name)}.yaml"
                file.write_text(dump_diff(record, applied=version, equals=equals), "utf-8")

    def _move(self, version: str, *, actor: str, reason: str) -> None:
        past = self._moves()
        # by the moves, not by HEAD: a process may have died between writing the two
        before = past[-1]["to"] if past else None
        move: JsonObject = {"from": before, "to": version, "actor": actor, "reason": reason}
        write_atomically(self._folder / "HEAD", f"{version}\n")
        moves = [*past, {"at": time.time(), **move}]
        lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in moves)
        write_atomically(self._folder / "moves.jsonl", lines)
        if self._log is not None:
            self._log.append("head", move)

    def _moves(self) -> list[JsonObject]:
        path = self._folder / "moves.jsonl"
        try:
            return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise _damaged(path) from error

    def _reached(self, version: str) -> bool:
        """Whether HEAD was ever moved to the version and that was noted to the end."""
        return any(move.get("to") == version for move in self._moves())

    def _child_of(self, parent: str, harness: Harness) -> str | None:
        digest = harness.digest()
        for version in self.versions():
            manifest = self.manifest(version)
            if manifest["parent"] == parent and manifest["digest"] == digest:
                return version
        return None

    def _equals(self, record: DiffRecord) -> str | None:
        """A version that the patch would have led to, its own parent for one that changes nothing;
        None where it leads to something new, or nowhere."""
        if record.parent not in self.versions():
            return None
        try:
            return self.equal_to(record.proposal.patch.apply(self.get(record.parent)))
        except PatchError as error:
            return record.parent if error.reason == "no_change" else None
        except UserError:
            return None

    def _children(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        links = [child.name for child in self._folder.iterdir() if child.is_symlink()]
        if links:
            raise RunError(f"{links[0]} is a symbolic link", where=str(self._folder))
        return list(self._folder.iterdir())

    def _not_accepted(self) -> Path:
        self._children()
        return self._folder / "not_accepted"


def _numbered(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        (path for path in found if _NUMBERED.fullmatch(path.name)),
        key=lambda path: (int(path.name.split("_")[0]), path.name),
    )


def _next(folder: Path) -> int:
    there = _numbered(folder)
    return int(there[-1].name.split("_")[0]) + 1 if there else 1


def _damaged(path: Path) -> RunError:
    return RunError(
        "damaged",
        where=str(path),
        remedy="restore it from a copy; evener harness verify names all that is damaged",
    )
