"""The record of one proposal in the registry: what was changed, why, and what its trial found."""

from evener.protocols.attribution import Attribution, Proposal
from evener.protocols.digest import Wire
from evener.protocols.model import ModelRef
from evener.protocols.verdict import Verdict


class Prediction(Wire):
    """Said before a trial, scored after it: the mining tasks (ids) that a patch should repair, and
    the solved ones that it touches and so may break."""

    fixes: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()


class DiffRecord(Wire):
    """Written for accepted and for turned-down patches alike. `parent` is the version the patch is
    against; `attributions` are the records behind it (a sample where there are many, `failures`
    counts them all); `fault` says why a patch could not be tried at all."""

    round: int
    iteration: int
    parent: str
    proposal: Proposal
    attributions: tuple[Attribution, ...] = ()
    failures: int = 0
    model: ModelRef
    verdict: Verdict | None = None
    fault: str = ""
    prediction: Prediction | None = None
