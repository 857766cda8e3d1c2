"""From many attributions to a ranked list of patches, each one aimed at named failure patterns.

A repair's rank is recurrence × severity × agreement on the field path × its prior. The likeliest
repair of every group comes first, then their rivals; each stands alone, for which of them are worth
putting together is known when they have run. Equal input gives equal output.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evener.agents.critics.catalogue import Ground, Repair, repairs, texts
from evener.agents.harness.check import check
from evener.protocols.attribution import Attribution, Proposal, RootCause, Severity
from evener.protocols.digest import digest
from evener.protocols.error import HarnessError, PatchError
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import overlap

Repairs = Callable[[str, Sequence[FieldEdit], Ground], Iterator[Repair]]
"""From a signature and what its attributions suggest to repairs."""

WEIGHT = {Severity.CRITICAL: 3.0, Severity.MAJOR: 2.0, Severity.MINOR: 1.0}


def edits_digest(patch: Patch) -> str:
    """Digest of a patch's edits without its base: the same change of another version is equal."""
    return digest([edit.document() for edit in patch.edits])


@dataclass
class _Offer:
    """A repair and the attributions that stand behind it, gathered over signatures."""

    repair: Repair
    patch: Patch
    behind: list[Attribution]

    @property
    def rank(self) -> float:
        """Recurrence × severity, halved where no attribution suggests a change at its paths."""
        mass = sum(WEIGHT[a.severity] for a in self.behind)
        agreeing = sum(_agrees(a.diff_suggestion, self.repair.edits) for a in self.behind)
        return mass * (1 + agreeing / len(self.behind)) / 2 * self.repair.prior

    def proposal(self, author: str) -> Proposal:
        """The patch on offer."""
        return Proposal(
            name=self.repair.name,
            author=author,
            patch=self.patch,
            signatures=tuple(dict.fromkeys(a.signature for a in self.behind)),
            attributions=tuple(a.digest() for a in self.behind),
            group=self.repair.group,
            rank=self.rank,
            reason=self.repair.reason,
        )


def proposals(
    attributions: Sequence[Attribution],
    ground: Ground,
    *,
    author: str,
    refused: frozenset[str] = frozenset(),
    limit: int = 8,
    seed: int = 0,
    repairs: Repairs = repairs,
) -> tuple[Proposal, ...]:
    """At most `limit` proposals, best first: applicable ones, none refused, none with a leak.

    `seed` decides between equal ranks alone. `repairs` answers a signature: the catalogue does.
    """
    offers = [
        offer
        for offer in _offers(attributions, ground, repairs)
        if edits_digest(offer.patch) not in refused and sound(offer.patch, ground)
    ]
    offers.sort(key=lambda o: (-o.rank, digest([seed, o.repair.name])))
    singles = distinct(offer.proposal(author) for offer in offers)
    front = _best_of_groups(singles)
    names = {p.name for p in front}
    return tuple([*front, *(p for p in singles if p.name not in names)][:limit])


def _offers(attributions: Sequence[Attribution], ground: Ground, repairs: Repairs) -> list[_Offer]:
    """One offer for each change, whichever signatures ask for it."""
    base = ground.harness.digest()
    found: dict[str, _Offer] = {}
    blamed = [a for a in attributions if a.root_cause is not RootCause.AGENT_ERROR]
    for signature in dict.fromkeys(a.signature for a in blamed):
        behind = [a for a in blamed if a.signature == signature]
        hints = [a.diff_suggestion for a in behind if a.diff_suggestion is not None]
        for repair in repairs(signature, hints, ground):
            patch = Patch(base=base, edits=repair.edits)
            offer = found.setdefault(edits_digest(patch), _Offer(repair, patch, []))
            offer.behind += [a for a in behind if a not in offer.behind]
    return list(found.values())


def sound(patch: Patch, ground: Ground) -> bool:
    """Whether the patch applies, gives a harness that can run, and repeats no mining prompt."""
    if any(ground.leaks(text) for text in texts(patch.edits)):
        return False
    try:
        check(patch.apply(ground.harness), ground.background.actions)
    except (PatchError, HarnessError):
        return False
    return True


def distinct(found: Iterator[Proposal]) -> list[Proposal]:
    """The proposals with names of their own: a later one of an equal name is numbered."""
    kept: list[Proposal] = []
    for proposal in found:
        same = sum(p.name == proposal.name or p.name.startswith(f"{proposal.name}-v") for p in kept)
        name = f"{proposal.name}-v{same + 1}" if same else proposal.name
        kept.append(proposal.model_copy(update={"name": name}))
    return kept


def _best_of_groups(ranked: Sequence[Proposal]) -> list[Proposal]:
    best: dict[str, Proposal] = {}
    for proposal in ranked:
        best.setdefault(proposal.group, proposal)
    return list(best.values())


def _agrees(suggestion: FieldEdit | None, edits: Sequence[FieldEdit]) -> bool:
    if suggestion is None:
        return False
    return any(
        suggestion.field_path == e.field_path or overlap(suggestion.field_path, e.field_path)
        for e in edits
    )
