"""How far a call of h* has come in the target's actions: K's recipes held against an episode.

A composite of h* is several turns under the target, so what a call still needs depends on what was
executed and on what it gave.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evener.agents.knowledge.seen import Made, Seen, signature
from evener.agents.knowledge.translate import Recipes
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.error import HarnessError
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Call

Worked = Callable[[Made], bool]


@dataclass(frozen=True)
class CallState:
    """Where a call of h* stands: `taken` executed calls belong to it. It is `over` when its last
    step was taken or one of them failed, and has then `result`; else `following` is the next step,
    None where none can be written."""

    taken: int
    over: bool
    result: str
    following: Call | None


class Course:
    """K's recipes for one target."""

    def __init__(self, knowledge: Knowledge, space: ActionSpace) -> None:
        self.recipes = Recipes(knowledge, space.target)
        self._space = space

    def knows(self, name: str) -> bool:
        """Whether a call of that tool can be carried out under the target."""
        return name in self.recipes.by_tool or name in self._space.runtime.toolbox.tools

    def standing(self, call: Call, executed: Sequence[Made], *, worked: Worked) -> CallState:
        """The call's steps held against what was executed, from its first call on."""
        result: str | None = None
        for at in range(self._length(call)):
            step = self._step(call, at, result)
            if step is None or at >= len(executed):
                return CallState(at, over=False, result="", following=step)
            made = executed[at]
            if made.call is None or signature(made.call) != signature(step):
                return CallState(at, over=False, result="", following=step)
            result = made.told
            if not worked(made):
                return CallState(at + 1, over=True, result=result, following=None)
        return CallState(self._length(call), over=True, result=result or "", following=None)

    def following(self, call: Call, seen: Seen) -> Call | None:
        """The next step of a call, given the latest of its steps in an episode; None where it is
        over, cannot be written, or was tried and failed."""
        executed = seen.executed
        for start in range(len(executed) + 1):
            standing = self.standing(call, executed[start:], worked=seen.worked)
            if start + standing.taken == len(executed):
                break
        else:
            return None
        step = standing.following
        if step is None:
            return None
        failed = {signature(m.call) for m in executed if m.call is not None and not seen.worked(m)}
        return None if signature(step) in failed else step

    def _length(self, call: Call) -> int:
        recipe = self.recipes.by_tool.get(call.name)
        return len(recipe.steps) if recipe is not None else 1

    def _step(self, call: Call, index: int, result: str | None) -> Call | None:
        if call.name not in self.recipes.by_tool:
            return call
        try:
            return self.recipes.step(call, index, result=result)
        except HarnessError:  # a result without a number, say: there is no such step
            return None
