"""What a critic that is a model is shown, which of its answers count, and what becomes of them."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from evener.agents.critics import ModelCritic
from evener.agents.critics.brief import LONGEST, MOST, shown
from evener.agents.harness.load import dump_yaml
from evener.agents.models.scripted import ScriptedModel
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import canonical
from evener.protocols.error import ContextExceeded, EvenerError
from evener.protocols.event import Acted
from evener.protocols.harness import Harness
from evener.protocols.model import Reply, Request, StopReason
from evener.protocols.path import ABSENT
from evener.protocols.task import Purpose
from evener.protocols.trajectory import Trajectory

if TYPE_CHECKING:
    from tests.agents.critics.conftest import Imitator, Lab

Student = Callable[..., "Imitator"]
UNITS = {"crates": "crate", "pallets": "pallet", "drums": "drum"}
PATH = "tools[unpack].arguments.unit"
DEEP: Any = json.loads("[" * 400 + "]" * 400)


def template(text: str) -> dict[str, Any]:
    return {"field_path": "prompt.system", "new_value": text}


@pytest.fixture
def strict(sound: Harness) -> Harness:
    """The sound harness, but a unit's plural is not understood."""
    tools = [tool.model_copy(update={"arguments": {}}) for tool in sound.tools]
    return sound.model_copy(update={"tools": tuple(tools)})


@pytest.fixture
async def failed(lab: "Lab", strict: Harness, imitator: Student) -> Trajectory:
    found = await lab.run(strict, imitator(), count=4)
    return next(t for t in found if not t.solved)


def refused_at(failure: Trajectory) -> int:
    return next(
        at for at, e in enumerate(failure.events) if isinstance(e, Acted) and e.error_kind == "unit"
    )


@pytest.fixture
def answer(failed: Trajectory) -> Callable[..., str]:
    """A valid answer with some keys changed, or left out where they are None."""

    def made(**changes: Any) -> str:
        said: dict[str, Any] = {
            "root_cause": "tool_schema_error",
            "severity": "critical",
            "event": refused_at(failed),
            "quote": "there are: crate, pallet, drum",
            "field_path": PATH,
            "new_value": {"aliases": UNITS},
        }
        said |= changes
        return json.dumps({key: value for key, value in said.items() if value is not ...})

    return made


