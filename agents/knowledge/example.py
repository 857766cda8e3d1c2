"""Worked examples of h* in the target's tools, with what the environment would show at each step.

A composite's inner results are not in the example. They are taken from an example with the same
question, reckoned forward, or solved for (4108 / 79 = 52); what cannot be known is not made up.
"""

from collections.abc import Sequence
from fractions import Fraction

from evener.agents.harness.shape import looks_like_call
from evener.agents.harness.template import variables_of
from evener.agents.knowledge.arithmetic import number, solve, value, written
from evener.agents.knowledge.evidence import ROUNDING, Evidence
from evener.agents.knowledge.translate import Recipes, filled
from evener.agents.knowledge.wording import Wording
from evener.agents.pattern.background import question
from evener.protocols.error import HarnessError
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness
from evener.protocols.knowledge import Recipe
from evener.protocols.message import Call

Turns = tuple[ExampleTurn, ...]


class Unwritten(Exception):
    """An example, or a part of it, that cannot be put in the target's tools, and why."""


class Examples:
    """Puts examples of h* in the target's tools."""

    def __init__(self, optimized: Harness, *, recipes: Recipes, evidence: Evidence) -> None:
        self._recipes = recipes
        self._evidence = evidence
        self._aliases = {alias: tool.name for tool in optimized.tools for alias in tool.aliases}
        self._names = tuple(tool.name for tool in optimized.tools)

    def rewritten(self, turns: Turns, wording: Wording) -> Turns:
        """The example in the target's tools. Raises Unwritten with the reason."""
        made: list[ExampleTurn] = []
        at, asked = 0, question(turns)
        while at < len(turns):
            turn = turns[at]
            at += 1
            if turn.call is None:
                made.append(self._words(turn, wording))
                continue
            told = turns[at] if at < len(turns) and turns[at].role == "tool" else None
            made.extend(self.call(turn.call, told.content if told else None, asked))
            at += told is not None
        return tuple(made)

    def call(self, written: ExampleCall, told: str | None, asked: str) -> Turns:
        """One call with its result, as the steps of its recipe. Raises Unwritten."""
        name = self._aliases.get(written.name, written.name)
        call = self._recipes.resolve(Call(name=name, arguments=written.arguments))
        if call is None:
            known = name in self._recipes.by_tool
            why = "its arguments do not fit" if known else "it has no recipe"
            raise Unwritten(f"it calls {written.name}: {why}")
        recipe = self._recipes.by_tool[name]
        results = derive(recipe, call, told, asked, self._evidence)
        made: list[ExampleTurn] = []
        for index, result in enumerate(results):
            step = self._fitting(recipe, call, index, results[index - 1] if index else None)
            shown = ExampleCall(name=step.name, arguments=step.arguments)
            made.append(ExampleTurn(role="assistant", call=shown))
            if result is not None:
                made.append(ExampleTurn(role="tool", content=result))
        return tuple(made)

    def _fitting(self, recipe: Recipe, call: Call, index: int, result: str | None) -> Call:
        """The step as the target's schema wants it. Raises Unwritten where it does not fit."""
        try:
            return self._recipes.step(call, index, result=result)
        except HarnessError as error:
            raise Unwritten(f"{recipe.tool} cannot be written: {error.what}") from None

    def _words(self, turn: ExampleTurn, wording: Wording) -> ExampleTurn:
        text = turn.content or ""
        if turn.role == "assistant":
            if looks_like_call(text, self._names):
                raise Unwritten("it makes a call in words, not as data")
            text = wording.retold(text)
            lacking = wording.foreign(text)
            if lacking:
                raise Unwritten(f"it names {lacking[0]}, which the target lacks")
        return turn.model_copy(update={"content": text})


def derive(
    recipe: Recipe, call: Call, told: str | None, asked: str, evidence: Evidence
) -> Sequence[str | None]:
    """What each step of a call gave, when the last gave `told`. Raises Unwritten."""
    count = len(recipe.steps)
    results: list[str | None] = [None] * count
    results[-1] = told
    for index in range(count - 1):
        if not _wants(recipe, index) or (index and results[index - 1] is not None):
            results[index] = _forward(recipe, call, index, results, asked, evidence)
    for index in range(count - 1, 0, -1):
        if results[index - 1] is None:
            results[index - 1] = _backward(recipe, call, index, results[index], evidence)
    unknown = next((i for i, found in enumerate(results[:-1]) if found is None), None)
    if unknown is not None:
        step = recipe.steps[unknown].action
        raise Unwritten(f"what {step} gave inside {recipe.tool} cannot be known from the example")
    for index in range(1, count):
        if _disagrees(recipe, call, index, results, evidence):
            raise Unwritten(f"the results inside {recipe.tool} do not agree with each other")
    return results


def _forward(
    recipe: Recipe,
    call: Call,
    index: int,
    results: Sequence[str | None],
    asked: str,
    evidence: Evidence,
) -> str | None:
    """A step's result where its arguments are known: as shown elsewhere, or reckoned."""
    before = results[index - 1] if index else None
    try:
        made = filled(recipe, call.arguments, index, result=before)
    except HarnessError:
        return None
    shown = evidence.gave(asked, made.name, made.arguments) if asked else None
    if shown is not None:
        return shown
    comes_to = value(str(made.arguments.get(evidence.reckoned(made.name) or "", "")))
    return written(comes_to) if comes_to is not None else None


def _backward(
    recipe: Recipe, call: Call, index: int, result: str | None, evidence: Evidence
) -> str | None:
    """What the step before must have given for this one to give `result`."""
    giver, taker = recipe.steps[index - 1].action, recipe.steps[index].action
    argument = evidence.reckoned(taker)
    wanted = number(result) if result is not None else None
    if argument is None or wanted is None or evidence.other_than_numbers(giver):
        return None
    template = recipe.steps[index].arguments.get(argument, "")
    if "|" in template and not evidence.bare_numbers(giver):
        return None  # a filter may take a number out of other words

    def reckon(guess: str) -> Fraction | None:
        try:
            made = filled(recipe, call.arguments, index, result=guess)
        except HarnessError:
            return None
        return value(str(made.arguments.get(argument, "")))

    return solve(reckon, wanted)


def _disagrees(
    recipe: Recipe, call: Call, index: int, results: Sequence[str | None], evidence: Evidence
) -> bool:
    """Whether a step that reckons gives something else than what it is said to have given."""
    argument, told = evidence.reckoned(recipe.steps[index].action), results[index]
    if argument is None or told is None:
        return False
    try:
        made = filled(recipe, call.arguments, index, result=results[index - 1])
    except HarnessError:
        return True
    comes_to, said = value(str(made.arguments.get(argument, ""))), number(told)
    return comes_to is None or said is None or abs(float(comes_to - said)) > ROUNDING


def _wants(recipe: Recipe, index: int) -> bool:
    """Whether a step needs the result of the step before."""
    return any("result" in variables_of(text) for text in recipe.steps[index].arguments.values())
