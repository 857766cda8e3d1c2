"""What a run does: how many rounds, tasks and rollouts, and where its budget ends.

All of it is fixed before the run starts and stands in the run's manifest.
"""

from typing import Literal

from pydantic import Field

from evener.protocols.digest import Wire


class Search(Wire):
    """One round's search for a better harness.

    `iterations` (K) trials a round; `mine_tasks` are run to find failures; of rival proposals each
    is run on `race_tasks` of those failures to begin with, and those that are ahead on more, up to
    `race_rollouts` episodes in all; `proposals` bounds what may be offered at
    once. One patch
    has at most `edits` edits in the first round, and `shrink` of that in each later one. What a
    student may be shown before its task grows by `growth` characters at most over the whole run.
    After training, `lighter` trials of a smaller harness are made.
    """

    iterations: int = Field(default=5, ge=0)
    mine_tasks: int = Field(default=60, ge=1)
    race_tasks: int = Field(default=8, ge=1)
    race_rollouts: int = Field(default=120, ge=1)
    proposals: int = Field(default=12, ge=1)
    edits: int = Field(default=96, ge=1)
    shrink: float = Field(default=0.5, gt=0, le=1)
    growth: int = Field(default=8000, ge=0)
    lighter: int = Field(default=1, ge=0)


class Trials(Wire):
    """Trials at the gate: at most `rollouts` fresh episodes each, drawn at `temperature` (above 0,
    so that a task picked because it failed once has a fair second chance in both arms). `confirm`:
    what a round accepted is tried once more as a whole at its end. `watch` held_out tasks are run
    at the end of each round under HEAD and under the version that it began with (0: none)."""

    rollouts: int = Field(default=600, ge=2)
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    confirm: bool = True
    watch: int = Field(default=40, ge=0)


class Training(Wire):
    """Fine-tuning after the search: `lora` here, `external` by a command of the user's, `none` for
    students with frozen weights.

    `collect_tasks` are run once greedily; those that fail again up to `resamples` times at
    `temperature`.
    """

    method: Literal["lora", "external", "none"] = "lora"
    collect_tasks: int = Field(default=120, ge=1)
    resamples: int = Field(default=2, ge=0)
    temperature: float = Field(default=0.7, gt=0.0, le=2.0)


class Evaluation(Wire):
    """The sealed test at the end: `test_tasks` of `test`, `ood_tasks` of `ood`, greedy."""

    test_tasks: int = Field(default=120, ge=1)
    ood_tasks: int = Field(default=0, ge=0)


class Budget(Wire):
    """Where the search stops; None means no limit. The sealed test always runs."""

    rollouts: int | None = Field(default=None, ge=1)
    completion_tokens: int | None = Field(default=None, ge=1)
    calls: int | None = Field(default=None, ge=1)
    cpu_seconds: float | None = Field(default=None, gt=0)


class Plan(Wire):
    """A whole run of `rounds` (T) rounds."""

    rounds: int = Field(default=2, ge=1)
    seed: int = Field(default=0, ge=0)
    window: int = Field(default=64, ge=1)
    search: Search = Search()
    trials: Trials = Trials()
    training: Training = Training()
    evaluation: Evaluation = Evaluation()
    budget: Budget = Budget()


def derive(seed: int, *labels: int | str) -> int:
    """A seed for one purpose, 31 bits, from the run's seed and labels."""
    import hashlib

    text = ":".join(str(part) for part in (seed, *labels))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1


def collect_seed(plan: Plan, number: int = 1) -> int:
    """Of what round `number` collects: its tasks and their first tries."""
    return derive(plan.seed, "collect", number)


def train_seed(plan: Plan, number: int = 1) -> int:
    """Of the training of round `number`."""
    return derive(plan.seed, "train", number)
