"""The HarnessingAgent as a peer: before a student's response is executed it says PASS or REPLACE.

Whatever a reviewer says is checked before it counts. What it cannot say properly in `ATTEMPTS`
tries is a PASS; no reviewer ends an episode. The private side of every review (the candidate that
was replaced, the reason, hints, faults, cost) is one entry `review` of the log and goes nowhere
else.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from evener.agents.bus import Peer, answers
from evener.agents.reviewers.opinion import Opinion, opinion
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError, ContextExceeded, EvenerError, InfraError
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Log, Reviewer
from evener.protocols.wire import Review, ReviewRequest

ATTEMPTS = 3


@runtime_checkable
class Informed(Protocol):
    """A reviewer that reads a K."""

    @property
    def knowledge(self) -> Knowledge:
        """What it reads."""
        ...


class HarnessingAgent(Peer):
    """Answers for all `reviewers`, each by its digest, in the action space of one target.

    A review takes at most `timeout_s` seconds, or counts as an attempt that failed. Raises
    ConfigError for a reviewer whose K is for another target.
    """

    def __init__(
        self,
        reviewers: Iterable[Reviewer],
        space: ActionSpace,
        log: Log,
        *,
        timeout_s: float = 300.0,
    ) -> None:
        super().__init__()
        reviewers = tuple(reviewers)
        for reviewer in reviewers:
            if isinstance(reviewer, Informed) and reviewer.knowledge.target != space.digest:
                raise ConfigError(
                    f"the reviewer {reviewer.name} reads {reviewer.knowledge.name!r}, which is for "
                    f"another target harness than {space.target.name}",
                    where="review",
                    remedy="adapt the harness for this target",
                )
        self._reviewers = {reviewer.digest: reviewer for reviewer in reviewers}
        self._space = space
        self._log = log
        self._timeout_s = timeout_s

    @answers
    async def review(self, message: ReviewRequest) -> Review:
        """The reviewer's word, if it is a valid one. Raises ConfigError for an unknown reviewer."""
        reviewer = self._reviewers.get(message.review)
        if reviewer is None:
            known = ", ".join(f"{r.name} ({d[:12]})" for d, r in self._reviewers.items())
            raise ConfigError(
                f"there is no reviewer {message.review[:12]!r}",
                where="review",
                remedy=f"reviewers here: {known or 'none'}",
            )
        began = time.monotonic()
        faults: list[str] = []
        requests: dict[str, int] = {}
        said = Opinion(decision="PASS")
        for attempt in range(ATTEMPTS):
            said = await self._ask(reviewer, message, attempt)
            requests |= said.requests
            fault = said.fault or self._fault(said)
            if not fault:
                break
            faults.append(fault)
        else:
            said = said.model_copy(update={"decision": "PASS", "replacement": None})
        given = _settled(said, message.candidate)
        self._record(reviewer, message, said, given, faults, requests, time.monotonic() - began)
        return given

    async def _ask(self, reviewer: Reviewer, message: ReviewRequest, attempt: int) -> Opinion:
        """One answer; a reviewer that fails or takes too long gives one with a fault."""
        # whose episode it is says nothing about a response
        request = message.model_copy(update={"episode": ""})
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                return opinion(await reviewer.review(request, attempt=attempt))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the episode is ended, not the review
            return _failed("failed: CancelledError")
        except TimeoutError as error:
            late = f"timeout: longer than {self._timeout_s:g} seconds"
            return _failed(late if limit.expired() else f"failed: TimeoutError: {error}")
        except InfraError as error:
            return _failed(f"infra: {error}")
        except ContextExceeded as error:
            return _failed(f"context_exceeded: {error}")
        except EvenerError:
            raise
        except Exception as error:  # noqa: BLE001 - a third party's code; recorded as an attempt
            return _failed(f"failed: {type(error).__name__}: {error}")

    def _fault(self, review: Review) -> str:
        """Why a review does not count; empty where it does."""
        if review.decision == "PASS":
            return "" if review.replacement is None else "pass_with_replacement"
        if review.replacement is None or not review.replacement.strip():
            return "empty_replacement"
        return self._space.fault(review.replacement)

    def _record(
        self,
        reviewer: Reviewer,
        message: ReviewRequest,
        said: Opinion,
        given: Review,
        faults: list[str],
        requests: Mapping[str, int],
        seconds: float,
    ) -> None:
        body: JsonObject = {
            "episode": message.episode,
            "turn": message.turn,
            "review": message.review,
            "reviewer": reviewer.name,
            "decision": given.decision,
            "asked": said.asked,
            "flag": said.flag,
            "reason": said.reason,
            "hints": list(said.hints),
            "hint_faults": list(said.hint_faults),
            "faults": [*faults],
            "attempts": min(len(faults) + 1, ATTEMPTS),
            "requests": {**requests},
            "seconds": seconds,
        }
        if given.decision == "REPLACE":
            body |= {"candidate": message.candidate, "replacement": given.replacement}
        self._log.append("review", body)


def _settled(said: Review, candidate: str) -> Review:
    """What the student's side is told: no reason, and a replacement only where it changes
    something."""
    text = (said.replacement or "").strip()
    if said.decision == "PASS" or text == candidate.strip():
        return Review(decision="PASS")
    return Review(decision="REPLACE", replacement=text)


def _failed(fault: str) -> Opinion:
    return Opinion(decision="PASS", fault=fault[:500])
