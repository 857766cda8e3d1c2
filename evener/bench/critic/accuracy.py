"""How often a critic blames the right part: figures over plants, each of them one observation.

The failures of one plant have one cause and count once: the plant is blamed on what most of its
failures are blamed on, and a tie is no answer. Precision, recall and false blame have Wilson
intervals, κ and the figures over single failures a bootstrap over plants.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from evener.protocols.attribution import Dimension
from evener.protocols.digest import Wire
from evener.protocols.interval import Interval, bootstrap, wilson

DIMENSIONS: tuple[Dimension, ...] = ("P", "T", "S", "Mid", "M")
AGENT, TIE = "agent", "tie"
Judge: TypeAlias = Literal["rule", "model", "control"]


class Figure(Wire):
    """A figure over `n` observations with its 95 % interval; None where there are none."""

    value: float | None
    low: float
    high: float
    n: int


class PlantLine(Wire):
    """One plant. `planted` and `blamed` are a dimension, `agent`, or `tie`; `votes` are those of
    its failures. `placed`: the share of the rightly blamed failures whose suggested edit lies at
    the fault, None where none was rightly blamed or the model is to blame."""

    name: str
    fault: str
    planted: str
    path: str = ""
    blamed: str
    right: bool
    votes: dict[str, int]
    signatures: dict[str, int]
    suggested: tuple[str, ...] = ()
    placed: float | None = None
    solved: int


class DimensionLine(Wire):
    """One part of the harness. `blamed` are the plants blamed on it, right or wrong."""

    dimension: str
    planted: int
    blamed: int
    precision: Figure
    recall: Figure


class CriticAccuracy(Wire):
    """What a critic is worth. `judge` says what judges: `rule`, `model`, or a `control`.
    `plants_from` is the set of plants.

    `macro_recall` is the share of the faulty plants that are rightly blamed, which is the mean of
    the dimensions' recalls where each has as many plants, as in all sets that ship;
    `false_blame` the share of agent errors that a part of the harness is blamed for;
    `kappa` Cohen's, over five dimensions and the agent. `failures` are the attributed episodes.
    """

    critic: str
    judge: Judge
    plants_from: str
    seed: int
    failures: int
    dimensions: tuple[DimensionLine, ...]
    macro_recall: Figure
    false_blame: Figure
    kappa: Figure
    placed: Figure
    failure_recall: Figure
    failure_false_blame: Figure
    plants: tuple[PlantLine, ...]


def accuracy(
    plants: Sequence[PlantLine],
    *,
    critic: str,
    judge: Judge,
    seed: int,
    plants_from: str = "own",
) -> CriticAccuracy:
    """The figures. The macro recall is a proportion of the faulty plants, and has its interval."""
    faulty = [p for p in plants if p.planted != AGENT]
    errors = [p for p in plants if p.planted == AGENT]
    found = [p for p in faulty if p.right]
    return CriticAccuracy(
        critic=critic,
        judge=judge,
        plants_from=plants_from,
        seed=seed,
        failures=sum(sum(p.votes.values()) for p in plants),
        dimensions=tuple(_line(d, plants) for d in DIMENSIONS),
        macro_recall=_share([p.right for p in faulty]),
        false_blame=_share([p.blamed != AGENT for p in errors]),
        kappa=_kappa(plants, seed=seed),
        placed=_share([(p.placed or 0.0) > 0.5 for p in found]),
        failure_recall=_pooled(faulty, _own, seed),
        failure_false_blame=_pooled(errors, lambda plant: 1 - _own(plant), seed),
        plants=tuple(plants),
    )


def verdict(votes: Counter[str]) -> str:
    """What most failures are blamed on; `tie` where two are ahead."""
    (first, most), *others = votes.most_common()
    return TIE if others and others[0][1] == most else first


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Cohen's κ (1960, Educ. Psychol. Meas. 20:37) of two raters over nominal classes; nan where
    chance alone agrees on everything."""
    n = len(pairs)
    agreed = sum(a == b for a, b in pairs) / n
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(left[c] * right[c] for c in left) / n**2
    return (agreed - chance) / (1 - chance) if chance < 1 else float("nan")


def _line(dimension: Dimension, plants: Sequence[PlantLine]) -> DimensionLine:
    planted = [p for p in plants if p.planted == dimension]
    blamed = [p for p in plants if p.blamed == dimension]
    return DimensionLine(
        dimension=dimension,
        planted=len(planted),
        blamed=len(blamed),
        precision=_share([p.right for p in blamed]),
        recall=_share([p.right for p in planted]),
    )


def _own(plant: PlantLine) -> float:
    return plant.votes.get(plant.planted, 0) / sum(plant.votes.values())


def _share(hits: Sequence[bool]) -> Figure:
    return _figure(wilson(sum(hits), len(hits)))


def _kappa(plants: Sequence[PlantLine], *, seed: int) -> Figure:
    """κ with a bootstrap over plants; where all are right there is nothing to vary, and the bound
    is the κ of Wilson's bound of the agreement."""
    pairs = [(p.planted, p.blamed) for p in plants]
    if any(planted != blamed for planted, blamed in pairs):
        return _figure(bootstrap(pairs, kappa, seed=seed))
    counts = Counter(planted for planted, _ in pairs)
    chance = sum(count**2 for count in counts.values()) / len(pairs) ** 2
    if chance == 1:
        return Figure(value=None, low=-1.0, high=1.0, n=len(pairs))
    low = (wilson(len(pairs), len(pairs)).low - chance) / (1 - chance)
    return Figure(value=1.0, low=low, high=1.0, n=len(pairs))


def _pooled(plants: Sequence[PlantLine], share: Callable[[PlantLine], float], seed: int) -> Figure:
    """The mean of a share of each plant's failures, with a bootstrap over plants, or Wilson's
    interval where all plants are alike at 0 or 1."""
    shares = [share(plant) for plant in plants]
    if not shares or set(shares) in ({0.0}, {1.0}):
        return _share([value == 1.0 for value in shares])
    return _figure(bootstrap(shares, lambda some: sum(some) / len(some), seed=seed))


def _figure(found: Interval) -> Figure:
    value = found.value if found.n else None
    return Figure(value=value, low=found.low, high=found.high, n=found.n)
