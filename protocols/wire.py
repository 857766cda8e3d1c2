"""The messages that peers exchange. Harnesses, trajectories and patches travel as store digests.

Conductor ─RolloutRequest▶ Student ─RolloutFinished▶ Conductor or Validator
Conductor ─AttributeFailures▶ HarnessCritic ─PatchesProposed▶ Conductor
Conductor ─TrialRequest▶ Validator ─TrialFinished▶ Conductor
Conductor ─TrainRequest▶ Trainer ─ModelTrained▶ Conductor
Conductor ─ServeModel▶ Student ─ModelServed▶ Conductor
Student ─ReviewRequest▶ HarnessingAgent ─Review▶ Student
"""

from typing import Literal, Self

from evener.protocols.attribution import Attribution, Proposal, TrialKind
from evener.protocols.diff import DiffRecord
from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.message import Message
from evener.protocols.model import ModelRef
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Task
from evener.protocols.verdict import Verdict


class RolloutRequest(Wire):
    """Run one episode. `seed` fixes environment and sampling, `attempt` counts resamples; an infra
    outcome is asked for again as it was. `review` names the reviewer (its digest) that sees every
    response before it is executed; empty: none does."""

    task: Task
    harness: str
    model: ModelRef
    purpose: Purpose
    seed: int
    attempt: int = 0
    temperature: float = 0.0
    review: str = ""


class RolloutFinished(Wire):
    """The episode is over and its trajectory stored."""

    episode: EpisodeRef


class AttributeFailures(Wire):
    """Failed `mine` trajectories (store digests) under `harness`; `refused` are digests of patch
    edits that are not to be proposed again against it. `limit` bounds the proposals."""

    trajectories: tuple[str, ...]
    harness: str
    refused: tuple[str, ...] = ()
    limit: int = 8
    seed: int = 0


class PatchesProposed(Wire):
    """One attribution for every failure, and proposals, best first."""

    attributions: tuple[Attribution, ...]
    proposals: tuple[Proposal, ...]


class TrialRequest(Wire):
    """Compare two (model, harness) pairs on fresh gate tasks. `signatures` pick V_in."""

    trial: str
    kind: TrialKind
    before_harness: str
    after_harness: str
    before_model: ModelRef
    after_model: ModelRef
    signatures: tuple[str, ...] = ()
    rollout_limit: int
    seed: int
    temperature: float = 0.0


class TrialFinished(Wire):
    """The verdict on a trial."""

    verdict: Verdict


class TrainRequest(Wire):
    """Fine-tune on `collect` trajectories (store digests), rendered under the harness that will
    serve the new model. `name` becomes the adapter version."""

    name: str
    trajectories: tuple[str, ...]
    serving_harness: str
    base: ModelRef
    seed: int


class ModelTrained(Wire):
    """A trained adapter that passed its probe; or, with `model` None, why there is none and the
    counts of rows refused by reason."""

    model: ModelRef | None
    folder: str = ""
    rows: int
    refused: dict[str, int] = {}
    steps: int = 0
    loss_first: float | None = None
    loss_last: float | None = None
    trained_tokens: int = 0
    seconds: float = 0.0
    reason: str = ""

    @classmethod
    def of_log(cls, body: JsonObject) -> Self:
        """What an entry of the log holds of it, among other things."""
        return cls.model_validate_json(
            canonical({name: body[name] for name in cls.model_fields if name in body})
        )


class ServeModel(Wire):
    """Load an adapter so that rollouts can name it."""

    model: ModelRef
    folder: str


class ModelServed(Wire):
    """The student answers with this model from now on, when a rollout names it."""

    model: ModelRef


class ReviewRequest(Wire):
    """All that a reviewer may see: the task's prompt, the visible trajectory (no system text, no
    worked examples), the candidate, how sure the student was of it, and how many responses of the
    episode were replaced before (`visible` may show fewer, where a context window is short).
    `review` names the reviewer to ask; `episode` and `turn` are for the record alone."""

    review: str
    prompt: str
    visible: tuple[Message, ...]
    candidate: str
    turn: int
    mean_logprob: float | None = None
    replaced: int = 0
    episode: str = ""


class Review(Wire):
    """PASS carries no replacement, REPLACE one complete response valid in the target's actions."""

    decision: Literal["PASS", "REPLACE"]
    replacement: str | None = None
    reason: str = ""


class Announcement(Wire):
    """Something everybody may want to know: published on its topic."""

    topic: Literal["round", "verdict", "commit", "model", "stop"]
    round: int
    iteration: int = 0
    text: str
    about: str = ""


class StartRun(Wire):
    """Begin, or go on with, a co-evolution run from `harness` (a store digest) and `model`.
    `arms` are harnesses that only the sealed test runs, name → digest (`hand` for example)."""

    harness: str
    model: ModelRef
    arms: dict[str, str] = {}


class TryPatch(Wire):
    """A patch from outside the search, a person's for example: try it on HEAD at the gate."""

    proposal: Proposal
    model: ModelRef


class PatchTried(Wire):
    """What came of it: the version if it was accepted, and the record kept either way."""

    version: str
    record: DiffRecord


class TryModel(Wire):
    """Weights from outside the run: try them at the gate against `before` under HEAD. The student
    serves both already."""

    model: ModelRef
    before: ModelRef


class ModelTried(Wire):
    """What came of it, and the version they were tried under."""

    version: str
    verdict: Verdict


class RunEnded(Wire):
    """The run is over: where harness and model stand, and why it stopped."""

    version: str
    harness: str
    model: ModelRef
    stop_reason: str
    out_of_budget: bool = False


class StartDistillation(Wire):
    """Take a harness off: the student's runs under `target` are reviewed by `review` (a reviewer's
    digest), trained on, and run without it. `optimized` is what it is held against, `arms` are
    harnesses that only the sealed test runs; all are store digests."""

    target: str
    optimized: str
    model: ModelRef
    review: str
    arms: dict[str, str] = {}


class DistillationEnded(Wire):
    """The run is over: the trained student, the one that was trained on the action format alone,
    and why it stopped where there is none."""

    model: ModelRef | None
    control: ModelRef | None = None
    stop_reason: str
