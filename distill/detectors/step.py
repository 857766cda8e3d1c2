"""A composite's steps, made one after the other, each given the result of the one before where the
composite gives it."""

import re
from collections.abc import Iterator

from evener.agents.harness.template import variables_of
from evener.distill.detectors.procedure import sets_off
from evener.protocols.behaviour import Behaviour, always
from evener.protocols.conduct import worked
from evener.protocols.event import Acted
from evener.protocols.harness import Harness, Skill, Step, Tool
from evener.protocols.trajectory import Trajectory


def steps(harness: Harness) -> Iterator[Behaviour]:
    """`steps:TOOL` for every composite of two steps or more. The occasion is a task that sets off a
    skill that offers the tool; any task where none does."""
    for tool in harness.tools:
        if tool.steps is None or len(tool.steps) < 2:
            continue
        offering = [s for s in harness.skills if tool.name in (s.tools or ()) and s.when.words]
        yield _steps(tool, tool.steps, offering)


def _steps(tool: Tool, made: tuple[Step, ...], skills: list[Skill]) -> Behaviour:
    names = [step.action for step in made]

    def shown(trajectory: Trajectory) -> bool:
        return _follows(worked(trajectory), made)

    return Behaviour(
        name=f"steps:{tool.name}",
        part=f"tools[{tool.name}].steps",
        text=f"{', then '.join(names)}, each given the result before it where the tool gives it",
        occasion=sets_off(*skills) if skills else always,
        shown=shown,
        settings={
            "steps": [step.document() for step in made],
            "words": [word for skill in skills for word in skill.when.words],
        },
    )


def _follows(events: tuple[Acted, ...], made: tuple[Step, ...]) -> bool:
    """Whether the steps are a subsequence of what worked in which results are passed on."""

    def reach(at: int, step: int, result: str) -> bool:
        if step == len(made):
            return True
        return any(
            reach(here + 1, step + 1, event.observation)
            for here, event in enumerate(events[at:], at)
            if event.call.name == made[step].action and _given(event, made[step], result)
        )

    return reach(0, 0, "")


def _given(event: Acted, step: Step, result: str) -> bool:
    """Whether every argument that the step fills with a result holds the result as a whole word."""
    filled = [name for name, text in step.arguments.items() if "result" in variables_of(text)]
    word = re.compile(rf"(?<![\w.]){re.escape(result.strip())}(?!\w|\.\w)")
    return all(
        result.strip() and word.search(str(event.call.arguments.get(name))) for name in filled
    )
