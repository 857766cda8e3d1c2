from evener.agents.rounds.bundle import bundle
from evener.protocols.attribution import Proposal
from evener.protocols.patch import FieldEdit, Patch

BASE = "0" * 64


def proposal(name: str, *paths: str, signatures: tuple[str, ...] = ()) -> Proposal:
    edits = tuple(FieldEdit(field_path=path, new_value=name) for path in paths)
    patch = Patch(base=BASE, edits=edits)
    return Proposal(name=name, author="rule", patch=patch, signatures=signatures)


def anything(patch: Patch) -> bool:
    return True


def test_compatible_proposals_become_one_patch_and_a_clash_leaves_the_worse_one_out() -> None:
    better, clash, other = proposal("x", "a"), proposal("y", "a"), proposal("z", "b")
    whole = bundle([better, clash, other], name="all", fits=anything)
    assert whole is not None
    assert whole.parts == (better, other)
    assert whole.proposal.patch.edits == better.patch.edits + other.patch.edits
    assert whole.proposal.reason == "x; z"


def test_a_single_proposal_stays_what_it_is() -> None:
    only = proposal("x", "a")
    whole = bundle([only], name="all", fits=anything)
    assert whole is not None
    assert whole.proposal == only
    assert whole.halves() == ()


def test_what_makes_the_whole_too_large_is_left_out() -> None:
    small, large, last = proposal("x", "a"), proposal("y", "b", "c"), proposal("z", "d")
    whole = bundle([small, large, last], name="all", fits=lambda patch: len(patch.edits) <= 2)
    assert whole is not None
    assert whole.parts == (small, last)
    assert bundle([large], name="all", fits=lambda patch: False) is None


def test_halves_cover_all_parts_and_split_down_to_the_parts_themselves() -> None:
    parts = [proposal(name, name) for name in "abcde"]
    whole = bundle(parts, name="all", fits=anything)
    assert whole is not None
    first, second = whole.halves()
    assert first.parts == tuple(parts[:3])
    assert second.parts == tuple(parts[3:])
    assert (first.proposal.name, second.proposal.name) == ("all-a", "all-b")
    assert [half.proposal for half in second.halves()] == parts[3:]


def test_a_whole_is_aimed_at_all_its_parts_and_at_everything_where_one_part_is() -> None:
    one, two = proposal("x", "a", signatures=("s",)), proposal("y", "b", signatures=("t", "s"))
    aimless = proposal("z", "c")
    whole = bundle([one, two], name="all", fits=anything)
    assert whole is not None
    assert whole.proposal.signatures == ("s", "t")
    mixed = bundle([one, aimless], name="all", fits=anything)
    assert mixed is not None
    assert mixed.proposal.signatures == ()
