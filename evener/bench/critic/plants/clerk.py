"""A sensible student of the shop desk: it knows how to work and acts on what it is shown.

It lists prices, calculates with tools, hands in the last result, heeds what a refusal says, and
gives an estimate where a tool has failed it twice. The students of plants change one thing each.
"""

import json
from fractions import Fraction

from pydantic import JsonValue

from evener.bench.critic.plants.view import Example, Question, View
from evener.environments.storefront.unit import PLURALS, convert

PATIENCE = 2
TYPICAL_PRICE = 30
SINGULAR = {plural: unit for unit, plural in PLURALS.items()}
Step = tuple[str, tuple[str, ...]]


class Clerk:
    """Knows the procedures; takes the names of tools and arguments from the list it is shown."""

    def reply(self, view: View) -> str:
        """The next turn, as text."""
        if view.question is None:
            return "I can't see what the customer wants. Could you tell me?"
        tool, values = self.next(view, view.question)
        if tool != "final" and view.failed(tool) >= PATIENCE:
            tool, values = "final", (self.guess(view.question),)
        return self.write(view, tool, values)

    def next(self, view: View, question: Question) -> Step:
        """The next call: the first whose result is not on view."""
        for tool, values in self.before_total(question):
            if view.result(tool, *values) is None:
                return tool, values
        tool, values = self.total(view, question)
        result = view.result(tool, *values)
        return (tool, values) if result is None else ("final", (self.hand_in(view, result),))

    def before_total(self, question: Question) -> tuple[Step, ...]:
        """The calls whose results the total needs."""
        return tuple(("lookup", (item,)) for item in question.items)

    def total(self, view: View, question: Question) -> Step:
        """The call that gives what was asked for."""
        if question.kind == "convert":
            return "convert", (question.numbers[0], *self.units(view, question))
        prices = [view.result("lookup", item) or "" for item in question.items]
        return "calculator", (self.expression(view, question, prices),)

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """What the calculator is given."""
        match question.kind:
            case "calc":
                return question.sign.join(question.numbers)
            case "price":
                return f"{question.numbers[0]}*{prices[0]}"
            case _:
                return "+".join(prices)

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """How the units are spelled in a call: in the singular."""
        source, target = question.units
        return SINGULAR[source], SINGULAR[target]

    def hand_in(self, view: View, result: str) -> str:
        """What is handed in, given the last result."""
        return result

    def guess(self, question: Question) -> str:
        """What a clerk would say without the tools: the right size, and hardly ever right."""
        return f"{estimate(question):.1g}" if estimate(question) < 1 else rough(question)

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """The call in the form of the desk."""
        return written(tool, self.arguments(view, tool), values)

    def arguments(self, view: View, tool: str) -> tuple[str, ...]:
        """Argument names, from the list of tools, or from an example."""
        return view.menu[tool][0] if tool in view.menu else USUAL[tool]


USUAL: dict[str, tuple[str, ...]] = {
    "calculator": ("expression",),
    "lookup": ("item",),
    "convert": ("value", "from", "to"),
    "quote": ("item", "quantity"),
    "final": ("answer",),
}


class Imitator(Clerk):
    """A small student: works as the examples for such a question do, and guesses without any."""

    def next(self, view: View, question: Question) -> Step:
        """As the examples; without one, the end."""
        examples = view.like(question.kind)
        if not examples:
            return "final", (self.guess(question),)
        return self.imitate(view, question, examples)

    def imitate(self, view: View, question: Question, examples: tuple[Example, ...]) -> Step:
        """The next call, given examples."""
        return super().next(view, question)


class Noter(Clerk):
    """Knows the tools and no procedure but those that a note names: `lookup`, `calculator` and
    `convert` are used where a note for such a question says so."""

    topics = {
        "calc": ("times, plus",),
        "price": ("total price",),
        "convert": ("conversion",),
        "bill": ("bill",),
    }

    def next(self, view: View, question: Question) -> Step:
        """As the notes say; without one, the end."""
        notes = self.notes(view, question)
        if not notes:
            return "final", (self.guess(question),)
        step = super().next(view, question)
        if step[0] == "lookup" and "lookup" not in notes:
            return self.unpriced(view, question)
        if step[0] == "calculator" and "calculator" not in notes:
            price = view.result("lookup", question.items[-1]) if question.items else None
            return "final", (price or self.guess(question),)
        return step

    def notes(self, view: View, question: Question) -> str:
        """The notes on such a question that it is shown."""
        lines = [line for line in view.system.splitlines() if line.startswith("- ")]
        topics = self.topics[question.kind]
        return "\n".join(line for line in lines if any(t in line.casefold() for t in topics))

    def unpriced(self, view: View, question: Question) -> Step:
        """Without the word on where prices come from, one is assumed."""
        prices = [str(TYPICAL_PRICE)] * len(question.items)
        values = (self.expression(view, question, prices),)
        return then_final(view, "calculator", *values)


def then_final(view: View, tool: str, *values: str) -> Step:
    """The call, or the end with its result where that is on view."""
    result = view.result(tool, *values)
    return (tool, values) if result is None else ("final", (result,))


def written(tool: str, names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """A call as one JSON object; values that spell a number are written as one where that is what
    the tool is about."""
    typed: list[JsonValue] = [
        _number(value) if name in NUMERIC else value
        for name, value in zip(names, values, strict=False)
    ]
    return json.dumps({"name": tool, "arguments": dict(zip(names, typed, strict=False))})


NUMERIC = ("value", "answer", "quantity")


def _number(value: str) -> JsonValue:
    try:
        return int(value)
    except ValueError:
        return float(value)


def estimate(question: Question) -> float:
    """The right answer, as far as the question tells it: a price is taken for a typical one."""
    numbers = [Fraction(number) for number in question.numbers]
    match question.kind:
        case "calc":
            a, b = numbers
            results = {"*": a * b, "+": a + b, "-": a - b, "/": a / b}
            return float(results[question.sign])
        case "price":
            return float(numbers[0] * TYPICAL_PRICE)
        case "bill":
            return float(2 * TYPICAL_PRICE)
        case "convert":
            source, target = (SINGULAR[unit] for unit in question.units)
            return float(convert(numbers[0], source, target))


def rough(question: Question) -> str:
    """An estimate with one digit and a half, and never the exact one."""
    exact = estimate(question)
    size = 10 ** max(0, len(str(int(exact))) - 2)
    near = int(exact / size) * size
    return str(near if near != exact else near + size)
