"""Calls held against tools and schemas: what is mended, refused, and never guessed."""

from typing import Any

import pytest

from evener.agents.harness.schema import Arguments, as_type
from evener.agents.harness.tool import Resolved, Toolbox
from evener.protocols.digest import JsonObject
from evener.protocols.event import CallRefused
from evener.protocols.harness import ArgumentRule, Tool
from evener.protocols.message import Call


def schema(required: list[str] | None = None, **properties: Any) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else list(required),
    }


CONVERT = Tool(
    name="convert",
    parameters=schema(
        value={"type": "number"},
        unit={"type": "string", "enum": ["pounds", "stones"]},
    ),
    aliases=("conversion",),
    arguments={
        "unit": ArgumentRule(names=("to",), aliases={"lb": "pounds"}, strip=True, lower=True)
    },
    action="convert",
)
BOX = Toolbox((CONVERT, Tool(name="final", parameters=schema(answer={}), action="final")))


def resolve(name: str, arguments: JsonObject) -> Resolved | CallRefused:
    call = Call(id="c", name=name, arguments=arguments)
    return BOX.resolve(call, ("convert",), turn=2)


def ready(name: str, arguments: JsonObject) -> Resolved:
    resolved = resolve(name, arguments)
    assert isinstance(resolved, Resolved), resolved
    return resolved


def refused(name: str, arguments: JsonObject) -> CallRefused:
    event = resolve(name, arguments)
    assert isinstance(event, CallRefused), event
    return event


def test_a_call_that_fits_is_left_as_it_is() -> None:
    resolved = ready("convert", {"unit": "pounds", "value": 2.5})
    assert resolved.call.arguments == {"value": 2.5, "unit": "pounds"}
    assert resolved.mended == ()


def test_every_mending_is_an_event_with_before_and_after() -> None:
    resolved = ready("conversion", {"value": "12", "to": " LB "})
    assert resolved.call.name == "convert"
    assert resolved.call.arguments == {"value": 12, "unit": "pounds"}
    assert [(e.rule, e.argument, e.before, e.after) for e in resolved.mended] == [
        ("tool_alias", "", "conversion", "convert"),
        ("type", "value", '"12"', "12"),
        ("argument_name", "unit", "to", "unit"),
        ("strip", "unit", " LB ", "LB"),
        ("lower", "unit", "LB", "lb"),
        ("value_alias", "unit", "lb", "pounds"),
    ]


def test_the_order_of_arguments_is_the_schemas_whatever_was_written() -> None:
    resolved = ready("convert", {"unit": "pounds", "value": 1})
    assert list(resolved.call.arguments) == ["value", "unit"]


@pytest.mark.parametrize(
    ("name", "arguments", "reason", "argument", "nearest"),
    [
        ("convrt", {}, "unknown_tool", "", "convert"),
        ("final", {"answer": 1}, "not_offered", "", ""),
        ("convert", {"unit": "pounds"}, "missing_argument", "value", ""),
        ("convert", {"values": 1, "unit": "pounds"}, "unexpected_argument", "values", "value"),
        ("convert", {"amount": 1, "unit": "pounds"}, "unexpected_argument", "amount", "value"),
        ("convert", {"value": 1, "unit": "pounds", "x": 2}, "unexpected_argument", "x", ""),
        ("convert", {"value": "many", "unit": "pounds"}, "wrong_type", "value", ""),
        ("convert", {"value": True, "unit": "pounds"}, "wrong_type", "value", ""),
        ("convert", {"value": 1, "unit": "pound"}, "wrong_value", "unit", "pounds"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_its_fault(
    name: str, arguments: JsonObject, reason: str, argument: str, nearest: str
) -> None:
    event = refused(name, arguments)
    assert (event.reason, event.argument, event.nearest) == (reason, argument, nearest)
    assert event.turn == 2
    assert event.detail.endswith((".", "?"))


def test_the_refusal_names_the_way_out() -> None:
    assert refused("convert", {"amount": 1, "unit": "pounds"}).detail == (
        "convert was not called: there is no argument amount (value, unit). Did you mean value?"
    )


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        ("42", ("string",), "42"),
        ("42", (), "42"),
        ("42", ("string", "integer"), "42"),
        ("42", ("integer",), 42),
        ("4.5", ("number",), 4.5),
        (" 1e3 ", ("number",), 1000.0),
        ("4.5", ("integer",), "4.5"),
        ("1,200", ("number",), "1,200"),
        ("inf", ("number",), "inf"),
        ("nan", ("number",), "nan"),
        ("1_000", ("integer",), "1_000"),
        ("true", ("boolean",), True),
        ("False", ("boolean",), False),
        ("yes", ("boolean",), "yes"),
        ("[1, 2]", ("array",), [1, 2]),
        ("[1, 2]", ("object",), "[1, 2]"),
        ("1, 2", ("array",), "1, 2"),
        ('{"a": 1}', ("object",), {"a": 1}),
        ("null", ("null", "integer"), None),
        (42, ("string",), "42"),
        (4.5, ("string",), "4.5"),
        (True, ("string",), True),
        (2.0, ("integer",), 2),
        (2.5, ("integer",), 2.5),
        ("9" * 5000, ("integer",), "9" * 5000),
        ("[" * 5000, ("array",), "[" * 5000),
    ],
)
def test_types_come_from_the_schema_and_never_from_a_guess(
    value: Any, types: tuple[str, ...], expected: Any
) -> None:
    made = as_type(value, types)
    assert made == expected
    assert type(made) is type(expected)


def test_an_empty_schema_admits_anything() -> None:
    assert Arguments({}).fault({"x": [1, {"y": None}]}) is None


def test_extra_arguments_pass_where_the_schema_says_so() -> None:
    open_schema = Arguments({**schema(a={}), "additionalProperties": True})
    assert open_schema.fault({"a": 1, "b": 2}) is None
    assert Arguments(schema(a={})).fault({"a": 1, "b": 2}) is not None


def test_types_come_from_the_schema_inside_objects_lists_and_alternatives() -> None:
    inner = Arguments(
        schema(
            filter=schema(year={"type": "integer"}, tag={"type": "string"}),
            xs={"type": "array", "items": {"type": "number"}},
            limit={"anyOf": [{"type": "integer"}, {"type": "null"}]},
            free={"anyOf": [{"type": "integer"}, {"type": "string"}]},
            unknown={"anyOf": [{"type": "integer"}, {}]},
        )
    )
    assert inner.typed("filter", '{"year": "2020", "tag": "7"}') == {"year": 2020, "tag": "7"}
    assert inner.typed("xs", ["1", 2, "x"]) == [1, 2, "x"]
    assert (inner.typed("limit", "5"), inner.typed("limit", "null")) == (5, None)
    assert (inner.typed("free", "5"), inner.typed("unknown", "5")) == ("5", "5")
    fits: Any = {"year": 2020, "tag": "a", "more": ["1"]}
    assert inner.typed("filter", fits) is fits
