"""What a round does beside its trials: confirm, retreat, halve, bound, look again."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evener.agents.critics.rule import RuleCritic
from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.models.scripted import ScriptedModel
from evener.agents.pattern.background import published
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.config import HarnessConfig, RunConfig
from evener.parts import Parts
from evener.propose import propose
from evener.protocols.attribution import Attribution, Proposal, TrialKind
from evener.protocols.harness import Harness
from evener.protocols.model import Reply, Request
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.summary import Summary
from evener.protocols.task import Split
from evener.protocols.trajectory import Trajectory
from evener.protocols.verdict import Decision, Pair, Ruling
from evener.team import Team

Hire = Callable[[Any], ScriptedModel]


class Stern:
    """The small paired gate, but trials for which `refuses` holds are rejected at once."""

    name = "stern"
    digest = "stern"

    def __init__(self, refuses: Callable[[TrialKind, int], bool]) -> None:
        self._gate = PairedGate(SCHEDULES["small"])
        self._refuses = refuses
        self.trials = 0

    def decide(
        self,
        held_in: Sequence[Pair],
        held_out: Sequence[Pair],
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        if not held_in:
            self.trials += 1
        if self._refuses(kind, self.trials):
            return Decision(ruling=Ruling.REJECT, reason="no")
        return self._gate.decide(
            held_in,
            held_out,
            kind=kind,
            exhausted_in=exhausted_in,
            exhausted_out=exhausted_out,
        )

    def least(self, kind: TrialKind) -> tuple[int, int]:
        return self._gate.least(kind)


class Credulous(Stern):
    """Accepts whatever it is shown, unseen."""

    def __init__(self) -> None:
        super().__init__(lambda kind, trial: False)

    def decide(
        self,
        held_in: Sequence[Pair],
        held_out: Sequence[Pair],
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        return Decision(ruling=Ruling.ACCEPT, reason="why not")


class Vandal(RuleCritic):
    """Blames by rule and proposes to drop the skills that the student needs."""

    async def propose(
        self,
        attributions: Sequence[Attribution],
        harness: Harness,
        *,
        refused: frozenset[str] = frozenset(),
        limit: int = 8,
        seed: int = 0,
    ) -> tuple[Proposal, ...]:
        skills = harness.document()["skills"]
        if not skills:
            return ()
        edit = FieldEdit(field_path="skills", old_value=skills, new_value=[])
        patch = Patch(base=harness.digest(), edits=(edit,))
        return (Proposal(name="drop", author="vandal", patch=patch, group="drop"),)


class Moody:
    """The clerk, but one task in four it gets right only where nothing is shown: a harmful patch
    repairs every failure that it is aimed at."""

    def __init__(self, desk: Any, clerk: ScriptedModel) -> None:
        self.ref = clerk.ref
        self._desk = desk
        self._clerk = clerk

    async def complete(self, request: Request) -> Reply:
        task = next(m.content for m in request.messages if m.content in self._desk.asked)
        if hashlib.sha256(task.encode()).digest()[0] % 4 == 0:
            call = self._desk.gold(self._desk.asked[task])[-1]
            arguments = call.arguments if len(request.messages) == 2 else {"answer": -1}
            text = json.dumps({"name": "final", "arguments": arguments})
            return Reply(text=text, model=self.ref)
        return await self._clerk.complete(request)

    async def close(self) -> None:
        pass


async def whole(config: RunConfig, out: Path, parts: Parts) -> Summary:
    async with Team.open(config, out, parts=parts) as team:
        return await team.run()


def changed(config: RunConfig, part: str, **values: object) -> RunConfig:
    inner = getattr(config.plan, part).model_copy(update=values)
    return config.model_copy(update={"plan": config.plan.model_copy(update={part: inner})})


def kinds(summary: Summary) -> list[tuple[str, str]]:
    return [(line.kind, str(line.outcome)) for line in summary.verdicts]


async def test_what_a_round_accepted_is_confirmed_on_fresh_tasks(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    summary = await whole(config, tmp_path / "run", parts)
    assert kinds(summary)[-1] == ("confirm", "ACCEPT")
    assert summary.head == "v1"
    with RunFolder.read(tmp_path / "run") as folder:
        stages = [body["stage"] for body in folder.record.bodies("spent")]
        spent = [body["rollouts"] for body in folder.record.bodies("spent")]
        assert stages == ["search", "confirm", "watch"]
        assert sum(map(int, map(str, spent))) == sum(
            row.purpose != "evaluate" for row in folder.record.trajectories()
        )
        (ended,) = folder.record.bodies("round_end")
        assert (ended["round"], ended["version"]) == (1, "v1")


async def test_what_is_not_confirmed_is_rolled_back_once_however_often_the_run_starts(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    summaries: list[Summary] = []
    for _ in range(2):
        gate = Stern(lambda kind, trial: kind == "confirm")
        parts = Parts(environment=desk, model=hire(desk), gate=gate)
        summaries.append(await whole(config, tmp_path / "run", parts))
        assert kinds(summaries[-1])[-1] == ("confirm", "REJECT")
        registry = Registry(tmp_path / "run" / "harness")
        assert registry.head()[0] == "v0"
        moves = (tmp_path / "run" / "harness" / "moves.jsonl").read_text().splitlines()
        assert len(moves) == 3  # to v0, to v1, back to v0
    _, summary = summaries
    cells = {cell.name: cell.solved for cell in summary.cells if cell.split == "test"}
    assert cells["base+evolved"] == cells["base+seed"]
    assert "neither" in summary.stop_reason


async def test_without_confirmation_an_accepted_patch_stands(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    gate = Stern(lambda kind, trial: kind == "confirm")
    parts = Parts(environment=desk, model=hire(desk), gate=gate)
    summary = await whole(changed(config, "trials", confirm=False), tmp_path / "run", parts)
    assert summary.head == "v1"


async def test_a_merged_patch_that_is_turned_down_is_tried_in_halves(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    gate = Stern(lambda kind, trial: trial == 1)
    parts = Parts(environment=desk, model=hire(desk), gate=gate)
    await whole(changed(config, "search", iterations=3), tmp_path / "run", parts)
    registry = Registry(tmp_path / "run" / "harness")
    merged = next(r for r in registry.not_accepted().values() if r.proposal.name == "merged-1-1")
    assert merged.verdict is not None
    (first,) = registry.diffs("v1")
    half, all_edits = first.proposal.patch.edits, merged.proposal.patch.edits
    assert len(half) < len(all_edits)
    assert all(edit in all_edits for edit in half)


async def test_a_patch_of_more_edits_than_the_round_allows_is_not_run(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    await whole(changed(config, "search", edits=1), tmp_path / "run", parts)
    faults = [r.fault for r in Registry(tmp_path / "run" / "harness").not_accepted().values()]
    assert any("a patch of this round has 1 at most" in fault for fault in faults)
    versions = Registry(tmp_path / "run" / "harness")
    for version in versions.versions()[1:]:
        assert all(len(r.proposal.patch.edits) == 1 for r in versions.diffs(version))


async def test_no_patch_lets_the_prompt_grow_past_the_bound(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    summary = await whole(changed(config, "search", growth=0), tmp_path / "run", parts)
    registry = Registry(tmp_path / "run" / "harness")
    faults = [r.fault for r in registry.not_accepted().values()]
    assert any("characters before the task; this run allows" in fault for fault in faults)
    assert summary.cells[0].n == 12


async def test_harm_that_the_gate_let_pass_is_seen_later_and_rolled_back(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    critic = Vandal(await published(desk))
    model = Moody(desk, hire(desk))
    parts = Parts(environment=desk, model=model, gate=Credulous(), critic=critic)
    settings = config.model_copy(update={"harness": HarnessConfig(start="hand")})
    settings = changed(settings, "trials", watch=60)
    summary = await whole(settings, tmp_path / "run", parts)
    registry = Registry(tmp_path / "run" / "harness")
    assert registry.versions() == ("v0", "v1")
    assert registry.head()[0] == "v0"
    with RunFolder.read(tmp_path / "run") as folder:
        (look,) = folder.record.bodies("watched")
        assert look["rolled_back"] is True
        assert float(str(look["high"])) < 0
        for row in folder.record.trajectories():
            if row.split is Split.HELD_OUT:
                found = folder.record.get(Trajectory, row.trajectory)
                assert found.key.purpose == "gate"
    cells = {cell.name: cell.solved for cell in summary.cells if cell.split == "test"}
    assert cells["base+evolved"] == cells["base+seed"]


def test_after_training_the_lightest_harness_that_keeps_up_goes_to_the_gate(master: Path) -> None:
    registry = Registry(master / "harness")
    (light,) = registry.diffs("v2")
    assert light.proposal.name == "lighter-1-example"
    assert light.verdict is not None
    assert (light.verdict.kind, light.verdict.ruling) == ("simplify", Ruling.ACCEPT)
    assert light.model.adapter == "m1"
    assert {len(skill.examples) for skill in registry.get("v2").skills} == {1}
    # what shows nothing at all solves nothing, and costs no trial
    (bare,) = (
        record
        for record in registry.not_accepted().values()
        if record.proposal.name == "lighter-no-examples" and record.round == 1
    )
    assert bare.verdict is not None
    assert bare.verdict.gate == "race on mining tasks"
    assert "solved 0% of 6 mining tasks; 73% were asked for" in bare.verdict.reason


async def test_predictions_are_kept_with_the_patch_and_scored_on_the_same_tasks(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    summary = await whole(config, tmp_path / "run", parts)
    (line,) = summary.predictions
    (record,) = Registry(tmp_path / "run" / "harness").diffs("v1")
    assert record.prediction is not None
    assert len(record.prediction.fixes) == line.fixes > 0
    assert line.fixes_true == line.fixed > 0
    assert line.breaks_true == line.broken == 0


async def test_a_persons_patch_that_repeats_a_sealed_task_is_not_tried(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    await whole(config, tmp_path / "run", parts)
    _, head = Registry(tmp_path / "run" / "harness").head()
    with RunFolder.read(tmp_path / "run") as folder:
        sealed = next(r for r in folder.record.trajectories() if r.split is Split.TEST)
        asked = folder.record.get(Trajectory, sealed.trajectory).task.prompt
    told = head.model_copy(
        update={"prompt": head.prompt.model_copy(update={"system": f"Remember: {asked}"})}
    )
    model = hire(desk)
    parts = Parts(environment=desk, model=model)
    record = await propose(tmp_path / "run", told, name="cheat", model="base", parts=parts)
    assert record.verdict is None
    assert "repeats the words of a task of test" in record.fault
    assert model.requests == []


async def test_a_run_may_search_nothing(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    settings = changed(config, "search", iterations=0)
    summary = await whole(settings, tmp_path / "run", parts)
    assert summary.verdicts == ()
    assert summary.head == "v0"
