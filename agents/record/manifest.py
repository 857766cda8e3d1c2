"""What decides a run's result, written once: a run goes on only with the same of all of it."""

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from pydantic import JsonValue, ValidationError

from evener.protocols.digest import JsonObject, Wire
from evener.protocols.error import RunError

LAYERS = ("evener", *(f"evener.{x}" for x in ("agents", "protocols", "environments", "distill")))
SUFFIXES = {".py", ".yaml", ".jinja"}
MAY_CHANGE = tuple(
    f"config.{role}.provider.{name}"
    for role in ("student", "critic", "distill.reviewer_model")
    for name in ("api_key_env", "attempts", "budget", "in_flight", "longest_wait_s", "timeouts")
) + tuple(
    f"config.student.vllm.{name}"
    for name in ("adapters", "cache_gib", "python", "restarts", "silence_s", "start_s")
)
"""How a provider or a server of our own is called, and how far: no reply depends on it, and a run
that a budget ended goes on with a larger one."""


class Manifest(Wire):
    """`digests` names data, verifier, gate and whatever else decides (`environment`, `gate`, …);
    `code` is evener's own. Library versions are kept too; other versions alone do not stop a run
    from going on, they are logged. `names` are those of parts that a script handed in (`student`,
    `environment`), which the configuration does not know."""

    config: JsonObject
    digests: dict[str, str]
    seeds: dict[str, int]
    code: str
    libraries: dict[str, str]
    python: str
    names: dict[str, str] = {}

    @classmethod
    def of(
        cls,
        config: JsonObject,
        *,
        digests: dict[str, str],
        seeds: dict[str, int],
        names: dict[str, str] | None = None,
    ) -> "Manifest":
        """With this installation's code and library versions."""
        return cls(
            config=config,
            digests=digests,
            seeds=seeds,
            code=code_digest(),
            libraries=libraries(),
            python=platform.python_version(),
            names=names or {},
        )

    @classmethod
    def load(cls, path: Path) -> "Manifest":
        """Raises RunError for a file that is not there or not whole."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise RunError(
                "not a run folder: it has no manifest.json", where=str(path.parent)
            ) from None
        except OSError as error:
            raise RunError(f"cannot be read: {error.strerror}", where=str(path)) from error
        except ValidationError as error:
            raise RunError(
                f"damaged: {error.errors()[0]['msg']}",
                where=str(path),
                remedy="restore it, or give another folder with --out",
            ) from None

    def text(self) -> str:
        """As JSON for people."""
        return json.dumps(self.document(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def changes(self, other: "Manifest") -> tuple[str, ...]:
        """What differs in `other` so that its results could not be put with these: dotted names
        with old and new value."""
        mine, theirs = self.document(), other.document()
        return tuple(
            change
            for part in ("config", "digests", "seeds", "code")
            for change in _changes(part, mine[part], theirs[part])
            if not change.startswith(MAY_CHANGE)
        )

    def library_changes(self, other: "Manifest") -> tuple[str, ...]:
        """Libraries and Python that have another version in `other`."""
        return tuple(
            _changes(
                "",
                {**self.libraries, "python": self.python},
                {**other.libraries, "python": other.python},
            )
        )


def _changes(path: str, old: JsonValue, new: JsonValue) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            change
            for key in sorted({*old, *new})
            for change in _changes(
                f"{path}.{key}" if path else key, old.get(key, "nothing"), new.get(key, "nothing")
            )
        ]
    return [] if old == new else [f"{path}: {_short(old)} → {_short(new)}"]


def _short(value: JsonValue) -> str:
    text = str(value)
    hexadecimal = len(text) == 64 and all(c in "0123456789abcdef" for c in text)
    return text[:12] if hexadecimal else text if len(text) <= 60 else text[:57] + "…"


def code_digest() -> str:
    """SHA-256 over evener's sources and data files, the same for every way of installing it."""
    specs = ((layer, find_spec(layer)) for layer in LAYERS)
    return tree_digest(
        {
            layer.replace(".", "/"): Path(place)
            for layer, spec in specs
            for place in (spec.submodule_search_locations if spec else None) or ()
        }
    )


def tree_digest(folders: Mapping[str, Path]) -> str:
    """SHA-256 over the source and data files of folders that are known by these names."""
    found = {
        f"{name}/{file.relative_to(folder).as_posix()}": file
        for name, folder in folders.items()
        for file in folder.rglob("*")
        if file.suffix in SUFFIXES and file.is_file()
    }
    total = hashlib.sha256()
    for name in sorted(found):
        content = found[name].read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def libraries() -> dict[str, str]:
    """Every installed distribution and its version."""
    return {str(found.metadata["Name"]).lower(): found.version for found in distributions()}
