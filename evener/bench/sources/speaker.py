"""A right solution said in a harness's tools: composites, tools of other names, plain actions.

The environment's actions are replayed once where a composite may stand for several of them, for
what it gives to a step is a result.
"""

from collections.abc import Mapping, Sequence

from evener.agents.harness.runtime import prepare
from evener.agents.harness.tool import ReadyTool, Resolved
from evener.bench.sources.gold import Gold
from evener.bench.sources.invert import Done, inverted
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec


class Speaker:
    """Says the plans of `gold` in the tools of `harness` that are on offer at that point.

    Tools in `own` come before others, the longest composite first. An action that no tool on offer
    comes to is said as it is. `seed` is that of the replays.
    """

    def __init__(
        self, gold: Gold, harness: Harness, *, own: frozenset[str] = frozenset(), seed: int = 0
    ) -> None:
        self._gold = gold
        self._runtime = prepare(harness)
        self._own = own
        self._seed = seed
        self._composites = any(tool.steps for tool in harness.tools)
        self._said: dict[str, tuple[Call, ...]] = {}

    async def calls(self, prompt: str) -> tuple[Call, ...]:
        """The calls that solve the task, in order. Raises DataError for a task that was not
        drawn."""
        if prompt not in self._said:
            self._said[prompt] = await self._say(prompt)
        return self._said[prompt]

    async def _say(self, prompt: str) -> tuple[Call, ...]:
        left, actions = await self._replayed(prompt)
        notes = self._runtime.recalled(prompt)
        called: set[str] = set()
        said: list[Call] = []
        while left:
            offered = self._runtime.opening(prompt, called=called, notes=notes).offered
            call, taken = self._following(left, offered, actions)
            said.append(call)
            called.add(call.name)
            left = left[taken:]
        return tuple(said)

    def _following(
        self, left: Sequence[Done], offered: Sequence[str], actions: Mapping[str, ActionSpec]
    ) -> tuple[Call, int]:
        """The call that goes on, and how many actions it stands for."""
        found: list[tuple[tuple[bool, int], Call, int]] = []
        for name in offered:
            tool = self._runtime.toolbox.tools[name]
            taken = len(tool.actions)
            call = self._as(tool, left[:taken], offered, actions)
            if call is not None:
                own = name in self._own
                found.append(((own, taken if own else -taken), call, taken))
        if not found:
            return left[0].call, 1
        _, call, taken = max(found, key=lambda one: one[0])
        return call, taken

    def _as(
        self,
        tool: ReadyTool,
        done: Sequence[Done],
        offered: Sequence[str],
        actions: Mapping[str, ActionSpec],
    ) -> Call | None:
        if tool.tool.steps is not None:
            return inverted(tool, done, actions)
        if tool.tool.action != done[0].call.name:
            return None
        call = Call(name=tool.name, arguments=done[0].call.arguments)
        resolved = self._runtime.toolbox.resolve(call, offered, turn=0)
        return resolved.call if isinstance(resolved, Resolved) else None

    async def _replayed(self, prompt: str) -> tuple[Sequence[Done], Mapping[str, ActionSpec]]:
        """The plan with what each action showed, up to one that failed; results are empty where
        nothing depends on them."""
        plan = self._gold.plan(prompt)
        if not self._composites:
            return [Done(call, "") for call in plan], {}
        session = await self._gold.environment.open(self._gold.tasks[prompt], seed=self._seed)
        done: list[Done] = []
        try:
            for call in plan:
                seen = await session.act(call)
                done.append(Done(call, seen.text))
                if seen.error_kind is not None:
                    break
            actions = {action.name: action for action in session.actions()}
        finally:
            await session.close()
        done += [Done(call, "") for call in plan[len(done) :]]
        return done, actions
