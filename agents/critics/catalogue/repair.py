"""A repair: typed edits against one harness, and the ground on which they are made."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from evener.agents.pattern.background import Background
from evener.agents.pattern.lexical import grams
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness, Tool
from evener.protocols.patch import FieldEdit
from evener.protocols.path import ABSENT, Value, read

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Repair:
    """One way to mend what a signature stands for. Repairs of one `group` are alternatives;
    `prior` (0…1) is how likely it is to help before anything was tried."""

    name: str
    group: str
    edits: tuple[FieldEdit, ...]
    prior: float
    reason: str


@dataclass(frozen=True)
class Ground:
    """What repairs are made from: the harness, what the environment publishes, and the n-grams of
    the mining prompts, which no repair may repeat."""

    harness: Harness
    background: Background
    private: frozenset[Gram] = frozenset()

    @cached_property
    def document(self) -> JsonObject:
        """The harness's plain form."""
        return self.harness.document()

    def change(self, path: str, new: JsonValue) -> tuple[FieldEdit, ...]:
        """The edit that sets `path`, or none where it already has that value."""
        old = read(self.document, path)
        return () if old == new else (FieldEdit(field_path=path, old_value=old, new_value=new),)

    def value(self, path: str) -> Value:
        """What stands at `path`."""
        return read(self.document, path)

    def tool_for(self, action: str) -> Tool | None:
        """The harness's tool that is this one action."""
        return next((tool for tool in self.harness.tools if tool.action == action), None)

    def leaks(self, text: str) -> bool:
        """Whether a text repeats a run of words of a mining prompt."""
        return not self.private.isdisjoint(grams(text))


Generator = Callable[[Sequence[str], Ground], Iterator[Repair]]


def add(path: str, value: JsonValue) -> FieldEdit:
    """The edit that puts a new item at the end of the list at `path`.

    A named item is added under its name, so that two patches that add different things under one
    name are in conflict and never merged.
    """
    name = value.get("name") if isinstance(value, dict) else None
    item = name if isinstance(name, str) else "+"
    return FieldEdit(field_path=f"{path}[{item}]", old_value=ABSENT, new_value=value)


def texts(edits: Iterable[FieldEdit]) -> Iterator[str]:
    """Every text that edits bring in."""
    for edit in edits:
        if edit.new_value is not ABSENT:
            yield from _texts(edit.new_value)


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from _texts(item)
        case _:
            pass


def slug(*parts: str) -> str:
    """A name of lower-case letters, digits and hyphens, fit for a file and a field path."""
    joined = "-".join(parts).casefold()
    return re.sub(r"[^a-z0-9]+", "-", joined).strip("-")[:60] or "repair"
