"""The random critic: the rule critic's catalogue without its attribution, as a control.

What it offers depends on the harness, on what the environment publishes, on what was refused and on
the seed. Nothing of a failure reaches it, so that what a search with it gains less than one with
the rule critic, at equal rollouts, is what attribution is worth.
"""

import random
from collections.abc import Sequence

from evener.agents.critics.admission import admit
from evener.agents.critics.aggregate import distinct, edits_digest, sound
from evener.agents.critics.catalogue import Ground, every, repairs
from evener.agents.pattern import Background
from evener.agents.pattern.finding import checked
from evener.protocols.attribution import Attribution, Evidence, Proposal, RootCause, Severity
from evener.protocols.harness import Harness
from evener.protocols.patch import Patch
from evener.protocols.trajectory import Trajectory

NAME = "random"


class RandomCritic:
    """A `Critic` that blames nothing and draws from all repairs alike."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._made: tuple[str, dict[str, Proposal]] = ("", {})

    @property
    def name(self) -> str:
        """`random`."""
        return NAME

    async def attribute(self, failure: Trajectory, harness: Harness) -> Attribution:
        """A record that abstains. Raises EvenerError for the episodes that the rule critic refuses
        too."""
        admit(failure, harness)
        digest = failure.digest()
        quote = checked(failure.events[0], "")
        return Attribution(
            trajectory=digest,
            author=NAME,
            root_cause=RootCause.AGENT_ERROR,
            harness_dim=None,
            severity=Severity.MINOR,
            signature=NAME,
            evidence=Evidence(trajectory=digest, event=0, quote=quote),
        )

    async def propose(
        self,
        attributions: Sequence[Attribution],
        harness: Harness,
        *,
        refused: frozenset[str] = frozenset(),
        limit: int = 8,
        seed: int = 0,
    ) -> tuple[Proposal, ...]:
        """At most `limit` repairs, drawn without repeats, each of those left as likely as another.
        `attributions` are not looked at."""
        del attributions
        known = self._universe(harness)
        left = [proposal for digest, proposal in known.items() if digest not in refused]
        drawn = random.Random(seed).sample(left, min(limit, len(left)))
        return tuple(distinct(iter(drawn)))

    def _universe(self, harness: Harness) -> dict[str, Proposal]:
        """The universe by the digests of its edits, made once for a harness."""
        digest = harness.digest()
        if self._made[0] != digest:
            found = universe(harness, self._background)
            self._made = (digest, {edits_digest(p.patch): p for p in found})
        return self._made[1]


def universe(harness: Harness, background: Background) -> tuple[Proposal, ...]:
    """Every different change that the catalogue can make to `harness` and that can run, in the
    order of the changes' digests: as many as there are, whichever patterns ask for them."""
    ground = Ground(harness, background)
    found: dict[str, Proposal] = {}
    for signature in every(ground):
        for repair in repairs(signature, (), ground):
            patch = Patch(base=harness.digest(), edits=repair.edits)
            digest = edits_digest(patch)
            if digest not in found and sound(patch, ground):
                found[digest] = Proposal(
                    name=repair.name, author=NAME, patch=patch, reason=repair.reason
                )
    return tuple(found[digest] for digest in sorted(found))
