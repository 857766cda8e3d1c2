"""Roles: which number or name of the question, or which earlier result, fills each argument.

`look(item=w0)`, `sum(text=q0*r0)`, `end(answer=r1)`: two courses of equal roles solve two tasks of
a kind alike, whatever is asked for. So a course is compared with the documentation's, not a call
with a call, and the first step that differs says in what it does.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from evener.agents.pattern.background import Background, calls_of
from evener.agents.pattern.lexical import plurals
from evener.protocols.digest import JsonObject
from evener.protocols.harness import ExampleTurn, Harness

NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ONE_SIGN = re.compile(r"[^-+*/()]+(?:\+[^-+*/()]+)+|[^-+*/()]+(?:\*[^-+*/()]+)+")


class Step(NamedTuple):
    """One call of an action, its result where there is one, and the event that it was."""

    action: str
    arguments: JsonObject
    result: str = ""
    event: int = 0


class Role(NamedTuple):
    """A step with the roles in the place of its arguments' values, by name."""

    action: str
    filled: tuple[tuple[str, str], ...]


def roles(asked: str, steps: Sequence[Step], background: Background) -> tuple[Role, ...]:
    """The steps with roles: `q0` the question's first number, `w0` the first of the names used in
    the question's order, `r0` the first result, `k` any other number, `?` any other text."""
    numbers = [float(found[0]) for found in NUMBER.finditer(asked)]
    places = sorted(
        {p for s in steps for n, v in s.arguments.items() if (p := _place(asked, s, n, v)) >= 0}
    )
    final = {action.name for action in background.actions if action.final}
    results: list[str] = []
    found: list[Role] = []
    for step in steps:
        filled: list[tuple[str, str]] = []
        for name, value in sorted(step.arguments.items()):
            if isinstance(value, str) and value.strip() in results and step.action in final:
                role = f"r{_last(results, value.strip())}"
            elif (place := _place(asked, step, name, value)) >= 0:
                role = f"w{places.index(place)}"
            elif _opaque(str(value), numbers, results):
                role = "?"
            else:
                role = _expression(str(value), numbers, results, last=step.action in final)
            filled.append((name, role))
        found.append(Role(step.action, tuple(filled)))
        results.append(step.result.strip())
    return tuple(found)


def steps_of(turns: Sequence[ExampleTurn], harness: Harness | None = None) -> tuple[Step, ...]:
    """The calls of a worked example with their results."""
    results: list[str] = []
    for turn in turns:
        if turn.call is not None:
            results.append("")
        elif turn.role == "tool" and results and turn.content:
            results[-1] = turn.content
    calls = calls_of(tuple(turns), harness)
    return tuple(Step(n, a, r) for (n, a), r in zip(calls, results, strict=True))


def alike(one: Role, other: Role) -> bool:
    """Whether two steps have equal roles; what the documentation leaves open may be anything."""
    mine, theirs = dict(one.filled), dict(other.filled)
    names = mine.keys() == theirs.keys()
    return one.action == other.action and names and all(theirs[n] in ("?", mine[n]) for n in mine)


def _expression(text: str, numbers: list[float], results: list[str], *, last: bool) -> str:
    """A text with roles in the place of its numbers; operands of one sum or product sorted."""
    free = list(range(len(numbers)))

    def role(found: re.Match[str]) -> str:
        value = float(found[0])
        of_question = next((i for i in free if numbers[i] == value), None)
        of_question = next(iter(_all(numbers, value)), None) if of_question is None else of_question
        of_result = next(
            (i for i in range(len(results) - 1, -1, -1) if _number(results[i]) == value), None
        )
        if of_result is not None and (last or of_question is None):
            return f"r{of_result}"
        if of_question is None:
            return "k"
        if of_question in free:
            free.remove(of_question)
        return f"q{of_question}"

    plain = re.sub(r"[A-Za-z]+", "a", re.sub(r"\s+", "", text))
    made = NUMBER.sub(role, plain)
    if _ONE_SIGN.fullmatch(made):
        sign = "+" if "+" in made else "*"
        return sign.join(sorted(made.split(sign)))
    return made


def _opaque(text: str, numbers: list[float], results: list[str]) -> bool:
    """Whether nothing in a text can be traced: it has no number, or words and foreign numbers."""
    worded = re.search(r"[^\W\d_]", text) is not None
    return not NUMBER.search(text) or (worded and not _known(text, numbers, results))


def _known(text: str, numbers: list[float], results: list[str]) -> bool:
    known = {*numbers, *(_number(result) for result in results)}
    return any(float(found) in known for found in NUMBER.findall(text))


def _all(numbers: list[float], value: float) -> Iterator[int]:
    return (index for index, number in enumerate(numbers) if number == value)


def _last(results: list[str], value: str) -> int:
    return max(index for index, result in enumerate(results) if result == value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _place(asked: str, step: Step, name: str, value: JsonValue) -> int:
    """Where a text stands in the question, as it is or in the plural; -1 where it does not."""
    del name
    if not isinstance(value, str) or NUMBER.fullmatch(value.strip()) or not value.strip():
        return -1
    text = value.strip().casefold()
    for one in (text, *plurals(text), IRREGULAR.get(text, "")):
        found = re.search(rf"(?<!\w){re.escape(one)}(?!\w)", asked.casefold()) if one else None
        if found is not None:
            return found.start()
    return -1


IRREGULAR = {
    "foot": "feet", "tooth": "teeth", "goose": "geese", "man": "men", "woman": "women",
    "child": "children", "person": "people", "mouse": "mice", "leaf": "leaves", "half": "halves",
    "knife": "knives", "shelf": "shelves", "loaf": "loaves", "life": "lives", "ox": "oxen",
}  # fmt: skip
"""Plurals that no rule gives; a general list of English."""
