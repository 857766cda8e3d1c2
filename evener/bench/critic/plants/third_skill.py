"""Eight faults of skills: triggers that miss, steal or come late, tools and examples that lack a
step, a recipe the wrong way round, an order that hides the desk, and one that hurries."""

from evener.bench.critic.plants.clerk import Clerk, Step
from evener.bench.critic.plants.third_base import (
    SHARES,
    UNIT_WORDS,
    WORDS,
    Third,
    worked,
)
from evener.bench.critic.plants.third_student import Follower, Mimic
from evener.bench.critic.plants.view import Question, View


class Offered(Mimic):
    """Works by examples with the tools that are listed, and reckons in its head where one that an
    example uses is not."""

    def next(self, view: View, question: Question) -> Step:
        """The example's call, or the end."""
        tool, values = super().next(view, question)
        listed = f"{tool}(" in view.system
        return (tool, values) if listed else ("final", (self.guess(question),))


class Told(Follower):
    """Writes a call in the form that it was told, and as a sentence where it was not."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """JSON only if somebody asked for it."""
        if view.says('"name"'):
            return super().write(view, tool, values)
        return f"I take the {tool} for {' and '.join(values)}."


class Hurried(Clerk):
    """Gives a first estimate where it is told that one will do."""

    def next(self, view: View, question: Question) -> Step:
        """At once, if that is wanted."""
        if view.says("a first estimate will do"):
            return "final", (self.guess(question),)
        return super().next(view, question)


PLANTS: tuple[Third, ...] = (
    Third(
        name="no word for miles",
        dimension="S",
        fault="the trigger of conversions lacks miles and kilometers",
        base="hand",
        path="skills[convert].when.words",
        new=[word for word in UNIT_WORDS if word not in ("miles", "kilometers")],
        student=Mimic(),
        kinds=("convert",),
        each=12,
    ),
    Third(
        name="sums take the pieces",
        dimension="S",
        fault="the skill for sums also answers to `pieces`, and its text hides that of prices",
        base="rooms",
        path="skills[sums].when.words",
        new=[*WORDS["sums"], "pieces"],
        student=Follower(),
    ),
    Third(
        name="prices by heart",
        dimension="S",
        fault="the skill for prices offers no calculator",
        base="hand",
        path="skills[price].tools",
        new=["lookup", "final"],
        student=Offered(),
    ),
    Third(
        name="the wrong way round",
        dimension="S",
        fault="the recipe for a division has its numbers the wrong way round",
        base="manual",
        path="skills[shares].text",
        new=SHARES.replace("<first>/<second>", "<second>/<first>"),
        student=Follower(),
        each=4,
    ),
    Third(
        name="prices of last year",
        dimension="S",
        fault="the examples for prices skip the look-up and use prices known by heart",
        base="hand",
        path="skills[price].examples",
        new=[
            worked(
                "Anna wants 79 pieces of green candle. What is the total price?",
                ("calculator", {"expression": "79*52"}, "4108"),
                ("final", {"answer": 4108}, ""),
            ),
            worked(
                "Henry wants 122 pieces of red candle. What is the total price?",
                ("calculator", {"expression": "122*53"}, "6466"),
                ("final", {"answer": 6466}, ""),
            ),
        ],
        student=Mimic(),
    ),
    Third(
        name="a recipe behind the first step",
        dimension="S",
        fault="the skill for bills waits for a look-up, which it is there to ask for",
        base="manual",
        path="skills[bills].when",
        new={"tools": ["lookup"]},
        student=Follower(),
    ),
    Third(
        name="a room without a desk",
        dimension="S",
        fault="the skill for prices replaces the prompt and says neither form nor tools",
        base="manual",
        path="skills[prices].system",
        new="You know the prices of this shop and give the total of what a customer wants.",
        student=Told(),
    ),
    Third(
        name="rush hours",
        dimension="S",
        fault="a skill that is always active lets a first estimate do",
        base="hand",
        path="skills[+]",
        new={"name": "rush", "text": "In rush hours a first estimate will do: hand it in at once."},
        paths=("skills[rush]",),
        student=Hurried(),
    ),
)
