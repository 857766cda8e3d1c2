"""The rule critic: blames by deterministic detectors and repairs from a catalogue.

It reads failed mining episodes alone, and keeps nothing of them but the n-grams of their prompts
(without those that the documentation's own examples share), so that no patch can repeat a task.
"""

from collections.abc import Sequence

from evener.agents.critics.admission import admit
from evener.agents.critics.aggregate import proposals
from evener.agents.critics.catalogue import Ground, repairs
from evener.agents.pattern import Background, Finding, signatures
from evener.agents.pattern.lexical import grams
from evener.protocols.attribution import (
    DIMENSION,
    Attribution,
    Dimension,
    Evidence,
    Proposal,
    RootCause,
)
from evener.protocols.harness import Harness
from evener.protocols.patch import FieldEdit
from evener.protocols.trajectory import Trajectory

SECTION: dict[Dimension | None, str] = {
    "P": "prompt",
    "T": "tools",
    "S": "skills",
    "Mid": "middleware",
    "M": "memory",
    None: "",
}


class RuleCritic:
    """A `Critic` that needs no model, only what the environment publishes."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._private: set[tuple[str, ...]] = set()
        self._first: dict[tuple[str, str], FieldEdit | None] = {}

    @property
    def name(self) -> str:
        """`rule`."""
        return "rule"

    async def attribute(self, failure: Trajectory, harness: Harness) -> Attribution:
        """The best explanation of one failed mining episode; `agent_error` where the harness has
        none. Raises EvenerError for any other episode, and for one of another harness."""
        admit(failure, harness)
        found = grams(failure.task.prompt)
        self._private |= {gram for gram in found if not self._background.common(gram)}
        finding = signatures(failure, harness=harness, background=self._background)[0]
        digest = failure.digest()
        return Attribution(
            trajectory=digest,
            author=self.name,
            root_cause=finding.root_cause,
            harness_dim=DIMENSION[finding.root_cause],
            severity=finding.severity,
            signature=finding.signature,
            evidence=Evidence(trajectory=digest, event=finding.event, quote=finding.quote),
            diff_suggestion=self._suggestion(finding, harness),
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
        """Patches against `harness`, best first (see `aggregate`)."""
        return proposals(
            attributions,
            self._ground(harness),
            author=self.name,
            refused=refused,
            limit=limit,
            seed=seed,
        )

    def _ground(self, harness: Harness) -> Ground:
        return Ground(harness, self._background, frozenset(self._private))

    def _suggestion(self, finding: Finding, harness: Harness) -> FieldEdit | None:
        """The event's own cure, or the first edit of the likeliest repair that is of the part to
        blame, or of any."""
        if finding.suggestion is not None or finding.root_cause is RootCause.AGENT_ERROR:
            return finding.suggestion
        # a suggestion says where to look; the guard against leaks is for proposals
        place = (harness.digest(), finding.signature)
        if place not in self._first:
            ground = Ground(harness, self._background)
            found = [e for r in repairs(finding.signature, (), ground) for e in r.edits[:1]]
            section = SECTION[DIMENSION[finding.root_cause]]
            own = (edit for edit in found if edit.field_path.startswith(section))
            self._first[place] = next(own, found[0] if found else None)
        return self._first[place]
