from evener.agents.race import Entry, combine, singles, winners
from evener.protocols.attribution import Proposal
from evener.protocols.patch import FieldEdit, Patch

BASE = "0" * 64


def proposal(name: str, *paths: str, group: str = "") -> Proposal:
    edits = tuple(FieldEdit(field_path=path, new_value=name) for path in paths)
    return Proposal(name=name, author="rule", patch=Patch(base=BASE, edits=edits), group=group)


def entry(one: Proposal, solved: float, tokens: int = 10) -> Entry:
    return Entry(proposal=one, solved=solved, n=4, tokens=tokens)


def test_only_the_best_of_a_group_wins_and_only_if_it_solved_anything() -> None:
    ranked = [
        entry(proposal("three", "a", group="count"), 3),
        entry(proposal("two", "a", group="count"), 2),
        entry(proposal("other", "b"), 1),
        entry(proposal("useless", "c"), 0),
    ]
    assert [e.proposal.name for e in winners(ranked)] == ["three", "other"]


def test_compatible_winners_become_one_patch_and_a_clash_leaves_the_worse_one_out() -> None:
    better, clash, other = proposal("x", "a"), proposal("y", "a"), proposal("z", "b")
    merged = combine([entry(better, 3), entry(clash, 2), entry(other, 1)], name="all")
    assert merged.patch.edits == better.patch.edits + other.patch.edits
    assert merged.reason == "x; z"


def test_a_single_winner_stays_what_it_is() -> None:
    only = proposal("x", "a")
    assert combine([entry(only, 3)], name="all") == only


def test_what_is_put_together_from_others_does_not_race() -> None:
    first, second = proposal("x", "a"), proposal("y", "b")
    both = Proposal(
        name="both",
        author="rule",
        patch=Patch(base=BASE, edits=first.patch.edits + second.patch.edits),
    )
    assert singles([both, first, second]) == [first, second]
    assert singles([both, first]) == [both, first]
