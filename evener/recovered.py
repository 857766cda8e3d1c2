"""Recovery of a distillation, from its replicates as the log has them."""

from evener.agents.distiller import CONTROL
from evener.agents.record.log import latest
from evener.agents.record.run import RunFolder
from evener.config import of_run
from evener.distill.detectors import detectors_of, frozen
from evener.distill.recovery.rate import recovery
from evener.distill.recovery.sighted import watch
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness
from evener.protocols.port import Environment
from evener.protocols.trajectory import Trajectory


def note_recovery(folder: RunFolder, optimized: Harness, environment: Environment) -> None:
    """Log a `recovery` entry where both replicates are there; the same one is not logged again. The
    detectors are those that were frozen when the run was begun, or it would not be open."""
    record = folder.record
    found = {
        (str(body["replicate"]), str(body["arm"])): body
        for body in latest(record.bodies("replicate"), "replicate", "arm")
    }
    if ("B", "trained+target") not in found:
        return
    detectors = detectors_of(optimized, environment)

    def episodes(replicate: str, arm: str) -> list[Trajectory]:
        names = found[replicate, arm]["episodes"]
        assert isinstance(names, list)
        return [record.get(Trajectory, str(name)) for name in names]

    alone = f"{CONTROL}+target"
    control = episodes("B", alone) if ("B", alone) in found else None
    seen = watch(
        detectors,
        chosen_base=episodes("A", "base+target"),
        chosen_optimized=episodes("A", "base+optimized"),
        base=episodes("B", "base+target"),
        optimized=episodes("B", "base+optimized"),
        distilled=episodes("B", "trained+target"),
        control=control,
    )
    lines, means = recovery(seen, seed=of_run(folder).plan.seed, detectors=frozen(detectors))
    body: JsonObject = {
        "lines": [line.document() for line in lines],
        "means": means.document(),
    }
    if list(record.bodies("recovery"))[-1:] != [body]:
        record.append("recovery", body)
