"""Eight faults of skills: missing, not triggered, half triggered, without its tool, without its
examples, teaching the wrong procedure, or saying what holds no longer."""

from pydantic import JsonValue

from evener.bench.critic.plants.clerk import Clerk, Imitator, Step, then_final
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.view import Example, Question, View


class Copying(Imitator):
    """Copies an example step by step: as many look-ups as it has, a calculation if it has one."""

    def imitate(self, view: View, question: Question, examples: tuple[Example, ...]) -> Step:
        """Where the examples end early, so does it."""
        tools = [step.tool for step in examples[-1].steps]
        if question.kind == "bill" and tools.count("lookup") == 1:
            return then_final(view, "lookup", question.items[0])
        return super().imitate(view, question, examples)


class Priceless(Imitator):
    """Copies examples; where `lookup` is refused it assumes a price and goes on."""

    def next(self, view: View, question: Question) -> Step:
        """A price from memory behind a refusal."""
        if not any("not on offer" in made.answer for made in view.own):
            return super().next(view, question)
        assumed = self.expression(view, question, ["30", "30"])
        return then_final(view, "calculator", assumed)


class Obliging(Imitator):
    """Gives the discount that a text speaks of."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """Less, if it says so."""
        made = super().expression(view, question, prices)
        return f"{made}*0.9" if view.says("10 % off") and question.kind == "price" else made


class Exploring(Clerk):
    """Knows no bill but by its examples: looks up the whole order as one item, then a part of it,
    and then names a sum."""

    def next(self, view: View, question: Question) -> Step:
        """Two wrong names and a guess."""
        if question.kind != "bill" or view.like("bill"):
            return super().next(view, question)
        if not view.own:
            return "lookup", (" and a ".join(question.items),)
        if len(view.own) == 1:
            return "lookup", (question.items[0].split()[-1],)
        return "final", (self.guess(question),)


def _bill(asked: str, item: str, price: str) -> JsonValue:
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "call": {"name": "lookup", "arguments": {"item": item}}},
        {"role": "tool", "content": price},
        {"role": "assistant", "call": {"name": "final", "arguments": {"answer": int(price)}}},
    ]


HALF_BILLS: JsonValue = [
    _bill(
        "David orders a small basket and a small mirror. How much is the bill?",
        "small basket",
        "41",
    ),
    _bill("Ben wants a large blanket and a red pillow. How much is the bill?", "red pillow", "12"),
]


PLANTS: tuple[Plant, ...] = (
    Plant(
        name="no skill for conversions",
        dimension="S",
        fault="the skill that shows conversions is missing",
        path="skills[convert]",
        paths=("skills",),
        student=Imitator(),
    ),
    Plant(
        name="price not triggered",
        dimension="S",
        fault="the trigger of the price skill has none of the words that customers use",
        path="skills[price].when.words",
        new=["cost", "pay"],
        student=Imitator(),
    ),
    Plant(
        name="half a bill",
        dimension="S",
        fault="the examples of a bill look one item up and hand its price in",
        path="skills[bill].examples",
        new=HALF_BILLS,
        student=Copying(),
    ),
    Plant(
        name="price without lookup",
        dimension="S",
        fault="the price skill does not offer the tool that its examples use",
        path="skills[price].tools",
        new=["calculator", "final"],
        student=Priceless(),
    ),
    Plant(
        name="old discount",
        dimension="S",
        fault="the price skill speaks of a discount that there is none of",
        path="skills[price].text",
        new="Every price gets 10 % off this month.",
        student=Obliging(),
    ),
    Plant(
        name="weights only",
        dimension="S",
        fault="the conversion skill is triggered by weights alone",
        path="skills[convert].when.words",
        new=["ounces", "pounds", "grams", "kilograms"],
        student=Imitator(),
        each=6,
    ),
    Plant(
        name="no skill for bills",
        dimension="S",
        fault="the skill that shows bills is missing",
        path="skills[bill]",
        paths=("skills",),
        student=Exploring(),
    ),
    Plant(
        name="price without examples",
        dimension="S",
        fault="the price skill shows no examples",
        path="skills[price].examples",
        new=[],
        student=Imitator(),
    ),
)
