"""What an episode took is a matter of the episode, and not of what was asked before it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evener.agents.models.scripted import ScriptedModel
from evener.agents.record.run import RunFolder
from evener.choose import choose_harness
from evener.config import RunConfig
from evener.parts import Parts
from evener.protocols.summary import Summary
from evener.protocols.verdict import Ruling
from evener.protocols.wire import TrialFinished, TrialRequest
from evener.team import Team

Hire = Callable[[Any], ScriptedModel]


async def test_a_change_that_no_request_shows_is_not_cheaper_because_its_replies_are_kept(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    hand = choose_harness("hand", desk)
    unseen = hand.model_copy(update={"memory": hand.memory.model_copy(update={"capacity": 7})})
    parts = Parts(environment=desk, model=hire(desk))
    async with Team.open(config, tmp_path / "run", parts=parts) as team:
        put = team.folder.record.put
        request = TrialRequest(
            trial="unseen",
            kind="simplify",
            before_harness=put(hand),
            after_harness=put(unseen),
            before_model=team.base,
            after_model=team.base,
            rollout_limit=400,
            seed=1,
            temperature=0.3,
        )
        verdict = (await team.bus.ask("validator", request, TrialFinished)).verdict
    pairs = (*verdict.pairs_in, *verdict.pairs_out)
    assert pairs
    assert all(pair.cost_before == pair.cost_after > 0 for pair in pairs)
    assert verdict.ruling is not Ruling.ACCEPT


async def test_a_run_whose_episodes_were_lost_with_their_process_spends_what_it_spent(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    async def run(model: ScriptedModel) -> Summary:
        parts = Parts(environment=desk, model=model)
        async with Team.open(config, tmp_path / "run", parts=parts) as team:
            return await team.run()

    first = await run(hire(desk))
    spent = _spent(tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "events.db") as database:
        database.execute("DELETE FROM episodes")  # their replies are kept
    again = hire(desk)
    second = await run(again)
    assert again.requests == []
    assert _spent(tmp_path / "run") == spent
    assert second.verdicts == first.verdicts
    assert [(c.name, c.calls, c.tokens) for c in second.cells] == [
        (c.name, c.calls, c.tokens) for c in first.cells
    ]


async def test_a_trial_that_is_answered_from_the_log_still_says_how_many_rollouts_it_took(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    summaries: list[Summary] = []
    for _ in range(2):
        parts = Parts(environment=desk, model=hire(desk))
        async with Team.open(config, tmp_path / "run", parts=parts) as team:
            summaries.append(await team.run())
    first, second = summaries
    assert all(line.rollouts > 0 for line in first.verdicts)
    assert second.verdicts == first.verdicts


def _spent(run: Path) -> dict[tuple[str, str], tuple[object, ...]]:
    with RunFolder.read(run) as folder:
        return {
            (str(body["round"]), str(body["stage"])): tuple(
                body[unit] for unit in ("rollouts", "calls", "completion_tokens")
            )
            for body in folder.record.bodies("spent")
        }
