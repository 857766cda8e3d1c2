"""`verify_answer`: the final answer must be the last number that a tool gave."""

from pydantic import Field, JsonValue

from evener.agents.harness.hooks.effect import Block, Effect, HookState, HookType, Settings
from evener.agents.harness.template import numbers

TOLERANCE = 1e-9


class VerifyAnswerSettings(Settings):
    """How often an episode is reminded."""

    reminders: int = Field(default=1, ge=1, le=10)


def _verify(settings: VerifyAnswerSettings, state: HookState) -> Effect | None:
    if state.call is None or state.last_result is None or state.fired >= settings.reminders:
        return None
    results = numbers(state.last_result)
    if not results:
        return None
    given = numbers(" ".join(_text(value) for value in state.call.arguments.values()))
    if given and _near(float(given[-1]), float(results[-1])):
        return None
    found = given[-1] if given else "no number"
    return Block(
        f"Your answer ({found}) is not the last result ({results[-1]}). Check it and answer again."
    )


def _near(left: float, right: float) -> bool:
    return abs(left - right) <= TOLERANCE * max(1.0, abs(left), abs(right))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else str(value)


VERIFY_ANSWER = HookType("verify_answer", VerifyAnswerSettings, ("before_finish",), _verify)
