"""`evener gate`: how often a gate errs, what a gain costs to see, what it does on a run's pairs."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit

if TYPE_CHECKING:
    from evener.agents.gates.paired import PairedGate
    from evener.agents.gates.paper import PaperGate
    from evener.agents.gates.regime import Regime

group = typer.Typer(name="gate", help="What the gates' rulings are worth.", no_args_is_help=True)
app.add_typer(group)

POOL = 60  # tasks of each side of a finite regime where no number is given
GateName = Literal["paired", "paper"]
Schedule = Literal["default", "small"]
Kind = Literal["improve", "simplify", "model", "confirm"]
RegimeName = Literal["independent", "deterministic", "correlated", "finite"]
Pair = tuple[float, float]

WhichGate = Annotated[GateName, typer.Option("--gate", help="Which gate.")]
WhichSchedule = Annotated[Schedule, typer.Option("--schedule", help="The paired gate's looks.")]
WhichKind = Annotated[Kind, typer.Option("--kind", help="What the trial is for.")]
Rounds = Annotated[
    int | None,
    typer.Option(
        "--rounds", min=1, help="Rounds that `confirm` shares its error over: a run's plan.rounds."
    ),
]
Loss = Annotated[
    float,
    typer.Option("--loss", min=-1.0, max=1.0, help="True loss on held_out, 0.1 is 10 points."),
]
Limit = Annotated[
    int | None, typer.Option("--rollout-limit", min=2, help="Most rollouts of a trial.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed.")]
HeldIn = Annotated[Pair, typer.Option("--held-in", help="Beta of the pass probabilities held in.")]
HeldOut = Annotated[Pair, typer.Option("--held-out", help="The same held out.")]
Shown = Annotated[
    float, typer.Option("--shown", help="Share of held-in tasks that show the failure.")
]
Saved = Annotated[float, typer.Option("--saved", help="Share of the tokens that the change saves.")]
Which = Annotated[
    RegimeName | None, typer.Option("--regime", help="How outcomes come about.", show_default=False)
]
Correlation = Annotated[
    float | None, typer.Option("--correlation", help="Of the two arms (regime correlated).")
]
Redrawn = Annotated[
    float | None,
    typer.Option(
        "--redrawn", help="Share of tasks changed to no net effect (deterministic, finite)."
    ),
]
Repeats = Annotated[
    int | None, typer.Option("--repeats", help="How often tasks come again (regime finite).")
]
TasksIn = Annotated[
    int | None, typer.Option("--tasks-in", help="Held-in tasks there are; else endless.")
]
TasksOut = Annotated[
    int | None, typer.Option("--tasks-out", help="Held-out tasks there are; else endless.")
]


@group.command()
def simulate(
    *,
    gate: WhichGate = "paired",
    schedule: WhichSchedule = "default",
    kind: WhichKind = "improve",
    rounds: Rounds = None,
    gain: Annotated[
        float, typer.Option(min=-1.0, max=1.0, help="True gain on held_in, 0.2 is 20 points.")
    ] = 0.0,
    loss: Loss = 0.0,
    regime: Which = None,
    held_in: HeldIn = (2.0, 4.0),
    held_out: HeldOut = (8.0, 2.0),
    shown: Shown = 1.0,
    saved: Saved = 0.0,
    correlation: Correlation = None,
    redrawn: Redrawn = None,
    repeats: Repeats = None,
    tasks_in: TasksIn = None,
    tasks_out: TasksOut = None,
    rollout_limit: Limit = None,
    replicates: Annotated[int, typer.Option(min=1, help="Simulated trials.")] = 20000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate trials of a change with a known effect by the gate's own code."""
    from evener.agents.gates.simulate import simulate as run
    from evener.report.ruling import rates_text

    rates = run(
        _gate(gate, schedule, rounds),
        gain=gain,
        loss=loss,
        replicates=replicates,
        seed=seed,
        regime=_regime(
            regime or "independent",
            held_in=held_in,
            held_out=held_out,
            shown=shown,
            saved=saved,
            correlation=correlation,
            redrawn=redrawn,
            repeats=repeats,
            tasks_in=tasks_in,
            tasks_out=tasks_out,
        ),
        kind=kind,
        rollout_limit=rollout_limit,
    )
    emit(rates, rates_text(rates), as_json=as_json)


