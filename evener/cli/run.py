"""`evener demo` and `evener run`: the loop, with an estimate before and a verdict after."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, emit

if TYPE_CHECKING:
    from evener.config import RunConfig
    from evener.protocols.summary import Summary

Model = Annotated[
    str, typer.Option("--model", help="`embedded`, a model folder, or a hub id.", show_default=True)
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]


@app.command()
def demo(
    *,
    out: Annotated[Path, typer.Option("--out", help="The run folder.")] = Path("runs/demo"),
    model: Model = "embedded",
    seed: Annotated[int, typer.Option("--seed", min=0, help="The run's seed.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run one round on the embedded student: no key, no GPU, no hub. Resumes where it stopped."""
    from evener.demo import CPU_PER_EPISODE, CPU_PER_ROW, demo_config
    from evener.estimate import estimate

    config = demo_config(model=model, seed=seed)
    cost = estimate(
        config.plan,
        arms=len(config.harness.arms),
        per_episode=CPU_PER_EPISODE,
        per_row=CPU_PER_ROW,
    )
    typer.echo(cost.sentence(), err=True)
    _run(config, out, as_json=as_json, quiet=quiet)


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="A TOML configuration.", show_default=False)],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="key=value, dotted keys.", show_default=False)
    ] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and estimate only.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let a model and its harness improve each other as a TOML file says. Resumes."""
    from evener.config import load
    from evener.estimate import estimate

    settings = load(config, overrides or ())
    cost = estimate(settings.plan, arms=len(settings.harness.arms))
    if dry_run:
        from evener.team import rehearse

        asyncio.run(rehearse(settings))
        emit(cost, cost.sentence(), as_json=as_json)
        return
    typer.echo(cost.sentence(), err=True)
    _run(settings, out or Path("runs") / config.stem, as_json=as_json, quiet=quiet)


def _run(config: "RunConfig", out: Path, *, as_json: bool, quiet: bool) -> None:
    from evener.progress import watching
    from evener.report.text import render
    from evener.team import Parts, Team

    with watching(quiet=quiet) as progress:

        async def whole() -> "Summary":
            main = asyncio.current_task()
            assert main is not None
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
            async with Team.open(config, out, parts=Parts(progress=progress)) as team:
                if team.folder.resumed:
                    progress.say(f"going on with {out}")
                return await team.run()

        summary = asyncio.run(whole())
    emit(summary, render(summary), as_json=as_json)
