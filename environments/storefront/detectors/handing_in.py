"""The note of the optimized harness: the answer is the last result, as it is."""

from evener.protocols.behaviour import Behaviour
from evener.protocols.conduct import amount, handed_in, worked
from evener.protocols.trajectory import Trajectory


def _at_once(trajectory: Trajectory) -> bool:
    """The result appears for the first time in the last action that worked, and the very next turn
    hands it in."""
    last, results = handed_in(trajectory), worked(trajectory)
    if last is None or not results or last.turn > results[-1].turn + 1:
        return False
    given = amount(last.call.arguments.get("answer"))
    earlier = [amount(event.observation) for event in results[:-1]]
    return amount(results[-1].observation) == given and given not in earlier


HANDING_IN: tuple[Behaviour, ...] = (
    Behaviour(
        name="handed_in_at_once",
        part="memory.entries[result]",
        text="a result is handed in unchanged in the turn after it appears",
        shown=_at_once,
    ),
)
