"""Lighter harnesses to try once the weights have learnt: less on view, the same environment.

Nothing here looks at an episode. Each proposal drops or shortens one sort of text that a student is
shown, or its hooks; whether the student can do without is for the gate (`simplify`).
"""

from collections.abc import Callable, Iterator, Sequence

from evener.agents.harness.check import check
from evener.agents.harness.hooks.table import STAGES
from evener.agents.harness.memory import kept
from evener.agents.harness.template import variables_of
from evener.agents.pattern.background import Background, properties
from evener.protocols.attribution import Proposal
from evener.protocols.digest import canonical
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.harness import ExampleTurn, Harness, Hooks, Skill, Tool
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import read

GROUP = "lighter"


def lighter(harness: Harness, background: Background) -> tuple[Proposal, ...]:
    """The lighter forms of `harness` that can run and differ from it, the one with the least text
    before a task first. No two are alike."""
    found: list[tuple[int, Proposal]] = []
    for name, reason, change in _WAYS:
        patch = Patch(base=harness.digest(), edits=tuple(_edits(harness, change(harness))))
        try:
            after = patch.apply(harness)
            check(after, background.actions)
        except (PatchError, HarnessError):
            continue
        size = shown_size(after)
        proposal = Proposal(
            name=name,
            author="rule",
            patch=patch,
            kind="simplify",
            group=GROUP,
            rank=float(shown_size(harness) - size),
            reason=reason,
        )
        found.append((size, proposal))
    return tuple(proposal for _, proposal in sorted(found, key=lambda pair: pair[0]))


def shown_size(harness: Harness) -> int:
    """Characters that a student may be shown before its task.

    The prompt's system template, what it can list of the tools, the prompt's examples, the notes
    that fit, and the largest skill's texts and examples. Templates count as they are written;
    the sum is an upper bound for a task with one active skill, whose texts replace the prompt's.
    """
    texts = [harness.prompt.system, *(s.system for s in harness.skills if s.system is not None)]
    native = harness.middleware.protocol.format == "native"
    listed = native or any("tools" in variables_of(text) for text in texts)
    return (
        len(harness.prompt.system)
        + (sum(_tool(tool, schema=native) for tool in harness.tools) if listed else 0)
        + _examples(harness.prompt.examples)
        + _notes(harness)
        + max(map(_skill, harness.skills), default=0)
    )


def _fewer(number: int) -> Callable[[Harness], Harness]:
    """At most so many examples in each place."""

    def change(harness: Harness) -> Harness:
        prompt = harness.prompt.model_copy(update={"examples": harness.prompt.examples[:number]})
        skills = [
            skill.model_copy(update={"examples": skill.examples[:number]})
            for skill in harness.skills
        ]
        return harness.model_copy(update={"prompt": prompt, "skills": tuple(skills)})

    return change


def _mute(harness: Harness) -> Harness:
    """Skills without a system text: empty, for without one the prompt's would come back."""
    skills = [
        skill.model_copy(update={"system": ""}) if skill.system else skill
        for skill in harness.skills
    ]
    return harness.model_copy(update={"skills": tuple(skills)})


def _unhooked(harness: Harness) -> Harness:
    middleware = harness.middleware.model_copy(update={"hooks": Hooks()})
    return harness.model_copy(update={"middleware": middleware})


_WAYS: tuple[tuple[str, str, Callable[[Harness], Harness]], ...] = (
    ("lighter-no-examples", "no worked examples", _fewer(0)),
    ("lighter-1-example", "one worked example in each place", _fewer(1)),
    ("lighter-2-examples", "two worked examples in each place", _fewer(2)),
    ("lighter-no-skill-system", "no system text in the skills", _mute),
    ("lighter-no-hooks", "no hooks", _unhooked),
)


def _edits(before: Harness, after: Harness) -> Iterator[FieldEdit]:
    """One edit for each place that a lighter form may change."""
    old, new = before.document(), after.document()
    paths = ["prompt.examples"]
    for skill in before.skills:
        paths += [f"skills[{skill.name}].system", f"skills[{skill.name}].examples"]
    paths += [f"middleware.hooks.{stage}" for stage in STAGES]
    for path in paths:
        here, there = read(old, path), read(new, path)
        if here != there:
            yield FieldEdit(field_path=path, old_value=here, new_value=there)


def _tool(tool: Tool, *, schema: bool) -> int:
    told = canonical(tool.parameters) if schema else "".join(properties(tool.parameters))
    return len(tool.name) + len(tool.description) + len(told)


def _skill(skill: Skill) -> int:
    return len(skill.system or "") + len(skill.text) + _examples(skill.examples)


def _examples(examples: Sequence[tuple[ExampleTurn, ...]]) -> int:
    return sum(_turn(turn) for turns in examples for turn in turns)


def _turn(turn: ExampleTurn) -> int:
    called = len(turn.call.name) + len(canonical(turn.call.arguments)) if turn.call else 0
    return len(turn.content or "") + called


def _notes(harness: Harness) -> int:
    memory = harness.memory
    sizes = sorted((len(note.text) for note in kept(memory)), reverse=True)
    match memory.policy:
        case "none":
            return 0
        case "notes":
            return sum(sizes)
        case "retrieval":
            return sum(sizes[: memory.top_k])
