"""What detectors say of the episodes of all arms: of replicate A, which chooses the tasks, and of
replicate B, on fresh seeds, which is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from evener.distill.detectors.sighting import Sighting, sightings
from evener.protocols.port import Detector
from evener.protocols.trajectory import Trajectory


@dataclass(frozen=True, kw_only=True)
class Sighted:
    """One pattern in the episodes of all arms. `chosen_*` are replicate A, one episode a task; the
    others replicate B, on fresh seeds, `control` where there is one."""

    pattern: str
    part: str = ""
    conditional: bool = False
    chosen_base: Sequence[Sighting]
    chosen_optimized: Sequence[Sighting]
    base: Sequence[Sighting]
    optimized: Sequence[Sighting]
    distilled: Sequence[Sighting]
    control: Sequence[Sighting] | None = None


def watch(
    detectors: Sequence[Detector],
    *,
    chosen_base: Sequence[Trajectory],
    chosen_optimized: Sequence[Trajectory],
    base: Sequence[Trajectory],
    optimized: Sequence[Trajectory],
    distilled: Sequence[Trajectory],
    control: Sequence[Trajectory] | None = None,
) -> tuple[Sighted, ...]:
    """What every detector says of the episodes of all arms, in the order of the detectors."""
    return tuple(
        Sighted(
            pattern=one.name,
            part=one.part,
            conditional=one.conditional,
            chosen_base=sightings(one, chosen_base),
            chosen_optimized=sightings(one, chosen_optimized),
            base=sightings(one, base),
            optimized=sightings(one, optimized),
            distilled=sightings(one, distilled),
            control=None if control is None else sightings(one, control),
        )
        for one in detectors
    )
