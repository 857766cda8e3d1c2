"""The same critic repairs harnesses that are broken in different ways."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from evener.agents.critics import RuleCritic, edits_digest
from evener.agents.pattern import head
from evener.protocols.attribution import RootCause
from evener.protocols.harness import Context, Harness, WireFormat

if TYPE_CHECKING:
    from tests.agents.critics.conftest import Imitator, Lab


def misnamed(sound: Harness) -> Harness:
    """A strict protocol, and examples that call an argument by a name the schema does not have."""
    text = json.dumps(sound.prompt.document()).replace('{"part":', '{"part_name":')
    prompt = type(sound.prompt).model_validate_json(text)
    strict = sound.middleware.model_copy(update={"protocol": WireFormat(strict=True)})
    return sound.model_copy(update={"prompt": prompt, "middleware": strict})


def bare(sound: Harness) -> Harness:
    """No worked example."""
    return sound.model_copy(update={"prompt": sound.prompt.model_copy(update={"examples": ()})})


def short_window(sound: Harness) -> Harness:
    """A window that has no room for any turn, so that results are never seen."""
    context = Context(policy="window", keep_tokens=20)
    return sound.model_copy(
        update={"middleware": sound.middleware.model_copy(update={"context": context})}
    )


async def improve(
    lab: "Lab", harness: Harness, student: "Imitator", *, iterations: int = 4
) -> tuple[Harness, set[str]]:
    """Mine, attribute, propose, keep what solves more fresh tasks. Also the signatures seen."""
    critic = RuleCritic(lab.background)
    refused: set[str] = set()
    seen: set[str] = set()
    for _ in range(iterations):
        failures = [t for t in await lab.run(harness, student) if not t.solved]
        if not failures:
            break
        blamed = [await critic.attribute(failure, harness) for failure in failures]
        seen |= {a.signature for a in blamed}
        before = await lab.rate(harness, student)
        offered = await critic.propose(blamed, harness, refused=frozenset(refused), limit=12)
        for proposal in offered:
            patched = proposal.patch.apply(harness)
            if await lab.rate(patched, student) > before:
                harness = patched
                break
            refused.add(edits_digest(proposal.patch))
    return harness, seen


@pytest.mark.parametrize(
    ("break_it", "heads", "cause"),
    [
        (misnamed, {"refused", "parse"}, RootCause.TOOL_SCHEMA_ERROR),
        (bare, {"no_example"}, RootCause.SKILL_MISSING),
        (short_window, {"dropped"}, RootCause.MIDDLEWARE_MISMATCH),
    ],
)
async def test_the_same_critic_repairs_what_is_broken(
    lab: "Lab",
    sound: Harness,
    imitator: "Callable[..., Imitator]",
    break_it: Callable[[Harness], Harness],
    heads: set[str],
    cause: RootCause,
) -> None:
    student = imitator(sloppy=break_it is misnamed)
    broken = break_it(sound)
    critic = RuleCritic(lab.background)
    failures = [t for t in await lab.run(broken, student) if not t.solved]
    blamed = [await critic.attribute(failure, broken) for failure in failures]
    assert cause in {a.root_cause for a in blamed}
    assert await lab.rate(broken, student) <= 0.5

    repaired, seen = await improve(lab, broken, student)

    assert {head(s) for s in seen} >= heads
    assert await lab.rate(repaired, student) == 1.0


async def test_a_sound_harness_leaves_nothing_to_repair(
    lab: "Lab", sound: Harness, imitator: "Callable[..., Imitator]"
) -> None:
    assert await lab.rate(sound, imitator()) == 1.0
