"""K in words, for a model that reviews: what the tools of h* come to, how to solve what, what goes
wrong. The same K gives the same text; hints are not in it, they are said when they fire.
"""

import re
from collections.abc import Iterator

from evener.agents.harness.render import call_text
from evener.agents.harness.schema import Arguments
from evener.protocols.harness import ExampleTurn, Harness, When
from evener.protocols.knowledge import FailurePattern, Guidance, Knowledge, Recipe

EXAMPLES = 1

_VARIABLE = re.compile(r"\{\{\s*(.*?)\s*\}\}")


def prompt_of(
    knowledge: Knowledge, *, target: Harness | None = None, examples: int = EXAMPLES
) -> str:
    """The text of K, with at most `examples` worked examples of each skill.

    Calls are written in `target`'s protocol; without a target as one JSON object.
    """
    writer = target if target is not None else Harness(name="json")
    parts = [
        _section("Recipes", (_recipe(one) for one in knowledge.recipes if not _same(one))),
        _section("Guidance", (_guidance(g, writer, examples) for g in knowledge.guidance)),
        _section("What goes wrong", (_pattern(one) for one in knowledge.patterns)),
    ]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, lines: Iterator[str]) -> str:
    body = "\n".join(line for line in lines if line)
    return f"{title}:\n{body}" if body else ""


def _same(recipe: Recipe) -> bool:
    """Whether the tool is the target's own under its own name, so that there is nothing to tell."""
    return len(recipe.steps) == 1 and recipe.steps[0].action == recipe.tool


def _recipe(recipe: Recipe) -> str:
    names = ", ".join(Arguments(recipe.parameters).names)
    steps = ", then ".join(
        f"{step.action}({', '.join(f'{n}={_filled(t)}' for n, t in step.arguments.items())})"
        for step in recipe.steps
    )
    said = f" ({recipe.text.rstrip('.')})" if recipe.text else ""
    return f"- {recipe.tool}({names}){said}: {steps}"


def _filled(text: str) -> str:
    """A template with its variables in angle brackets."""
    return _VARIABLE.sub(r"<\1>", text)


def _guidance(guidance: Guidance, writer: Harness, examples: int) -> str:
    lines = [f"- {_when(guidance.when)}: {' '.join(guidance.text.split())}".rstrip(": ")]
    for example in guidance.examples[:examples]:
        lines.extend(f"  {_turn(turn, writer)}" for turn in example)
    return "\n".join(lines)


def _when(when: When) -> str:
    words = f"the task has one of: {', '.join(when.words)}" if when.words else ""
    tools = f"{' or '.join(when.tools)} was called" if when.tools else ""
    return (
        f"When {' or '.join(part for part in (words, tools) if part)}"
        if words or tools
        else ("Always")
    )


def _turn(turn: ExampleTurn, writer: Harness) -> str:
    if turn.call is not None:
        text = call_text(writer, turn.call.name, turn.call.arguments)
        return f"response: {' '.join(text.split())}"
    who = {"user": "task", "tool": "result", "assistant": "response"}[turn.role]
    return f"{who}: {turn.content}"


def _pattern(pattern: FailurePattern) -> str:
    unless = f" Not when {pattern.not_when}." if pattern.not_when else ""
    return f"- If {pattern.trigger}, and {pattern.evidence}: {pattern.intervention}{unless}"
