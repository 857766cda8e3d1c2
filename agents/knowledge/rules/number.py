"""Rules about numbers: the answer is the last result, and what is reckoned with was given."""

import json

from pydantic import JsonValue

from evener.agents.harness.template import numbers
from evener.agents.knowledge.rules.rule import Found, Rule, RuleSettings
from evener.agents.knowledge.seen import Seen
from evener.protocols.message import Call

TOLERANCE = 1e-9


class AnswerDiffersSettings(RuleSettings):
    """The tools that end the episode."""

    final: tuple[str, ...] = ()


def _answer_differs(settings: AnswerDiffersSettings, seen: Seen) -> Found | None:
    call = seen.call
    if call is None or call.name not in settings.final or seen.last_result is None:
        return None
    results = numbers(seen.last_result)
    if not results:
        return None
    given = numbers(written(call))
    if given and near(float(given[-1]), float(results[-1])):
        return None
    return {"given": given[-1] if given else "no number", "last": results[-1]}


ANSWER_DIFFERS = Rule(
    "answer_differs",
    AnswerDiffersSettings,
    ("given", "last"),
    _answer_differs,
    "The answer ({{ given }}) is not the last result ({{ last }}).",
)


class OperandsSettings(RuleSettings):
    """Only calls of these tools."""

    tools: tuple[str, ...]


def _operands(settings: OperandsSettings, seen: Seen) -> Found | None:
    call = seen.call
    if call is None or call.name not in settings.tools:
        return None
    strange = [
        found
        for found in numbers(written(call))
        if not any(near(abs(float(found)), known) for known in seen.numbers)
    ]
    return {"numbers": ", ".join(dict.fromkeys(strange))} if strange else None


OPERANDS = Rule(
    "operands",
    OperandsSettings,
    ("numbers",),
    _operands,
    "{{ numbers }} is neither in the task nor a result so far.",
)


def near(left: float, right: float) -> bool:
    """Whether two numbers are the same but for how they are written."""
    return abs(left - right) <= TOLERANCE * max(1.0, abs(left), abs(right))


def written(call: Call) -> str:
    """The values of a call's arguments as one text."""
    return " ; ".join(_text(value) for value in call.arguments.values())


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)
