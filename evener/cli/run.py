"""`evener demo` and `evener run`: the loop, with an estimate before and a verdict after."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.app import app
from evener.cli.option import (
    ConfigFile,
    DryRun,
    OutFolder,
    Overrides,
    Quiet,
    RequireSandbox,
    settled,
)
from evener.cli.output import AsJson, emit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.config import RunConfig
    from evener.protocols.summary import PooledSummary, Summary

Model = Annotated[
    str, typer.Option("--model", help="`embedded`, a model folder, or a hub id.", show_default=True)
]


@app.command()
def demo(
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Two rounds, the default gate, arms, three seeds.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder: runs/demo, or runs/full.", show_default=False),
    ] = None,
    model: Model = "embedded",
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first seed.")] = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, help="How many seeds: 1, with --full 3.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the loop on the embedded student: no key, no GPU, no hub. Resumes where it stopped."""
    from evener.demo import ARMS, CPU_PER_EPISODE, CPU_PER_ROW, SEEDS, demo_config, full_config
    from evener.estimate import estimate

    def planned(number: int) -> "RunConfig":
        return (full_config if full else demo_config)(model=model, seed=number)

    config = planned(seed)
    count = seeds or (SEEDS if full else 1)
    cost = estimate(
        config.plan,
        arms=len(config.harness.arms),
        per_episode=CPU_PER_EPISODE,
        per_row=CPU_PER_ROW,
    )
    each = f" for each of {count} seeds" if count > 1 else ""
    beside = f", and then the arms {', '.join(ARMS)}" if full else ""
    typer.echo(f"{cost.sentence()}{each}{beside}", err=True)
    if not full and count == 1:
        _run(config, out or Path("runs/demo"), as_json=as_json, quiet=quiet)
        return
    folder = out or Path("runs/full" if full else "runs/demo")
    command = "evener demo" + " --full" * full + f" --seed {seed}" * bool(seed)
    _study(
        planned,
        folder,
        seeds=range(seed, seed + count),
        arms=ARMS if full else (),
        command=f"{command} --seeds {count}",
        as_json=as_json,
        quiet=quiet,
    )


@app.command()
def run(
    config: ConfigFile,
    overrides: Overrides = None,
    *,
    out: OutFolder = None,
    dry_run: DryRun = False,
    require_sandbox: RequireSandbox = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let a model and its harness improve each other as a TOML file says. Resumes."""
    from evener.config import load
    from evener.estimate import estimate
    from evener.protocols.error import ConfigError

    settings = load(config, settled(overrides, protection=require_sandbox))
    if settings.distill is not None:
        raise ConfigError(
            "this configuration is one of a distillation",
            where=f"{config}, distill",
            remedy=f"evener distill {config}",
        )
    cost = estimate(settings.plan, arms=len(settings.harness.arms)).behind(settings)
    if dry_run:
        from evener.team import rehearse

        asyncio.run(rehearse(settings))
        emit(cost, cost.sentence(), as_json=as_json)
        return
    typer.echo(cost.sentence(), err=True)
    _run(settings, out or Path("runs") / config.stem, as_json=as_json, quiet=quiet)


def _run(config: "RunConfig", out: Path, *, as_json: bool, quiet: bool) -> None:
    from evener.parts import Parts
    from evener.progress import watching
    from evener.report.text import render
    from evener.team import Team

    with watching(quiet=quiet) as progress:

        async def whole() -> "Summary":
            end_on_sigterm()
            async with Team.open(config, out, parts=Parts(progress=progress)) as team:
                if team.folder.resumed:
                    progress.say(f"going on with {out}")
                return await team.run()

        summary = asyncio.run(whole())
    emit(summary, render(summary), as_json=as_json)


def _study(
    planned: "Callable[[int], RunConfig]",
    out: Path,
    *,
    seeds: "Sequence[int]",
    arms: "Sequence[str]",
    command: str,
    as_json: bool,
    quiet: bool,
) -> None:
    from evener.parts import Parts
    from evener.progress import watching
    from evener.report.text import render_pooled
    from evener.study import study

    with watching(quiet=quiet) as progress:

        async def whole() -> "PooledSummary":
            end_on_sigterm()
            return await study(
                planned,
                out,
                seeds=seeds,
                arms=arms,
                command=command,
                parts=lambda: Parts(progress=progress),
            )

        pooled = asyncio.run(whole())
    typer.echo(f"wrote {out / 'results.md'}", err=True)
    emit(pooled, render_pooled(pooled), as_json=as_json)


def end_on_sigterm() -> None:
    """SIGTERM cancels the work, so that the run's session ends as it should."""
    main = asyncio.current_task()
    assert main is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
