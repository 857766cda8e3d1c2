"""The documentation's worked examples, made fit for one harness."""

from collections.abc import Sequence

from pydantic import JsonValue

from evener.agents.critics.catalogue.repair import Ground, add
from evener.agents.pattern.background import procedure, question
from evener.protocols.harness import ExampleCall, ExampleTurn, Tool
from evener.protocols.patch import FieldEdit
from evener.protocols.port import WorkedExample


def clean(kind: str, ground: Ground) -> list[WorkedExample]:
    """The kind's examples in the documentation's order, without those that repeat a mining task."""
    return [e for e in ground.background.of(kind) if not ground.leaks(question(e.turns))]


def shows(examples: Sequence[tuple[ExampleTurn, ...]], kind: str, ground: Ground) -> bool:
    """Whether any example makes the calls of the kind."""
    known = ground.background.procedures(kind)
    return any(procedure(turns, ground.harness) in known for turns in examples)


def tools_of(
    examples: Sequence[WorkedExample], ground: Ground
) -> tuple[dict[str, Tool], tuple[FieldEdit, ...]]:
    """The harness's tool for each action the examples use, and the edits that add missing ones."""
    tools: dict[str, Tool] = {}
    missing: list[FieldEdit] = []
    for name in dict.fromkeys(a for e in examples for a in procedure(e.turns)):
        tool = ground.tool_for(name) or ground.background.new_tool(name, ground.harness)
        if tool is None:
            continue
        tools[name] = tool
        if ground.tool_for(name) is None:
            missing.append(add("tools", tool.document()))
    return tools, tuple(missing)


def turns_of(example: WorkedExample, tools: dict[str, Tool]) -> list[JsonValue]:
    """The example as a harness writes it, its actions under the tools' names."""
    return [turn_of(turn, tools).document() for turn in example.turns]


def turn_of(turn: ExampleTurn, tools: dict[str, Tool]) -> ExampleTurn:
    """One turn, its action under the tool's name."""
    if turn.call is None or turn.call.name not in tools:
        return turn
    call = ExampleCall(name=tools[turn.call.name].name, arguments=turn.call.arguments)
    return turn.model_copy(update={"call": call})
