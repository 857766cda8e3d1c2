"""Mends of arguments before the schema check: strip, lower case, other spellings, other names."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from evener.agents.critics.catalogue.repair import Ground, Repair, slug
from evener.agents.pattern.background import choices, properties
from evener.agents.pattern.calling import addressable
from evener.agents.pattern.lexical import plurals
from evener.protocols.harness import Tool
from evener.protocols.patch import FieldEdit
from evener.protocols.path import ABSENT, Value


def tidy(tool: Tool, ground: Ground) -> tuple[FieldEdit, ...]:
    """Everything the schema and the documentation justify for one tool's text arguments."""
    spec = ground.background.action(tool.action or "")
    if spec is None or spec.final:
        return ()
    known_names = properties(tool.parameters) or properties(spec.parameters)
    edits: list[FieldEdit] = []
    for name, schema in properties(spec.parameters).items():
        if schema.get("type") != "string" or not addressable(name) or name not in known_names:
            continue
        stem = f"tools[{tool.name}].arguments.{name}"
        known = choices(schema) or ground.background.values(spec.name, name)
        edits += ground.change(f"{stem}.strip", True)
        if known and all(value == value.lower() for value in known):
            edits += ground.change(f"{stem}.lower", True)
        more = spellings(choices(schema)) | ground.background.spellings(spec.name, name)
        edits += _aliases(f"{stem}.aliases", more, ground)
    return tuple(edits)


def true_schema(tool: Tool, ground: Ground) -> tuple[FieldEdit, ...]:
    """The edits that give a tool its action's schema; argument names that go are kept as other
    names of those that come. Nothing where it has that schema."""
    spec = ground.background.action(tool.action or "")
    if spec is None or tool.parameters == spec.parameters:
        return ()
    stem = f"tools[{tool.name}]"
    edits = [*ground.change(f"{stem}.parameters", spec.parameters)]
    old, new = properties(tool.parameters), properties(spec.parameters)
    come = [name for name in new if name not in old and addressable(name)]
    for before, after in zip([name for name in old if name not in new], come, strict=False):
        edits += ground.change(f"{stem}.arguments.{after}.names", [before])
    edits += [
        FieldEdit(field_path=path, old_value=ground.value(path))
        for name in tool.arguments
        if name not in new
        for path in [f"{stem}.arguments.{name}"]
    ]
    return tuple(edits)


def spellings(known: Sequence[str]) -> dict[str, str]:
    """Plurals of listed values, those left out that could mean two of them."""
    found: dict[str, str] = {}
    for value in known:
        for other in plurals(value):
            if other not in known:
                found[other] = value
    return found


def suggested(
    name: str, suggestions: Sequence[FieldEdit], ground: Ground, *, group: str, reason: str
) -> Iterator[Repair]:
    """One repair of all single edits that attributions suggest for one pattern: lists and mappings
    at one path are united, other values are taken once."""
    wanted: dict[str, JsonValue] = {}
    for edit in suggestions:
        if edit.new_value is ABSENT:
            continue
        before = wanted.get(edit.field_path, _start(ground, edit))
        wanted[edit.field_path] = _united(before, edit.new_value)
    edits = tuple(e for path, value in wanted.items() for e in _set(path, value, ground))
    if edits:
        yield Repair(slug(name), group, edits, 0.9, reason)


def _start(ground: Ground, edit: FieldEdit) -> JsonValue:
    found = ground.value(edit.field_path)
    return edit.new_value if found is ABSENT and edit.new_value is not ABSENT else _plain(found)


def _plain(value: Value) -> JsonValue:
    return None if value is ABSENT else value


def _united(before: JsonValue, new: JsonValue) -> JsonValue:
    if isinstance(before, dict) and isinstance(new, dict):
        return {**before, **new}
    if isinstance(before, list) and isinstance(new, list):
        return [*before, *(item for item in new if item not in before)]
    return new


def _set(path: str, value: JsonValue, ground: Ground) -> tuple[FieldEdit, ...]:
    if path.endswith("[+]"):
        return (FieldEdit(field_path=path, old_value=ABSENT, new_value=value),)
    return ground.change(path, value)


def _aliases(path: str, more: dict[str, str], ground: Ground) -> tuple[FieldEdit, ...]:
    found = ground.value(path)
    old = dict(found) if isinstance(found, dict) else {}
    return ground.change(path, {**more, **old}) if set(more) - set(old) else ()
