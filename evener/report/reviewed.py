"""What reviewing came to, of each reviewer, from the log alone."""

from collections.abc import Iterable

from evener.agents.reviewers.account import count_reviews
from evener.protocols.digest import JsonObject
from evener.protocols.summary import Reviews


def reviews(bodies: Iterable[JsonObject]) -> tuple[Reviews, ...]:
    """A line for each reviewer, in the order in which they came; K empty is a reviewer of its
    own."""
    entries = list(bodies)
    names = {str(entry["review"]): str(entry["reviewer"]) for entry in entries}
    lines: list[Reviews] = []
    for digest, name in names.items():
        counts = count_reviews(entries, review=digest)
        lines.append(
            Reviews(
                reviewer=f"{name} ({digest[:8]})",
                candidates=counts.candidates,
                reviewed=counts.reviewed,
                replaced=counts.replaced,
                invalid_attempts=counts.invalid_attempts,
                given_up=counts.given_up,
                calls=counts.calls,
                tokens=counts.tokens,
            )
        )
    return tuple(lines)
