"""What reviews came to, counted from the log alone: how many, how many replaced, at what cost."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from evener.protocols.digest import JsonObject
from evener.protocols.summary import ReviewCounts


def count_reviews(entries: Iterable[JsonObject], *, review: str | None = None) -> ReviewCounts:
    """The counts over the bodies of `review` entries, of one reviewer's digest or of all.

    Entries of earlier versions name no requests: their own `calls` and `tokens` are added up, with
    what was asked again after a resumption.
    """
    mine = (entry for entry in entries if review is None or entry["review"] == review)
    latest = {(e["review"], e["episode"], e["turn"]): e for e in mine}.values()
    requests = {k: v for entry in latest for k, v in _requests(entry.get("requests"))}
    return ReviewCounts(
        candidates=len(latest),
        reviewed=sum(bool(entry["asked"]) for entry in latest),
        replaced=sum(entry["decision"] == "REPLACE" for entry in latest),
        carried_on=sum(e["decision"] == "REPLACE" and not e["asked"] for e in latest),
        invalid_attempts=sum(_length(entry["faults"]) for entry in latest),
        given_up=sum(_length(entry["faults"]) == entry["attempts"] for entry in latest),
        calls=len(requests) + sum(_count(entry.get("calls")) for entry in latest),
        tokens=sum(requests.values()) + sum(_count(entry.get("tokens")) for entry in latest),
    )


def _length(value: JsonValue) -> int:
    return len(value) if isinstance(value, list) else 0


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _requests(value: JsonValue) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        yield from ((key, tokens) for key, tokens in value.items() if isinstance(tokens, int))
