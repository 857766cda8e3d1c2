"""Eight faults of middleware: limits, protocol, window, stop strings, and a missing hook."""

from evener.bench.critic.plants.clerk import Clerk, Imitator
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.view import View


class Fencing(Imitator):
    """Puts every call into a code fence, as chat models do by habit."""

    def write(self, view: View, tool: str, values: tuple[str, ...]) -> str:
        """Fenced."""
        return f"```json\n{super().write(view, tool, values)}\n```"


class Planning(Imitator):
    """Says first what it is going to do; acts when it is asked to."""

    def reply(self, view: View) -> str:
        """A plan before the first call."""
        if not view.own:
            return "I will work this out step by step."
        return super().reply(view)


PLANTS: tuple[Plant, ...] = (
    Plant(
        name="two turns",
        dimension="Mid",
        fault="two turns are too few for a price or a bill",
        path="middleware.loop.max_turns",
        new=2,
        student=Imitator(),
    ),
    Plant(
        name="short replies",
        dimension="Mid",
        fault="a reply of 12 tokens is cut before the call is whole",
        path="middleware.loop.max_reply_tokens",
        new=12,
        student=Imitator(),
    ),
    Plant(
        name="native calls",
        dimension="Mid",
        fault="the protocol wants native calls of a student that writes them as text",
        base="desk",
        path="middleware.protocol.format",
        new="native",
        student=Clerk(),
    ),
    Plant(
        name="no near misses",
        dimension="Mid",
        fault="the protocol refuses the code fence that the student writes around every call",
        path="middleware.protocol.strict",
        new=True,
        paths=("middleware.hooks.after_model",),
        student=Fencing(),
    ),
    Plant(
        name="narrow window",
        dimension="Mid",
        fault="the window drops the student's own results",
        path="middleware.context.keep_tokens",
        new=128,
        paths=("middleware.context.policy",),
        student=Imitator(),
    ),
    Plant(
        name="cut results",
        dimension="Mid",
        fault="tool output is cut after four characters, digits of the result among them",
        path="middleware.context.tool_output_tokens",
        new=1,
        student=Imitator(),
    ),
    Plant(
        name="no reminder",
        dimension="Mid",
        fault="an episode ends where the student says first what it is going to do",
        path="middleware.hooks.after_model",
        new=[],
        paths=("middleware.hooks.before_finish",),
        student=Planning(),
    ),
    Plant(
        name="stop inside calls",
        dimension="Mid",
        fault="the stop string `final` occurs in the call that ends a task",
        path="middleware.loop.stop",
        new=["final"],
        student=Imitator(),
    ),
)
