"""One training elsewhere: what it is of, where it goes on, what its command answered."""

from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import ValidationError

from evener.agents.record.beside import file_sha256
from evener.distill.adapter import ROWS, External
from evener.distill.outside.elsewhere import Result
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.wire import ModelTrained

LOG = "train.log"
FINISHED = "finished.json"


class Errand(NamedTuple):
    """`key` is the digest of all that decides it, `folder` where the model will lie, `work` the
    folder beside it in which the training is under way, or was; `command` and `base` as they are
    configured."""

    name: str
    serving: Harness
    base: ModelRef
    seed: int
    key: str
    folder: Path
    work: Path
    command: tuple[str, ...]
    base_name: str

    @property
    def rejected(self) -> Path:
        """Where a model that fails its probe goes."""
        return self.folder.with_name(f"{self.folder.name}.rejected")

    @property
    def rows(self) -> Path:
        """The file of rows."""
        return self.work / ROWS

    @property
    def out(self) -> Path:
        """The command's own folder."""
        return self.work / "out"

    @property
    def log(self) -> Path:
        """What the command says."""
        return self.work / LOG


class Paid(Wire):
    """What a command answered for the training `key`, and the seconds it took."""

    key: str
    seconds: float
    result: Result

    def account(self, errand: Errand) -> External:
        """For the manifest of what came of it."""
        return External(
            command=errand.command,
            rows_sha256=file_sha256(errand.rows),
            seconds=self.seconds,
            metrics=self.result.metrics,
        )


def kept(errand: Errand) -> Paid | None:
    """The answer of an earlier session to this very errand."""
    try:
        found = Paid.model_validate_json((errand.work / FINISHED).read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.key == errand.key else None


class Drawn(Protocol):
    """Rows that were drawn, and what becomes of an answer to them."""

    hosted: bool
    """Whether the answer is the name of a model at the student's endpoint, not an adapter."""

    @property
    def count(self) -> int:
        """Number of rows."""
        ...

    @property
    def refused(self) -> dict[str, int]:
        """Rows and episodes left out, by reason."""
        ...

    def lines(self) -> str:
        """The file of rows."""
        ...

    async def keep(self, errand: Errand, paid: Paid) -> ModelTrained:
        """Check, probe and seal what came back. Raises ModelError for what cannot be served."""
        ...
