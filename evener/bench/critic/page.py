"""A critic's accuracy as text: who judged, the figures, and a line for every plant."""

from collections.abc import Iterator

from evener.bench.critic.accuracy import AGENT, CriticAccuracy, Figure, PlantLine
from evener.report.figure import share, shares
from evener.report.table import Table, plain

JUDGES = {
    "rule": "rules judge: deterministic detectors, no model is asked",
    "model": "a model judges",
    "control": "a control, which blames nothing",
}
MENDED_BY = (
    "The rules were mended by this set, so that its figures flatter them: "
    "`--plants fourth` is the check."
)
SETS_MENDED_BY = ("first", "second", "third")


def render(found: CriticAccuracy) -> str:
    """The dimensions, the figures over all plants, and the plants."""
    faulty = sum(p.planted != AGENT for p in found.plants)
    note = MENDED_BY if found.judge == "rule" and found.plants_from in SETS_MENDED_BY else ""
    head = (
        f"critic {found.critic}: {JUDGES[found.judge]}. {faulty} planted faults, "
        f"{len(found.plants) - faulty} agent errors, {found.failures} failures, seed {found.seed}; "
        f"set: {found.plants_from}."
    )
    parts = Table(
        "by dimension",
        ("dimension", "planted", "blamed", "precision", "95 %", "recall", "95 %"),
        [
            (one.dimension, one.planted, one.blamed, *_cells(one.precision), *_cells(one.recall))
            for one in found.dimensions
        ],
        "one plant is one observation, blamed on what most of its failures are blamed on",
    )  # fmt: skip
    plants = Table("plants", ("", "planted", "blamed", "plant", "what"), list(_plants(found)))
    head = f"{head}\n{note}" if note else head
    return "\n\n".join([head, plain(parts), "\n".join(_figures(found)), plain(plants)])


def _figures(found: CriticAccuracy) -> Iterator[str]:
    yield f"macro recall {_text(found.macro_recall)}"
    yield f"false blame of agent errors {_text(found.false_blame)}"
    kappa = found.kappa
    if kappa.value is not None:
        yield (
            f"Cohen's κ {kappa.value:.2f} (95 % {kappa.low:.2f} to {kappa.high:.2f}, n {kappa.n}), "
            "over five dimensions and the agent"
        )
    yield f"rightly blamed faults with a change suggested at the place {_text(found.placed)}"
    yield (
        f"over single failures: recall {_text(found.failure_recall)}, false blame "
        f"{_text(found.failure_false_blame)} (bootstrap over plants)"
    )


def _plants(found: CriticAccuracy) -> Iterator[tuple[str, ...]]:
    for plant in found.plants:
        yield (
            "right" if plant.right else "wrong",
            plant.planted,
            _blamed(plant),
            plant.name,
            plant.fault,
        )


def _blamed(plant: PlantLine) -> str:
    """The verdict, with the votes where they differ."""
    if len(plant.votes) < 2:
        return plant.blamed
    votes = ", ".join(f"{name} {count}" for name, count in plant.votes.items())
    return f"{plant.blamed} ({votes})"


def _cells(figure: Figure) -> tuple[str, str]:
    if figure.value is None:
        return "–", "–"
    return share(figure.value), shares(figure.low, figure.high)


def _text(figure: Figure) -> str:
    if figure.value is None:
        return "–"
    return f"{share(figure.value)} (95 % {shares(figure.low, figure.high)}, n {figure.n})"
