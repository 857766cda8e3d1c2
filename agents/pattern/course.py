"""The course of an episode, held against the documentation's: where it leaves it, and in what."""

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from evener.agents.pattern.background import question
from evener.agents.pattern.finding import Case
from evener.agents.pattern.lexical import likeness, words
from evener.agents.pattern.role import Role, Step, alike, roles, steps_of
from evener.protocols.event import Acted
from evener.protocols.harness import ExampleTurn
from evener.protocols.port import WorkedExample

_SIGN = re.compile(r"(?<=[\w)])\s*([-+*/])\s*(?=[\w(-])")

Aspect = Literal["none", "sign", "order", "value", "end", "early", "other", "open"]
"""In what a course leaves the documentation's: nothing; the sign between operands; their order; a
value; what is handed in; an end before its time; another action; or it was not brought to an end.
"""


class Departure(NamedTuple):
    """The first step that is not the documentation's. `made` and `wanted` are its roles, None where
    a course has no such step; `at` counts the steps before it."""

    aspect: Aspect
    at: int = 0
    made: Role | None = None
    wanted: Role | None = None
    step: Step | None = None

    @property
    def differing(self) -> tuple[str, ...]:
        """The names of the arguments whose roles differ."""
        if self.made is None or self.wanted is None:
            return ()
        wanted = dict(self.wanted.filled)
        return tuple(n for n, role in self.made.filled if wanted.get(n) != role)


def steps_made(case: Case) -> tuple[Step, ...]:
    """The calls that worked, one that was repeated at once counted once."""
    found: list[Step] = []
    for index, event in enumerate(case.events):
        if isinstance(event, Acted) and event.error_kind is None:
            step = Step(event.call.name, event.call.arguments, event.observation, index)
            if not found or found[-1][:2] != step[:2]:
                found.append(step)
    return tuple(found)


def pattern(case: Case, text: str | None = None) -> WorkedExample | None:
    """The documented example of the task's kind that is most like the task, or like `text`, in its
    words and in their order: roles depend on how a question is put."""
    asked = case.trajectory.task.prompt if text is None else text
    kind = case.background.kind(case.trajectory.task)

    def near(example: WorkedExample) -> float:
        known = question(example.turns)
        order = SequenceMatcher(None, words(known), words(asked), autojunk=False).ratio()
        return likeness(known, asked, case.background.rarity) + order

    documented = case.background.of(kind) if kind is not None else ()
    return max(documented, key=near, default=None)


def shown_roles(case: Case, turns: tuple[ExampleTurn, ...]) -> tuple[Role, ...]:
    """The roles of an example as it stands in the harness."""
    return roles(question(turns), steps_of(turns, case.harness), case.background)


def made_roles(case: Case) -> tuple[Role, ...]:
    """The roles of what the student did."""
    return roles(case.trajectory.task.prompt, steps_made(case), case.background)


def wanted_roles(case: Case) -> tuple[Role, ...]:
    """The roles of what the documentation would do; empty where it knows nothing like the task."""
    like = pattern(case)
    return roles(question(like.turns), steps_of(like.turns), case.background) if like else ()


def departed(case: Case) -> Departure:
    """Where the student's course leaves the documentation's, and in what."""
    steps, made, wanted = steps_made(case), made_roles(case), wanted_roles(case)
    final = {action.name for action in case.background.actions if action.final}
    for at, (one, other) in enumerate(zip(made, wanted, strict=False)):
        if not alike(one, other):
            aspect = _aspect(one, other, final)
            return Departure(aspect, at, one, other, steps[at])
    if len(made) < len(wanted):
        return Departure("open", len(made), None, wanted[len(made)])
    if len(made) > len(wanted) and wanted:
        return Departure("other", len(wanted), made[len(wanted)], None, steps[len(wanted)])
    return Departure("none", len(made))


def _aspect(made: Role, wanted: Role, final: set[str]) -> Aspect:
    if made.action != wanted.action:
        return "early" if made.action in final else "other"
    if made.action in final:
        return "end"
    mine, theirs = _atoms(made), _atoms(wanted)
    if sorted(mine) == sorted(theirs):
        return "sign" if signs(made) != signs(wanted) else "order"
    return "value"


def _atoms(role: Role) -> list[str]:
    return [atom for _, text in role.filled for atom in re.findall(r"[qrw]\d+|k|\?", text)]


def moved(made: Role, wanted: Role) -> dict[str, str]:
    """For each argument that was given what another one should have been: that other one."""
    places = {role: name for name, role in wanted.filled if role != "?"}
    found = {name: places[role] for name, role in made.filled if role in places}
    return {name: other for name, other in found.items() if name != other}


def same_shape(made: Role | None, wanted: Role | None) -> bool:
    """Whether two steps differ in nothing but in what fills their places."""
    if made is None or wanted is None or made.action != wanted.action:
        return False

    def shape(role: Role) -> list[tuple[str, str]]:
        return [(n, re.sub(r"[qrw]\d+|k|\?", "_", text)) for n, text in role.filled]

    return shape(made) == shape(wanted)


def signs(role: Role | None) -> frozenset[str]:
    """The signs between the operands of a step."""
    texts = [text for _, text in role.filled] if role is not None else []
    return frozenset(sign for text in texts for sign in _SIGN.findall(text))
