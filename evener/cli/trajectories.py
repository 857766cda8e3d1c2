"""`evener trajectories`: the episodes of a run, as a list or one in full."""

from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Outcome, Trajectory

group = typer.Typer(
    name="trajectories", help="Look at the episodes of a run.", no_args_is_help=True
)
app.add_typer(group)


@group.command("list")
def list_(
    run: RunPath,
    *,
    purpose: Annotated[Purpose | None, typer.Option(help="Only of this purpose.")] = None,
    split: Annotated[Split | None, typer.Option(help="Only of this split.")] = None,
    outcome: Annotated[Outcome | None, typer.Option(help="Only with this outcome.")] = None,
    harness: Annotated[str | None, typer.Option(help="Only of this harness digest.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List finished episodes; `show` takes their digest or its beginning."""
    from collections import deque

    from evener.agents.record.run import RunFolder
    from evener.report.table import table

    with RunFolder.read(run) as folder:
        found = deque(
            folder.record.trajectories(
                purpose=purpose, split=split, outcome=outcome, harness=harness
            ),
            maxlen=limit,
        )
    header = ("trajectory", "task", "purpose", "outcome", "calls", "tokens", "harness", "model")
    rows = [
        (
            r.trajectory[:12],
            r.task,
            r.purpose,
            r.outcome,
            r.calls,
            r.completion_tokens,
            r.harness[:8],
            r.model[:8],
        )
        for r in found
    ]
    chosen = any(one is not None for one in (purpose, split, outcome, harness))
    none = "no episode: the filters let none through" if chosen else "no episode yet"
    text = table(header, rows) if rows else none
    emit([r.document() for r in found], text, as_json=as_json)


@group.command()
def show(
    run: RunPath,
    digest: Annotated[str, typer.Argument(help="A trajectory's digest, or its beginning.")],
    *,
    events: Annotated[bool, typer.Option("--events", help="The events as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print one episode: every message as the model was shown it, and how it ended."""
    from evener.agents.record.run import RunFolder
    from evener.protocols.error import ConfigError

    with RunFolder.read(run) as folder:
        rows = [r for r in folder.record.trajectories() if r.trajectory.startswith(digest)]
        if len({r.trajectory for r in rows}) != 1:
            what = "no trajectory begins" if not rows else f"{len(rows)} trajectories begin"
            raise ConfigError(
                f"{what} with {digest!r}",
                where=str(run),
                remedy="`evener trajectories list` shows them",
            )
        trajectory = folder.record.get(Trajectory, rows[0].trajectory)
    emit(trajectory, _text(trajectory, events=events), as_json=as_json)


def _text(trajectory: Trajectory, *, events: bool) -> str:
    lines = [
        f"{trajectory.task.id}: {trajectory.outcome}, reward {trajectory.reward}, "
        f"{trajectory.model}, {trajectory.key.purpose}, seed {trajectory.key.seed}"
    ]
    for index, message in enumerate(trajectory.messages):
        mark = "*" if message.sampled else " "
        lines.append(f"{mark}[{index}] {message.role} ({message.origin})")
        lines += [f"      {line}" for line in message.content.splitlines()]
    if events:
        lines.append("events")
        lines += [f"  {event.model_dump_json()}" for event in trajectory.events]
    return "\n".join(lines)
