"""Ports: what a part needs from its right, few methods each. Optional abilities stand alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from evener.protocols.attribution import Attribution, Proposal, TrialKind
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.harness import ExampleTurn, Harness
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import EpisodeKey, Score, Trajectory
from evener.protocols.verdict import Decision, Pair
from evener.protocols.wire import ModelTrained, Review, ReviewRequest

T = TypeVar("T", bound=Wire)


class Observation(Wire):
    """What the environment shows. `error_kind` None means that the action worked."""

    text: str
    error_kind: str | None = None
    elapsed: float = 0.0
    truncated: bool = False
    done: bool = False


class ActionSpec(Wire):
    """An action of the environment; `parameters` is a JSON Schema of type object. `final` ends the
    episode."""

    name: str
    description: str
    parameters: JsonObject
    final: bool = False


class WorkedExample(Wire):
    """A documented way to solve a task of some `kind`, disjoint from every split, in the
    environment's own actions."""

    kind: str
    turns: tuple[ExampleTurn, ...]


class Session(Protocol):
    """One episode with isolated state."""

    def observation(self) -> Observation:
        """The first screen."""
        ...

    def actions(self) -> tuple[ActionSpec, ...]:
        """The action space."""
        ...

    async def act(self, call: Call) -> Observation:
        """Execute one action. A call the action space does not admit is an observation with an
        `error_kind`; InfraError where the machinery fails."""
        ...

    async def score(self) -> Score:
        """The verifier's word on the session's state, never on text the harness made."""
        ...

    async def close(self) -> None:
        """Give back what the session holds."""
        ...


@runtime_checkable
class Answerable(Protocol):
    """A session that finds the answer in what a student says without a call."""

    def answer_in(self, reply: str) -> Call | None:
        """The final action that a last reply amounts to, reasoning included; None where it holds
        no answer. It is asked when an episode ends by a reply that made no call."""
        ...


class Environment(Protocol):
    """Tasks, actions, state and score."""

    @property
    def name(self) -> str:
        """Registered name."""
        ...

    @property
    def digest(self) -> str:
        """Digest of data, generator version and verifier, for the run's manifest."""
        ...

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        """`count` tasks of a split; equal arguments give equal tasks, other seeds fresh ones where
        the environment is endless. Raises DataError where there are too few."""
        ...

    async def open(self, task: Task, *, seed: int) -> Session:
        """Start an episode."""
        ...


@runtime_checkable
class Documented(Protocol):
    """An environment that publishes worked examples."""

    def examples(self) -> tuple[WorkedExample, ...]:
        """The documentation's examples; repair catalogues may use these and no task."""
        ...


@runtime_checkable
class Auditable(Protocol):
    """An environment that can replay a right solution: for checks, and for the controls of
    `evener bench`, which no user's run has."""

    def gold(self, task: Task) -> tuple[Call, ...]:
        """Actions that solve the task."""
        ...


@runtime_checkable
class Equating(Protocol):
    """An environment that knows when two answers are one, `1/2` and `0.5` say: for votes."""

    async def same(self, left: str, right: str) -> bool:
        """Whether they are; False where it cannot say."""
        ...


class Model(Protocol):
    """Weights that answer. A reply is a function of (request, seed, model)."""

    @property
    def ref(self) -> ModelRef:
        """Which weights answer."""
        ...

    async def complete(self, request: Request) -> Reply:
        """One reply. Raises InfraError where the machinery fails."""
        ...

    async def close(self) -> None:
        """Give back memory and threads; pending requests fail with InfraError."""
        ...


@runtime_checkable
class Adaptable(Protocol):
    """A model that serves LoRA adapters beside its base, without loading the base again."""

    async def load_adapter(self, name: str, folder: Path) -> ModelRef:
        """Check and load an adapter. Raises ModelError that lists all that is wrong with it."""
        ...

    def use(self, ref: ModelRef) -> Model:
        """A view that answers with `ref`: the base itself or a loaded adapter."""
        ...


@runtime_checkable
class Hosting(Protocol):
    """A model whose endpoint serves others beside it, each by the name that it has there."""

    def serving(self, name: str, ref: ModelRef) -> Model:
        """A view on the model `name` of the endpoint, called `ref` here. Nothing is sent: whether
        it is there shows with the first request."""
        ...


