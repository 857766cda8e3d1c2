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
    gain: Annotated[float, typer.Option(help="True gain on held_in, 0.2 is 20 points.")] = 0.0,
    loss: Annotated[float, typer.Option(help="True loss on held_out.")] = 0.0,
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
