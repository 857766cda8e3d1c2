import pytest

from evener.agents.models.local.library import library
from evener.distill.rows.mask import IGNORED, cut, join, labels, runs


def test_a_turn_that_goes_on_with_the_row_makes_one_row_with_two_spans() -> None:
    turns = [([1, 2], [3, 9]), ([1, 2, 3, 9, 4], [5, 9])]
    assert join(turns) == [((1, 2, 3, 9, 4, 5, 9), [(2, 4), (5, 7)])]


def test_a_prompt_that_changed_begins_a_row_of_its_own() -> None:
    turns = [([1, 2], [3, 9]), ([1, 7, 3, 9, 4], [5, 9]), ([1, 7, 3, 9, 4, 5, 9, 6], [8, 9])]
    assert join(turns) == [
        ((1, 2, 3, 9), [(2, 4)]),
        ((1, 7, 3, 9, 4, 5, 9, 6, 8, 9), [(5, 7), (8, 10)]),
    ]


def test_a_reply_told_with_other_tokens_later_is_not_joined() -> None:
    # the student said "ab" as two tokens, its text is one token in the next prompt
    assert len(join([([1], [10, 11, 9]), ([1, 12, 9, 4], [5, 9])])) == 2


def test_a_cut_row_keeps_whole_replies_only() -> None:
    ids, spans = tuple(range(10)), [(2, 4), (6, 9)]
    assert cut(ids, spans, max_tokens=9) == (tuple(range(9)), spans)
    assert cut(ids, spans, max_tokens=8) == (tuple(range(4)), [(2, 4)])
    assert cut(ids, spans, max_tokens=3) == ((), [])


def test_labels_are_the_ids_inside_the_spans_and_ignored_elsewhere() -> None:
    assert labels([5, 9, 7, 2], [(2, 4)]) == [IGNORED, IGNORED, 7, 2]
    with pytest.raises(ValueError, match="span"):
        labels([5, 9], [(0, 1)])
    with pytest.raises(ValueError, match="span"):
        labels([5, 9], [(1, 3)])


def test_runs_are_the_stretches_of_a_mask() -> None:
    assert runs([0, 1, 1, 0, 1]) == [(1, 3), (4, 5)]
    assert runs([]) == []


def test_the_end_token_is_learnt_where_padding_has_the_same_id() -> None:
    """CT-03: pad = eos = 2; the row's own 2 carries a loss, the padding's do not."""
    collator = library("trl.trainer.sft_trainer").DataCollatorForLanguageModeling(pad_token_id=2)
    row = {"input_ids": [5, 9, 7, 2], "labels": labels([5, 9, 7, 2], [(2, 4)])}
    longer = {"input_ids": [5, 9, 7, 7, 7, 2], "labels": labels([5, 9, 7, 7, 7, 2], [(2, 6)])}
    batch = collator([row, longer])
    assert batch["input_ids"][0].tolist() == [5, 9, 7, 2, 2, 2]
    assert batch["attention_mask"][0].tolist() == [1, 1, 1, 1, 0, 0]
    assert batch["labels"][0].tolist() == [IGNORED, IGNORED, 7, 2, IGNORED, IGNORED]
