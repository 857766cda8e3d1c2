"""Eight faults of memory: an archive and logs on view, notes of incidents and orders that are over,
a copy that takes another's place, habits and names that are not so, and a note that lost a step."""

from dataclasses import replace

from evener.bench.critic.plants.base import RECALLED
from evener.bench.critic.plants.clerk import Clerk, Noter, Step
from evener.bench.critic.plants.fourth_base import Fourth
from evener.bench.critic.plants.fourth_student import by_head
from evener.bench.critic.plants.fourth_tool import Proposed
from evener.bench.critic.plants.third_student import Follower, Mimic
from evener.bench.critic.plants.view import Question, View

MEANT = {"meter": "yard", "liter": "pint", "kilogram": "pound"}
OTHERS = {"bucket": "pail", "kettle": "pot", "spoon": "ladle", "broom": "brush", "plate": "dish"}


class Obedient(Clerk):
    """Does without the calculator where it is told that there is none for now."""

    def next(self, view: View, question: Question) -> Step:
        """About how much it is."""
        tool, values = super().next(view, question)
        if tool == "calculator" and view.says("calculator is out of order"):
            return "final", (by_head(values[0]),)
        return tool, values


class Finishing(Mimic):
    """Finishes what was left open first."""

    def next(self, view: View, question: Question) -> Step:
        """The open order."""
        if view.says("hand that in first"):
            return "final", ("4108",)
        return super().next(view, question)


class Habitual(Noter):
    """Takes a unit for what it is told that customers mean by it."""

    def units(self, view: View, question: Question) -> tuple[str, str]:
        """As meant."""
        source, target = super().units(view, question)
        if not view.says("mean yards"):
            return source, target
        return MEANT.get(source, source), MEANT.get(target, target)


class Renamed(Proposed):
    """Looks an item up under the name that the notes say it has."""

    def renamed(self, view: View, question: Question) -> Question:
        """As noted, then as proposed."""
        if view.says("a bucket is a pail"):
            question = replace(question, items=tuple(map(_other, question.items)))
        return super().renamed(view, question)


def _other(item: str) -> str:
    color, noun = item.split()
    return f"{color} {OTHERS.get(noun, noun)}"


PLANTS: tuple[Fourth, ...] = (
    Fourth(
        name="the archive on view",
        dimension="M",
        fault="all notes are shown, and behind the recipes come those of years ago",
        base="archive",
        path="memory.policy",
        new="notes",
        paths=("memory.entries", "memory.capacity"),
        student=Follower(),
    ),
    Fourth(
        name="recalled by the dozen",
        dimension="M",
        fault="as many notes are recalled as share a word, and logs leave the turns no room",
        base="annals",
        path="memory.top_k",
        new=9,
        paths=("memory.entries",),
        student=Follower(),
    ),
    Fourth(
        name="out of order since Monday",
        dimension="M",
        fault="a note of an incident that is over takes the calculator away",
        base="notepad",
        path="memory.entries[hours].text",
        new="The calculator is out of order since Monday: do without it, in your head.",
        student=Obedient(),
    ),
    Fourth(
        name="an open order of yesterday",
        dimension="M",
        fault="a note of another customer's order has its total handed in",
        base="optimized",
        path="memory.entries[+]",
        new={"name": "order", "text": "An order is open: the total is 4108, hand that in first."},
        paths=("memory.entries[order]",),
        student=Finishing(),
    ),
    Fourth(
        name="the same note twice",
        dimension="M",
        fault="a copy of a note takes the place of the other one that a price needs",
        base="couples",
        path="memory.entries[+]",
        new={"name": "first copy", "text": RECALLED[1].text},
        paths=("memory.entries[first copy]", "memory.entries[first]", "memory.top_k"),
        student=Noter(),
        kinds=("price", "convert"),
    ),
    Fourth(
        name="meters that mean yards",
        dimension="M",
        fault="a note has units taken for others than the customer names",
        base="memo",
        path="memory.entries[hours].text",
        new="Customers who say meters mean yards; with liters they mean pints, with kilograms "
        "pounds.",
        student=Habitual(),
        kinds=("convert",),
        each=12,
    ),
    Fourth(
        name="pails for buckets",
        dimension="M",
        fault="a note has other names for items than the catalogue",
        base="notepad",
        path="memory.entries[names].text",
        new="In the catalogue a bucket is a pail, a kettle is a pot, a spoon is a ladle, a broom "
        "is a brush, a plate is a dish.",
        student=Renamed(),
        kinds=("price", "bill"),
        each=6,
    ),
    Fourth(
        name="summed up too far",
        dimension="M",
        fault="the note on bills was shortened, and the look-ups went with the rest",
        base="memo",
        path="memory.entries[bill].text",
        new="A bill: calculator for the sum, then final.",
        student=Noter(),
        kinds=("bill", "price"),
    ),
)
