"""What reviews came to, counted from the log alone: how many, how many replaced, at what cost."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from evener.protocols.digest import JsonObject
from evener.protocols.summary import ReviewCounts


def count_reviews(entries: Iterable[JsonObject], *, review: str | None = None) -> ReviewCounts:
    """The counts over the bodies of `review` entries, of one reviewer's digest or of all."""
    mine = (entry for entry in entries if review is None or entry["review"] == review)
    latest = {(e["review"], e["episode"], e["turn"]): e for e in mine}.values()
    requests = {key: value for entry in latest for key, value in _requests(entry["requests"])}
    return ReviewCounts(
        candidates=len(latest),
        reviewed=sum(bool(entry["asked"]) for entry in latest),
        replaced=sum(entry["decision"] == "REPLACE" for entry in latest),
        carried_on=sum(e["decision"] == "REPLACE" and not e["asked"] for e in latest),
        invalid_attempts=sum(_length(entry["faults"]) for entry in latest),
        given_up=sum(_length(entry["faults"]) == entry["attempts"] for entry in latest),
        calls=len(requests),
        tokens=sum(requests.values()),
    )


def _length(value: JsonValue) -> int:
    return len(value) if isinstance(value, list) else 0


def _requests(value: JsonValue) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        yield from ((key, tokens) for key, tokens in value.items() if isinstance(tokens, int))
