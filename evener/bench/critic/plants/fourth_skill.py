"""Eight faults of skills: a stage that goes back, skills that take tools or examples away, a
shortcut, a recipe for another desk, one with a slip, and a trigger in the singular."""

from evener.bench.critic.plants.base import TOOLS
from evener.bench.critic.plants.clerk import SINGULAR, Clerk, Step
from evener.bench.critic.plants.fourth_base import Fourth
from evener.bench.critic.plants.third_base import CONVERSIONS, COUNTER, UNIT_WORDS, worked
from evener.bench.critic.plants.third_student import Follower, Mimic
from evener.bench.critic.plants.view import Question, View


class Staged(Clerk):
    """Does what the last line on view says is next, and nothing before it is said."""

    def next(self, view: View, question: Question) -> Step:
        """The first of the tools that are named which has something left to do."""
        lines = [line for line in view.system.splitlines() if line.startswith("Next: ")]
        asked = lines[-1] if lines else ""
        if "lookup" in asked:
            again = "once more" in asked
            for tool, values in self.before_total(question):
                if again or view.result(tool, *values) is None:
                    return tool, values
        if "calculator" in asked or "convert" in asked:
            tool, values = self.total(view, question)
            if view.result(tool, *values) is None:
                return tool, values
        results = [made.result for made in view.own if made.result is not None]
        return "final", (results[-1] if results else self.guess(question),)


PLANTS: tuple[Fourth, ...] = (
    Fourth(
        name="back to the first step",
        dimension="S",
        fault="the skill for what comes behind a calculation sends back to the look-up",
        base="stages",
        path="skills[reckoned].text",
        new="Next: lookup of the item once more, to be sure of its price.",
        student=Staged(),
    ),
    Fourth(
        name="a skill that takes the tools",
        dimension="S",
        fault="a skill that is always active leaves nothing on offer but the calculator",
        base="manual",
        path="skills[+]",
        new={
            "name": "counting",
            "tools": ["calculator", "final"],
            "text": "Count with the calculator, never in your head.",
        },
        paths=("skills[counting]",),
        student=Follower(),
    ),
    Fourth(
        name="a shortcut for orders",
        dimension="S",
        fault="a second skill for prices, which comes last, hands in the price of one piece",
        base="manual",
        path="skills[+]",
        new={
            "name": "express",
            "when": {"words": ["price"]},
            "text": "Total price: lookup <item>; final <price>.",
        },
        paths=("skills[express]",),
        student=Follower(),
        kinds=("price", "calc"),
    ),
    Fourth(
        name="the tools of another desk",
        dimension="S",
        fault="the recipe for prices works with a tool that this desk does not have",
        base="rooms",
        path="skills[prices].system",
        new=f"{COUNTER}Total price: quote <item>, <pieces>; final <result>.\n{TOOLS}",
        student=Follower(),
        kinds=("price", "convert"),
    ),
    Fourth(
        name="the number that was given",
        dimension="S",
        fault="the recipe for conversions hands in the value that was to be converted",
        base="rooms",
        path="skills[conversions].system",
        new=f"{COUNTER}{CONVERSIONS.replace('final <result>', 'final <value>')}\n{TOOLS}",
        student=Follower(),
        kinds=("convert", "bill"),
    ),
    Fourth(
        name="no second look-up",
        dimension="S",
        fault="a skill takes the look-up off the list as soon as one price is known",
        base="manual",
        path="skills[+]",
        new={
            "name": "reckoning",
            "when": {"tools": ["lookup"]},
            "tools": ["calculator", "final"],
            "text": "With the price on the table, go on with the calculator.",
        },
        paths=("skills[reckoning]",),
        student=Follower(),
        kinds=("bill", "price"),
    ),
    Fourth(
        name="one example in the place of all",
        dimension="S",
        fault="a skill that is always active puts one division in the place of all examples",
        base="worked",
        path="skills[+]",
        new={
            "name": "divisions",
            "examples": [
                worked(
                    "Henry packs 855 chairs divided by 45. How many chairs has Henry got?",
                    ("calculator", {"expression": "855/45"}, "19"),
                    ("final", {"answer": 19}, ""),
                )
            ],
        },
        paths=("skills[divisions]",),
        student=Mimic(),
    ),
    Fourth(
        name="units in the singular",
        dimension="S",
        fault="the trigger of conversions has units in the singular, and customers name several",
        base="optimized",
        path="skills[convert].when.words",
        new=[SINGULAR[word] for word in UNIT_WORDS],
        student=Mimic(),
        kinds=("convert", "bill"),
    ),
)