async def test_an_answer_becomes_a_record_with_the_harness_s_own_old_value(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    model = ScriptedModel([answer()])
    found = await ModelCritic(model, lab.background).attribute(failed, strict)
    assert (found.root_cause, found.severity) == (RootCause.TOOL_SCHEMA_ERROR, Severity.CRITICAL)
    assert (found.author, found.trajectory) == ("model scripted:scripted", failed.digest())
    assert found.evidence.event == refused_at(failed)
    assert found.diff_suggestion is not None
    assert found.diff_suggestion.old_value is ABSENT
    assert found.diff_suggestion.new_value == {"aliases": UNITS}


async def test_it_is_shown_the_harness_and_the_episode_and_nothing_else(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    model = ScriptedModel([answer()])
    await ModelCritic(model, lab.background).attribute(failed, strict)
    (request,) = model.requests
    system, user = request.messages
    assert (system.role, user.role) == ("system", "user")
    assert all(cause in system.content for cause in RootCause)
    head, _, events = user.content.partition("Its events:\n")
    assert head == (
        f"The harness:\n```yaml\n{dump_yaml(strict).strip()}\n```\n\n"
        f"The task:\n{failed.task.prompt}\n\nThe episode ended as {failed.outcome}. "
    )
    lines = events.splitlines()
    assert [line.split("]")[0] for line in lines] == [f"[{at}" for at in range(len(failed.events))]
    at = refused_at(failed)
    assert json.loads(lines[at].partition(" ")[2]) == failed.events[at].document()
    assert failed.task.id not in user.content
    assert request.sampling.temperature == 0.0


async def test_a_long_episode_is_cut_in_its_middle(strict: Harness, failed: Trajectory) -> None:
    event = failed.events[refused_at(failed)]
    assert isinstance(event, Acted)
    long = event.model_copy(update={"observation": "a" * LONGEST + "b" * LONGEST})
    many = failed.model_copy(update={"events": (long,) * (MOST + 5)})
    text = shown(many, strict).content
    assert "… 5 events …" in text
    assert f"[{MOST + 4}]" in text
    assert len(text) < (MOST + 4) * (LONGEST + 400)
    assert "aaa … bbb" in text


@pytest.mark.parametrize(
    ("changes", "fault", "told"),
    [
        ({"root_cause": "bad_luck"}, "root_cause", "has to be one of prompt_ambiguity"),
        ({"severity": ...}, "severity", "has to be one of critical"),
        ({"event": 10_000}, "event", "a number from 0 to"),
        ({"event": True}, "event", "a number from 0 to"),
        ({"quote": "it was the weather"}, "quote", "does not stand in event"),
        ({"quote": "  "}, "quote", "a few words"),
        ({"field_path": "tools[none].description"}, "field_path", "cannot be made"),
        ({"field_path": "tools[["}, "field_path", "cannot be made"),
        ({"field_path": 3}, "field_path", "has to be a text"),
        ({"field_path": "a." * 100_000 + "b"}, "field_path", "has to be a text of up to"),
        ({"field_path": "memory.entries[" + "1" * 200 + "]"}, "field_path", "cannot be made"),
        ({"new_value": DEEP}, "field_path", "cannot be made"),
        (
            template("{% for a in tools %}" * 25 + "{% endfor %}" * 25),
            "field_path",
            "in a loop",
        ),
        (template("{% if tools %}" * 120 + "{% endif %}" * 120), "field_path", "too deeply"),
        (template("{{ " + "not " * 300 + "tools }}"), "field_path", "too deeply"),
        (template("{{ tools" + "|tojson" * 30 + " }}"), "field_path", "on what another one made"),
        ({"field_path": "middleware.loop.max_turns", "new_value": "many"}, "field_path", "cannot"),
        ({"field_path": "tools[unpack].action", "new_value": "rob"}, "field_path", "cannot"),
    ],
)
async def test_an_invalid_answer_is_asked_for_again_and_told_why(
    lab: "Lab",
    strict: Harness,
    failed: Trajectory,
    answer: Callable[..., str],
    changes: dict[str, Any],
    fault: str,
    told: str,
) -> None:
    model = ScriptedModel([answer(**changes), answer()])
    found = await ModelCritic(model, lab.background).attribute(failed, strict)
    assert found.root_cause is RootCause.TOOL_SCHEMA_ERROR
    first, second = model.requests
    assert second.messages[:2] == first.messages
    assert second.messages[2].content == answer(**changes)
    assert told in second.messages[3].content
    assert second.sampling.temperature > 0

    stubborn = ScriptedModel(lambda _: answer(**changes))
    found = await ModelCritic(stubborn, lab.background).attribute(failed, strict)
    assert len(stubborn.requests) == 3
    assert (found.root_cause, found.diff_suggestion) == (RootCause.AGENT_ERROR, None)
    assert found.signature == f"abstained:{fault}"


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("The tool is at fault.", "prose"),
        ('{"root_cause": ', "invalid_json"),
        ('{"a": 1} and so on', "prose"),
        (Reply(text='{"a"', stop_reason=StopReason.LENGTH, model=ScriptedModel("").ref),
         "cut_by_length"),
        (Reply(text="", stop_reason=StopReason.FILTERED, model=ScriptedModel("").ref), "filtered"),
    ],
)  # fmt: skip
async def test_what_is_no_object_makes_it_abstain(
    lab: "Lab", strict: Harness, failed: Trajectory, reply: str | Reply, fault: str
) -> None:
    found = await ModelCritic(ScriptedModel(lambda _: reply), lab.background).attribute(
        failed, strict
    )
    assert (found.root_cause, found.signature) == (RootCause.AGENT_ERROR, f"abstained:{fault}")


async def test_an_episode_that_does_not_fit_its_window_makes_it_abstain(
    lab: "Lab", strict: Harness, failed: Trajectory
) -> None:
    def full(request: Request) -> str:
        raise ContextExceeded(prompt_tokens=9_000, window=8_000)

    found = await ModelCritic(ScriptedModel(full), lab.background).attribute(failed, strict)
    assert found.signature == "abstained:context_exceeded"


@pytest.mark.parametrize(
    "wrap", ["{}", "```json\n{}\n```", "<think>It may be {{the}} tool.</think>\n{}"]
)
async def test_reasoning_and_a_fence_round_the_object_are_taken_off(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str], wrap: str
) -> None:
    model = ScriptedModel([wrap.replace("{{the}}", "{the}").replace("{}", answer())])
    found = await ModelCritic(model, lab.background).attribute(failed, strict)
    assert found.root_cause is RootCause.TOOL_SCHEMA_ERROR


