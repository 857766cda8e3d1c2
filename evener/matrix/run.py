"""All arms of a finished run, one after the other: what they cost first, the summary last.

Each arm opens the run anew and leaves it as finished as it was. Run again, an arm is answered from
the store; one that does not apply to the run says why and is no failure.
"""

from collections.abc import Sequence
from pathlib import Path

from evener.agents.record.run import RunFolder
from evener.choose import choose_environment
from evener.demo import CPU_PER_EPISODE, CPU_PER_ROW
from evener.estimate import Estimate, Stage
from evener.matrix.bench import Bench
from evener.matrix.history import History
from evener.matrix.table import ARMS
from evener.parts import Parts
from evener.protocols.error import ConfigError
from evener.protocols.summary import Summary
from evener.report.whole import summarize


async def matrix(
    run: Path, *, versions: bool = False, only: Sequence[str] = (), parts: Parts | None = None
) -> Summary:
    """Make the arms `only` (all of them) beside a finished run and rewrite its `summary.json`.

    `versions` adds the table of every model under every harness, which is else made only where it
    is asked for by name. Raises RunError for a run that is not over, ConfigError for an arm that
    does not exist.
    """
    parts = parts or Parts()
    wanted = choose(only, versions=versions)
    history = History.read(run)
    say = parts.progress.say
    names: list[str] = []
    for name in wanted:
        reason = ARMS[name].make.skip(history)
        if reason:
            say(f"{name} does not apply: {reason}")
        else:
            names.append(name)
    if names:
        say(expected(history, names).sentence())
        async with parts.student(history.config) as model:
            bench = Bench(
                run=run,
                history=history,
                environment=parts.environment or choose_environment(history.config),
                model=model,
                parts=parts,
            )
            for number, name in enumerate(names, start=1):
                say(f"arm {number} of {len(names)}, {name}: {ARMS[name].does}")
                say(f"{name}: {await ARMS[name].make.run(bench)}")
    return rewrite(run)


def choose(only: Sequence[str], *, versions: bool) -> list[str]:
    """The arms asked for, in the order of the table."""
    for name in only:
        if name not in ARMS:
            raise ConfigError(
                f"no arm {name!r}", where="--only", remedy=f"there are {', '.join(ARMS)}"
            )
    if not only:
        return [name for name in ARMS if versions or name != "versions"]
    return [name for name in ARMS if name in only or (versions and name == "versions")]


def expected(history: History, names: Sequence[str]) -> Estimate:
    """Bounds in episodes; CPU-seconds for the embedded student."""
    stages = tuple(Stage(name=name, rollouts=ARMS[name].make.rollouts(history)) for name in names)
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


def rewrite(run: Path) -> Summary:
    """`summary.json` anew, with all that the log has by now."""
    with RunFolder.change(run) as folder:
        summary = summarize(folder)
        folder.write("summary.json", summary.model_dump_json(indent=1) + "\n")
    return summary
