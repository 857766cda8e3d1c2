"""What an environment publishes: its actions and its worked examples. No task, no answer.

Detectors and repairs know the environment through this alone, so that they can be computed for any
trajectory of any split without seeing anything hidden.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import cast

from evener.agents.pattern.lexical import (
    GRAMMAR,
    grams,
    likeness,
    masks,
    nearest,
    plurals,
    rarity,
    singular,
    words,
)
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.harness import ExampleTurn, Harness, Tool
from evener.protocols.port import ActionSpec, Documented, Environment, WorkedExample
from evener.protocols.task import Split, Task

Procedure = tuple[str, ...]
MARK = 4


class Background(Wire):
    """The action space and the documentation's examples of one environment."""

    actions: tuple[ActionSpec, ...] = ()
    examples: tuple[WorkedExample, ...] = ()

    def action(self, name: str) -> ActionSpec | None:
        """The action of that name."""
        return next((a for a in self.actions if a.name == name), None)

    def new_tool(self, action: str, harness: Harness) -> Tool | None:
        """A tool for an action, named and described as the environment does it; None where the
        harness has one of that name."""
        spec = self.action(action)
        if spec is None or any(tool.name == action for tool in harness.tools):
            return None
        return Tool(
            name=action, description=spec.description, parameters=spec.parameters, action=action
        )

    def kinds(self) -> tuple[str, ...]:
        """The kinds that are documented, in the order of the documentation."""
        return tuple(dict.fromkeys(example.kind for example in self.examples))

    def of(self, kind: str) -> tuple[WorkedExample, ...]:
        """The examples of one kind."""
        return tuple(example for example in self.examples if example.kind == kind)

    def kind(self, task: Task) -> str | None:
        """The documented kind of a task: its own, or that of the example most like its prompt."""
        return task.kind if task.kind in self.kinds() else self.kind_of(task.prompt)

    def kind_of(self, text: str) -> str | None:
        """The kind whose example is most like `text`; None where none has a word in common."""
        scored = [(likeness(text, question(e.turns), self.rarity), e.kind) for e in self.examples]
        best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
        return best[1] if best[0] > 0 else None

    @cached_property
    def asked(self) -> tuple[tuple[str, ...], ...]:
        """The words of each example's question, in the order of `examples`."""
        return tuple(words(question(example.turns)) for example in self.examples)

    @cached_property
    def marks(self) -> dict[str, frozenset[str]]:
        """For each kind the words that a part of its questions share, one in `MARK`, or that its
        actions' schemas list, and that no other kind's question has; in the singular."""
        asked = [(e.kind, {singular(w) for w in words(question(e.turns))}) for e in self.examples]
        found: dict[str, frozenset[str]] = {}
        for kind in self.kinds():
            own = [said for name, said in asked if name == kind]
            others = {word for name, said in asked if name != kind for word in said}
            called = {turn.call.name for e in self.of(kind) for turn in e.turns if turn.call}
            specs = [spec for spec in self.actions if spec.name in called]
            listed = {
                v for s in specs for a in properties(s.parameters).values() for v in choices(a)
            }
            often = {w for said in own for w in said if sum(w in o for o in own) * MARK >= len(own)}
            here = {word for said in own for word in said}
            found[kind] = frozenset((often | here & listed) - others - GRAMMAR)
        return found

    @cached_property
    def rarity(self) -> dict[str, float]:
        """How telling each word of the documentation's questions is."""
        return rarity([question(example.turns) for example in self.examples])

    def spellings(self, action: str, argument: str) -> dict[str, str]:
        """How the documentation's questions write the values that a schema lists: a word like the
        value, in a question that has neither the value itself nor its regular plural."""
        spec = self.action(action)
        listed = choices(properties(spec.parameters).get(argument, {})) if spec else ()
        found: dict[str, str] = {}
        for example, asked in zip(self.examples, self.asked, strict=True):
            for turn in example.turns:
                value = turn.call.arguments.get(argument) if turn.call else None
                if turn.call is None or turn.call.name != action or value not in listed:
                    continue
                name = str(value)
                if not {name.casefold(), *plurals(name.casefold())} & set(asked):
                    like = [w for w in asked if w[0] == name[0].casefold() and w not in GRAMMAR]
                    near = nearest(name, like, floor=0.5)
                    found |= {near: name} if near else {}
        return found

    def form(self, calls: Iterable[tuple[str, JsonObject]]) -> str:
        """What the texts that actions are given look like, the final one's aside: `9*9` for a
        product, `a` for a name."""
        final = {action.name for action in self.actions if action.final}
        found = [shape(arguments) for name, arguments in calls if name not in final]
        return " ".join(text for text in found if text)

    def common(self, gram: tuple[str, ...]) -> bool:
        """Whether a run of words is the documentation's way of putting a question and no task's:
        two examples have it, but for one word at most that differs."""
        return any(mask in self._masks for mask in masks(gram))

    @cached_property
    def _masks(self) -> frozenset[tuple[str, ...]]:
        seen: Counter[tuple[str, ...]] = Counter()
        for example in self.examples:
            seen.update({m for gram in grams(question(example.turns)) for m in masks(gram)})
        return frozenset(mask for mask, count in seen.items() if count > 1)

    def procedures(self, kind: str) -> tuple[Procedure, ...]:
        """The sequences of actions by which the documentation solves a kind."""
        return tuple(dict.fromkeys(procedure(e.turns) for e in self.of(kind)))

    def values(self, action: str, argument: str) -> tuple[str, ...]:
        """The texts that the documentation passes as one argument of an action."""
        found = [
            turn.call.arguments.get(argument)
            for example in self.examples
            for turn in example.turns
            if turn.call is not None and turn.call.name == action
        ]
        return tuple(dict.fromkeys(value for value in found if isinstance(value, str)))


