"""Arguments in the form that a tool's rules bring them to: spelled canonically, no space at the
ends, in lower case. Under h* the rules do it, without h* the student has to."""

import re
from collections.abc import Iterator

from evener.agents.knowledge.translate import plain_variable
from evener.distill.detectors.procedure import sets_off
from evener.protocols.behaviour import Behaviour, Predicate, always
from evener.protocols.conduct import attempts
from evener.protocols.harness import ArgumentRule, Harness, Skill, Tool
from evener.protocols.trajectory import Trajectory

Place = tuple[str, str]


def arguments(harness: Harness) -> Iterator[Behaviour]:
    """`canonical:TOOL.ARGUMENT` for every rule that mends values and reaches an action."""
    for tool in harness.tools:
        for argument, rule in tool.arguments.items():
            places = tuple(_places(tool, argument))
            if places and (rule.strip or rule.lower or rule.aliases):
                yield _canonical(tool, argument, rule, places, harness)


def _canonical(
    tool: Tool, argument: str, rule: ArgumentRule, places: tuple[Place, ...], harness: Harness
) -> Behaviour:
    names = {*rule.aliases.values()}

    def given(trajectory: Trajectory) -> list[object]:
        return [
            call.arguments[at]
            for call, _ in attempts(trajectory)
            for name, at in places
            if call.name == name and at in call.arguments
        ]

    def right(value: object) -> bool:
        if not isinstance(value, str):
            return False
        return rule.mended(value) == value and (not names or value in names)

    def shown(trajectory: Trajectory) -> bool:
        values = given(trajectory)
        return bool(values) and all(right(value) for value in values)

    form = "by a canonical name" if names else "as the tool's rule would leave it"
    return Behaviour(
        name=f"canonical:{tool.name}.{argument}",
        part=f"tools[{tool.name}].arguments.{argument}",
        text=f"{' or '.join(f'{at} of {name}' for name, at in places)} is always given {form}",
        occasion=_occasion(tool, rule, harness),
        shown=shown,
        conditional=True,
        settings={"rule": rule.document(), "places": [list(place) for place in places]},
    )


def _occasion(tool: Tool, rule: ArgumentRule, harness: Harness) -> Predicate:
    """A task whose words are spelled as an alias is; without aliases, a task that sets off a skill
    that offers the tool or an action it stands for, and any task where there is no such skill."""
    if rule.aliases:
        spelled = re.compile(
            rf"(?<!\w)(?:{'|'.join(re.escape(alias) for alias in rule.aliases)})(?!\w)",
            re.IGNORECASE,
        )
        return lambda trajectory: spelled.search(trajectory.task.prompt) is not None
    worded = [skill for skill in harness.skills if skill.when.words]
    skills = [skill for skill in worded if _reaches(skill, tool, harness)]
    return sets_off(*skills) if skills else always


def _reaches(skill: Skill, tool: Tool, harness: Harness) -> bool:
    wanted = {tool.name, tool.action}
    offered = [t for t in harness.tools if t.name in (skill.tools or ())]
    return any(wanted & {t.name, t.action, *(s.action for s in t.steps or ())} for t in offered)


def _places(tool: Tool, argument: str) -> Iterator[Place]:
    """Where the value arrives: in the tool's call, in its action's, in a step that passes it on."""
    if tool.action is not None:
        yield from dict.fromkeys([(tool.action, argument), (tool.name, argument)])
    for step in tool.steps or ():
        for name, text in step.arguments.items():
            if plain_variable(text) == argument:
                yield step.action, name
