"""What a patch of the search may bring in: so many edits, so much to read, and no task's text."""

from evener.agents.critics.lighter import shown_size
from evener.agents.plan import Search
from evener.agents.run import Guard
from evener.protocols.error import PatchError
from evener.protocols.harness import Harness
from evener.protocols.patch import Patch


class Bounds:
    """The bounds of one round on patches against `harness`; `size` is the most characters that a
    student may be shown before its task."""

    def __init__(self, harness: Harness, *, edits: int, size: int, guard: Guard) -> None:
        self._harness = harness
        self._edits = edits
        self._size = size
        self._guard = guard

    def fault(self, patch: Patch) -> str:
        """Why the patch may not be tried, in words; empty where it may."""
        if len(patch.edits) > self._edits:
            return f"{len(patch.edits)} edits; a patch of this round has {self._edits} at most"
        try:
            size = shown_size(patch.apply(self._harness))
        except PatchError as error:
            return str(error)
        if size > max(self._size, shown_size(self._harness)):
            return f"{size} characters before the task; this run allows {self._size}"
        return self._guard.fault(patch, self._harness)


def edit_budget(search: Search, number: int) -> int:
    """The most edits of one patch in round `number`: it shrinks as the harness settles."""
    return max(1, round(search.edits * search.shrink ** (number - 1)))
