"""Whether a harness can run in an environment: everything it names is there, before any episode."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from evener.agents.harness import schema, template
from evener.agents.harness.hooks.table import STAGES, bind
from evener.agents.harness.render import SYSTEM_VARIABLES, TASK_VARIABLES, opening
from evener.protocols.error import HarnessError
from evener.protocols.harness import ExampleTurn, Harness, Tool
from evener.protocols.port import ActionSpec

MOST_VOTES = 64
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PART_NAME = re.compile(r"[^\[\]\n]{1,128}")


def check(harness: Harness, actions: Sequence[ActionSpec]) -> None:
    """Refuse a harness that cannot run with these actions: the first fault, with its path."""
    _names(harness)
    for tool in harness.tools:
        _tool(tool, actions)
    _aliases(harness)
    _prompt(harness)
    _skills(harness)
    _examples(harness)
    for stage in STAGES:
        for hook in getattr(harness.middleware.hooks, stage):
            bind(hook, stage)
    if harness.middleware.loop.votes > MOST_VOTES:
        raise HarnessError(
            f"{harness.middleware.loop.votes} votes: an episode has {MOST_VOTES} at most",
            where="middleware.loop.votes",
        )
    if any(not stop for stop in harness.middleware.loop.stop):
        raise HarnessError("an empty stop string stops everything", where="middleware.loop.stop")
    _way_out(harness, actions)
    for skills in ((), *((skill,) for skill in harness.skills)):
        opening(harness, "a task with 12 {braces} and {{ more }}", skills=skills)


def _names(harness: Harness) -> None:
    for tool in harness.tools:
        if not _TOOL_NAME.fullmatch(tool.name):
            raise HarnessError(
                "a tool's name has 1 to 64 letters, digits, _ and -", where=f"tools[{tool.name}]"
            )
    parts = [("skills", s.name) for s in harness.skills]
    parts += [("memory.entries", n.name) for n in harness.memory.entries]
    for list_name, name in parts:
        if not _PART_NAME.fullmatch(name):
            raise HarnessError(
                "a name has 1 to 128 characters and no brackets or line breaks",
                where=f"{list_name}[{name[:40]}]",
            )


def _tool(tool: Tool, actions: Sequence[ActionSpec]) -> None:
    where = f"tools[{tool.name}]"
    if tool.timeout_s <= 0:
        raise HarnessError("a timeout is more than 0 seconds", where=f"{where}.timeout_s")
    schema.check(tool.parameters, where=f"{where}.parameters")
    known = schema.Arguments(tool.parameters).names
    for argument in tool.arguments:
        if tool.parameters:
            _known(argument, known, f"{where}.arguments.{argument}", "argument")
    names = [action.name for action in actions]
    if tool.action is not None:
        _known(tool.action, names, f"{where}.action", "action")
    if tool.steps is not None and not tool.steps:
        raise HarnessError("a composite has at least one step", where=f"{where}.steps")
    for index, step in enumerate(tool.steps or ()):
        place = f"{where}.steps[{index}]"
        _known(step.action, names, f"{place}.action", "action")
        takes = next(a for a in actions if a.name == step.action)
        takes_names = schema.Arguments(takes.parameters).names
        for name, text in step.arguments.items():
            _known(name, takes_names, f"{place}.arguments.{name}", "argument")
            declared = (*known, "result") if index else known
            template.check(text, declared, where=f"{place}.arguments.{name}")


def _aliases(harness: Harness) -> None:
    taken = {tool.name: tool.name for tool in harness.tools}
    for tool in harness.tools:
        for alias in tool.aliases:
            if taken.get(alias, tool.name) != tool.name or alias == tool.name:
                raise HarnessError(
                    f"{alias!r} already means the tool {taken[alias]}",
                    where=f"tools[{tool.name}].aliases",
                )
            taken[alias] = tool.name
        given: dict[str, str] = {name: name for name in schema.Arguments(tool.parameters).names}
        for argument, rule in tool.arguments.items():
            for name in rule.names:
                if given.get(name, argument) != argument:
                    raise HarnessError(
                        f"{name!r} already means the argument {given[name]}",
                        where=f"tools[{tool.name}].arguments.{argument}.names",
                    )
                given[name] = argument


def _prompt(harness: Harness) -> None:
    template.check(harness.prompt.system, SYSTEM_VARIABLES, where="prompt.system")
    template.check(harness.prompt.task, TASK_VARIABLES, where="prompt.task")
    if "question" not in template.variables_of(harness.prompt.task):
        raise HarnessError(
            "the task is never shown", where="prompt.task", remedy="write {{ question }} into it"
        )


def _skills(harness: Harness) -> None:
    names = [tool.name for tool in harness.tools]
    for skill in harness.skills:
        where = f"skills[{skill.name}]"
        if skill.system is not None:
            template.check(skill.system, SYSTEM_VARIABLES, where=f"{where}.system")
        for index, name in enumerate(skill.tools or ()):
            _known(name, names, f"{where}.tools[{index}]", "tool")
        for index, name in enumerate(skill.when.tools):
            _known(name, names, f"{where}.when.tools[{index}]", "tool")


def _examples(harness: Harness) -> None:
    names = [tool.name for tool in harness.tools]
    for where, turns in _all_examples(harness):
        for index, turn in enumerate(turns):
            if turn.call is not None:
                _known(turn.call.name, names, f"{where}[{index}].call.name", "tool")


def _all_examples(harness: Harness) -> Iterator[tuple[str, tuple[ExampleTurn, ...]]]:
    for index, turns in enumerate(harness.prompt.examples):
        yield f"prompt.examples[{index}]", turns
    for skill in harness.skills:
        for index, turns in enumerate(skill.examples):
            yield f"skills[{skill.name}].examples[{index}]", turns


def _way_out(harness: Harness, actions: Sequence[ActionSpec]) -> None:
    """Where the environment has a final action, the student can reach one, whatever skill acts."""
    final = {action.name for action in actions if action.final}
    if not final:
        return
    ending = {
        tool.name
        for tool in harness.tools
        if final & {tool.action, *(step.action for step in tool.steps or ())}
    }
    offers = [("tools", tuple(tool.name for tool in harness.tools))]
    offers += [(f"skills[{s.name}].tools", s.tools) for s in harness.skills if s.tools is not None]
    for where, names in offers:
        if not ending & set(names):
            raise HarnessError(
                "no tool here ends the episode",
                where=where,
                remedy=f"add {' or '.join(sorted(ending or final))}",
            )


def _known(name: str, names: Sequence[str], where: str, what: str) -> None:
    if name in names:
        return
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise HarnessError(
        f"there is no {what} {name!r}", where=where, remedy=f"{hint}{what}s: {', '.join(names)}"
    )