async def test_a_quote_of_what_the_model_replied_is_evidence_of_its_reply(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    at = next(i for i, event in enumerate(failed.events) if event.kind == "replied")
    said = answer(event=at, quote='"name":  "unpack"')
    found = await ModelCritic(ScriptedModel([said]), lab.background).attribute(failed, strict)
    assert found.evidence.event == at


async def test_a_quote_of_another_event_is_no_evidence(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    last = len(failed.events) - 1
    assert last != refused_at(failed)
    stubborn = ScriptedModel(lambda _: answer(event=last))
    found = await ModelCritic(stubborn, lab.background).attribute(failed, strict)
    assert found.signature == "abstained:quote"


async def test_a_change_that_repeats_the_task_is_refused(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    said = f"When {failed.task.prompt} {{{{ tools }}}}"
    leak = answer(field_path="prompt.system", new_value=said)
    model = ScriptedModel([leak, answer()])
    await ModelCritic(model, lab.background).attribute(failed, strict)
    assert "repeats words of this task" in model.requests[1].messages[-1].content


async def test_an_agent_error_suggests_nothing_whatever_is_written(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    model = ScriptedModel([answer(root_cause="agent_error")])
    found = await ModelCritic(model, lab.background).attribute(failed, strict)
    assert (found.harness_dim, found.diff_suggestion) == (None, None)


async def test_null_takes_away_what_stands_there(
    lab: "Lab", sound: Harness, imitator: Student, answer: Callable[..., str], failed: Trajectory
) -> None:
    here = failed.model_copy(
        update={"key": failed.key.model_copy(update={"harness": sound.digest()})}
    )
    model = ScriptedModel([answer(new_value=None)])
    found = await ModelCritic(model, lab.background).attribute(here, sound)
    assert found.diff_suggestion is not None
    assert found.diff_suggestion.new_value is ABSENT
    assert "crates" in canonical(found.diff_suggestion.document())


async def test_what_it_suggests_is_offered_first_and_helps(
    lab: "Lab", strict: Harness, imitator: Student, answer: Callable[..., str]
) -> None:
    failures = [t for t in await lab.run(strict, imitator(), count=12) if not t.solved]

    def blame(request: Request) -> str:
        lines = request.messages[1].content.splitlines()
        at = next(line for line in lines if '"error_kind":"unit"' in line)
        return answer(event=int(at[1 : at.index("]")]))

    critic = ModelCritic(ScriptedModel(blame), lab.background)
    found = [await critic.attribute(failure, strict) for failure in failures]
    offers = await critic.propose(found, strict)
    first = offers[0]
    assert first.author == "model scripted:scripted"
    assert [edit.field_path for edit in first.patch.edits] == [PATH]
    assert first.attributions == tuple(a.digest() for a in found)
    mended = first.patch.apply(strict)
    assert await lab.rate(strict, imitator()) < 0.6
    assert await lab.rate(mended, imitator()) == 1.0
    again = await critic.propose(found, strict, refused=frozenset({_edits(first)}))
    assert first.patch not in [offer.patch for offer in again]


def _edits(proposal: Any) -> str:
    from evener.agents.critics import edits_digest

    return edits_digest(proposal.patch)


async def test_two_suggestions_for_one_pattern_are_rivals_each_by_itself(
    lab: "Lab", strict: Harness, imitator: Student, failed: Trajectory, answer: Callable[..., str]
) -> None:
    other = answer(new_value={"aliases": {"crates": "crate"}})
    model = ScriptedModel([answer(), other])
    critic = ModelCritic(model, lab.background)
    found = [await critic.attribute(failed, strict) for _ in range(2)]
    offers = [o for o in await critic.propose(found, strict) if o.name.startswith("as-suggested")]
    assert len(offers) == 2
    assert offers[0].group == offers[1].group != ""
    assert {canonical(offer.patch.edits[0].document()) for offer in offers} == {
        canonical(a.diff_suggestion.document()) for a in found if a.diff_suggestion is not None
    }


async def test_what_no_detector_knows_is_aimed_at_everything_and_rests_on_its_records(
    lab: "Lab", strict: Harness, failed: Trajectory, answer: Callable[..., str]
) -> None:
    said = answer(
        root_cause="memory_overflow",
        field_path="memory.entries[+]",
        new_value={"name": "units", "text": "A unit is written in the singular."},
    )
    critic = ModelCritic(ScriptedModel([said]), lab.background)
    found = await critic.attribute(failed, strict)
    assert found.signature == "said:memory_overflow:memory"
    (offer,) = await critic.propose([found], strict)
    assert offer.signatures == ()
    assert offer.rests_on(found)


async def test_it_refuses_what_the_rule_critic_refuses(
    lab: "Lab", strict: Harness, failed: Trajectory
) -> None:
    other = failed.model_copy(
        update={"key": failed.key.model_copy(update={"purpose": Purpose.EVALUATE})}
    )
    model = ScriptedModel([])
    with pytest.raises(EvenerError, match="mining episodes only"):
        await ModelCritic(model, lab.background).attribute(other, strict)
    assert model.requests == []
