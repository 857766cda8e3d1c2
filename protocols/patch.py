"""Patches on a harness: they apply to one base exactly or not at all, and invert.

An edit whose `old_value` is absent adds, one whose `new_value` is absent removes. Absent is
written by leaving the key out, so that null stays a value.
"""

import copy
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, ValidationError, model_serializer
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.error import PatchError
from evener.protocols.harness import Harness
from evener.protocols.path import ABSENT, Absent, Item, Key, Value, overlap, parse, position, read

PatchReason: TypeAlias = Literal[
    "wrong_base",
    "wrong_old_value",
    "no_such_place",
    "no_change",
    "invalid_result",
    "conflict",
    "empty",
]


class FieldEdit(Wire):
    """One change: at `field_path`, `old_value` becomes `new_value`. `position` is where a new item
    goes in a list, the end where it is None."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    field_path: str
    old_value: JsonValue | Absent = ABSENT
    new_value: JsonValue | Absent = ABSENT
    position: int | None = Field(default=None, ge=0)

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> JsonObject:
        data: JsonObject = {"field_path": self.field_path}
        if self.old_value is not ABSENT:
            data["old_value"] = self.old_value
        if self.new_value is not ABSENT:
            data["new_value"] = self.new_value
        if self.position is not None:
            data["position"] = self.position
        return data


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
            _write(document, edit)
        return _validated(harness, document)

    def inverse(self, harness: Harness) -> "Patch":
        """The patch that leads back from `self.apply(harness)` to `harness`."""
        document = copy.deepcopy(harness.document())
        back: list[FieldEdit] = []
        for edit in self.edits:
            place, index = _write(document, edit)
            document = _normal(document)
            back.append(
                FieldEdit(
                    field_path=place,
                    old_value=read(document, place),
                    new_value=edit.old_value,
                    position=index if edit.new_value is ABSENT else None,
                )
            )
        return Patch(base=_validated(harness, document).digest(), edits=tuple(reversed(back)))


def merge(patches: Sequence[Patch]) -> Patch:
    """One patch with all edits of compatible patches on one base; equal edits count once.

    Raises PatchError("conflict") where two patches want different things of one place.
    """
    edits: list[FieldEdit] = []
    for patch in patches:
        if patch.base != patches[0].base:
            raise PatchError("the patches have different bases", reason="wrong_base")
        for edit in patch.edits:
            if edit in edits:
                continue
            clash = next((e for e in edits if overlap(e.field_path, edit.field_path)), None)
            if clash is not None:
                raise PatchError(
                    f"two patches change {clash.field_path} and {edit.field_path}",
                    reason="conflict",
                )
            edits.append(edit)
    if not edits:
        raise PatchError("nothing to merge", reason="empty")
    return Patch(base=patches[0].base, edits=tuple(edits))


def between(before: Harness, after: Harness) -> Patch:
    """The patch of whole top-level sections that leads from one harness to another."""
    old, new = before.document(), after.document()
    edits = tuple(
        FieldEdit(field_path=key, old_value=old.get(key, ABSENT), new_value=new.get(key, ABSENT))
        for key in [*old, *(k for k in new if k not in old)]
        if old.get(key, ABSENT) != new.get(key, ABSENT)
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
    if patched.digest() == harness.digest():
        raise PatchError("the patch changes nothing", reason="no_change")
    return patched


def _normal(document: JsonObject) -> JsonObject:
    """The document with defaults filled in, so that what an inverse expects is what is there.

    Between two edits that are valid only together it stays as it is.
    """
    try:
        return Harness.model_validate_json(canonical(document)).document()
    except ValidationError:
        return document


def _same(left: Value, right: Value) -> bool:
    if left is ABSENT or right is ABSENT:
        return left is right
    return canonical(left) == canonical(right)


def _write(document: JsonObject, edit: FieldEdit) -> tuple[str, int | None]:
    """Apply one edit in place. Returns the concrete path (`[+]` resolved) and the list index."""
    found = read(document, edit.field_path)
    if not _same(found, edit.old_value):
        raise PatchError(
            f"expected {_short(edit.old_value)}, found {_short(found)}",
            reason="wrong_old_value",
            where=edit.field_path,
            remedy="nothing was changed",
        )
    steps = parse(edit.field_path)
    parent: JsonValue = document
    for step in steps[:-1]:
        if isinstance(step, Key) and isinstance(parent, dict):
            parent = parent.setdefault(str(step), {})
        elif isinstance(step, Item) and isinstance(parent, list):
            index = position(parent, step)
            if index is None:
                raise PatchError(f"no item {step!s}", reason="no_such_place", where=edit.field_path)
            parent = parent[index]
        else:
            raise PatchError(
                f"nothing to step into at {step!s}", reason="no_such_place", where=edit.field_path
            )
    return _set(parent, steps[-1], edit)


def _set(parent: JsonValue, last: Key | Item, edit: FieldEdit) -> tuple[str, int | None]:
    if isinstance(last, Key) and isinstance(parent, dict):
        if edit.new_value is ABSENT:
            parent.pop(str(last), None)
        else:
            parent[str(last)] = copy.deepcopy(edit.new_value)
        return edit.field_path, None
    if not isinstance(last, Item) or not isinstance(parent, list):
        raise PatchError("not a place of this kind", reason="no_such_place", where=edit.field_path)
    index = position(parent, last)
    if edit.new_value is ABSENT:
        if index is None:
            raise PatchError("no such item", reason="no_such_place", where=edit.field_path)
        del parent[index]
        return edit.field_path, index
    if index is not None:
        parent[index] = copy.deepcopy(edit.new_value)
        return edit.field_path, index
    if last != "+" and not (
        isinstance(edit.new_value, dict) and edit.new_value.get("name") == str(last)
    ):
        at = edit.position if edit.position is not None else len(parent)
        if not (last.isdigit() and int(last) == at):
            raise PatchError(
                "a new item must carry the name in the path",
                reason="no_such_place",
                where=edit.field_path,
            )
    index = edit.position if edit.position is not None else len(parent)
    parent.insert(index, copy.deepcopy(edit.new_value))
    name = edit.new_value.get("name") if isinstance(edit.new_value, dict) else None
    stem = edit.field_path[: edit.field_path.rindex("[")]
    return f"{stem}[{name if isinstance(name, str) else index}]", index


def _short(value: Value) -> str:
    text = "nothing" if value is ABSENT else canonical(value)
    return text if len(text) <= 60 else text[:57] + "…"
