"""The student's model for one episode, with every response reviewed before it is executed.

The reviewer's request is built here, of what its type names and nothing else: no system text, no
worked example, no skill, no memory, no answer, no score, no sandbox. What was replaced, and why,
stays behind: the episode sees one response, and whose it is.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness
from evener.protocols.message import Message, Origin
from evener.protocols.model import ModelRef, Reply, Request, StopReason
from evener.protocols.port import Model
from evener.protocols.wire import Review, ReviewRequest

MOST_REPLACEMENTS = 5
VISIBLE: frozenset[Origin] = frozenset({"observation", "hook", "student", "reviewer"})

Ask: TypeAlias = Callable[[ReviewRequest], Awaitable[Review]]
"""Who reviews: a request to the harnessing agent, on the bus."""


class Reviewed:
    """Answers as `model` does, or with what a reviewer put in its place: at most
    `MOST_REPLACEMENTS` times, after which every candidate passes unseen.

    `review` names the reviewer, `prompt` is the task's own text and `episode` its id, for the
    record. Cost is the student's; what the reviewer costs is in its own record.
    """

    def __init__(self, model: Model, ask: Ask, *, review: str, prompt: str, episode: str) -> None:
        self._model = model
        self._ask = ask
        self._review = review
        self._prompt = prompt
        self._episode = episode
        self._turn = 0
        self._replaced = 0

    @property
    def ref(self) -> ModelRef:
        """The student's weights."""
        return self._model.ref

    async def complete(self, request: Request) -> Reply:
        """The student's reply, or one with the replacement's text and `reviewer` as its author."""
        turn, self._turn = self._turn, self._turn + 1
        reply = await self._model.complete(request)
        if self._replaced >= MOST_REPLACEMENTS:
            return reply
        review = await self._ask(
            ReviewRequest(
                review=self._review,
                prompt=self._prompt,
                visible=visible(request.messages),
                candidate=reply.text,
                turn=turn,
                mean_logprob=reply.mean_logprob,
                replaced=self._replaced,
                episode=self._episode,
            )
        )
        if review.decision == "PASS" or not review.replacement:
            return reply
        self._replaced += 1
        return Reply(
            text=review.replacement,
            author="reviewer",
            stop_reason=StopReason.END,
            usage=reply.usage,
            model=reply.model,
        )

    async def close(self) -> None:
        """Close the student's model."""
        await self._model.close()


def visible(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What of the messages shown to a student a reviewer sees: roles and texts of the episode's
    own, in order. Token ids stay behind."""
    return tuple(
        Message(
            role=message.role,
            content=message.content,
            origin=message.origin,
            sampled=message.sampled,
        )
        for message in messages
        if message.origin in VISIBLE
    )


def check_reviewable(harness: Harness) -> None:
    """Raises HarnessError for a harness whose responses cannot be reviewed: native calls are no
    text, and of the ballots of a vote none is the episode."""
    where = f"harness {harness.name}, middleware"
    if harness.middleware.protocol.format == "native":
        raise HarnessError(
            "responses of the native protocol cannot be reviewed: their calls are no text",
            where=f"{where}.protocol.format",
            remedy="review under a harness whose protocol is json or hermes",
        )
    if harness.middleware.loop.votes > 1:
        raise HarnessError(
            "the ballots of a vote cannot be reviewed: they are one episode",
            where=f"{where}.loop.votes",
            remedy="review under a harness that answers once",
        )
