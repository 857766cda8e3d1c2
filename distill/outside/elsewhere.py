"""What a trainer outside is told, and what it answers: a command, and a file of JSON in its folder.

The answer is the program's word: an adapter counts only once it was checked and probed.
"""

import stat
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from evener.distill.outside.secret import Secrets
from evener.protocols.digest import Wire
from evener.protocols.error import ConfigError, ModelError

RESULT = "result.json"
ROWS_PLACE = "{rows}"
WHERE = "external.command"
_ADAPTER = "adapter_config.json"
_LARGEST = 1 << 20


class Result(Wire):
    """What the command left: `adapter`, a folder, or `model`, a name at the student's endpoint;
    `metrics` are kept as they are."""

    adapter: str | None = Field(default=None, min_length=1)
    model: str | None = Field(default=None, min_length=1, max_length=300, pattern=r"^[!-~]+$")
    metrics: dict[str, float | int | str] = {}


def check_command(command: Sequence[str], secrets: Secrets) -> None:
    """ConfigError for a command that cannot train: none at all, one that is not told where the rows
    are, or one with a key in it."""
    if not command:
        raise ConfigError(
            "no command to train with",
            where=WHERE,
            remedy='["python", "train.py", "{rows}", "{out}", "{base}"], say',
        )
    if not any(ROWS_PLACE in part for part in command):
        raise ConfigError(
            f"the command is not told where the rows are: it has no {ROWS_PLACE}",
            where=WHERE,
            remedy=f"put {ROWS_PLACE} where the name of the file belongs",
        )
    secrets.refuse(command, where=WHERE)


def filled(
    command: Sequence[str], *, rows: Path, out: Path, base: str, seed: int
) -> tuple[str, ...]:
    """The command with its places filled, each argument by itself: no shell reads any of it."""
    places = {ROWS_PLACE: str(rows), "{out}": str(out), "{base}": base, "{seed}": str(seed)}
    made = list(command)
    for place, value in places.items():
        made = [part.replace(place, value) for part in made]
    return tuple(made)


def read_result(out: Path, *, hosted: bool, secrets: Secrets, log: Path) -> Result:
    """The answer in `out`; without a file, an adapter that lies in the folder itself. `hosted`: the
    student is behind an interface. Raises ModelError for any other answer."""
    path = out / RESULT
    wanted = '{"model": NAME}' if hosted else '{"adapter": FOLDER}'
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise ValueError("it is no file")
        if state.st_size > _LARGEST:
            raise ValueError("it is too long")
        text = path.read_bytes().decode("utf-8")
        result = Result.model_validate_json(secrets.hide(text))
    except FileNotFoundError:
        if (out / _ADAPTER).is_file() and not hosted:
            return Result(adapter=str(out))
        raise ModelError(
            f"the command ended well and left no {RESULT}",
            where=str(out),
            remedy=f"let it write {wanted} there; what it said is in {log}",
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(
            f"not an answer: {_fault(error)}", where=str(path), remedy=f"let it write {wanted}"
        ) from None
    if (result.model if hosted else result.adapter) is None:
        why = (
            "it names no model of the student's endpoint"
            if hosted
            else "it names no folder of an adapter, and the student runs in this process"
        )
        raise ModelError(why, where=str(path), remedy=f"let it write {wanted}")
    return result


def _fault(error: OSError | ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        return f"{key}: {first['msg']}" if key else first["msg"]
    return str(error)
