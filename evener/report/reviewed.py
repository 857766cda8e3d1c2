"""What reviewing came to, of each reviewer and what it was asked for, from the log alone."""

from collections.abc import Iterable, Mapping

from evener.agents.record.log import latest
from evener.agents.record.store import EpisodeRow
from evener.agents.reviewers.account import count_reviews
from evener.protocols.digest import JsonObject
from evener.protocols.summary import Reviews
from evener.protocols.task import Purpose

COLLECTION = "collection"


def reviews(bodies: Iterable[JsonObject], served: Mapping[str, str]) -> tuple[Reviews, ...]:
    """A line for each reviewer and what its episodes served, in the order in which they came; K
    empty is a reviewer of its own."""
    groups: dict[tuple[str, str], list[JsonObject]] = {}
    for body in bodies:
        key = str(body["review"]), served.get(str(body["episode"]), "")
        groups.setdefault(key, []).append(body)
    lines: list[Reviews] = []
    for (digest, place), entries in groups.items():
        name = f"{entries[-1]['reviewer']} ({digest[:8]})"
        lines.append(Reviews(reviewer=name, served=place, **dict(count_reviews(entries))))
    return tuple(lines)


def served(rows: Iterable[EpisodeRow], cells: Iterable[JsonObject]) -> dict[str, str]:
    """Of each finished episode, by its id: `collection`, or the sealed cells that it stands in."""
    names: dict[str, list[str]] = {}
    for body in latest(cells, "name", "split"):
        digests = body["episodes"]
        assert isinstance(digests, list)
        for digest in digests:
            names.setdefault(str(digest), []).append(str(body["name"]))
    return {
        row.episode: COLLECTION
        if row.purpose is Purpose.COLLECT
        else ", ".join(names.get(row.trajectory, ()))
        for row in rows
    }
