"""The critic's record of one failure, and the patches it proposes from many of them."""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import model_validator

from evener.protocols.digest import Wire
from evener.protocols.patch import FieldEdit, Patch


class RootCause(StrEnum):
    """The taxonomy of Co-Harness (arXiv 2607.22688). `agent_error` abstains: the model's own."""

    PROMPT_AMBIGUITY = "prompt_ambiguity"
    TOOL_SCHEMA_ERROR = "tool_schema_error"
    SKILL_MISSING = "skill_missing"
    MIDDLEWARE_MISMATCH = "middleware_mismatch"
    MEMORY_OVERFLOW = "memory_overflow"
    AGENT_ERROR = "agent_error"


Dimension: TypeAlias = Literal["P", "T", "S", "Mid", "M"]

DIMENSION: dict[RootCause, Dimension | None] = {
    RootCause.PROMPT_AMBIGUITY: "P",
    RootCause.TOOL_SCHEMA_ERROR: "T",
    RootCause.SKILL_MISSING: "S",
    RootCause.MIDDLEWARE_MISMATCH: "Mid",
    RootCause.MEMORY_OVERFLOW: "M",
    RootCause.AGENT_ERROR: None,
}


class Severity(StrEnum):
    """How bad: the episode could not be solved, was hindered, or only cost more."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


class Evidence(Wire):
    """One event of the trajectory, by index, and the words quoted from it."""

    trajectory: str
    event: int
    quote: str


class Attribution(Wire):
    """Why one episode failed. `signature` names the failure pattern, so that equal failures can be
    counted and found again in other trajectories (see `evener.agents.pattern`). `author` says who
    judged: `rule` or a model."""

    trajectory: str
    author: str
    root_cause: RootCause
    harness_dim: Dimension | None
    severity: Severity
    signature: str
    evidence: Evidence
    diff_suggestion: FieldEdit | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Attribution":
        if self.harness_dim != DIMENSION[self.root_cause]:
            raise ValueError(f"{self.root_cause} belongs to {DIMENSION[self.root_cause]}")
        if self.root_cause is RootCause.AGENT_ERROR and self.diff_suggestion is not None:
            raise ValueError("agent_error never suggests a change of the harness")
        return self


TrialKind: TypeAlias = Literal["improve", "simplify", "model", "confirm"]


class Proposal(Wire):
    """A patch on offer. `signatures` are the failure patterns it is tried on (empty: all of them);
    `attributions` are digests of the records behind it; `alternatives` of one `group` are rivals of
    which the best on mining tasks goes to the gate. `author`: `rule`, a model, `random`, `person`.
    """

    name: str
    author: str
    patch: Patch
    kind: TrialKind = "improve"
    signatures: tuple[str, ...] = ()
    attributions: tuple[str, ...] = ()
    group: str = ""
    rank: float = 0.0
    reason: str = ""

    def rests_on(self, attribution: Attribution) -> bool:
        """Whether this record stands behind it: by its pattern, or by itself."""
        return attribution.signature in self.signatures or attribution.digest() in self.attributions
