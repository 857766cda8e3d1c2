"""Several proposals as one patch, and the halves that are tried when the whole is turned down."""

from collections.abc import Callable, Sequence

from evener.protocols.attribution import Proposal
from evener.protocols.digest import Wire
from evener.protocols.error import PatchError
from evener.protocols.patch import Patch, merge

Fits = Callable[[Patch], bool]


class Bundle(Wire):
    """`proposal` is what goes to the gate: all `parts` together."""

    parts: tuple[Proposal, ...]
    proposal: Proposal

    def halves(self) -> tuple["Bundle", ...]:
        """The better half of the parts and the rest; nothing where there is one part."""
        if len(self.parts) < 2:
            return ()
        middle = (len(self.parts) + 1) // 2
        return tuple(
            joined(self.parts[cut], name=f"{self.proposal.name}-{half}")
            for half, cut in (("a", slice(middle)), ("b", slice(middle, None)))
        )


def bundle(offers: Sequence[Proposal], *, name: str, fits: Fits) -> Bundle | None:
    """All compatible proposals in one, best first: one that clashes with a better one, or with
    which the whole would be more than `fits`, is left out. None where nothing is left."""
    taken: list[Proposal] = []
    for offer in offers:
        try:
            whole = merge([p.patch for p in [*taken, offer]])
        except PatchError:
            continue
        if fits(whole):
            taken.append(offer)
    return joined(taken, name=name) if taken else None


def joined(parts: Sequence[Proposal], *, name: str) -> Bundle:
    """Compatible parts in one; a single part stays what it is."""
    if len(parts) == 1:
        return Bundle(parts=tuple(parts), proposal=parts[0])
    return Bundle(
        parts=tuple(parts),
        proposal=Proposal(
            name=name,
            author=parts[0].author,
            patch=merge([p.patch for p in parts]),
            signatures=_all_of([p.signatures for p in parts]),
            attributions=tuple(dict.fromkeys(a for p in parts for a in p.attributions)),
            rank=max(p.rank for p in parts),
            reason="; ".join(p.name for p in parts),
        ),
    )


def _all_of(signatures: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The failures that the parts are aimed at; none, which is all, where one part names none."""
    if not all(signatures):
        return ()
    return tuple(dict.fromkeys(s for found in signatures for s in found))
