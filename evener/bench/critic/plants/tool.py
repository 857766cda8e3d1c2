"""Eight faults of tools: schemas that are not the action's, wrong mendings, wrong words, wrong
steps, and a tool that is not there."""

from pydantic import JsonValue

from evener.bench.critic.plants.clerk import Clerk, Imitator, Step, then_final
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.view import Question, View
from evener.environments.storefront.unit import PLURALS

ABBREVIATED: dict[str, str] = {
    "ounce": "oz",
    "pound": "lb",
    "gram": "g",
    "kilogram": "kg",
    "inch": "in",
    "foot": "ft",
    "yard": "yd",
    "mile": "mi",
    "centimeter": "cm",
    "meter": "m",
    "kilometer": "km",
    "pint": "pt",
    "gallon": "gal",
    "liter": "l",
}
FACTORS: dict[str, str] = {
    "pounds": "0.45",
    "inches": "2.5",
    "gallons": "3.8",
    "miles": "1.6",
    "ounces": "28",
    "feet": "0.3",
    "kilograms": "2.2",
    "yards": "0.9",
    "pints": "0.5",
    "kilometers": "0.6",
    "centimeters": "0.4",
    "meters": "3.3",
}


def _object(**properties: JsonValue) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class Abbreviating(Clerk):
    """Spells units as a refusal says they must be, else in the singular."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """By the last word on it."""
        source, target = super().units(view, question)
        if view.own and "must be one of lb" in view.own[-1].answer.replace("oz, ", ""):
            return ABBREVIATED[source], ABBREVIATED[target]
        return source, target


class Renaming(Clerk):
    """Names an argument as the tool's list does; where the desk then asks for another, that one."""

    def arguments(self, view: View, tool: str) -> tuple[str, ...]:
        """By the last word on it."""
        if view.own and "'item' is a required property" in view.own[-1].answer:
            return ("item",)
        return super().arguments(view, tool)


class Plural(Imitator):
    """Spells units as the customer does, and leaves the rest to the tool."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """As asked."""
        return question.units


class ByTheBox(Clerk):
    """Takes a tool's description at its word: a price of ten is divided by ten."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """Down to one piece."""
        made = super().expression(view, question, prices)
        ten = "ten pieces" in view.menu["lookup"][1] and question.items
        return f"({made})/10" if ten else made


class Quoting(Imitator):
    """Uses a tool that does all at once where the examples do."""

    def imitate(self, view: View, question: Question, examples: object) -> Step:
        """`quote`, then the end."""
        if question.kind == "price" and "quote" in view.menu:
            return then_final(view, "quote", question.items[0], question.numbers[0])
        if question.kind == "convert" and "convert_any" in view.menu:
            units = self.units(view, question)
            return then_final(view, "convert_any", question.numbers[0], *units)
        return super().imitate(view, question, view.examples)


def by_factor(question: Question) -> Step:
    """The conversion in the calculator's hands, with the factor that people remember."""
    return "calculator", (f"{question.numbers[0]}*{FACTORS[question.units[0]]}",)


class ByHand(Clerk):
    """Without a tool that converts, it calculates with the factor that people remember."""

    def total(self, view: View, question: Question) -> Step:
        """A factor in the calculator's hands."""
        if question.kind == "convert" and "convert" not in view.menu:
            return by_factor(question)
        return super().total(view, question)


MISTAKEN: dict[str, JsonValue] = {"feet": "inch", "gallons": "pint"}
ALIASES: dict[str, JsonValue] = {**{PLURALS[unit]: unit for unit in ABBREVIATED}, **MISTAKEN}
_UNITS: JsonValue = {"type": "string", "enum": list(ABBREVIATED.values())}

PLANTS: tuple[Plant, ...] = (
    Plant(
        name="abbreviated units",
        dimension="T",
        fault="the schema takes abbreviations of units, the action full words",
        base="desk",
        path="tools[convert].parameters",
        new=_object(value={"type": "number"}, **{"from": _UNITS, "to": _UNITS}),
        paths=("tools[convert].arguments",),
        student=Abbreviating(),
    ),
    Plant(
        name="renamed argument",
        dimension="T",
        fault="the schema calls `product` what the action calls `item`",
        base="desk",
        path="tools[lookup].parameters",
        new=_object(product={"type": "string"}),
        student=Renaming(),
    ),
    Plant(
        name="answer as text",
        dimension="T",
        fault="the schema makes the answer a text, and the action takes a number",
        base="desk",
        path="tools[final].parameters.properties.answer.type",
        new="string",
        student=Clerk(),
    ),
    Plant(
        name="wrong alias",
        dimension="T",
        fault="`feet` and `gallons` are mended into other units",
        path="tools[convert].arguments.from.aliases",
        new=ALIASES,
        student=Plural(),
        kinds=("convert",),
        each=12,
    ),
    Plant(
        name="price of ten",
        dimension="T",
        fault="the description says that prices are of ten pieces; they are of one",
        base="desk",
        path="tools[lookup].description",
        new="The price of a box of ten pieces of an item of the catalogue, by its exact name.",
        student=ByTheBox(),
    ),
    Plant(
        name="wrong step",
        dimension="T",
        fault="the composite adds quantity and price, where it should multiply",
        base="optimized",
        path="tools[quote].steps[1].arguments.expression",
        new="{{ quantity }}+{{ result }}",
        student=Quoting(),
    ),
    Plant(
        name="short expressions",
        dimension="T",
        fault="the schema takes expressions of at most five characters",
        base="desk",
        path="tools[calculator].parameters.properties.expression.maxLength",
        new=5,
        student=Clerk(),
    ),
    Plant(
        name="no conversion tool",
        dimension="T",
        fault="the tool that converts is missing",
        base="desk",
        path="tools[convert]",
        paths=("tools",),
        student=ByHand(),
    ),
)