@group.command()
def plan(
    *,
    gate: WhichGate = "paired",
    schedule: WhichSchedule = "default",
    kind: WhichKind = "improve",
    rounds: Rounds = None,
    power: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="How often a gain must be accepted.")
    ] = 0.75,
    gain: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Say what this gain needs; else the smallest seen."),
    ] = None,
    loss: Loss = 0.0,
    tasks_in: TasksIn = None,
    tasks_out: TasksOut = None,
    regime: Which = None,
    held_in: HeldIn = (2.0, 4.0),
    held_out: HeldOut = (8.0, 2.0),
    shown: Shown = 1.0,
    saved: Saved = 0.0,
    correlation: Correlation = None,
    redrawn: Redrawn = None,
    repeats: Repeats = None,
    rollout_limit: Limit = None,
    cpu_per_rollout: Annotated[
        float | None, typer.Option(min=0.0, help="CPU-seconds of an episode, to state costs.")
    ] = None,
    tokens_per_rollout: Annotated[
        float | None, typer.Option(min=0.0, help="Tokens of an episode, to state costs.")
    ] = None,
    replicates: Annotated[int, typer.Option(min=1, help="Simulated trials a gain.")] = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say which gain so many tasks can show, what a gain needs, and what it costs.

    With a number of tasks they are repeated as a trial repeats them (regime `finite`), unless
    another regime is named.
    """
    from evener.agents.gates.plan import plan as run
    from evener.report.ruling import plan_text

    endless = tasks_in is None and tasks_out is None
    found = run(
        _gate(gate, schedule, rounds),
        gain=gain,
        power=power,
        loss=loss,
        replicates=replicates,
        seed=seed,
        regime=_regime(
            regime or ("independent" if endless else "finite"),
            held_in=held_in,
            held_out=held_out,
            shown=shown,
            saved=saved,
            correlation=correlation,
            redrawn=redrawn,
            repeats=repeats,
            tasks_in=tasks_in,
            tasks_out=tasks_out,
        ),
        kind=kind,
        rollout_limit=rollout_limit,
        cpu_per_rollout=cpu_per_rollout,
        tokens_per_rollout=tokens_per_rollout,
    )
    emit(found, plan_text(found), as_json=as_json)


@group.command()
def null(
    run: RunPath,
    *,
    flips: Annotated[int, typer.Option(min=1, help="Random flips, over all trials.")] = 1000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Ask a run's gate about its own stored pairs with before and after swapped at random.

    No rollout is made. The rate is how often the gate accepts where nothing is to be found.
    """
    from evener.agents.record.run import RunFolder
    from evener.control import sign_flips
    from evener.report.ruling import flips_text

    with RunFolder.read(run) as folder:
        found = sign_flips(folder, flips=flips, seed=seed)
    emit(found, flips_text(found), as_json=as_json)


def _gate(name: GateName, schedule: Schedule, rounds: int | None) -> "PairedGate | PaperGate":
    """As a run of that configuration has it, so that the digests can be compared."""
    from evener.agents.plan import Plan
    from evener.choose import choose_gate
    from evener.config import GateConfig, RunConfig

    plan = Plan() if rounds is None else Plan(rounds=rounds)
    return choose_gate(RunConfig(gate=GateConfig(kind=name, schedule=schedule), plan=plan))


def _regime(name: RegimeName, **options: float | Pair | None) -> "Regime":
    """The regime with the options that were given; ConfigError for one that it has not."""
    from pydantic import ValidationError

    from evener.agents.gates.regime import REGIMES
    from evener.protocols.error import ConfigError

    regime = REGIMES[name]
    given = {key: value for key, value in options.items() if value is not None}
    if name == "finite" and not {"tasks_in", "tasks_out"} & given.keys():
        given |= {"tasks_in": POOL, "tasks_out": POOL}
    for key in given:
        if key not in regime.model_fields:
            raise ConfigError(
                f"{_option(key)} means nothing for {name} tasks",
                where="the command line",
                remedy="leave it out, or name another --regime",
            )
    try:
        return regime.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"{_option(str(first['loc'][0]))}: {first['msg']}", where="the command line"
        ) from None


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"
