"""`evener gate`: how often a gate errs, and what a gain costs to see."""

from typing import Annotated, Literal

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, emit

group = typer.Typer(name="gate", help="What the gates' rulings are worth.", no_args_is_help=True)
app.add_typer(group)


@group.command()
def simulate(
    *,
    gate: Annotated[Literal["paired", "paper"], typer.Option(help="Which gate.")] = "paired",
    schedule: Annotated[
        Literal["default", "small"], typer.Option(help="The paired gate's looks.")
    ] = "default",
    gain: Annotated[
        float, typer.Option(min=-1.0, max=1.0, help="True gain on held_in, 0.2 is 20 points.")
    ] = 0.0,
    loss: Annotated[float, typer.Option(min=0.0, max=1.0, help="True loss on held_out.")] = 0.0,
    replicates: Annotated[int, typer.Option(min=1, help="Simulated trials.")] = 20000,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate trials of a patch with a known effect by the gate's own code."""
    from evener.agents.gates.simulate import simulate as run
    from evener.choose import choose_gate
    from evener.config import GateConfig, RunConfig

    rates = run(
        choose_gate(RunConfig(gate=GateConfig(kind=gate, schedule=schedule))),
        gain=gain,
        loss=loss,
        replicates=replicates,
        seed=seed,
    )
    text = "\n".join(f"{key}: {value}" for key, value in rates.document().items())
    emit(rates, text, as_json=as_json)


@group.command()
def plan(
    *,
    gate: Annotated[Literal["paired", "paper"], typer.Option(help="Which gate.")] = "paired",
    schedule: Annotated[
        Literal["default", "small"], typer.Option(help="The paired gate's looks.")
    ] = "default",
    power: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="How often a gain must be accepted.")
    ] = 0.75,
    replicates: Annotated[int, typer.Option(min=1, help="Simulated trials a gain.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say which gain a gate can see, with how many tasks, and what it costs."""
    from evener.agents.gates.plan import plan as run
    from evener.choose import choose_gate
    from evener.config import GateConfig, RunConfig
    from evener.report.table import table

    found = run(
        choose_gate(RunConfig(gate=GateConfig(kind=gate, schedule=schedule))),
        power=power,
        replicates=replicates,
        seed=seed,
    )
    rows = [
        (f"{r.gain * 100:+.0f}", f"{r.accept.rate:.2f}", f"{r.mean_rollouts:.0f}")
        for r in found.rows
    ]
    seen = (
        "none of these gains" if found.smallest is None else f"{found.smallest * 100:+.0f} points"
    )
    text = (
        f"{table(('true gain', 'accepted', 'mean rollouts'), rows)}\n"
        f"accepted with power {power:g}: {seen}, up to {found.tasks_in} held-in and "
        f"{found.tasks_out} held-out tasks"
    )
    emit(found, text, as_json=as_json)
