"""What reviews came to, counted from the log alone: how many, how many replaced, at what cost."""

from collections.abc import Iterable

from pydantic import JsonValue

from evener.protocols.digest import JsonObject
from evener.protocols.summary import ReviewCounts


def count_reviews(entries: Iterable[JsonObject], *, review: str | None = None) -> ReviewCounts:
    """The counts over the bodies of `review` entries, of one reviewer's digest or of all."""
    mine = [entry for entry in entries if review is None or entry["review"] == review]
    latest = {(e["review"], e["episode"], e["turn"]): e for e in mine}.values()
    return ReviewCounts(
        candidates=len(latest),
        reviewed=sum(bool(entry["asked"]) for entry in latest),
        replaced=sum(entry["decision"] == "REPLACE" for entry in latest),
        carried_on=sum(e["decision"] == "REPLACE" and not e["asked"] for e in latest),
        invalid_attempts=sum(_length(entry["faults"]) for entry in latest),
        given_up=sum(_length(entry["faults"]) == entry["attempts"] for entry in latest),
        calls=sum(_whole(entry["calls"]) for entry in mine),
        tokens=sum(_whole(entry["tokens"]) for entry in mine),
    )


def _length(value: JsonValue) -> int:
    return len(value) if isinstance(value, list) else 0


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
