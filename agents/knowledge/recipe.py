"""Tools → recipes: what a call of a tool of h* comes to in the target's tools, or why nothing."""

from collections.abc import Mapping

from evener.agents.harness import template
from evener.agents.harness.schema import Arguments
from evener.agents.knowledge.evidence import tools_by_action
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness, Step, Tool
from evener.protocols.knowledge import Recipe


def recipe_of(tool: Tool, target: Harness) -> Recipe | str:
    """The recipe of one tool, without an example; or the reason why there is none."""
    offered = tools_by_action(target)
    tools = {one.name: one for one in target.tools}
    steps: list[Step] = []
    for step in _steps(tool, tools.get(offered.get(tool.action or "", ""))):
        name = offered.get(step.action)
        if name is None:
            return f"the target has no tool for the action {step.action}"
        reason = unfit(step.arguments, tools[name])
        if reason:
            return reason
        steps.append(Step(action=name, arguments=step.arguments))
    reason = _unwritable(tool, steps)
    if reason:
        return reason
    return Recipe(
        tool=tool.name,
        text=tool.description,
        parameters=tool.parameters,
        steps=tuple(steps),
        mends=tool.arguments,
    )


def _steps(tool: Tool, same: Tool | None) -> tuple[Step, ...]:
    """The tool's steps; a plain tool is one step that passes all of its arguments on."""
    if tool.steps is not None:
        return tool.steps
    schema = tool.parameters or (same.parameters if same else {})
    names = Arguments(schema).names
    arguments = {name: f"{{{{ {name} }}}}" for name in names}
    return (Step(action=tool.action or "", arguments=arguments),)


def unfit(arguments: Mapping[str, str], tool: Tool) -> str:
    """Why the target's tool does not take these arguments."""
    schema = Arguments(tool.parameters)
    if not tool.parameters:
        return ""
    unknown = sorted(set(arguments) - set(schema.names))
    if unknown:
        return f"the target's {tool.name} takes no argument {unknown[0]}"
    missing = [name for name in schema.required if name not in arguments]
    return f"the target's {tool.name} wants {missing[0]}, which nothing gives" if missing else ""


def _unwritable(tool: Tool, steps: list[Step]) -> str:
    """Why a step cannot be written as a template over the tool's arguments."""
    names = Arguments(tool.parameters).names
    for index, step in enumerate(steps):
        declared = {*names, *step.arguments} if not tool.parameters else {*names}
        variables = (*sorted(declared), "result") if index else tuple(sorted(declared))
        for argument, text in step.arguments.items():
            try:
                template.check(text, variables, where=argument)
            except HarnessError as error:
                return f"its argument {argument} cannot be passed on: {error.what}"
    return ""
