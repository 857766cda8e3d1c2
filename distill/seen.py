"""What detectors say of the episodes of all arms: of replicate A, which chooses the tasks, and of
replicate B, on fresh seeds, which is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from evener.distill.detectors.sighting import Sighting, sightings
from evener.protocols.port import Detector
from evener.protocols.trajectory import Trajectory


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One pattern in the episodes of all arms. `chosen_*` are replicate A, one episode a task; the
    others replicate B, on fresh seeds, `control` where there is one."""

    pattern: str
    part: str = ""
    conditional: bool = False
    chosen_base: Sequence[Sighting]
    chosen_optimised: Sequence[Sighting]
    base: Sequence[Sighting]
    optimised: Sequence[Sighting]
    distilled: Sequence[Sighting]
    control: Sequence[Sighting] | None = None


def watch(
    detectors: Sequence[Detector],
    *,
    chosen_base: Sequence[Trajectory],
    chosen_optimised: Sequence[Trajectory],
    base: Sequence[Trajectory],
    optimised: Sequence[Trajectory],
    distilled: Sequence[Trajectory],
    control: Sequence[Trajectory] | None = None,
) -> tuple[Seen, ...]:
    """What every detector says of the episodes of all arms, in the order of the detectors."""
    return tuple(
        Seen(
            pattern=one.name,
            part=one.part,
            conditional=one.conditional,
            chosen_base=sightings(one, chosen_base),
            chosen_optimised=sightings(one, chosen_optimised),
            base=sightings(one, base),
            optimised=sightings(one, optimised),
            distilled=sightings(one, distilled),
            control=None if control is None else sightings(one, control),
        )
        for one in detectors
    )
