"""A call of a tool of h*, carried out in the target's tools as K's recipe says.

The steps come one at a time: a step may need what the step before gave.
"""

import re

from pydantic import JsonValue

from evener.agents.harness import template
from evener.agents.harness.tool import Resolved, Toolbox
from evener.protocols.digest import JsonObject
from evener.protocols.error import HarnessError
from evener.protocols.event import CallRefused
from evener.protocols.harness import Harness, Tool
from evener.protocols.knowledge import Knowledge, Recipe
from evener.protocols.message import Call

_PLAIN = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")


class Recipes:
    """K's recipes by the name of the tool of h*, for one target."""

    def __init__(self, knowledge: Knowledge, target: Harness) -> None:
        self.by_tool = {recipe.tool: recipe for recipe in knowledge.recipes}
        self._tools = Toolbox([tool_of(recipe) for recipe in knowledge.recipes])
        self._target = Toolbox(target.tools)

    def resolve(self, call: Call) -> Call | None:
        """The call with its arguments mended as h* would; None where no recipe has that tool or the
        arguments do not fit it."""
        resolved = self._tools.resolve(call, tuple(self.by_tool), turn=0)
        return resolved.call if isinstance(resolved, Resolved) else None

    def step(self, call: Call, index: int, *, result: str | None = None) -> Call:
        """Step `index` of a resolved call, as a call of a target tool; `result` is what the step
        before gave. Raises HarnessError where it cannot be written or the target refuses it."""
        recipe = self.by_tool[call.name]
        where = f"recipes[{recipe.tool}].steps[{index}]"
        made = filled(recipe, call.arguments, index, result=result)
        fitting = self._target.resolve(made, tuple(self._target.tools), turn=0)
        if isinstance(fitting, CallRefused):
            raise HarnessError(fitting.detail, where=where)
        return fitting.call.model_copy(update={"id": call.id})


def tool_of(recipe: Recipe) -> Tool:
    """The recipe as a composite of the target's tools."""
    return Tool(
        name=recipe.tool,
        description=recipe.text,
        parameters=recipe.parameters,
        arguments=recipe.mends,
        steps=recipe.steps,
    )


def filled(recipe: Recipe, arguments: JsonObject, index: int, *, result: str | None = None) -> Call:
    """One step with its templates filled in. A template that is one variable passes the value as it
    is, and leaves the argument out where the call does. Raises HarnessError."""
    step = recipe.steps[index]
    variables: dict[str, JsonValue] = dict(arguments)
    if result is not None:
        variables["result"] = result
    made: JsonObject = {}
    for name, text in step.arguments.items():
        plain = _PLAIN.fullmatch(text.strip())
        if plain is None:
            where = f"recipes[{recipe.tool}].steps[{index}].arguments.{name}"
            made[name] = template.render(text, variables, where=where)
        elif plain.group(1) in variables:
            made[name] = variables[plain.group(1)]
    return Call(name=step.action, arguments=made)


def plain_variable(text: str) -> str | None:
    """The variable that a template passes on as it is, None where it does more."""
    plain = _PLAIN.fullmatch(text.strip())
    return plain.group(1) if plain else None
