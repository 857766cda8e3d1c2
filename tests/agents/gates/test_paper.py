"""The paper's gate: point estimates and nothing else."""

import pytest

from evener.agents.gates.paper import PaperGate, PaperSettings
from evener.protocols.attribution import TrialKind
from evener.protocols.verdict import Pair, Ruling

GATE = PaperGate(PaperSettings(pairs_in=4, pairs_out=3))


def pairs(*differences: int, saved: float = 0.0) -> list[Pair]:
    return [
        Pair(
            task=f"t{at}",
            before=float(d < 0),
            after=float(d > 0),
            cost_before=100.0,
            cost_after=100.0 - saved,
        )
        for at, d in enumerate(differences)
    ]


def ruling(held_in: list[Pair], held_out: list[Pair], kind: TrialKind = "improve") -> Ruling | None:
    return GATE.decide(held_in, held_out, kind=kind).ruling


GAIN, SAME, LOSS = pairs(1, 0, 0, 0), pairs(0, 0, 0), pairs(-1, 0, 0)


def test_any_gain_without_any_loss_is_accepted() -> None:
    assert ruling(GAIN, SAME) is Ruling.ACCEPT
    assert ruling(GAIN, pairs(1, 0, 0)) is Ruling.ACCEPT
    assert ruling(GAIN, LOSS) is Ruling.REJECT
    assert ruling(pairs(0, 0, 0, 0), SAME) is Ruling.REJECT
    assert ruling(pairs(-1, 0, 0, 0), SAME) is Ruling.REJECT


@pytest.mark.parametrize("kind", ["model", "confirm"])
def test_other_kinds_are_judged_alike(kind: TrialKind) -> None:
    assert ruling(GAIN, SAME, kind) is Ruling.ACCEPT
    assert ruling(pairs(0, 0, 0, 0), SAME, kind) is Ruling.REJECT


def test_a_simplification_must_save_and_not_lose() -> None:
    same_in, same_out = pairs(0, 0, 0, 0, saved=5), pairs(0, 0, 0, saved=5)
    assert ruling(same_in, same_out, "simplify") is Ruling.ACCEPT
    assert ruling(pairs(0, 0, 0, 0), SAME, "simplify") is Ruling.REJECT
    assert ruling(pairs(-1, 0, 0, 0, saved=5), same_out, "simplify") is Ruling.REJECT
    assert ruling(same_in, pairs(-1, 0, 0, saved=5), "simplify") is Ruling.REJECT


def test_it_waits_for_its_pairs_on_both_sides() -> None:
    found = GATE.decide([], [], kind="improve")
    assert (found.ruling, found.want_in, found.want_out) == (None, 4, 3)
    assert ruling(GAIN[:3], SAME) is None
    assert ruling(GAIN, SAME[:2]) is None


def test_it_does_not_look_beyond_its_pairs() -> None:
    assert ruling([*GAIN, *pairs(-1, -1, -1)], SAME) is Ruling.ACCEPT
    assert ruling(GAIN, [*SAME, *pairs(-1, -1)]) is Ruling.ACCEPT


def test_with_nothing_more_to_come_it_takes_what_there_is() -> None:
    both = GATE.decide(GAIN[:1], SAME[:1], kind="improve", exhausted_in=True, exhausted_out=True)
    assert both.ruling is Ruling.ACCEPT
    one = GATE.decide(GAIN[:1], SAME[:1], kind="improve", exhausted_in=True)
    assert (one.ruling, one.want_in, one.want_out) == (None, 1, 3)
    for held_in, held_out in (([], SAME), (GAIN, [])):
        empty = GATE.decide(
            held_in, held_out, kind="improve", exhausted_in=True, exhausted_out=True
        )
        assert empty.ruling is Ruling.INDECISIVE


def test_ends_and_digest() -> None:
    assert GATE.least("improve") == (1, 1)
    assert GATE.most("improve") == (4, 3)
    assert GATE.digest != PaperGate().digest
