"""`model`: any model reads a failed episode with its harness and blames one part, in JSON.

An answer that is no valid blame is asked for again, with what is wrong; after `ATTEMPTS` the critic
abstains. What it blames goes under the signature that the detectors have for that cause in that
episode, so that failures can be counted and a trial aimed; where they have none, the signature
says only what was said, and a patch is aimed at everything.
"""

from collections.abc import Iterator, Sequence

from evener.agents.critics.admission import admit
from evener.agents.critics.aggregate import proposals
from evener.agents.critics.brief import ANSWER, shown, told
from evener.agents.critics.catalogue import Ground, Repair, repairs
from evener.agents.critics.catalogue.repair import Gram, slug
from evener.agents.critics.reading import Blame, Refused, read_blame
from evener.agents.pattern import Background, signatures
from evener.agents.pattern.finding import checked, head, signature
from evener.agents.pattern.lexical import grams
from evener.protocols.attribution import (
    DIMENSION,
    Attribution,
    Evidence,
    Proposal,
    RootCause,
    Severity,
)
from evener.protocols.error import ContextExceeded
from evener.protocols.harness import Harness
from evener.protocols.message import Message
from evener.protocols.model import Reply, Request, Sampling
from evener.protocols.patch import FieldEdit
from evener.protocols.path import parse
from evener.protocols.port import Model
from evener.protocols.trajectory import Trajectory

ATTEMPTS = 3
AGAIN = 0.7
"""The temperature of an answer that is asked for again."""
SAID, ABSTAINED = "said", "abstained"
PRIOR = 0.9
"""Of a change that a model suggests, as of one that an event suggests."""


class ModelCritic:
    """A `Critic` that asks a model about every failure. An answer has at most `max_tokens`."""

    def __init__(self, model: Model, background: Background, *, max_tokens: int = 1_024) -> None:
        self._model = model
        self._background = background
        self._max_tokens = max_tokens
        self._private: set[Gram] = set()

    @property
    def name(self) -> str:
        """`model`, and which."""
        return f"model {self._model.ref}"

    async def attribute(self, failure: Trajectory, harness: Harness) -> Attribution:
        """What the model blames; `agent_error` with the signature `abstained:…` where it says
        nothing valid. Raises EvenerError for the episodes that the rule critic refuses too,
        InfraError where the model cannot be had."""
        admit(failure, harness)
        found = grams(failure.task.prompt)
        self._private |= {gram for gram in found if not self._background.common(gram)}
        try:
            blame = await self._blame(failure, harness)
        except Refused as refused:
            return self._abstained(failure, refused.fault)
        return Attribution(
            trajectory=failure.digest(),
            author=self.name,
            root_cause=blame.root_cause,
            harness_dim=DIMENSION[blame.root_cause],
            severity=blame.severity,
            signature=self._signature(blame, failure, harness),
            evidence=blame.evidence,
            diff_suggestion=blame.edit,
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
        """Patches against `harness`, best first: what the model suggested, each change by itself,
        and what the catalogue of repairs knows against the same patterns."""
        found = proposals(
            attributions,
            Ground(harness, self._background, frozenset(self._private)),
            author=self.name,
            refused=refused,
            limit=limit,
            seed=seed,
            repairs=suggested_first,
        )
        return tuple(_aimed(proposal) for proposal in found)

    async def _blame(self, failure: Trajectory, harness: Harness) -> Blame:
        messages = [told(), shown(failure, harness)]
        refused = Refused("", "")
        for attempt in range(ATTEMPTS):
            try:
                reply = await self._model.complete(self._request(messages, attempt))
            except ContextExceeded:
                raise Refused("context_exceeded", "the episode is too long") from None
            try:
                return read_blame(reply, failure, harness, self._background)
            except Refused as error:
                refused = error
                messages += _again(reply, str(error))
        raise refused

    def _request(self, messages: Sequence[Message], attempt: int) -> Request:
        return Request(
            messages=tuple(messages),
            sampling=Sampling(
                temperature=AGAIN if attempt else 0.0, max_tokens=self._max_tokens, seed=attempt
            ),
            answer=ANSWER,
        )

    def _signature(self, blame: Blame, failure: Trajectory, harness: Harness) -> str:
        for finding in signatures(failure, harness=harness, background=self._background):
            if finding.root_cause is blame.root_cause:
                return finding.signature
        if blame.edit is None:
            return signature(SAID, blame.root_cause)
        return signature(SAID, blame.root_cause, str(parse(blame.edit.field_path)[0]))

    def _abstained(self, failure: Trajectory, fault: str) -> Attribution:
        digest, last = failure.digest(), len(failure.events) - 1
        return Attribution(
            trajectory=digest,
            author=self.name,
            root_cause=RootCause.AGENT_ERROR,
            harness_dim=None,
            severity=Severity.MINOR,
            signature=signature(ABSTAINED, fault),
            evidence=Evidence(
                trajectory=digest, event=last, quote=checked(failure.events[last], "")
            ),
        )


def suggested_first(
    pattern: str, suggestions: Sequence[FieldEdit], ground: Ground
) -> Iterator[Repair]:
    """Every different change that was suggested for one pattern, then the catalogue's repairs;
    all of them rivals."""
    known = list(repairs(pattern, (), ground))
    group = known[0].group if known else pattern
    for edit in {edit.digest(): edit for edit in suggestions}.values():
        name = slug("as suggested", edit.field_path)
        yield Repair(name, group, (edit,), PRIOR, f"suggested for {pattern}")
    yield from known


def _again(reply: Reply, wrong: str) -> tuple[Message, Message]:
    """The answer that was no blame, and what is wrong with it."""
    return (
        Message(role="assistant", content=reply.text or "(nothing)"),
        Message(role="user", content=f"Not valid: {wrong}. Answer again."),
    )


def _aimed(proposal: Proposal) -> Proposal:
    """Aimed at everything where a pattern behind it can be found in no other episode."""
    if all(head(one) != SAID for one in proposal.signatures):
        return proposal
    return proposal.model_copy(update={"signatures": ()})
