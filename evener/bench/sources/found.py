"""The table of sources from the log and the store of a run, and from nothing else."""

from collections.abc import Mapping, Sequence

from evener.agents.record.log import latest
from evener.agents.record.run import RunFolder
from evener.agents.record.store import Record
from evener.agents.reviewers.account import count_reviews
from evener.bench.sources.comparer import BASE
from evener.bench.sources.message import CompareSources, Source
from evener.bench.sources.order import K, finding, order_of
from evener.bench.sources.result import SourceLine, SourceTable
from evener.config import of_run
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness
from evener.protocols.summary import Reviews, Rows
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained
from evener.report.cell import cell, difference
from evener.report.measured import Measured, measured


def table_of(
    folder: RunFolder,
    start: CompareSources,
    *,
    labels: Mapping[str, str],
    missing: Mapping[str, str],
) -> SourceTable:
    """A line for every source in `labels`; `missing` says of some why they are not available."""
    record, config = folder.record, of_run(folder)
    seed = config.plan.seed
    cells = {m.cell.name: m for m in measured(record.bodies("cell"), record, seed=seed)}
    sources = {source.slug: source for source in start.sources}
    rewards = {name: found.rewards for name, found in cells.items()}
    lines = tuple(
        _line(record, sources[slug], label, cells, rewards, seed=seed)
        if slug in sources
        else SourceLine(source=slug, label=label, available=False, note=missing[slug])
        for slug, label in labels.items()
    )
    own, others = f"{K}+target", [f"{s}+target" for s in sources if s != K]
    against = [
        difference(rewards, own, other, split="test", seed=seed)
        for other in others
        if own in cells and other in cells
    ]
    named = next((line.reviews.reviewer for line in lines if line.source == K and line.reviews), "")
    optimized = next(s.harness for s in start.sources if s.slug == "student_optimized")
    return SourceTable(
        run=folder.path.name,
        environment=config.environment.name,
        student=config.student.model,
        target=record.get(Harness, start.target).name,
        optimized=record.get(Harness, optimized).name,
        reviewer=named,
        seed=seed,
        base=cells[BASE].cell,
        lines=lines,
        order=order_of(lines, against, labels=labels),
        cpu_seconds=round(folder.cpu_seconds(), 1),
    )


def _line(
    record: Record,
    source: Source,
    label: str,
    cells: Mapping[str, Measured],
    rewards: Mapping[str, Mapping[str, float]],
    *,
    seed: int,
) -> SourceLine:
    slug = source.slug
    collected = _last(record, "source", "source", slug)
    trained = ModelTrained.of_log(_last(record, "arm_model", "arm", slug))
    digests = collected["episodes"]
    assert isinstance(digests, list)
    tasks = collected["tasks"]
    assert isinstance(tasks, int)
    collecting = _seconds(record, "source", "source", slug)
    first = cell(
        [record.get(Trajectory, str(digest)) for digest in digests[:tasks]],
        name=slug,
        model=str(source.model),
        harness=record.get(Harness, source.harness).name,
        split="mine",
        seed=seed,
        cpu_seconds=round(collecting, 1),
    )
    score = cells.get(f"{slug}+target")
    against = None
    if score is not None:
        against = difference(rewards, score.cell.name, BASE, split="test", seed=seed)
    spent = collecting + _seconds(record, "arm_model", "arm", slug)
    spent += score.cell.cpu_seconds if score is not None else 0.0
    solved = collected["solved"]
    assert isinstance(solved, int)
    return SourceLine(
        source=slug,
        label=label,
        note=trained.reason,
        collected=first,
        episodes=len(digests),
        solved=solved,
        reviews=_reviews(record, source),
        rows=Rows(accepted=trained.rows, refused=trained.refused),
        trained_tokens=trained.trained_tokens,
        score=score.cell if score is not None else None,
        difference=against,
        finding="no student" if against is None else finding(against),
        cpu_seconds=round(spent, 1),
    )


def _reviews(record: Record, source: Source) -> Reviews | None:
    """What its reviewer did while it collected; None where nobody reviews."""
    own = [body for body in record.bodies("review") if body["review"] == source.review]
    if not source.review or not own:
        return None
    return Reviews(reviewer=str(own[-1]["reviewer"]), **dict(count_reviews(own)))


def _last(record: Record, kind: str, field: str, slug: str) -> JsonObject:
    (found,) = [body for body in latest(record.bodies(kind), field) if body[field] == slug]
    return found


def _seconds(record: Record, kind: str, field: str, slug: str) -> float:
    """Over all sessions: a resumed run logs a stage again, with what it took then."""
    spent: Sequence[object] = [
        body["cpu_seconds"] for body in record.bodies(kind) if body[field] == slug
    ]
    return sum(float(value) for value in spent if isinstance(value, int | float))
