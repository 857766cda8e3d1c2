"""One edit of a harness document: what stands at a path, and what is to stand there.

An edit whose `old_value` is absent adds, one whose `new_value` is absent removes. Absent is
written by leaving the key out, so that null stays a value.
"""

import copy
from itertools import pairwise
from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, model_serializer, model_validator
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.path import ABSENT, Absent, Item, Key, Value, index_of, parse, position, read

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

    @model_validator(mode="after")
    def _finite(self) -> "FieldEdit":
        for value in (self.old_value, self.new_value):
            if value is not ABSENT:
                canonical(value)  # NaN comes through JSON unseen
        return self

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


def same(left: Value, right: Value) -> bool:
    """Whether two values are written alike; 1, 1.0 and true are three values."""
    if left is ABSENT or right is ABSENT:
        return left is right
    return canonical(left) == canonical(right)


def write(document: JsonObject, edit: FieldEdit) -> tuple[str, int | None]:
    """Apply one edit in place. Returns the concrete path (`[+]` resolved) and the list index."""
    try:
        found = read(document, edit.field_path)
    except HarnessError as error:
        raise _nowhere(error.what, edit) from None
    if not same(found, edit.old_value):
        raise PatchError(
            f"expected {_short(edit.old_value)}, found {_short(found)}",
            reason="wrong_old_value",
            where=edit.field_path,
            remedy="nothing was changed",
        )
    steps = parse(edit.field_path)
    parent: JsonValue = document
    for step, following in pairwise(steps):
        if isinstance(step, Key) and isinstance(parent, dict):
            parent = parent.setdefault(str(step), [] if isinstance(following, Item) else {})
        elif isinstance(step, Item) and isinstance(parent, list):
            index = position(parent, step)
            if index is None:
                raise _nowhere(f"no item {step!s}", edit)
            parent = parent[index]
        else:
            raise _nowhere(f"nothing to step into at {step!s}", edit)
    return _set(parent, steps[-1], edit)


def _set(parent: JsonValue, last: Key | Item, edit: FieldEdit) -> tuple[str, int | None]:
    new = edit.new_value
    if isinstance(last, Key) and isinstance(parent, dict):
        if new is ABSENT:
            parent.pop(str(last), None)
        else:
            parent[str(last)] = copy.deepcopy(new)
        return edit.field_path, None
    if not isinstance(last, Item) or not isinstance(parent, list):
        raise _nowhere("not a place of this kind", edit)
    index = position(parent, last)
    if new is ABSENT:
        if index is None:
            raise _nowhere("no such item", edit)
        del parent[index]
        return edit.field_path, index
    if index is not None:
        parent[index] = copy.deepcopy(new)
    else:
        index = len(parent) if edit.position is None else edit.position
        if index > len(parent):
            raise _nowhere(f"position {index} in a list of {len(parent)}", edit)
        if last not in ("+", _name(new)) and index_of(last) != index:
            raise _nowhere("a new item must carry the name in the path", edit)
        parent.insert(index, copy.deepcopy(new))
    stem = edit.field_path[: edit.field_path.rindex("[")]
    return f"{stem}[{index if _name(new) is None else _name(new)}]", index


def _name(item: Value) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def place(edit: FieldEdit) -> str:
    """The path of an edit with `[+]` replaced by the new item's name, where it has one."""
    name = _name(edit.new_value)
    if not name or "[" in name or "]" in name or not edit.field_path.endswith("[+]"):
        return edit.field_path
    return f"{edit.field_path[:-3]}[{name}]"


def first_absent(document: JsonValue, path: str) -> str | None:
    """The outermost place above `path` that is not there yet and that writing to it would make."""
    above = ""
    for step in parse(path)[:-1]:
        if isinstance(step, Item):
            above += f"[{step!s}]"
        else:
            above += f".{step!s}" if above else str(step)
        if read(document, above) is ABSENT:
            return above
    return None


def _nowhere(what: str, edit: FieldEdit) -> PatchError:
    return PatchError(what, reason="no_such_place", where=edit.field_path)


def _short(value: Value) -> str:
    text = "nothing" if value is ABSENT else canonical(value)
    return text if len(text) <= 60 else text[:57] + "…"
