"""A skill's procedure, from its worked examples, and the tools it keeps to.

Both are stated in the environment's actions: a composite stands for its steps, so that a student
that has the actions alone can show them too.
"""

from collections.abc import Iterator
from itertools import groupby

from evener.agents.harness.skill import Triggers
from evener.agents.pattern.background import Procedure, actions_of, procedure
from evener.protocols.behaviour import Behaviour, Predicate
from evener.protocols.conduct import acted, handed_in, worked
from evener.protocols.harness import Harness, Skill
from evener.protocols.trajectory import Trajectory


def procedures(harness: Harness) -> Iterator[Behaviour]:
    """`procedure:SKILL` and `tools:SKILL` for every skill that the words of a task set off."""
    for skill in harness.skills:
        if not skill.when.words and skill.when.tools:
            continue  # what sets it off is a call, and a task alone offers no occasion
        known = tuple(dict.fromkeys(procedure(turns, harness) for turns in skill.examples))
        if any(known):
            yield _procedure(skill, known)
        if skill.tools:
            names = dict.fromkeys(name for t in skill.tools for name in actions_of(t, harness))
            yield _tools(skill, tuple(names))


def sets_off(*skills: Skill) -> Predicate:
    """An occasion: the task's words set off one of these skills."""
    triggers = Triggers(skills)
    return lambda trajectory: bool(triggers.active(trajectory.task.prompt))


def executed(trajectory: Trajectory) -> Procedure:
    """The actions that worked, in order, a call repeated at once counted once."""
    last = handed_in(trajectory)
    calls = [event.call for event in (*worked(trajectory), *([last] if last else []))]
    return tuple(name for (name, _), _ in groupby((c.name, str(c.arguments)) for c in calls))


def _procedure(skill: Skill, known: tuple[Procedure, ...]) -> Behaviour:
    return Behaviour(
        name=f"procedure:{skill.name}",
        part=f"skills[{skill.name}].examples",
        text=f"what works is, in order: {' or '.join(', '.join(names) for names in known)}",
        occasion=sets_off(skill),
        shown=lambda trajectory: executed(trajectory) in known,
        settings={"known": [list(names) for names in known], "words": list(skill.when.words)},
    )


def _tools(skill: Skill, names: tuple[str, ...]) -> Behaviour:
    def shown(trajectory: Trajectory) -> bool:
        made = {event.call.name for event in acted(trajectory)}
        return bool(worked(trajectory)) and made <= set(names)

    return Behaviour(
        name=f"tools:{skill.name}",
        part=f"skills[{skill.name}].tools",
        text=f"something works, and nothing is executed but {', '.join(names)}",
        occasion=sets_off(skill),
        shown=shown,
        conditional=True,
        settings={"names": list(names), "words": list(skill.when.words)},
    )
