"""What worked examples show of the target's tools: which give bare numbers, which reckon, and what
a call gave in the context of its question.

Taken from the documentation and from the harnesses' own examples; nothing of a task.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from evener.agents.knowledge.arithmetic import number, value
from evener.agents.pattern import Background
from evener.agents.pattern.background import question
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.harness import ExampleTurn, Harness

ROUNDING = 0.005


@dataclass(frozen=True)
class Shown:
    """A call of a target tool in an example, and what it gave."""

    question: str
    tool: str
    arguments: JsonObject
    observation: str


def tools_by_action(harness: Harness) -> dict[str, str]:
    """The harness's tool for each action that it offers as one tool; the first where several."""
    found: dict[str, str] = {}
    for tool in harness.tools:
        if tool.action is not None:
            found.setdefault(tool.action, tool.name)
    return found


def gather(optimized: Harness, target: Harness, background: Background) -> "Evidence":
    """The evidence of the documentation and of both harnesses' examples."""
    offered = tools_by_action(target)
    documented = {action.name: action.name for action in background.actions}
    shown = [
        *_shown((example.turns for example in background.examples), documented, offered),
        *_shown(_examples(optimized), _actions(optimized), offered),
        *_shown(_examples(target), _actions(target), offered),
    ]
    return Evidence(shown)


class Evidence:
    """What calls of the target's tools gave."""

    def __init__(self, shown: Iterable[Shown]) -> None:
        self._results: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        bare: dict[str, bool] = {}
        reckons: dict[tuple[str, str], bool] = {}
        for one in shown:
            key = (one.question, one.tool, canonical(one.arguments))
            self._results[key].add(one.observation)
            result = number(one.observation)
            bare[one.tool] = bare.get(one.tool, True) and result is not None
            for name, written in one.arguments.items():
                comes_to = value(written) if isinstance(written, str) else None
                if comes_to is not None and number(str(written)) is None:
                    right = result is not None and abs(float(comes_to - result)) <= ROUNDING
                    reckons[one.tool, name] = reckons.get((one.tool, name), True) and right
        self._bare = frozenset(tool for tool, always in bare.items() if always)
        self._mixed = frozenset(bare) - self._bare
        self._reckons = frozenset(place for place, always in reckons.items() if always)

    def gave(self, asked: str, tool: str, arguments: JsonObject) -> str | None:
        """What exactly this call gave in an example with this question, where all agree."""
        found = self._results.get((asked, tool, canonical(arguments)), set[str]())
        return next(iter(found)) if len(found) == 1 else None

    def bare_numbers(self, tool: str) -> bool:
        """Whether all results on view of a tool are bare numbers, and there are some."""
        return tool in self._bare

    def other_than_numbers(self, tool: str) -> bool:
        """Whether some result on view is no bare number."""
        return tool in self._mixed

    def reckoned(self, tool: str) -> str | None:
        """The argument whose value as arithmetic is the tool's result in every example, if any."""
        return next((name for one, name in sorted(self._reckons) if one == tool), None)


def _actions(harness: Harness) -> dict[str, str]:
    return {tool.name: tool.action for tool in harness.tools if tool.action is not None}


def _examples(harness: Harness) -> Iterator[tuple[ExampleTurn, ...]]:
    yield from harness.prompt.examples
    for skill in harness.skills:
        yield from skill.examples


def _shown(
    examples: Iterable[tuple[ExampleTurn, ...]], actions: dict[str, str], offered: dict[str, str]
) -> Iterator[Shown]:
    for turns in examples:
        asked = question(turns)
        for turn, after in pairwise(turns):
            if turn.call is None or after.role != "tool":
                continue
            tool = offered.get(actions.get(turn.call.name, ""))
            if tool is not None:
                yield Shown(asked, tool, turn.call.arguments, after.content or "")
