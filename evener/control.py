"""The null control that costs no rollouts, on the verdicts that a run has stored."""

from collections.abc import Iterable

from evener.agents.gates.null import can_flip, null_control
from evener.agents.record.log import latest
from evener.agents.record.run import RunFolder
from evener.choose import choose_gate
from evener.config import of_run
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.error import RunError
from evener.protocols.port import Store
from evener.protocols.summary import Control
from evener.protocols.verdict import Verdict
from evener.searched import check_searched


class SignFlips(Wire):
    """The control and what it stands on: the run's gate, and how many of its `trials` had pairs
    enough on both sides (`used`) to be flipped."""

    gate: str
    gate_digest: str
    trials: int
    used: int
    control: Control


def stored_verdicts(entries: Iterable[JsonObject], store: Store) -> tuple[Verdict, ...]:
    """Every verdict once, from the log's `verdict` entries."""
    last = latest(entries, "round", "iteration", "patch")
    return tuple(store.get(Verdict, str(entry["verdict"])) for entry in last)


def sign_flips(folder: RunFolder, *, flips: int = 1000, seed: int = 0) -> SignFlips:
    """Ask the run's own gate about its stored pairs with before and after swapped at random.

    Raises RunError where the run had another gate than its configuration makes here, or no trial
    with pairs enough.
    """
    check_searched(folder)
    gate = choose_gate(of_run(folder))
    recorded = folder.manifest.digests.get("gate", "")
    if gate.digest != recorded:
        raise RunError(
            f"its gate is {recorded[:12] or 'not recorded'}, and this evener makes "
            f"{gate.digest[:12]} of its configuration",
            where=str(folder.path),
            remedy="ask the evener that made the run",
        )
    verdicts = stored_verdicts(folder.record.bodies("verdict"), folder.record)
    used = [verdict for verdict in verdicts if can_flip(gate, verdict)]
    if not used:
        raise RunError(
            f"none of its {len(verdicts)} trials has pairs enough on both sides to flip",
            where=str(folder.path),
            remedy="let it go on, or raise plan.trials.rollouts in another run",
        )
    return SignFlips(
        gate=gate.name,
        gate_digest=gate.digest,
        trials=len(verdicts),
        used=len(used),
        control=null_control(gate, used, flips=flips, seed=seed),
    )
