"""Eight faults of tools: spellings, types, values, steps, a description, an argument and an action
that are not what the desk has."""

import re
from difflib import get_close_matches

from evener.bench.critic.plants.clerk import SINGULAR, Clerk, Step
from evener.bench.critic.plants.third_base import Third
from evener.bench.critic.plants.third_student import Mimic
from evener.bench.critic.plants.view import Example, Question, View

_MEANT = re.compile(r"Did you mean (\w+)\?")


class Heeding(Clerk):
    """Spells a unit as the last refusal proposes."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """As proposed, where it is another spelling of the same."""
        source, target = super().units(view, question)
        proposed = [name for made in view.own for name in _MEANT.findall(made.answer)]
        near = get_close_matches(target, proposed, 1, 0.7)
        return source, (near[0] if near else target)


class Wholly(Clerk):
    """Rounds when it is told that only whole numbers are taken."""

    def hand_in(self, view: View, result: str) -> str:
        """Whole if it must be."""
        told = any("must be integer" in made.answer for made in view.own)
        return str(round(float(result))) if told else result


class AsAsked(Mimic):
    """Writes units as the customer does, which the desk's spellings allow."""

    def matched(self, example: Example, question: Question) -> dict[str, str]:
        """The customer's word wherever the example has that unit."""
        known = super().matched(example, question)
        plural = {SINGULAR[unit]: unit for unit in question.units if unit}
        return {old: plural.get(new, new) for old, new in known.items()}


class Boxed(Clerk):
    """Reckons with the amount that the list of tools says a price is for."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """A tenth of the price for a piece."""
        made = super().expression(view, question, prices)
        boxed = "box of ten" in view.menu["lookup"][1]
        return f"({made})/10" if boxed and question.items else made


class Paying(Clerk):
    """Fills an argument for a currency with the usual one, where a tool asks for it."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """With the currency behind."""
        asked = "currency" in self.arguments(view, tool)
        return super().write(view, tool, (*values, "EUR") if asked else values)


class Checking(Clerk):
    """Has every number checked before it uses it, where there is a tool for that."""

    def next(self, view: View, question: Question) -> Step:
        """The check behind a result."""
        last = view.own[-1] if view.own else None
        if "check" in view.menu and last and last.result and last.tool != "check":
            return "check", (last.result,)
        return super().next(view, question)


PLANTS: tuple[Third, ...] = (
    Third(
        name="litres and metres",
        dimension="T",
        fault="the target's enum spells metric units as the desk does not",
        base="desk",
        path="tools[convert].parameters.properties.to.enum",
        new=[
            *("ounce", "pound", "gram", "kilogram", "inch", "foot", "yard", "mile"),
            *("centimetre", "metre", "kilometre", "pint", "gallon", "litre"),
        ],
        paths=("tools[convert].arguments.to",),
        student=Heeding(),
        kinds=("convert",),
        each=12,
    ),
    Third(
        name="whole answers only",
        dimension="T",
        fault="the schema of `final` takes integers, and results have decimals",
        base="desk",
        path="tools[final].parameters.properties.answer.type",
        new="integer",
        student=Wholly(),
    ),
    Third(
        name="meters for kilometers",
        dimension="T",
        fault="a spelling of the target unit is mended to another unit",
        base="hand",
        path="tools[convert].arguments.to.aliases.meters",
        new="kilometer",
        student=AsAsked(),
        kinds=("convert",),
        each=12,
    ),
    Third(
        name="no sign between",
        dimension="T",
        fault="the composite for a quote writes quantity and price without the sign between them",
        base="optimized",
        path="tools[quote].steps[1].arguments.expression",
        new="{{ quantity }}{{ result }}",
        student=Mimic(),
    ),
    Third(
        name="a box of ten",
        dimension="T",
        fault="the look-up's description says that a price is for a box of ten",
        base="desk",
        path="tools[lookup].description",
        new="The price of a box of ten pieces of an item of the catalogue, by its exact name.",
        student=Boxed(),
    ),
    Third(
        name="which currency",
        dimension="T",
        fault="the look-up's schema requires an argument that the desk does not take",
        base="desk",
        path="tools[lookup].parameters",
        new={
            "type": "object",
            "properties": {"item": {"type": "string"}, "currency": {"type": "string"}},
            "required": ["item", "currency"],
            "additionalProperties": False,
        },
        student=Paying(),
    ),
    Third(
        name="a check that ends",
        dimension="T",
        fault="a tool that is described as a check hands the number in",
        base="desk",
        path="tools[+]",
        new={
            "name": "check",
            "description": "Checks a number before it is used.",
            "parameters": {
                "type": "object",
                "properties": {"answer": {"type": "number"}},
                "required": ["answer"],
                "additionalProperties": False,
            },
            "action": "final",
        },
        paths=("tools[check]",),
        student=Checking(),
    ),
    Third(
        name="the same unit twice",
        dimension="T",
        fault="the step behind `convert` fills both units with the first",
        base="renamed",
        path="tools[convert].steps[0].arguments.to",
        new="{{ unit }}",
        student=Clerk(),
    ),
)
