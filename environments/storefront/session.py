"""One episode at the desk. Its state is the catalogue and the answer that was handed in."""

import time
from fractions import Fraction
from typing import cast

from evener.environments.check import refusal
from evener.environments.storefront.action import ACTIONS, calculate, converted, look_up
from evener.environments.storefront.world import World
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec, Observation
from evener.protocols.trajectory import Score

# Half of the second decimal, and room for the binary form of an answer that sits on it.
ABSOLUTE = Fraction("0.005") + Fraction(1, 10**9)
RELATIVE = Fraction(1, 10**6)


class StorefrontSession:
    """Isolated: nothing is shared with another session but constants."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answer: Fraction | None = None
        self._closed = False

    def observation(self) -> Observation:
        """The customer's question."""
        return Observation(text=self._world.prompt)

    def actions(self) -> tuple[ActionSpec, ...]:
        """The same four for every task."""
        return ACTIONS

    async def act(self, call: Call) -> Observation:
        """One action. After `final` every further one is refused as `finished`."""
        start = time.perf_counter()
        seen = self._act(call)
        return seen.model_copy(update={"elapsed": time.perf_counter() - start})

    async def score(self) -> Score:
        """1 where the number handed in is right to two decimals, else 0; no answer is 0 too."""
        if self._answer is None:
            return Score(value=0.0, verdict="incorrect", error_kind="no_answer")
        distance = abs(self._answer - self._world.answer)
        right = distance <= max(ABSOLUTE, RELATIVE * abs(self._world.answer))
        return Score(value=float(right), verdict="correct" if right else "incorrect")

    async def close(self) -> None:
        """The session takes no more actions; it can still be scored."""
        self._closed = True

    def _act(self, call: Call) -> Observation:
        if self._closed or self._answer is not None:
            return Observation(text="the task is finished", error_kind="finished", done=True)
        refused = refusal(call, ACTIONS)
        if refused is not None:
            return refused
        given = call.arguments
        match call.name:
            case "calculator":
                return calculate(str(given["expression"]))
            case "lookup":
                return look_up(str(given["item"]), self._world.prices)
            case "convert":
                value = cast("float", given["value"])
                return converted(value, str(given["from"]), str(given["to"]))
            case _:
                self._answer = Fraction(repr(cast("float", given["answer"])))
                return Observation(text="done", done=True)
