"""Eight faults of the middleware: a guard, a check and a limit of turns against what the prompt
asks for, reminders that hurry or run out, a stop string in every call, a protocol that refuses the
form that is asked for, and a window."""

import json

from evener.bench.critic.plants.clerk import Clerk, Step
from evener.bench.critic.plants.fourth_base import Fourth
from evener.bench.critic.plants.fourth_student import Tagged
from evener.bench.critic.plants.third_middleware import Corrected
from evener.bench.critic.plants.view import Question, View


class Twice(Clerk):
    """Makes what it is to make twice, and heeds what it is told where it cannot."""

    def next(self, view: View, question: Question) -> Step:
        """The total once more, before the end."""
        tool, values = super().next(view, question)
        if tool != "final" or not view.says("came out both times"):
            return tool, values
        total = self.total(view, question)
        made = [each for each in view.own if (each.tool, each.values) == total]
        if len(made) < 2:
            return total
        confirmed = all(each.result is not None for each in made)
        return "final", (values[0] if confirmed else self.guess(question),)


class Nodding(Clerk):
    """Says before every call what it is going to do, where that is asked for."""

    def reply(self, view: View) -> str:
        """A sentence, then the call."""
        last = view.own[-1] if view.own else None
        if last is not None and "an estimate now" in last.answer and view.question:
            return self.write(view, "final", (self.guess(view.question),))
        said = last is not None and not last.tool
        if view.says("wait for the nod") and not said:
            return "I go on with the next step."
        return super().reply(view)


class Lined(Corrected):
    """Writes a call over several lines, where that is asked for."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """One line for every brace and field."""
        made = super().write(view, tool, values)
        return json.dumps(json.loads(made), indent=1) if view.says("over several lines") else made


class Numbering(Clerk):
    """Hands an answer in with the number of its desk, where the tool takes one."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """With the desk behind the answer."""
        made = super().write(view, tool, values)
        if tool != "final" or "desk" not in self.arguments(view, tool):
            return made
        data = json.loads(made)
        data["arguments"]["desk"] = 4
        return json.dumps(data)


PLANTS: tuple[Fourth, ...] = (
    Fourth(
        name="a guard against the check",
        dimension="Mid",
        fault="a hook blocks the second of two equal calculations, which the prompt asks for",
        base="twice",
        path="middleware.hooks.before_tool",
        new=[{"name": "loop_guard", "settings": {"repeats": 2}}],
        student=Twice(),
    ),
    Fourth(
        name="a reminder in a hurry",
        dimension="Mid",
        fault="the nod that the student is to wait for asks for an estimate at once",
        base="nodding",
        path="middleware.hooks.after_model[require_action].settings.text",
        new="We close in a minute: hand in an estimate now.",
        student=Nodding(),
    ),
    Fourth(
        name="two nods and no more",
        dimension="Mid",
        fault="the student is to wait for a nod before every call, and there are two an episode",
        base="nodding",
        path="middleware.hooks.after_model[require_action].settings.reminders",
        new=2,
        student=Nodding(),
    ),
    Fourth(
        name="stop at the end of a line",
        dimension="Mid",
        fault="a line break stops the reply, and the prompt asks for calls over several lines",
        base="lined",
        path="middleware.loop.stop",
        new=["\n"],
        student=Lined(),
    ),
    Fourth(
        name="tags refused",
        dimension="Mid",
        fault="the protocol wants bare objects, and the prompt asks for tags around them",
        base="tagged",
        path="middleware.protocol.format",
        new="json",
        paths=("middleware.protocol.strict", "middleware.loop.max_turns"),
        student=Tagged(),
    ),
    Fourth(
        name="no turns for the check",
        dimension="Mid",
        fault="the turns are counted without the second calculation that the prompt asks for",
        base="twice",
        path="middleware.loop.max_turns",
        new=4,
        student=Twice(),
        kinds=("bill", "price"),
    ),
    Fourth(
        name="a window again",
        dimension="Mid",
        fault="the window is in force again, with a size at which no turn fits into it",
        base="whole",
        path="middleware.context.policy",
        new="window",
        paths=("middleware.context.keep_tokens",),
        student=Clerk(),
    ),
    Fourth(
        name="a check of the wrong number",
        dimension="Mid",
        fault="a hook holds the number of the desk, which stands last, against the last result",
        base="numbered",
        path="middleware.hooks.before_finish",
        new=[{"name": "verify_answer", "settings": {"reminders": 8}}],
        student=Numbering(),
    ),
)
