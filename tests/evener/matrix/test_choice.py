"""Which of several episodes is taken, by whom."""

from typing import Any

from evener.matrix.choice import best, verified
from evener.protocols.event import Acted, CallRefused, Ended, Event
from evener.protocols.message import Call, Message
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory

TASK = Task(id="t", split=Split.TEST, prompt="?")


def episode(
    answer: Any = None,
    *,
    solved: bool = False,
    refused: int = 0,
    calls: int = 1,
    outcome: Outcome | None = None,
    said: str = "",
) -> Trajectory:
    call = Call(name="final", arguments={"answer": answer})
    events: list[Event] = [
        CallRefused(turn=0, call=call, reason="unknown_tool", detail="") for _ in range(refused)
    ]
    if answer is not None:
        events.append(Acted(turn=0, tool="final", call=call, observation="done", done=True))
    events.append(Ended(turn=0, reason="final" if answer is not None or said else "max_turns"))
    key = EpisodeKey(
        task="t", prompt_digest="", harness="", model="", purpose=Purpose.EVALUATE, seed=0
    )
    return Trajectory(
        id="e",
        key=key,
        task=TASK,
        model=ModelRef(base="b", revision="r"),
        messages=(Message(role="assistant", content=said, sampled=True),),
        events=tuple(events),
        outcome=outcome or (Outcome.SOLVED if solved else Outcome.FAILED),
        score=Score(value=float(solved), verdict="correct" if solved else "incorrect"),
        usage=Usage(calls=calls),
    )


def test_best_prefers_an_answer_then_clean_calls_then_few_calls_then_the_first() -> None:
    assert best([episode(), episode(1, refused=3)]) == 1
    assert best([episode(1, refused=1), episode(2, calls=9)]) == 1
    assert best([episode(1, calls=3), episode(2, calls=2)]) == 1
    assert best([episode(1), episode(2)]) == 0


def test_best_never_asks_the_verifier() -> None:
    assert best([episode(1), episode(2, solved=True)]) == 0


def test_a_failure_of_the_machinery_is_never_chosen_where_there_is_another() -> None:
    broken = episode(1, outcome=Outcome.INFRA)
    for choose in (best, verified):
        assert choose([broken, episode(2)]) == 1
        assert choose([broken, broken]) == 0


def test_pass_takes_the_first_that_is_solved() -> None:
    assert verified([episode(1), episode(2, solved=True)]) == 1
    assert verified([episode(1), episode(2)]) == 0
