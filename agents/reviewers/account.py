"""What reviews came to, counted from the log alone: how many, how many replaced, at what cost."""

from collections.abc import Iterable

from pydantic import JsonValue

from evener.protocols.digest import JsonObject, Wire


class ReviewCounts(Wire):
    """`candidates` were seen by the harnessing agent, `reviewed` of them by a reviewer; calls and
    tokens are the reviewers' own. An episode that was run twice counts once, but its cost twice."""

    candidates: int = 0
    reviewed: int = 0
    replaced: int = 0
    invalid_attempts: int = 0
    given_up: int = 0
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def share_reviewed(self) -> float | None:
        """Of the candidates; None where there are none."""
        return self.reviewed / self.candidates if self.candidates else None

    @property
    def share_replaced(self) -> float | None:
        """Of the candidates; None where there are none."""
        return self.replaced / self.candidates if self.candidates else None


def count_reviews(entries: Iterable[JsonObject], *, review: str | None = None) -> ReviewCounts:
    """The counts over the bodies of `review` entries, of one reviewer's digest or of all."""
    mine = [entry for entry in entries if review is None or entry["review"] == review]
    latest = {(e["review"], e["episode"], e["turn"]): e for e in mine}.values()
    return ReviewCounts(
        candidates=len(latest),
        reviewed=sum(bool(entry["asked"]) for entry in latest),
        replaced=sum(entry["decision"] == "REPLACE" for entry in latest),
        invalid_attempts=sum(_length(entry["faults"]) for entry in latest),
        given_up=sum(_length(entry["faults"]) == entry["attempts"] for entry in latest),
        calls=sum(_whole(entry["calls"]) for entry in mine),
        tokens=sum(_whole(entry["tokens"]) for entry in mine),
        seconds=sum(_number(entry["seconds"]) for entry in mine),
    )


def _length(value: JsonValue) -> int:
    return len(value) if isinstance(value, list) else 0


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _number(value: JsonValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
