"""Rows on token ids: what is drawn, what carries the loss, what is refused and why."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.harness.replay import views
from evener.agents.models.local.render import Renderer
from evener.distill.rows.build import Row, RowSet, build_rows
from evener.distill.rows.marker import Markers
from evener.distill.settings import SftSettings
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.trajectory import Trajectory

END = 2
Collect = Callable[..., Awaitable[list[Trajectory]]]


def rows_of(
    episodes: Sequence[Trajectory], harness: Harness, renderer: Renderer, **settings: object
) -> RowSet:
    chosen = SftSettings.model_validate(settings)
    return build_rows(episodes, harness, renderer, settings=chosen, model="tiny")


def said(row: Row, renderer: Renderer) -> list[str]:
    """The trained texts, special tokens spelled out."""
    return [renderer.tokenizer.decode(list(row.ids[a:b])) for a, b in row.spans]


def test_an_episode_is_one_row_and_only_its_own_replies_carry_a_loss(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    made = rows_of(solved, desk, renderer)
    assert len(made.rows) == len(solved)
    assert made.refused == {}
    for episode, row in zip(solved, made.rows, strict=True):
        replies = [m.content for m in episode.messages if m.sampled]
        assert said(row, renderer) == [f"{reply}<|im_end|>" for reply in replies]
        # the worked example's replies stand in the row, and outside every span
        text = renderer.tokenizer.decode(list(row.ids))
        assert text.count("<|im_start|>assistant") == 2 + len(replies)


def test_every_reply_stands_behind_exactly_what_the_engine_draws(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    made = rows_of(solved, desk, renderer)
    for episode, row in zip(solved, made.rows, strict=True):
        shown = views(desk, episode)
        assert len(shown) == len(row.spans)
        for view, (start, _end) in zip(shown, row.spans, strict=True):
            assert list(row.ids[:start]) == renderer.ids(view.context)


async def test_sampled_tokens_are_trained_as_sampled_and_then_split_into_rows_a_turn(
    desk: Harness, renderer: Renderer, collect: Collect
) -> None:
    def letters(text: str) -> list[int]:
        return [renderer.encode(c)[0] for c in text] + [END]

    episodes = await collect(desk, 2, token_ids=letters)
    made = rows_of(episodes, desk, renderer)
    replies = [m for e in episodes for m in e.messages if m.sampled]
    # the next prompt tells the same text in other tokens: no row may hold both
    assert [len(row.spans) for row in made.rows] == [1] * len(replies)
    for row, reply in zip(made.rows, replies, strict=True):
        start, end = row.spans[0]
        assert row.ids[start:end] == reply.token_ids


async def test_tokens_that_do_not_spell_the_reply_are_refused(
    desk: Harness, renderer: Renderer, collect: Collect
) -> None:
    episodes = await collect(desk, 2, token_ids=lambda text: [*renderer.encode(text[:-3]), END])
    made = rows_of(episodes, desk, renderer)
    assert made.rows == ()
    assert made.refused == {"mask_mismatch": 2}


async def test_a_reply_without_its_end_token_gets_one(
    desk: Harness, renderer: Renderer, collect: Collect
) -> None:
    episodes = await collect(desk, 1, token_ids=renderer.encode)
    made = rows_of(episodes, desk, renderer)
    assert all(text.endswith("<|im_end|>") for row in made.rows for text in said(row, renderer))


def test_a_truncated_row_without_a_trainable_token_is_dropped_and_counted(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    """CT-02: the prompt alone fills the limit in all of eight samples."""
    eight = solved[:8]
    made = rows_of(eight, desk, renderer, max_tokens=48)
    assert made.rows == ()
    assert made.refused == {"no_trainable_token": 8}


def test_a_long_row_is_cut_after_a_whole_reply_or_refused(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    whole = rows_of(solved[:1], desk, renderer).rows[0]
    limit = len(whole.ids) - 1
    short = rows_of(solved[:1], desk, renderer, max_tokens=limit).rows[0]
    assert short.spans == whole.spans[:-1]
    assert short.ids == whole.ids[: short.spans[-1][1]]
    refused = rows_of(solved[:1], desk, renderer, max_tokens=limit, overlong="refuse")
    assert refused.refused == {"too_long": 1}


def test_equal_rows_are_kept_once(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    made = rows_of([solved[0], solved[0]], desk, renderer)
    assert len(made.rows) == 1
    assert made.refused == {"duplicate": 1}


def test_an_action_that_the_serving_harness_lacks_refuses_the_episode(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    less = desk.model_copy(update={"tools": tuple(t for t in desk.tools if t.name != "lookup")})
    made = rows_of(solved, less, renderer)
    lookups = sum(episode.task.kind in ("price", "bill") for episode in solved)
    assert lookups > 0
    assert made.refused == {"unknown_action": lookups}
    assert len(made.rows) == len(solved) - lookups


async def test_a_reply_that_led_to_an_error_stays_in_the_row_and_carries_no_loss(
    desk: Harness, renderer: Renderer, collect: Collect
) -> None:
    (episode,) = await collect(desk, 1, stumble=True)
    made = rows_of([episode], desk, renderer)
    assert episode.solved
    texts = said(made.rows[0], renderer)
    assert all('"juggle"' not in text for text in texts)
    assert '"juggle"' in renderer.tokenizer.decode(list(made.rows[0].ids))
    assert made.untrained == {"not_executed": 1}
    # of an episode that makes no row nothing is counted but its refusal
    private = Markers(tools=("final",))
    none = build_rows(
        [episode], desk, renderer, settings=SftSettings(), model="tiny", markers=private
    )
    assert (none.refused, none.untrained) == ({"private_marker": 1}, {})


def test_rows_under_another_harness_are_drawn_with_its_prompt(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    bare = desk.model_copy(
        update={"prompt": desk.prompt.model_copy(update={"system": "Go.", "examples": ()})}
    )
    made = rows_of(solved[:1], bare, renderer)
    text = renderer.tokenizer.decode(list(made.rows[0].ids))
    assert text.startswith("<|im_start|>system\nGo.<|im_end|>")
    assert "2 times 3" not in text


def test_the_digests_follow_ids_and_spans_and_nothing_else(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    made = rows_of(solved, desk, renderer)
    assert rows_of(solved, desk, renderer).data_digest() == made.data_digest()
    row = made.rows[0]
    narrower = made.model_copy(
        update={"rows": (row.model_copy(update={"spans": row.spans[:1]}), *made.rows[1:])}
    )
    assert narrower.data_digest() == made.data_digest()
    assert narrower.mask_digest() != made.mask_digest()


def test_the_native_protocol_is_refused_with_its_place(
    desk: Harness, solved: list[Trajectory], renderer: Renderer
) -> None:
    native = parse_yaml("name: n\nmiddleware: {protocol: {format: native}}\n", where="native.yaml")
    with pytest.raises(DataError, match=r"middleware\.protocol\.format"):
        rows_of(solved, native, renderer)
