"""What the bench asks its peer for, and what it gives back."""

from evener.protocols.digest import Wire
from evener.protocols.model import ModelRef


class Source(Wire):
    """A source of training data: the peer `student` runs `model` under `harness` (a store digest),
    reviewed by `review` (a reviewer's digest; empty: by nobody), and the peer `trainer` trains on
    what comes of it. Its student is called `slug`."""

    slug: str
    student: str
    model: ModelRef
    harness: str
    review: str = ""
    trainer: str


class CompareSources(Wire):
    """Collect from each source, train `base` on it for the harness `target` (a store digest), and
    score all students under `target` on the same sealed tasks, the base beside them."""

    base: ModelRef
    target: str
    sources: tuple[Source, ...]


class SourcesCompared(Wire):
    """All is in the log. The students by their source, None where there was nothing to train on."""

    students: dict[str, ModelRef | None]