def question(turns: tuple[ExampleTurn, ...]) -> str:
    """The task text of a worked example: its user turns."""
    return "\n".join(t.content for t in turns if t.role == "user" and t.content)


def procedure(turns: tuple[ExampleTurn, ...], harness: Harness | None = None) -> Procedure:
    """The actions an example calls, in order; under `harness`, its tools' names are resolved."""
    names = [name for turn in turns if (name := _called(turn)) is not None]
    if harness is None:
        return tuple(names)
    return tuple(action for name in names for action in actions_of(name, harness))


def calls_of(
    turns: tuple[ExampleTurn, ...], harness: Harness | None = None
) -> Iterator[tuple[str, JsonObject]]:
    """The actions of an example with their arguments; a composite has its own name."""
    for turn in turns:
        if turn.call is not None:
            actions = actions_of(turn.call.name, harness) if harness else (turn.call.name,)
            yield (actions[0] if len(actions) == 1 else turn.call.name), turn.call.arguments


def shape(arguments: JsonObject) -> str:
    """The text arguments of a call, by name, with numbers as 9 and runs of words as a."""
    texts = [value for _, value in sorted(arguments.items()) if isinstance(value, str)]
    plain = (re.sub(r"\d+(?:\.\d+)?", "9", text) for text in texts)
    return " ".join(re.sub(r"[^\W\d_]+(?:[ -]+[^\W\d_]+)*", "a", text).strip() for text in plain)


def actions_of(tool: str, harness: Harness) -> Procedure:
    """The actions behind a tool's name; the name itself where the harness has no such tool."""
    found = next((t for t in harness.tools if t.name == tool or tool in t.aliases), None)
    if found is None:
        return (tool,)
    return (found.action,) if found.action else tuple(s.action for s in found.steps or ())


def _called(turn: ExampleTurn) -> str | None:
    if turn.call is not None:
        return turn.call.name
    if turn.role != "assistant" or not turn.content or '"name"' not in turn.content:
        return None
    # an example may hold its call as text; one that cannot be read shows no procedure
    start = turn.content.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(turn.content[max(start, 0) :])
    except ValueError:
        return None
    name = cast("JsonObject", value).get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def properties(schema: JsonObject) -> dict[str, JsonObject]:
    """The argument schemas of a JSON Schema of type object, by name."""
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {name: value if isinstance(value, dict) else {} for name, value in found.items()}


def required(schema: JsonObject) -> tuple[str, ...]:
    """The names of the arguments that must be there."""
    found = schema.get("required")
    return tuple(n for n in found if isinstance(n, str)) if isinstance(found, list) else ()


def choices(schema: JsonObject) -> tuple[str, ...]:
    """The texts that an argument's schema lists as its only values, or none."""
    found = schema.get("enum")
    return tuple(v for v in found if isinstance(v, str)) if isinstance(found, list) else ()


async def published(environment: Environment, *, seed: int = 0) -> Background:
    """The background of an environment: its session's action specs and its documentation."""
    (task, *_) = environment.tasks(Split.MINE, count=1, seed=seed)
    session = await environment.open(task, seed=seed)
    try:
        actions = session.actions()
    finally:
        await session.close()
    examples = environment.examples() if isinstance(environment, Documented) else ()
    return Background(actions=actions, examples=examples)
