"""An AgentChat agent as the student of an episode.

The harness has the prompt, the tools, the limits and the last word on every call; the agent has
its model and its own loop. The episode is the ordinary one, and so is its trajectory.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient

from evener.agents.agentchat.model import Arguments, openai_arguments
from evener.agents.agentchat.seat import Seat, SeatClient, SeatContext, SeatWorkbench
from evener.agents.agentchat.turn import Turns
from evener.agents.harness.loop import run_episode
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError, EvenerError, HarnessError, InfraError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.port import Environment
from evener.protocols.task import Purpose, Task
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest

Hiring: TypeAlias = Callable[[Seat], BaseChatAgent]
"""Makes the agent of one episode."""


def assistant(seat: Seat) -> AssistantAgent:
    """An `AssistantAgent` that goes on for as long as the harness lets it."""
    return AssistantAgent(
        "student",
        seat.client,
        workbench=seat.workbench,
        model_context=seat.context,
        system_message=None,
        max_tool_iterations=1000,
    )


class AgentModel:
    """The model of one episode: an agent that `hire` makes on `client`, which the caller closes.

    `name` says which weights answer, as for `ClientModel`. Each request is the next turn of the
    same agent; an agent whose own loop has ended is run again.
    """

    def __init__(
        self,
        client: ChatCompletionClient,
        hire: Hiring = assistant,
        *,
        name: str,
        arguments: Arguments = openai_arguments,
    ) -> None:
        self._ref = ModelRef(base=name, revision=digest(f"agentchat:agent:{name}"))
        self._turns = Turns()
        self.agent = hire(
            Seat(
                client=SeatClient(client, self._turns, ref=self._ref, arguments=arguments),
                context=SeatContext(self._turns),
                workbench=SeatWorkbench(self._turns),
            )
        )
        self._run: asyncio.Task[object] | None = None
        self._token = CancellationToken()
        self._closed = False

    @property
    def ref(self) -> ModelRef:
        """The name that was given, of an agent."""
        return self._ref

    async def complete(self, request: Request) -> Reply:
        """What the agent's model answers in this turn.

        ConfigError where the agent goes around its seat; else what its client raises.
        """
        if self._closed:
            raise InfraError(f"{self._ref} is closed", kind="closed")
        turn = self._turns.begin(request)
        run, afresh = self._running(request)
        while True:
            either: set[asyncio.Future[Any]] = {turn.reply, run}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if turn.reply.done():
                return turn.reply.result()
            _raise_what_ended(run, self._ref)
            if afresh:
                raise ConfigError(
                    "it ended without asking its model", where="the agent", remedy="use seat.client"
                )
            run, afresh = self._running(request)

    async def close(self) -> None:
        """Send the agent home."""
        self._closed = True
        self._turns.end()
        self._token.cancel()
        if self._run is not None:
            self._run.cancel()
            await asyncio.gather(self._run, return_exceptions=True)

    def _running(self, request: Request) -> tuple[asyncio.Task[object], bool]:
        """The agent's run, and whether it was begun for this turn."""
        if self._run is not None and not self._run.done():
            return self._run, False
        last = request.messages[-1]
        task = last.content if last.role == "user" else None
        self._run = asyncio.create_task(self.agent.run(task=task, cancellation_token=self._token))
        return self._run, True


async def agent_episode(
    environment: Environment,
    task: Task,
    harness: Harness,
    client: ChatCompletionClient,
    hire: Hiring = assistant,
    *,
    name: str,
    seed: int = 0,
    temperature: float = 0.0,
    purpose: Purpose = Purpose.EVALUATE,
    arguments: Arguments = openai_arguments,
) -> Trajectory:
    """One episode whose student is the agent that `hire` makes. A `Store` keeps it by `finish`.

    HarnessError where the protocol is not the native one: an agent writes no calls as text.
    """
    if harness.middleware.protocol.format != "native":
        raise HarnessError(
            "an agent calls its tools natively",
            where=f"harness {harness.name}, middleware.protocol.format",
            remedy="use a harness whose protocol is native",
        )
    model = AgentModel(client, hire, name=name, arguments=arguments)
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=model.ref.revision,
        purpose=purpose,
        seed=seed,
        temperature=temperature,
    )
    session = await environment.open(task, seed=seed)
    try:
        return await run_episode(session, task, harness, model, key=key, sampling_seed=seed)
    finally:
        await model.close()
        await session.close()


def _raise_what_ended(run: asyncio.Task[object], ref: ModelRef) -> None:
    if run.cancelled():
        raise InfraError(f"{ref}: the agent was cancelled", kind="agent")
    error = run.exception()
    if isinstance(error, EvenerError):
        raise error
    if error is not None:
        raise InfraError(f"{ref}: {type(error).__name__}: {error}", kind="agent") from error
