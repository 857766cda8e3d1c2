"""From a call as the student wrote it to actions of the environment.

Names, argument names and values are mended only as the harness and its schemas say, every mending
is an event, and what does not fit the schema is refused with the fault named and nothing executed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from pydantic import JsonValue

from evener.agents.harness import template
from evener.agents.harness.schema import Arguments, Fault
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.error import HarnessError
from evener.protocols.event import CallRefused, Coerced
from evener.protocols.harness import ArgumentRule, Step, Tool
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec


class ReadyTool:
    """A tool with its schema compiled and its mendings looked up by name."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.name = tool.name
        self.arguments = Arguments(tool.parameters)
        self.actions = (
            (tool.action,)
            if tool.action is not None
            else tuple(step.action for step in tool.steps or ())
        )
        self._renamed = {
            other: name for name, rule in tool.arguments.items() for other in rule.names
        }

    def proper_name(self, argument: str) -> str:
        """The schema's name of an argument the student named."""
        if argument in self.arguments.properties:
            return argument
        return self._renamed.get(argument, argument)

    def ends(self, actions: Mapping[str, ActionSpec]) -> bool:
        """Whether calling it ends the episode."""
        return any(name in actions and actions[name].final for name in self.actions)


@dataclass(frozen=True)
class Resolved:
    """A call that fits a tool on offer, and the mendings it took."""

    tool: ReadyTool
    call: Call
    mended: tuple[Coerced, ...]


class Toolbox:
    """All tools of a harness by name and alias."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = {tool.name: ReadyTool(tool) for tool in tools}
        self._aliases = {alias: tool.name for tool in tools for alias in tool.aliases}

    def resolve(self, call: Call, offered: Sequence[str], *, turn: int) -> Resolved | CallRefused:
        """The mended call of a tool on offer, or why it is refused."""
        name = call.name.strip()
        name = name if name in self.tools else self._aliases.get(name, name)
        tool = self.tools.get(name)
        if tool is None or name not in offered:
            return self._unknown(call, name, offered, turn=turn)
        mended: list[Coerced] = []
        if name != call.name:
            mended.append(_mended(turn, call, "", call.name, name, "tool_alias"))
        arguments = self._arguments(tool, call, mended, turn=turn)
        ready = call.model_copy(
            update={"name": name, "arguments": tool.arguments.ordered(arguments)}
        )
        fault = tool.arguments.fault(ready.arguments)
        if fault is not None:
            return refused(ready, fault, turn=turn)
        return Resolved(tool, ready, tuple(mended))

    def _arguments(
        self, tool: ReadyTool, call: Call, mended: list[Coerced], *, turn: int
    ) -> JsonObject:
        arguments: JsonObject = {}
        for written, value in call.arguments.items():
            name = tool.proper_name(written)
            if name != written and name in call.arguments:
                name = written
            elif name != written:
                mended.append(_mended(turn, call, name, written, name, "argument_name"))
            rule = tool.tool.arguments.get(name)
            if rule is not None and isinstance(value, str):
                value = _by_rule(rule, value, call, name, mended, turn=turn)
            typed = tool.arguments.typed(name, value)
            if typed is not value:
                before, after = canonical(value), canonical(typed)
                mended.append(_mended(turn, call, name, before, after, "type"))
            arguments[name] = typed
        return arguments

    def _unknown(self, call: Call, name: str, offered: Sequence[str], *, turn: int) -> CallRefused:
        known = name in self.tools
        near = get_close_matches(name, offered, 1, 0.4)
        what = f"The tool {name} is not on offer now." if known else f"There is no tool {name!r}."
        hint = f" Did you mean {near[0]}?" if near else ""
        return CallRefused(
            turn=turn,
            call=call,
            reason="not_offered" if known else "unknown_tool",
            detail=f"{what}{hint} Tools: {', '.join(offered)}.",
            nearest=near[0] if near else "",
        )


def refused(call: Call, fault: Fault, *, turn: int) -> CallRefused:
    """The event, and what the student is told of it."""
    hint = f" Did you mean {fault.nearest}?" if fault.nearest else ""
    return CallRefused(
        turn=turn,
        call=call,
        reason=fault.reason,
        argument=fault.argument,
        detail=f"{call.name} was not called: {fault.detail}.{hint}",
        nearest=fault.nearest,
    )


def step_call(step: Step, call: Call, result: str | None, action: Arguments, *, where: str) -> Call:
    """The action that one step of a composite stands for: its templates filled in with the tool's
    arguments and the text of the step before, as data, then typed as the action's schema says.

    Raises HarnessError where a template cannot be filled in, an optional argument left out say.
    """
    variables: dict[str, JsonValue] = dict(call.arguments)
    if result is not None:
        variables["result"] = result
    arguments: JsonObject = {
        name: action.typed(name, template.render(text, variables, where=f"{where}.{name}"))
        for name, text in step.arguments.items()
    }
    return Call(id=call.id, name=step.action, arguments=action.ordered(arguments))


def action_call(tool: ReadyTool, call: Call) -> Call:
    """The action that a plain tool stands for."""
    if tool.tool.action is None:
        raise HarnessError("a composite has no single action", where=f"tools[{tool.name}]")
    return call.model_copy(update={"name": tool.tool.action})


def _by_rule(
    rule: ArgumentRule, value: str, call: Call, name: str, mended: list[Coerced], *, turn: int
) -> str:
    for how, after in rule.mendings(value):
        mended.append(_mended(turn, call, name, value, after, how))
        value = after
    return value


def _mended(
    turn: int,
    call: Call,
    argument: str,
    before: str,
    after: str,
    rule: Literal["tool_alias", "argument_name", "value_alias", "strip", "lower", "type"],
) -> Coerced:
    return Coerced(turn=turn, call=call, argument=argument, before=before, after=after, rule=rule)
