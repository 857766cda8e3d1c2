"""Which patterns stand for others whose supports are nearly the same."""

from hypothesis import given
from hypothesis import strategies as st

from evener.distill.recovery.support import OVERLAP, jaccard, stand_ins


@given(
    st.dictionaries(
        st.text("abcdef", min_size=1, max_size=3),
        st.sets(st.integers(0, 12), max_size=12),
        max_size=7,
    )
)
def test_patterns_that_stand_for_others_overlap_little_with_each_other(
    sets: dict[str, set[int]],
) -> None:
    supports = {name: [str(task) for task in tasks] for name, tasks in sets.items()}
    found = stand_ins(supports)
    leaders = [name for name, group in found.items() if name == group]
    assert set(found.values()) == set(leaders)
    for name, group in found.items():
        assert name == group or jaccard(supports[name], supports[group]) > OVERLAP
    for left in leaders:
        for right in leaders:
            assert left == right or jaccard(supports[left], supports[right]) <= OVERLAP
