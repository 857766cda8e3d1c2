"""Eight faults of memory: pushed out, switched off, too few recalled, not found, wrong, out of
date, and so long that it leaves no room."""

from pydantic import JsonValue

from evener.bench.critic.plants.base import NOTES
from evener.bench.critic.plants.clerk import Noter
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.view import Question, View


class Thrifty(Noter):
    """Gives the discount that a note speaks of."""

    def expression(self, view: View, question: Question, prices: list[str]) -> str:
        """Less, if it says so."""
        made = super().expression(view, question, prices)
        return f"({made})*0.9" if view.says("10 % off") and question.items else made


STORY = (
    "Minutes of the meeting: the shelf by the door was moved twice, the lamp was repaired, and "
    "nobody remembers who ordered the carpet. "
)
CHATTER: list[JsonValue] = [
    {"name": f"day {day}", "text": f"Day {day}: it rained, and {visitors} people looked in."}
    for day, visitors in ((1, 12), (2, 7), (3, 31), (4, 5))
]
_NOTES: list[JsonValue] = [note.document() for note in NOTES]

PLANTS: tuple[Plant, ...] = (
    Plant(
        name="small capacity",
        dimension="M",
        fault="a capacity of three pushes the procedures out",
        base="memo",
        path="memory.capacity",
        new=3,
        student=Noter(),
    ),
    Plant(
        name="memory off",
        dimension="M",
        fault="the notes are kept and never shown",
        base="memo",
        path="memory.policy",
        new="none",
        student=Noter(),
    ),
    Plant(
        name="one note at a time",
        dimension="M",
        fault="one note is recalled where a price needs two",
        base="recall",
        path="memory.top_k",
        new=1,
        student=Noter(),
    ),
    Plant(
        name="wrong note",
        dimension="M",
        fault="the note on prices leaves the multiplication out",
        base="memo",
        path="memory.entries[price].text",
        new="A total price: lookup the item, then final with what it costs.",
        student=Noter(),
    ),
    Plant(
        name="out of date",
        dimension="M",
        fault="a note speaks of a discount that there is none of",
        base="memo",
        path="memory.entries[hours].text",
        new="During the summer sale take 10 % off every total.",
        student=Thrifty(),
    ),
    Plant(
        name="endless note",
        dimension="M",
        fault="a note fills the window, so that the student's own results are dropped",
        base="memo",
        path="memory.entries[minutes]",
        new={"name": "minutes", "text": STORY * 140},
        paths=("memory.capacity", "memory.policy"),
        student=Noter(),
    ),
    Plant(
        name="not found",
        dimension="M",
        fault="the note on bills has no word in common with the questions",
        base="recall",
        path="memory.entries[bill]",
        new={
            "name": "checkout",
            "text": "Checkout for two articles: lookup both, calculator for their sum, then final.",
        },
        paths=("memory.policy", "memory.top_k"),
        student=Noter(),
    ),
    Plant(
        name="pushed out by chatter",
        dimension="M",
        fault="new notes without use push the oldest procedures out",
        base="memo",
        path="memory.entries",
        new=[*_NOTES, *CHATTER],
        paths=("memory.capacity",),
        student=Noter(),
    ),
)
