"""Patches on a harness: they apply to one base exactly or not at all, and invert."""

import copy
from collections.abc import Sequence

from pydantic import JsonValue, ValidationError

from evener.protocols.digest import JsonObject, Wire, canonical, digest
from evener.protocols.edit import FieldEdit, PatchReason, first_absent, place, same, write
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.harness import Harness
from evener.protocols.path import ABSENT, Value, overlap, read

__all__ = ["FieldEdit", "Patch", "PatchReason", "between", "merge"]

TEXTS = ("prompt", "skills", "memory")


class Patch(Wire):
    """Edits against the harness whose digest is `base`, applied in order."""

    base: str
    edits: tuple[FieldEdit, ...]

    def apply(self, harness: Harness) -> Harness:
        """The patched harness. Raises PatchError, with a reason, and changes nothing otherwise."""
        if not self.edits:
            raise PatchError("the patch has no edits", reason="empty")
        if harness.digest() != self.base:
            raise PatchError(
                f"the patch is against {self.base[:12]}, the harness is {harness.digest()[:12]}",
                reason="wrong_base",
                remedy="make the patch against this version",
            )
        document = copy.deepcopy(harness.document())
        for edit in self.edits:
            write(document, edit)
        return _validated(harness, document)

    def inverse(self, harness: Harness) -> "Patch":
        """The patch that leads back from `self.apply(harness)` to `harness`: edit by edit, or by
        whole sections where edits depend on each other so that the former leads elsewhere."""
        after = self.apply(harness)
        try:
            back = self._back(harness, after)
            if back.apply(after).digest() == self.base:
                return back
        except (PatchError, HarnessError):
            pass
        return between(after, harness)

    def _back(self, harness: Harness, after: Harness) -> "Patch":
        document = copy.deepcopy(harness.document())
        undone: list[tuple[str, Value, int | None]] = []
        for edit in self.edits:
            above = first_absent(document, edit.field_path)
            where, index = write(document, edit)
            removed = index if edit.new_value is ABSENT else None
            undone.append((above or where, ABSENT if above else edit.old_value, removed))
        edits: list[FieldEdit] = []
        document = copy.deepcopy(after.document())
        for where, value, at in reversed(undone):
            edits.append(
                FieldEdit(
                    field_path=where, old_value=read(document, where), new_value=value, position=at
                )
            )
            write(document, edits[-1])
        return Patch(base=after.digest(), edits=tuple(edits))


def merge(patches: Sequence[Patch]) -> Patch:
    """One patch with all edits of compatible patches on one base; equal edits count once.

    Raises PatchError("conflict") where two patches want different things of one place.
    """
    edits: list[FieldEdit] = []
    seen: set[str] = set()
    for patch in patches:
        if patch.base != patches[0].base:
            raise PatchError("the patches have different bases", reason="wrong_base")
        others, theirs = tuple(edits), frozenset(seen)
        for edit in patch.edits:
            if edit.digest() in theirs:
                continue
            clash = next((e for e in others if overlap(place(e), place(edit))), None)
            if clash is not None:
                raise PatchError(
                    f"two patches change {clash.field_path} and {edit.field_path}",
                    reason="conflict",
                )
            edits.append(edit)
            seen.add(edit.digest())
    if not edits:
        raise PatchError("nothing to merge", reason="empty")
    return Patch(base=patches[0].base, edits=tuple(edits))


def between(before: Harness, after: Harness) -> Patch:
    """The patch of whole top-level sections that leads from one harness to another."""
    old, new = before.document(), after.document()
    edits = tuple(
        FieldEdit(field_path=key, old_value=old.get(key, ABSENT), new_value=new.get(key, ABSENT))
        for key in [*old, *(k for k in new if k not in old)]
        if not same(old.get(key, ABSENT), new.get(key, ABSENT))
    )
    return Patch(base=before.digest(), edits=edits)


def _validated(harness: Harness, document: JsonObject) -> Harness:
    try:
        patched = Harness.model_validate_json(canonical(document))
    except ValidationError as error:
        first = error.errors()[0]
        raise PatchError(
            str(first["msg"]),
            reason="invalid_result",
            where=".".join(str(part) for part in first["loc"]),
        ) from None
    if _settled(patched) == _settled(harness):
        raise PatchError("the patch changes nothing", reason="no_change")
    return patched


def _settled(harness: Harness) -> str:
    """A digest that line ends and spaces before them do not move, in the sections that are read as
    text: a patch that touches nothing else is not worth a trial."""
    document = harness.document()
    return digest({k: _bare(v) if k in TEXTS else v for k, v in document.items()})


def _bare(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return "\n".join(line.rstrip() for line in value.replace("\r\n", "\n").split("\n")).rstrip()
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items()}
    return value
