"""One episode under way: its messages and events, what is counted, and who is asked."""

import asyncio
import hashlib
import re
from collections import Counter
from dataclasses import replace

from evener.agents.harness import observation, parse
from evener.agents.harness.context import Account
from evener.agents.harness.hooks.effect import Block, Effect, HookState, Remind, Stage
from evener.agents.harness.runtime import Opening, Runtime
from evener.protocols.error import EvenerError, InfraError
from evener.protocols.event import (
    Activated,
    ContextCut,
    EndReason,
    Event,
    HookFired,
    Parsed,
    ParseFailed,
    Remembered,
    Replied,
)
from evener.protocols.message import Call, Message
from evener.protocols.model import Reply, Request, Sampling, Usage
from evener.protocols.port import ActionSpec, Model, Observation, Session
from evener.protocols.task import Task
from evener.protocols.trajectory import EpisodeKey

_SURROGATE = re.compile("[\ud800-\udfff]")


class EpisodeOver(Exception):
    """The episode ends here, for a reason."""

    def __init__(self, reason: EndReason, detail: str = "", *, kind: str = "") -> None:
        self.reason: EndReason = reason
        self.detail = detail
        self.kind = kind
        super().__init__(f"{reason}: {detail}")


class Episode:
    """The state of an episode. Nothing of it outlives the episode, and no other one sees it."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        model: Model,
        task: Task,
        *,
        key: EpisodeKey,
        seed: int,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.model = model
        self.task = task
        self.key = key
        self.seed = seed
        self.actions: dict[str, ActionSpec] = {a.name: a for a in session.actions()}
        self.account = Account()
        self.events: list[Event] = []
        self.usage = Usage()
        self.turn = 0
        self.called: set[str] = set()
        self.attempts: Counter[str] = Counter()
        self.last_result: str | None = None
        self.reminded: set[str] = set()
        self.opening = Opening((), (), ())
        self._notes = runtime.recalled(task.prompt)
        self._activated: set[str] = set()
        self._fired: Counter[str] = Counter()

    def log(self, event: Event) -> None:
        """Record an event."""
        self.events.append(event)

    def activate(self, part: str, detail: str = "") -> None:
        """Record, once an episode, that a part of the harness took effect."""
        if part not in self._activated:
            self._activated.add(part)
            self.log(Activated(turn=self.turn, part=part, detail=detail))

    def begin(self) -> None:
        """Show the task and the environment's first screen, and say what memory does."""
        for note in self.runtime.evicted:
            self.log(Remembered(turn=0, action="evicted", entry=note.name))
        for note in self._notes:
            self.activate("memory", self.runtime.harness.memory.policy)
            self.log(Remembered(turn=0, action="recalled", entry=note.name))
        self.refresh()
        try:
            screen = self.session.observation()
        except EvenerError:
            raise
        except Exception as error:
            what = f"the first screen failed: {type(error).__name__}: {error}"
            raise InfraError(what, kind="environment") from error
        if screen.text and screen.text != self.task.prompt:
            text = observation.safe(screen.text)
            tokens = self.runtime.harness.middleware.context.tool_output_tokens
            text = observation.shown(text, None, tokens)
            self.account.screen(Message(role="user", content=text, origin="observation"))
        if screen.done:
            raise EpisodeOver("final", "the environment was done before the first turn")

    def refresh(self) -> None:
        """Put the opening as the task and the tools called so far want it."""
        opening = self.runtime.opening(self.task.prompt, called=self.called, notes=self._notes)
        if opening.skills == self.opening.skills and self.opening.messages:
            return
        self.opening = opening
        self.account.open(opening.messages)
        for skill in opening.skills:
            self.activate(f"skills[{skill.name}]")
        if any(message.origin == "example" for message in opening.messages):
            self.activate("prompt.examples")

    async def ask(self) -> tuple[Reply, Parsed | ParseFailed]:
        """One model call, recorded, and how its reply reads."""
        self.refresh()
        context = self.runtime.harness.middleware.context
        shown = self.account.show(context)
        if shown.dropped:
            self.activate("middleware.context", f"keep_tokens {context.keep_tokens}")
            self.log(
                ContextCut(
                    turn=self.turn,
                    dropped=shown.dropped,
                    tokens=shown.tokens,
                    keep_tokens=context.keep_tokens,
                )
            )
        loop = self.runtime.harness.middleware.loop
        request = Request(
            messages=tuple(self.account.messages[index] for index in shown.indices),
            tools=self.runtime.specs(self.opening.tools),
            sampling=Sampling(
                temperature=self.key.temperature,
                max_tokens=loop.max_reply_tokens,
                seed=turn_seed(self.seed, self.key.task, self.key.attempt, self.turn),
                stop=loop.stop,
            ),
        )
        try:
            reply = await self.model.complete(request)
        except EvenerError:
            raise
        except Exception as error:
            raise InfraError(f"the model failed: {type(error).__name__}: {error}") from error
        self.usage += reply.usage
        reading = self.read(reply)
        self.log(
            Replied(
                turn=self.turn,
                context=shown.indices,
                message=self.account.reply(self._message(reply, reading)),
                stop_reason=reply.stop_reason,
                usage=reply.usage,
                mean_logprob=reply.mean_logprob,
            )
        )
        return reply, reading

    def reread(self, reply: Reply, reading: Parsed) -> None:
        """Record another reading of the last reply: the one that is followed."""
        self.account.reword(self._message(reply, reading))
        self.log(reading)

    def _message(self, reply: Reply, reading: Parsed | ParseFailed) -> Message:
        """The reply as it stands in the conversation. A provider is shown a call once: as a call,
        and no longer in the text that it was read from."""
        native = self.runtime.harness.middleware.protocol.format == "native"
        calls = reading.calls if native and isinstance(reading, Parsed) else ()
        text, token_ids = reply.text, reply.token_ids
        if calls and not reply.calls:
            text, token_ids = parse.said_besides(text, self.opening.offered), None
        return Message(
            role="assistant",
            content=_SURROGATE.sub("\ufffd", text),
            origin=reply.author,
            sampled=True,
            token_ids=token_ids,
            calls=calls,
        )

    def read(self, reply: Reply, *, strict: bool | None = None) -> Parsed | ParseFailed:
        """How a reply reads under the protocol."""
        return parse.read_reply(
            reply, self.runtime.harness, self.opening.offered, turn=self.turn, strict=strict
        )

    async def act(self, call: Call, *, timeout_s: float) -> Observation:
        """Execute one action. Out of time is an observation; any other failure is the machinery's.

        Cancelling the episode cancels the action at once.
        """
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                return await self.session.act(call)
        except TimeoutError as error:
            if limit.expired():
                text = f"{call.name} took longer than {timeout_s:g} seconds and was stopped."
                return Observation(text=text, error_kind="timeout", elapsed=timeout_s)
            raise InfraError(f"{call.name} failed: {error}", kind="environment") from error
        except EvenerError:
            raise
        except Exception as error:
            what = f"{call.name} failed: {type(error).__name__}: {error}"
            raise InfraError(what, kind="environment") from error

    def ask_hooks(self, state: HookState) -> tuple[Effect, ...]:
        """What the hooks of a stage want: one thing, or several reminders. It is recorded."""
        hooks = self.runtime.hooks[state.stage]
        if not hooks:
            return ()
        state = replace(
            state,
            turn=self.turn,
            last_result=self.last_result,
            menu=self.opening.menu,
            example=self.opening.example,
        )
        wanted: list[tuple[str, Effect]] = []
        for name, hook in hooks:
            fired = self._fired[_hook_path(state.stage, name)]
            effect = hook(replace(state, fired=fired))
            if effect is not None and not isinstance(effect, Remind):
                # what stops or repeats an attempt leaves nothing to be reminded of
                wanted = [(name, effect)]
                break
            if effect is not None:
                wanted.append((name, effect))
        for name, effect in wanted:
            self._record(state.stage, name, effect)
        return tuple(effect for _, effect in wanted)

    def _record(self, stage: Stage, name: str, effect: Effect) -> None:
        part = _hook_path(stage, name)
        self._fired[part] += 1
        self.activate(part)
        self.log(
            HookFired(
                turn=self.turn, hook=name, stage=stage, effect=effect.word, detail=effect.text
            )
        )
        if isinstance(effect, Remind | Block):
            self.reminded.add(part)


def _hook_path(stage: Stage, name: str) -> str:
    return f"middleware.hooks.{stage}[{name}]"


def turn_seed(seed: int, task: str, attempt: int, turn: int) -> int:
    """The seed of one reply, 31 bits: a function of the episode's seed, its task, its attempt and
    the turn. Tasks do not share their noise, or a figure over many would rest on one draw; two
    harnesses or two models on one task do, so that what differs between them is theirs."""
    data = hashlib.sha256(f"{seed}:{task}:{attempt}:{turn}".encode()).digest()
    return int.from_bytes(data[:4], "big") & 0x7FFFFFFF
