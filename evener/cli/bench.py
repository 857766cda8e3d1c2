"""`evener bench`: comparisons with controls that no user has."""

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evener.cli.app import app
from evener.cli.option import DistillFile, DryRun, OutFolder, Overrides, Quiet
from evener.cli.output import AsJson, emit
from evener.cli.run import end_on_sigterm

if TYPE_CHECKING:
    from evener.bench.critic.accuracy import CriticAccuracy
    from evener.bench.sources.result import SourceTable

group = typer.Typer(
    name="bench", help="Comparisons with controls that no user has.", no_args_is_help=True
)
app.add_typer(group)


@group.callback()
def bench() -> None:
    """Comparisons with controls that no user has."""


@group.command()
def sources(
    config: DistillFile,
    overrides: Overrides = None,
    *,
    out: OutFolder = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a student on each of six sources of data and score them all alike. Resumes."""
    from evener.bench.sources.bench import SourceBench, checked, expected
    from evener.config import load
    from evener.lesson import wanted
    from evener.parts import Parts

    settings = load(config, overrides or ())
    wanted(settings)
    cost = expected(settings)
    if dry_run:
        asyncio.run(checked(settings, Parts()))
        emit(cost, cost.sentence(), as_json=as_json)
        return
    typer.echo(cost.sentence(), err=True)

    from evener.bench.sources.page import render
    from evener.progress import watching

    folder = out or Path("runs") / f"{config.stem}-sources"
    with watching(quiet=quiet) as progress:

        async def whole() -> "SourceTable":
            end_on_sigterm()
            async with SourceBench.open(settings, folder, parts=Parts(progress=progress)) as made:
                if made.folder.resumed:
                    progress.say(f"going on with {folder}")
                return await made.run(command=command_of(config, overrides or ()))

        found = asyncio.run(whole())
    emit(found, render(found), as_json=as_json)


def command_of(config: Path, overrides: Sequence[str]) -> str:
    """The command that makes the page again; a path of this machine alone is left out of it."""
    file = config.name if config.is_absolute() else config.as_posix()
    return shlex.join(["evener", "bench", "sources", file, *overrides])


@group.command()
def critic(
    *,
    critic: Annotated[
        str,
        typer.Option(
            "--critic",
            help="Whose blame is measured: `rule`, a model as in `student.model`, or `random`, "
            "which blames nothing.",
        ),
    ] = "rule",
    api_base: Annotated[
        str | None, typer.Option(help="The address of the server where the model is.")
    ] = None,
    plants: Annotated[
        Literal["first", "second", "third", "fourth"],
        typer.Option(
            "--plants",
            help="40 faults and 10 errors (the second set: 20 and 5). By the first three the rules "
            "were mended; the fourth is the check.",
        ),
    ] = "fourth",
    episodes: Annotated[int, typer.Option(min=1, help="Failures of a plant, at most.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Of the tasks.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure whom a critic blames for planted faults and for errors of the model.

    The faults are of the shop desk's harnesses, the students scripted, the episodes really run.
    """
    from evener.agents.pattern import published
    from evener.bench.critic.judges import judge_of, judging
    from evener.bench.critic.measure import measure
    from evener.bench.critic.page import render
    from evener.environments.storefront import Storefront
    from evener.progress import watching

    with watching(quiet=quiet) as progress:

        async def whole() -> "CriticAccuracy":
            background = await published(Storefront())
            async with judging(critic, background, api_base=api_base, progress=progress) as blaming:
                return await measure(
                    blaming,
                    judge=judge_of(critic),
                    plants=plants,
                    seed=seed,
                    episodes=episodes,
                    progress=progress,
                )

        found = asyncio.run(whole())
    emit(found, render(found), as_json=as_json)


@group.command()
def sandbox(
    *,
    level: Annotated[
        Literal["process", "bwrap"] | None,
        typer.Option("--level", help="Only this level; else each that works here."),
    ] = None,
    turns: Annotated[int, typer.Option(min=2, help="Fresh processes, each beside 100 calls.")] = 30,
    starts: Annotated[int, typer.Option(min=2, help="Episodes that are started either way.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure the Python tool: a warm interpreter against a fresh `python -c`, in one run.

    Ratios with their intervals, for a call and for the start of an episode.
    """
    from evener.bench.sandbox import measure, render
    from evener.environments.sandbox import LEVELS

    levels = LEVELS if level is None else (level,)
    found = asyncio.run(measure(levels, turns=turns, starts=starts, calls=100, seed=seed))
    emit(found, render(found), as_json=as_json)
