"""The whole summary of a run folder, at any time in its life."""

from typing import Literal, cast

from evener.agents.models.remote.attempt import CALL
from evener.agents.record.log import latest
from evener.agents.record.run import RunFolder
from evener.config import CriticConfig, of_run
from evener.protocols.digest import JsonObject
from evener.protocols.summary import BudgetUse, RoleUse, Summary
from evener.protocols.trajectory import Trajectory
from evener.report.logged import arms, controls, effects, predictions, recovery, recovery_means
from evener.report.measured import Measured, comparisons, measured
from evener.report.reviewed import reviews, served
from evener.report.sentence import said
from evener.report.summarize import charged, roles_use, rows, student_use, verdict_lines

End = Literal["finished", "budget"]


def summarize(folder: RunFolder, *, ended: End | None = None) -> Summary:
    """Everything `summary.json` says, from the log and the store alone.

    `ended` is how the session ends that has just come to its end and is still open.
    """
    return read(folder, ended=ended)[0]


def read(folder: RunFolder, *, ended: End | None = None) -> tuple[Summary, tuple[Measured, ...]]:
    """The summary, and the cells behind it with the reward of every task."""
    record = folder.record
    config = of_run(folder)
    seed = config.plan.seed
    found = measured(record.bodies("cell"), record, seed=seed)
    cells, against = tuple(one.cell for one in found), comparisons(found, seed=seed)
    verdicts = verdict_lines(record.bodies("verdict"), record)
    distilled = config.distill is not None
    trained = latest(record.bodies("trained"), "round")
    ends = list(record.bodies("ended"))
    last = ends[-1] if ends else {}
    index = list(record.trajectories())
    by_role = {
        "student": student_use(record.get(Trajectory, row.trajectory) for row in index),
        "trainer": RoleUse(
            calls=len(trained),
            tokens=sum(_count(entry["trained_tokens"]) for entry in trained),
            seconds=round(sum(float(str(entry["seconds"])) for entry in trained), 1),
        ),
        **roles_use(record.bodies(CALL)),
    }
    by_role = charged(by_role, list(record.bodies(CALL)))
    cpu, wall = _spent(folder)
    summary = Summary(
        run=folder.path.name,
        state=ended or folder.state,
        environment=folder.manifest.names.get("environment", config.environment.name),
        student=folder.manifest.names.get("student", config.student.model),
        critic="none" if distilled else _critic(config.critic),
        gate="none" if distilled else f"{config.gate.kind} ({config.gate.schedule})",
        seed=seed,
        rounds=0 if distilled else config.plan.rounds,
        cells=cells,
        comparisons=against,
        verdicts=verdicts,
        predictions=predictions(record.bodies("prediction")),
        effects=effects(record.bodies("effect")),
        controls=controls(record.bodies("control")),
        arms=arms(record.bodies("arm")),
        recovery=recovery(record.bodies("recovery")),
        recovery_means=recovery_means(record.bodies("recovery")),
        reviews=reviews(record.bodies("review"), served(index, record.bodies("cell"))),
        rows=rows(trained),
        budget=BudgetUse(
            by_role=by_role,
            cpu_seconds=round(cpu, 1),
            wall_seconds=round(wall, 1),
            rollouts=len(index),
        ),
        head=str(last.get("version", "")),
        model=_model(last.get("model")),
        stop_reason=str(last.get("stop_reason", "")),
        verdict_sentence=said(cells, against, verdicts, drawn=f"seed {seed}"),
    )
    return summary, found


def _critic(settings: CriticConfig) -> str:
    """`rule`, `random`, or `model` and which."""
    return f"model {settings.model}" if settings.kind == "model" else settings.kind


def _spent(folder: RunFolder) -> tuple[float, float]:
    """CPU-seconds and wall-clock seconds of all sessions, those of the runs in `arms/` too."""
    cpu, wall = folder.cpu_seconds(), sum(s.beat - s.started for s in folder.sessions())
    for manifest in sorted(folder.path.glob("arms/*/manifest.json")):
        with RunFolder.read(manifest.parent) as inner:
            more = _spent(inner)
        cpu, wall = cpu + more[0], wall + more[1]
    return cpu, wall


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _model(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    fields = cast("JsonObject", value)
    adapter = fields.get("adapter")
    return f"{fields['base']}+{adapter}" if adapter else str(fields["base"])
