"""Whether a folder is of a run that searched for a harness: others keep no versions and have no
gate, and are told so before anything is looked for."""

from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.protocols.error import RunError


def check_searched(folder: RunFolder) -> None:
    """Raises RunError for the folder of a distillation, or of a comparison of sources."""
    if folder.manifest.config.get("distill") is None:
        return
    raise RunError(
        "a folder of evener distill or bench sources: it keeps no harness versions and has no gate",
        where=str(folder.path),
        remedy="its harnesses go by the names or files of its configuration, its students as "
        f"{folder.path}:NAME in evener compare (--model); evener report has its figures",
    )


def registry_of(folder: RunFolder, *, write: bool = False) -> Registry:
    """The versions of a run; with `write` what changes in them is logged. Raises as above."""
    check_searched(folder)
    return Registry(folder.harness, folder.record) if write else Registry(folder.harness)
