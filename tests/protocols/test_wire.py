"""Every value that travels comes back from JSON as it was, unchanged and unforgiving."""

import importlib
import pkgutil
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

import evener.protocols
from evener.protocols.digest import Wire, canonical, digest
from evener.protocols.edit import FieldEdit
from evener.protocols.harness import Part
from evener.protocols.path import ABSENT

BASES = {"Wire", "Part"}


def wire_types() -> list[type[Wire]]:
    found: dict[str, type[Wire]] = {}
    for module in pkgutil.iter_modules(evener.protocols.__path__):
        loaded = importlib.import_module(f"evener.protocols.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, Wire) and value not in (Wire, Part):
                found[value.__qualname__] = value
    return [found[name] for name in sorted(found)]


json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)

# Rules between fields: here the generator makes what the type itself would refuse.
FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "Attribution": {
        "root_cause": st.just("agent_error"),
        "harness_dim": st.none(),
        "diff_suggestion": st.none(),
    },
    "ExampleTurn": {"call": st.none(), "content": st.text(max_size=5)},
    "Tool": {"action": st.text(max_size=5), "steps": st.none()},
    "Harness": {"tools": st.just(()), "skills": st.just(()), "memory": st.just({})},
    "FieldEdit": {"old_value": json_values, "new_value": json_values},
}


def plain(hint: Any) -> st.SearchStrategy[Any]:
    """JSON data for an annotation: pydantic reads it, so that no value is made by hand."""
    if isinstance(hint, type) and issubclass(hint, Wire):
        return objects(hint)
    if hint is JsonValue or str(hint) == "JsonValue":
        return json_values
    origin, inside = get_origin(hint), get_args(hint)
    if origin is tuple:
        return st.lists(st.deferred(lambda: plain(inside[0])), max_size=2)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), plain(inside[1]), max_size=2)
    if origin is Annotated:
        return plain(inside[0])
    if inside and type(None) in inside:
        return st.none() | st.one_of([plain(i) for i in inside if i is not type(None)])
    if origin is Literal:
        return st.sampled_from(inside)
    if inside:
        return st.one_of([plain(i) for i in inside])
    if hint is str:
        return st.text(max_size=8)
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.integers(1, 9)
    if hint is float:
        return st.floats(0.25, 0.75)
    assert isinstance(hint, type)
    assert issubclass(hint, StrEnum)
    return st.sampled_from([member.value for member in hint])


def objects(kind: type[Wire]) -> st.SearchStrategy[dict[str, Any]]:
    fixed = FIELDS.get(kind.__name__, {})
    return st.fixed_dictionaries(
        {
            name: fixed[name] if name in fixed else plain(field.annotation)
            for name, field in kind.model_fields.items()
        }
    )


@pytest.mark.parametrize("kind", wire_types(), ids=lambda kind: kind.__name__)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_value_comes_back_from_json_as_it_was(kind: type[Wire], data: st.DataObject) -> None:
    value = kind.model_validate_json(canonical(data.draw(objects(kind))))
    again = kind.model_validate_json(value.model_dump_json())
    assert again == value
    assert again.digest() == value.digest()
    assert kind.model_validate_json(canonical(value.document())) == value


@pytest.mark.parametrize("kind", wire_types(), ids=lambda kind: kind.__name__)
def test_an_unknown_field_is_refused(kind: type[Wire]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        kind.model_validate({"no_such_field": 1})


@pytest.mark.parametrize("kind", wire_types(), ids=lambda kind: kind.__name__)
def test_it_is_frozen_strict_and_takes_no_nan(kind: type[Wire]) -> None:
    config = kind.model_config
    assert config.get("frozen")
    assert config.get("strict")
    assert config.get("extra") == "forbid"
    assert config.get("allow_inf_nan") is False


def test_the_walk_finds_the_messages_of_the_bus() -> None:
    names = {kind.__name__ for kind in wire_types()}
    assert {"TrialRequest", "RolloutFinished", "Verdict", "Harness", "Trajectory"} <= names
    assert not names & BASES


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=3))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, JsonValue]) -> None:
    turned = dict(reversed(list(value.items())))
    assert digest(turned) == digest(value)


@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (1, 1.0), (None, "null"), ({}, []), ("a", "A"), (0, False)]
)
def test_values_that_python_or_people_take_for_equal_have_other_digests(
    left: JsonValue, right: JsonValue
) -> None:
    assert digest({"v": left}) != digest({"v": right})


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_digest_is_made_of_what_json_has_not(bad: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"v": bad})


def test_null_absent_and_the_word_absent_are_three_values() -> None:
    texts = [
        '{"field_path":"a"}',
        '{"field_path":"a","old_value":null}',
        '{"field_path":"a","old_value":"absent"}',
    ]
    edits = [FieldEdit.model_validate_json(text) for text in texts]
    assert [edit.old_value for edit in edits] == [ABSENT, None, "absent"]
    assert len({edit.digest() for edit in edits}) == 3
    for edit in edits:
        assert FieldEdit.model_validate_json(edit.model_dump_json()) == edit


def test_an_edit_takes_no_nan_through_json() -> None:
    with pytest.raises(ValidationError, match="not JSON compliant"):
        FieldEdit.model_validate_json('{"field_path":"a","new_value":[NaN]}')
