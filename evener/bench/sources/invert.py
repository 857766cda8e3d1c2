"""Which call of a composite tool comes to given actions: its templates read backwards.

A template gives its variables where the text round them is known, the result of the step before
among it. What is found counts only if the composite, read forwards again, makes the very same
actions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from evener.agents.harness import template
from evener.agents.harness.schema import Arguments
from evener.agents.harness.tool import ReadyTool, Resolved, Toolbox, step_call
from evener.agents.knowledge.seen import signature
from evener.agents.knowledge.translate import plain_variable
from evener.protocols.digest import canonical
from evener.protocols.error import HarnessError
from evener.protocols.harness import Step
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec

_EXPRESSION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)


class Done(NamedTuple):
    """An action of the environment, and what it showed."""

    call: Call
    result: str


def inverted(
    tool: ReadyTool, done: Sequence[Done], actions: Mapping[str, ActionSpec]
) -> Call | None:
    """The call of the composite that makes these actions, as many as it has steps; None where no
    call does."""
    steps = tool.tool.steps or ()
    if [step.action for step in steps] != [made.call.name for made in done]:
        return None
    values: dict[str, JsonValue] = {}
    before: str | None = None
    for step, made in zip(steps, done, strict=True):
        if not _read(step, made.call, values, before):
            return None
        before = made.result
    call = Call(
        name=tool.name,
        arguments={name: tool.arguments.typed(name, value) for name, value in values.items()},
    )
    resolved = Toolbox([tool.tool]).resolve(call, (tool.name,), turn=0)
    if not isinstance(resolved, Resolved) or not _comes_to(resolved, steps, done, actions):
        return None
    return resolved.call


def _read(step: Step, call: Call, values: dict[str, JsonValue], before: str | None) -> bool:
    """Add the variables that the step's templates give; False where a template does not fit."""
    if step.arguments.keys() != call.arguments.keys():
        return False
    plain_first = sorted(step.arguments, key=lambda n: plain_variable(step.arguments[n]) is None)
    for name in plain_first:
        text, value = step.arguments[name], call.arguments[name]
        variable = plain_variable(text)
        if variable is not None:
            if variable != "result":
                values.setdefault(variable, value)
            continue
        known = values if before is None else {**values, "result": before}
        written = value if isinstance(value, str) else canonical(value)
        try:
            found = re.fullmatch("".join(_pattern(text, known)), written, re.DOTALL)
        except (HarnessError, re.error):  # more than variables in a text: not to be read backwards
            return False
        if found is None:
            return False
        values.update(found.groupdict())
    return True


def _pattern(text: str, known: Mapping[str, JsonValue]) -> Iterator[str]:
    """The template as a regular expression, with a group for every variable not yet known."""
    open_: set[str] = set()
    for part in _EXPRESSION.split(text):
        variable = plain_variable(part)
        if not _EXPRESSION.fullmatch(part) or (variable or "") in known or variable is None:
            yield re.escape(template.render(part, known, where="steps"))
        elif variable in open_:
            yield f"(?P={variable})"
        else:
            open_.add(variable)
            yield f"(?P<{variable}>.+?)"


def _comes_to(
    resolved: Resolved,
    steps: Sequence[Step],
    done: Sequence[Done],
    actions: Mapping[str, ActionSpec],
) -> bool:
    before: str | None = None
    for step, made in zip(steps, done, strict=True):
        schema = Arguments(actions[step.action].parameters)
        try:
            again = step_call(step, resolved.call, before, schema, where=resolved.tool.name)
        except HarnessError:
            return False
        if signature(again) != signature(made.call):
            return False
        before = made.result
    return True
