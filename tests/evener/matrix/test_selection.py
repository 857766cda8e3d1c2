"""Episodes within a budget of tokens."""

from collections import Counter

from evener.matrix.selection import sampled_tokens, within
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory


def episode(number: int, kind: str, *sizes: int, text: str = "") -> Trajectory:
    key = EpisodeKey(
        task="t", prompt_digest="", harness="", model="", purpose=Purpose.COLLECT, seed=0
    )
    sampled = [
        Message(role="assistant", content="x", sampled=True, token_ids=(1,) * size)
        for size in sizes
    ]
    if text:
        sampled.append(Message(role="assistant", content=text, sampled=True))
    return Trajectory(
        id=f"e{number}",
        key=key,
        task=Task(id=f"t{number}", split=Split.MINE, kind=kind, prompt="?"),
        model=ModelRef(base="b", revision="r"),
        messages=(Message(role="user", content="a long question, which is read"), *sampled),
        events=(),
        outcome=Outcome.SOLVED,
        score=Score(value=1.0, verdict="correct"),
        usage=Usage(),  # answered from the cache: what was sampled is in the messages alone
    )


def test_tokens_are_those_sampled_with_an_end_of_turn_each() -> None:
    assert sampled_tokens(episode(1, "a", 4, 5)) == 11
    assert sampled_tokens(episode(1, "a", text="1234567")) == 4  # 3 characters a token at least


def test_the_budget_is_kept_and_spread_evenly_over_the_kinds() -> None:
    many = [episode(at, "many", 9) for at in range(10)]
    few = [episode(at, "few", 9) for at in range(10, 13)]
    chosen = within([*many, *few], tokens=65)
    assert sum(map(sampled_tokens, chosen)) == 60
    assert Counter(e.task.kind for e in chosen) == {"many": 3, "few": 3}
    assert [e.id for e in chosen if e.task.kind == "many"] == ["e0", "e1", "e2"]


def test_one_that_does_not_fit_makes_room_for_a_shorter_one() -> None:
    chosen = within([episode(1, "a", 99), episode(2, "a", 4), episode(3, "a", 4)], tokens=10)
    assert [e.id for e in chosen] == ["e2", "e3"]


def test_all_are_taken_where_the_budget_allows() -> None:
    episodes = [episode(at, "a", 4) for at in range(4)]
    assert within(episodes, tokens=1000) == episodes
