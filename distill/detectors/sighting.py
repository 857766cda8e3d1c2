"""What a detector says of an episode, kept apart from the episode: all that recovery is made of."""

from collections.abc import Iterable
from typing import NamedTuple

from evener.protocols.port import Detector
from evener.protocols.trajectory import Outcome, Trajectory


class Sighting(NamedTuple):
    """One episode of a task: whether it offered the occasion, and whether it showed the pattern."""

    task: str
    shows: bool
    applies: bool = True


def sightings(detector: Detector, trajectories: Iterable[Trajectory]) -> tuple[Sighting, ...]:
    """One for every episode but those of infra, which say nothing about a student."""
    return tuple(
        Sighting(found.task.id, detector.shows(found), detector.applies(found))
        for found in trajectories
        if found.outcome is not Outcome.INFRA
    )
