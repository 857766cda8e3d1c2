"""How well a critic blames: any `Critic` on the failures of plants whose cause is known.

The critic is given what it is given in a run, failed mining episodes and the harness they ran
under, and neither the fault, the sound harness nor the episodes that were solved.
"""

from collections import Counter
from collections.abc import Sequence

from evener.agents.rollouts import together
from evener.bench.critic.accuracy import AGENT, CriticAccuracy, Judge, PlantLine, accuracy, verdict
from evener.bench.critic.plants import SETS, Plant
from evener.protocols.attribution import Attribution
from evener.protocols.error import DataError
from evener.protocols.path import overlap
from evener.protocols.port import Critic, Progress
from evener.protocols.trajectory import Trajectory

EPISODES = 4


async def measure(
    critic: Critic,
    *,
    judge: Judge,
    seed: int = 0,
    episodes: int = EPISODES,
    plants: str | Sequence[Plant] = "first",
    progress: Progress | None = None,
) -> CriticAccuracy:
    """What a critic blames for at most `episodes` failures of each plant, and how often rightly.

    `judge` says what judges, `rule`, `model` or a `control`; `plants` is the name of a set, or
    plants; `seed` draws the tasks. Raises DataError where a plant shows no failure, so that
    nothing is measured on it.
    """
    chosen = SETS[plants] if isinstance(plants, str) else plants
    if progress is not None:
        progress.stage(f"asking {critic.name}", total=len(chosen))

    async def asked(plant: Plant) -> PlantLine:
        line = await _asked(critic, plant, seed=seed, episodes=episodes)
        if progress is not None:
            progress.advance()
        return line

    lines = await together(asked(plant) for plant in chosen)
    name = plants if isinstance(plants, str) else "own"
    return accuracy(lines, critic=critic.name, judge=judge, plants_from=name, seed=seed)


async def _asked(critic: Critic, plant: Plant, *, seed: int, episodes: int) -> PlantLine:
    made = await plant.episodes(seed=seed)
    failed = spread([t for t in made if not t.solved], episodes)
    if not failed:
        raise DataError(
            f"the plant {plant.name!r} fails none of its {len(made)} tasks",
            where=f"seed {seed}",
            remedy="Take another --seed",
        )
    blames = await together(critic.attribute(failure, plant.harness) for failure in failed)
    planted = plant.dimension or AGENT
    votes = Counter(blame.harness_dim or AGENT for blame in blames)
    blamed = verdict(votes)
    right = [blame for blame in blames if blame.harness_dim == plant.dimension]
    placed = [at_fault(plant, blame) for blame in right] if plant.dimension else []
    suggested = (b.diff_suggestion.field_path for b in blames if b.diff_suggestion is not None)
    return PlantLine(
        name=plant.name,
        fault=plant.fault,
        planted=planted,
        path=plant.path,
        blamed=blamed,
        right=blamed == planted,
        votes=dict(votes.most_common()),
        signatures=dict(Counter(blame.signature for blame in blames).most_common()),
        suggested=tuple(dict.fromkeys(suggested)),
        placed=sum(placed) / len(placed) if placed else None,
        solved=sum(t.solved for t in made),
    )


def at_fault(plant: Plant, blame: Attribution) -> bool:
    """Whether the edit that a blame suggests lies at, in or around a place that is at fault."""
    edit = blame.diff_suggestion
    return edit is not None and any(overlap(edit.field_path, path) for path in plant.acceptable)


def spread(failures: Sequence[Trajectory], count: int) -> list[Trajectory]:
    """At most `count` of the failures, at even distances."""
    if len(failures) <= count:
        return list(failures)
    return [failures[at * len(failures) // count] for at in range(count)]
