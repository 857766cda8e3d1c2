"""All arms of a finished run, one after the other: what they cost first, the summary last.

Each arm opens the run anew and leaves it as finished as it was. Run again, an arm is answered from
the store; one that does not apply to the run says why and is no failure. A co-evolution run and a
distillation have arms of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from evener.agents.record.run import RunFolder
from evener.choose import choose_environment
from evener.config import of_run
from evener.demo import CPU_PER_EPISODE, CPU_PER_ROW
from evener.estimate import Estimate, Stage
from evener.lesson import prepare
from evener.matrix.bench import Bench
from evener.matrix.distilled import Distilled
from evener.matrix.history import History
from evener.matrix.review_bench import ReviewBench
from evener.matrix.table import ARMS, DISTILLED, ArmPlan
from evener.parts import Parts
from evener.protocols.error import ConfigError
from evener.protocols.summary import Summary
from evener.report.whole import summarize

H = TypeVar("H")
B = TypeVar("B")
Say = Callable[[str], None]


async def matrix(
    run: Path, *, versions: bool = False, only: Sequence[str] = (), parts: Parts | None = None
) -> Summary:
    """Make the arms `only` (all of them) beside a finished run and rewrite its `summary.json`.

    `versions` adds the table of every model under every harness, which is else made only where it
    is asked for by name. Raises RunError for a run that is not over, ConfigError for an arm that
    this kind of run has not.
    """
    parts = parts or Parts()
    with RunFolder.read(run) as folder:
        distilled = of_run(folder).distill is not None
    if distilled:
        wanted = choose_distilled(only, versions=versions)
        await _distilled(run, wanted, parts)
    else:
        await _evolved(run, choose(only, versions=versions), parts)
    return rewrite(run)


async def _evolved(run: Path, wanted: Sequence[str], parts: Parts) -> None:
    history, say = History.read(run), parts.progress.say
    names = _applying(ARMS, wanted, history, say)
    if not names:
        return
    say(expected(history, names).sentence())
    async with parts.student(history.config) as model:
        bench = Bench(
            run=run,
            history=history,
            environment=parts.environment or choose_environment(history.config),
            model=model,
            parts=parts,
        )
        await _make(ARMS, names, bench, say)


async def _distilled(run: Path, wanted: Sequence[str], parts: Parts) -> None:
    history, say = Distilled.read(run), parts.progress.say
    names = _applying(DISTILLED, wanted, history, say)
    if not names:
        return
    stages = _stages(DISTILLED, names, history)
    total = sum(stage.rollouts for stage in stages)
    # what reviewing takes comes on top of the episodes, and nobody can say how much
    cost = Estimate(stages=stages, rollouts=total, training_rows=0, cpu_seconds=None)
    say(cost.sentence())
    lesson = await prepare(history.config, parts)
    async with (
        parts.student(history.config) as model,
        parts.reviewer_model(history.config, base=model) as reader,
    ):
        bench = ReviewBench(
            run=run, history=history, lesson=lesson, model=model, reader=reader, parts=parts
        )
        await _make(DISTILLED, names, bench, say)


def _applying(
    table: Mapping[str, ArmPlan[H, B]], wanted: Sequence[str], history: H, say: Say
) -> list[str]:
    """Those that apply to the run; of the others it says why they do not."""
    names: list[str] = []
    for name in wanted:
        reason = table[name].make.skip(history)
        if reason:
            say(f"{name} does not apply: {reason}")
        else:
            names.append(name)
    return names


async def _make(
    table: Mapping[str, ArmPlan[H, B]], names: Sequence[str], bench: B, say: Say
) -> None:
    for number, name in enumerate(names, start=1):
        say(f"arm {number} of {len(names)}, {name}: {table[name].does}")
        say(f"{name}: {await table[name].make.run(bench)}")


def choose(only: Sequence[str], *, versions: bool) -> list[str]:
    """The arms of a co-evolution run that are asked for, in the order of the table."""
    _known(only, ARMS, DISTILLED, kind="a co-evolution run")
    if not only:
        return [name for name in ARMS if versions or name != "versions"]
    return [name for name in ARMS if name in only or (versions and name == "versions")]


def choose_distilled(only: Sequence[str], *, versions: bool) -> list[str]:
    """The arms of a distillation that are asked for, in the order of the table."""
    _known([*only, *(["versions"] if versions else [])], DISTILLED, ARMS, kind="a distillation")
    return [name for name in DISTILLED if not only or name in only]


def _known(
    only: Sequence[str], table: Mapping[str, object], other: Mapping[str, object], *, kind: str
) -> None:
    for name in only:
        if name in table:
            continue
        beside = f" beside {kind}" if name in other else ""
        raise ConfigError(
            f"no arm {name!r}{beside}", where="--only", remedy=f"there are {', '.join(table)}"
        )


def expected(history: History, names: Sequence[str]) -> Estimate:
    """Bounds in episodes; CPU-seconds for the embedded student."""
    stages = _stages(ARMS, names, history)
    rollouts = sum(stage.rollouts for stage in stages)
    training = history.config.plan.training
    rows = training.collect_tasks * len(history.trained_tokens) if "trained_seed" in names else 0
    embedded = history.config.student.model == "embedded"
    return Estimate(
        stages=stages,
        rollouts=rollouts,
        training_rows=rows,
        cpu_seconds=rollouts * CPU_PER_EPISODE + rows * CPU_PER_ROW if embedded else None,
    )


def _stages(
    table: Mapping[str, ArmPlan[H, B]], names: Sequence[str], history: H
) -> tuple[Stage, ...]:
    return tuple(Stage(name=name, rollouts=table[name].make.rollouts(history)) for name in names)


def rewrite(run: Path) -> Summary:
    """`summary.json` anew, with all that the log has by now."""
    with RunFolder.change(run) as folder:
        summary = summarize(folder)
        folder.write("summary.json", summary.model_dump_json(indent=1) + "\n")
    return summary
