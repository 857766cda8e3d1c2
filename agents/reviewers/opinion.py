"""A review with what it rests on. The agent records all of it and passes on the review alone."""

from collections.abc import Mapping

from evener.protocols.wire import Review

PASS = Review(decision="PASS")


class Opinion(Review):
    """A review, and its private side. `fault`: why no review could be read from the reviewer's
    answer; such an answer is invalid. `asked` False: nothing called for a review, and the candidate
    passed at no cost. `flag`: what called for it, where not all is reviewed. `hints` are those that
    fired, `hint_faults` those that failed. `requests` are those to the reviewer's own model that it
    rests on, each by its key with the tokens read and written: what was asked before counts once.
    """

    fault: str = ""
    asked: bool = True
    flag: str = ""
    hints: tuple[str, ...] = ()
    hint_faults: tuple[str, ...] = ()
    requests: Mapping[str, int] = {}


def opinion(review: Review) -> Opinion:
    """The review as an opinion, with an empty private side where it has none."""
    return review if isinstance(review, Opinion) else Opinion.model_validate(review.model_dump())
