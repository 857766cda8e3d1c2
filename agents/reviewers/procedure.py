"""How K's guidance goes about a task: its examples' tools in turn, and the answer at the end."""

from collections.abc import Sequence

from evener.agents.harness.schema import as_type, types_of
from evener.agents.harness.template import numbers
from evener.agents.knowledge.rules.course import applies
from evener.agents.knowledge.seen import Seen
from evener.protocols.knowledge import Guidance
from evener.protocols.message import Call


def procedure_of(seen: Seen) -> tuple[str, ...]:
    """The tools that K's guidance for such a task calls in turn; none where there is no guidance
    with a trigger of its own, or several that go different ways."""
    ways = {
        _way(guidance)
        for guidance in seen.knowledge.guidance
        if (guidance.when.words or guidance.when.tools) and applies(guidance, seen)
    }
    return ways.pop() if len(ways) == 1 else ()


def steps_done(procedure: Sequence[str], seen: Seen) -> int:
    """How many of the procedure's steps were taken, in its order, and worked."""
    done = 0
    for made in seen.executed:
        if made.call is None or not seen.worked(made):
            continue
        if [made.call.name] == list(procedure[done : done + 1]):
            done += 1
    return done


def answer_with_last_result(final: str, seen: Seen) -> Call | None:
    """A call of the tool `final` with the last result, as its schema wants it; None where it takes
    more than one argument, or there is no result with a number."""
    tool = seen.target.toolbox.tools[final]
    required = tool.arguments.names
    results = numbers(seen.last_result or "")
    if len(required) != 1 or not results:
        return None
    schema = tool.arguments.properties[required[0]]
    kinds = types_of(schema) if isinstance(schema, dict) else ()
    return Call(name=final, arguments={required[0]: as_type(results[-1], kinds)})


def _way(guidance: Guidance) -> tuple[str, ...]:
    """The tools that all of the guidance's examples call in turn; none where they differ."""
    ways = {
        tuple(turn.call.name for turn in example if turn.call is not None)
        for example in guidance.examples
    }
    return ways.pop() if len(ways) == 1 else ()
