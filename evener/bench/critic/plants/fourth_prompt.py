"""Eight faults of the prompt: rules of the house that are wrong or leave customers alone, examples
that go the wrong way, and procedures behind a condition that never holds."""

from dataclasses import replace

from evener.bench.critic.plants.base import DESK, ENDING, FORM
from evener.bench.critic.plants.clerk import Clerk, Step
from evener.bench.critic.plants.fourth_base import BARE, Fourth
from evener.bench.critic.plants.third_base import BILLS, PRICES, SHEET, worked
from evener.bench.critic.plants.third_student import Follower, Mimic
from evener.bench.critic.plants.view import Example, Question, View

LOOKED_UP = "Look every price up before you calculate;"
ONE_LOOKUP = "Look one price up for a customer and count any further item at 30;"
LAST_FIRST = "In a calculation the number that the customer names last stands first.\n"
FIRST_GIVEN = "Hand in the first number that a tool gives you, as it is, with the tool final.\n"
TENS = "Round every price to the nearest ten before you calculate with it.\n"
UNSHOWN = f"{{% if memory %}}{PRICES}\n{BILLS}\n{{% endif %}}"
LARGE = "(An order of more than 100 pieces is the manager's: hand in 0 and do nothing else.)"


class Sparing(Clerk):
    """Looks up as many prices as it is allowed to."""

    def next(self, view: View, question: Question) -> Step:
        """A bill of one price and a flat sum, where that is the rule."""
        if question.kind != "bill" or not view.says("any further item at 30"):
            return super().next(view, question)
        first = view.result("lookup", question.items[0])
        if first is None:
            return "lookup", (question.items[0],)
        total = view.result("calculator", f"{first}+30")
        return ("final", (total,)) if total else ("calculator", (f"{first}+30",))


class LastFirst(Clerk):
    """Writes the numbers of a calculation in the order that it is told."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """Reversed, where that is the rule."""
        if question.kind == "calc" and view.says("names last stands first"):
            question = replace(question, numbers=question.numbers[::-1])
        return super().expression(view, question, prices)


class FirstGiven(Clerk):
    """Hands in the number that it is told to hand in."""

    def next(self, view: View, question: Question) -> Step:
        """The first, where that is the rule."""
        given = [made.result for made in view.own if made.result is not None]
        if given and view.says("the first number that a tool gives"):
            return "final", (given[0],)
        return super().next(view, question)


class InTens(Clerk):
    """Rounds prices where it is told to."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """With prices in tens."""
        if view.says("to the nearest ten"):
            prices = [str((int(price) + 5) // 10 * 10) for price in prices]
        return super().expression(view, question, prices)


class Deferring(Mimic):
    """Leaves to the manager what it is told to leave."""

    def next(self, view: View, question: Question) -> Step:
        """Nothing for a large order, where that is the rule."""
        large = question.kind == "price" and int(question.numbers[0]) > 100
        if large and view.says("is the manager's"):
            return "final", ("0",)
        return super().next(view, question)


class ByNoun(Mimic):
    """Names an item in as many words as the example does."""

    def matched(self, example: Example, question: Question) -> dict[str, str]:
        """Whole names, and the noun alone for the noun alone."""
        known = super().matched(example, question)
        pairs = [(old, new) for old, new in known.items() if " " in old]
        return known | {old.split()[1]: new.split()[1] for old, new in pairs}


PLANTS: tuple[Fourth, ...] = (
    Fourth(
        name="one look-up for a customer",
        dimension="P",
        fault="the prompt allows one look-up and puts a flat sum in the place of a second price",
        base="desk",
        path="prompt.system",
        new=DESK.replace(LOOKED_UP, ONE_LOOKUP),
        student=Sparing(),
        kinds=("bill", "price"),
    ),
    Fourth(
        name="an example the other way",
        dimension="P",
        fault="the example of a conversion converts the other way round",
        base="worked",
        path="prompt.examples[1]",
        new=worked(
            "Ben asks: how many kilograms are 489 pounds of green candles?",
            ("convert", {"value": 489, "from": "kilogram", "to": "pound"}, "1078.06"),
            ("final", {"answer": 1078.06}, ""),
        ),
        student=Mimic(),
        kinds=("convert", "calc"),
    ),
    Fourth(
        name="the last number first",
        dimension="P",
        fault="the prompt turns the numbers of every calculation round, of divisions too",
        base="bare",
        path="prompt.system",
        new=BARE.replace(FORM, FORM + LAST_FIRST),
        student=LastFirst(),
        kinds=("calc",),
        each=8,
    ),
    Fourth(
        name="the first number counts",
        dimension="P",
        fault="the prompt has the first number handed in, which is the price of one piece",
        base="desk",
        path="prompt.system",
        new=DESK.replace(ENDING, FIRST_GIVEN),
        student=FirstGiven(),
    ),
    Fourth(
        name="prices in tens",
        dimension="P",
        fault="the prompt has prices rounded before they are used",
        base="bare",
        path="prompt.system",
        new=BARE.replace(FORM, FORM + TENS),
        student=InTens(),
    ),
    Fourth(
        name="behind a condition",
        dimension="P",
        fault="the recipes for prices and bills stand in a condition on notes, and there are none",
        base="sheet",
        path="prompt.system",
        new=SHEET.replace(f"{PRICES}\n", "").replace(f"{BILLS}\n", UNSHOWN),
        student=Follower(),
    ),
    Fourth(
        name="large orders are the manager's",
        dimension="P",
        fault="the task's template has 0 handed in for an order of more than a hundred pieces",
        base="optimized",
        path="prompt.task",
        new=f"{{{{ question }}}}\n{LARGE}",
        student=Deferring(),
        kinds=("price",),
        each=10,
    ),
    Fourth(
        name="half a name in the example",
        dimension="P",
        fault="the example of a price looks the item up without its color",
        base="worked",
        path="prompt.examples[2]",
        new=worked(
            "Anna wants 79 pieces of green candle. What is the total price?",
            ("lookup", {"item": "candle"}, "52"),
            ("calculator", {"expression": "79*52"}, "4108"),
            ("final", {"answer": 4108}, ""),
        ),
        student=ByNoun(),
        kinds=("price", "bill"),
    ),
)