class Critic(Protocol):
    """Blames a failed episode on one part of the harness, or on the model."""

    @property
    def name(self) -> str:
        """`rule`, or the model that judges."""
        ...

    async def attribute(self, failure: Trajectory, harness: Harness) -> Attribution:
        """One record for one failure."""
        ...

    async def propose(
        self,
        attributions: Sequence[Attribution],
        harness: Harness,
        *,
        refused: frozenset[str] = frozenset(),
        limit: int = 8,
        seed: int = 0,
    ) -> tuple[Proposal, ...]:
        """Patches against `harness`, best first; none whose edits' digest is in `refused`."""
        ...


class Reviewer(Protocol):
    """Judges one response of the student before it is executed, by K and what it is shown."""

    @property
    def name(self) -> str:
        """What it is (`passthrough`, `recipe`, `own`, `flagged`) and its model, for people."""
        ...

    @property
    def digest(self) -> str:
        """Of the reviewer, its settings and its K: what `review` in a rollout names."""
        ...

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """PASS, or REPLACE with one whole response. `attempt` counts answers to this request that
        were invalid before."""
        ...


class Detector(Protocol):
    """A deterministic predicate: does an episode show the behaviour that a part of h* is there for?

    It reads the task's prompt, the messages and the events; never the score, the outcome, or
    anything hidden. Equal trajectories give equal answers.
    """

    @property
    def name(self) -> str:
        """Unique among the detectors of a harness."""
        ...

    @property
    def part(self) -> str:
        """Field path of the part of h* it stands for."""
        ...

    @property
    def text(self) -> str:
        """What an episode that shows it does, in one line."""
        ...

    @property
    def conditional(self) -> bool:
        """Whether its occasion is a well-formed call that the student made, not the task alone."""
        ...

    def applies(self, trajectory: Trajectory) -> bool:
        """Whether the episode offers the occasion."""
        ...

    def shows(self, trajectory: Trajectory) -> bool:
        """Whether the episode shows the behaviour. False where it does not apply."""
        ...


class Gate(Protocol):
    """Statistics only: when do paired outcomes suffice for a ruling?"""

    @property
    def name(self) -> str:
        """`paper` or `paired`."""
        ...

    @property
    def digest(self) -> str:
        """Digest of all settings."""
        ...

    def decide(
        self,
        held_in: Sequence[Pair],
        held_out: Sequence[Pair],
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        """A ruling, or how many pairs of each side to have by the next look. `exhausted_*`: that
        side gets no more; with both, there is always a ruling."""
        ...

    def least(self, kind: TrialKind) -> tuple[int, int]:
        """The fewest pairs on held_in and on held_out that can end in ACCEPT."""
        ...


class FineTuner(Protocol):
    """Trains a student on accepted trajectories."""

    async def train(
        self,
        trajectories: Sequence[Trajectory],
        *,
        name: str,
        serving: Harness,
        base: ModelRef,
        folder: Path,
        seed: int,
    ) -> ModelTrained:
        """An adapter in `folder`, or a result without one that says why. Never half an adapter."""
        ...


class Store(Protocol):
    """Values by content digest, and finished episodes by their key."""

    def put(self, value: Wire) -> str:
        """Store a value; returns its digest. Storing it again is free."""
        ...

    def get(self, kind: type[T], digest: str) -> T:
        """The value of that digest, checked. Raises RunError where it is missing or damaged."""
        ...

    def finished(self, key: EpisodeKey) -> str | None:
        """The digest of the finished trajectory with that key, if it is there (infra is not)."""
        ...

    def finish(self, trajectory: Trajectory) -> str:
        """Store a finished episode under its key; returns its digest."""
        ...


class Log(Protocol):
    """The append-only record of a run."""

    def append(self, kind: str, body: JsonObject) -> int:
        """Write one entry durably; returns its sequence number."""
        ...


class Progress(Protocol):
    """Where long work says how far it is. Never part of a result."""

    def stage(self, label: str, *, total: int) -> None:
        """A stage of `total` steps begins."""
        ...

    def advance(self, steps: int = 1) -> None:
        """So many steps of the stage are done."""
        ...

    def say(self, text: str) -> None:
        """One line for a person."""
        ...


@runtime_checkable
class Equipped(Protocol):
    """An environment that ships harnesses."""

    def harness_path(self, name: str) -> Path:
        """The file of a harness that ships. Raises ConfigError that lists the names."""
        ...


@runtime_checkable
class Detectable(Protocol):
    """An environment with detectors of its own, written by its wording and its actions."""

    def detectors(self) -> tuple[Detector, ...]:
        """Those for any harness that ships; whoever asks keeps those whose part there is."""
        ...
