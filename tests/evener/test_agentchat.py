"""A run as an AgentChat team, and the examples."""

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.base import TaskResult
from autogen_agentchat.base import Team as ChatTeam
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.ui import Console
from autogen_core import CancellationToken

from evener.agents.agentchat import ClientModel, ModelClient, RunEvent, RunTeam
from evener.agents.harness.load import parse_yaml
from evener.agents.models.scripted import ScriptedModel
from evener.agents.plan import Evaluation, Plan, Training
from evener.agents.record.run import RunFolder
from evener.config import DistillConfig, RunConfig, parse
from evener.distillation import Distillation
from evener.parts import Parts
from evener.protocols.error import RunError
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Request, StopReason
from evener.protocols.trajectory import Outcome
from evener.team import Team

ROOT = Path(__file__).resolve().parents[2]
Hire = Callable[[Any], ScriptedModel]


def script(name: str) -> Any:
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def quick(config: RunConfig) -> RunConfig:
    """The search alone, of one iteration."""
    search = config.plan.search.model_copy(update={"iterations": 1, "mine_tasks": 6})
    plan = config.plan.model_copy(update={"search": search})
    return config.model_copy(update={"plan": plan})


@pytest.fixture
def team(hire: Hire, quick: RunConfig, desk: Any, out: Path) -> RunTeam:
    parts = Parts(environment=desk, model=hire(desk))
    return RunTeam(lambda: Team.open(quick, out, parts=parts), poll_s=0.01)


def entries(out: Path, *kinds: str) -> dict[int, str]:
    with RunFolder.read(out) as folder:
        return {entry.seq: entry.kind for entry in folder.record.entries(*kinds)}


def begun(out: Path) -> bool:
    return out.exists()


async def test_the_console_shows_a_run(team: RunTeam, out: Path, capsys: Any) -> None:
    assert isinstance(team, ChatTeam)
    done = await Console(team.run_stream(task="Improve it."))
    shown = capsys.readouterr().out
    assert "---------- TextMessage (user) ----------\nImprove it." in shown
    assert "---------- RunEvent (evener) ----------\nround: round 1 of 1 from v0" in shown
    assert "ended: " in shown
    assert isinstance(done, TaskResult)
    assert done.stop_reason == "all 1 rounds are done"
    assert isinstance(done.messages[-1], TextMessage)
    told = [m for m in done.messages if isinstance(m, RunEvent)]
    logged = entries(out)
    assert [event.seq for event in told] == sorted({event.seq for event in told})
    assert {"mined", "spent", "round_end", "cell", "ended"} <= {event.kind for event in told}
    for event in told:
        kept = logged[event.seq]
        assert kept in (event.kind, "message")
        assert RunEvent.load(event.dump()) == event
    everything = {seq for seq, kind in logged.items() if kind in ("mined", "cell", "ended")}
    assert everything <= {event.seq for event in told}


async def test_events_come_while_the_run_goes_on(team: RunTeam, out: Path) -> None:
    async for message in team.run_stream():
        if isinstance(message, RunEvent) and message.kind == "mined":
            assert entries(out, "ended") == {}
            return
    raise AssertionError("nothing was told")


async def test_a_run_that_is_cancelled_ends_in_order_and_is_gone_on_with(
    team: RunTeam, out: Path
) -> None:
    token = CancellationToken()
    seen: list[str] = []

    async def watch() -> None:
        async for message in team.run_stream(task="go", cancellation_token=token):
            if isinstance(message, RunEvent):
                seen.append(message.kind)
                token.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(watch())
    assert "ended" not in seen
    assert len(asyncio.all_tasks()) == 1
    with RunFolder.read(out) as folder:
        assert folder.state == "interrupted"
    before = max(entries(out))
    done = await team.run()
    assert done.stop_reason == "all 1 rounds are done"
    assert min(m.seq for m in done.messages if isinstance(m, RunEvent)) > before
    with RunFolder.read(out) as folder:
        assert folder.state == "finished"


async def test_a_token_that_is_cancelled_already_begins_nothing(team: RunTeam, out: Path) -> None:
    token = CancellationToken()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await team.run(task="go", cancellation_token=token)
    assert not begun(out)


async def test_a_stream_that_is_left_ends_the_run(team: RunTeam, out: Path) -> None:
    stream = team.run_stream(task="go", output_task_messages=False)
    first = await anext(stream)
    assert isinstance(first, RunEvent)
    with pytest.raises(RunError, match="already running"):
        await team.run()
    await stream.aclose()
    assert len(asyncio.all_tasks()) == 1
    with RunFolder.read(out) as folder:
        assert folder.state == "interrupted"


async def test_what_a_run_raises_reaches_whoever_watches(config: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("something else")
    parts = Parts(model=ScriptedModel([]))
    team = RunTeam(lambda: Team.open(config, tmp_path / "run", parts=parts))
    with pytest.raises(RunError):
        await team.run(task="go")


async def test_a_distillation_is_a_team_too(crew: Callable[[], Parts], out: Path) -> None:
    config = RunConfig(
        plan=Plan(
            training=Training(collect_tasks=6, resamples=1),
            evaluation=Evaluation(test_tasks=6, ood_tasks=3),
        ),
        distill=DistillConfig(replicate_tasks=6),
    )
    team = RunTeam(lambda: Distillation.open(config, out, parts=crew()), name="school")
    done = await team.run()
    told = {m.kind for m in done.messages if isinstance(m, RunEvent)}
    assert {"replicate", "collected", "trained", "cell", "ended"} <= told
    assert {m.source for m in done.messages} == {"school"}


async def test_a_run_is_never_reset(team: RunTeam) -> None:
    with pytest.raises(RunError, match="another folder"):
        await team.reset()
    with pytest.raises(RunError, match="cancel"):
        await team.pause()


@pytest.mark.parametrize(
    "name", ["agentchat_client", "agentchat_model", "agentchat_team", "agentchat_episode"]
)
def test_an_example_is_short(name: str) -> None:
    assert len((ROOT / "examples" / f"{name}.py").read_text("utf-8").splitlines()) < 40


@pytest.mark.parametrize("name", ["agentchat_model", "agentchat_team"])
def test_the_settings_of_an_example_are_settings(name: str) -> None:
    assert parse(script(name).SETTINGS, where=name).plan.rounds == 1


async def test_the_example_of_a_client_asks_an_assistant() -> None:
    made = Reply(
        text="",
        calls=(Call(name="price", arguments={"item": "red chair"}),),
        stop_reason=StopReason.TOOL_CALLS,
        model=ModelRef(base="said", revision="0"),
    )
    model = ScriptedModel([made, "33"])
    assert await script("agentchat_client").ask(ModelClient(model), "3 red chairs?") == "33"
    assert model.requests[1].messages[-1].content == "11"


async def test_the_example_of_a_model_runs_a_team_on_a_client(
    hire: Hire, quick: RunConfig, desk: Any, out: Path
) -> None:
    model = ClientModel(ModelClient(hire(desk)), name="clerk")
    parts = Parts(environment=desk, model=model)
    said = await script("agentchat_model").launch(quick, out, parts)
    assert "base+evolved solves 100%" in said
    with RunFolder.read(out) as folder:
        assert folder.manifest.digests["student"] == model.ref.revision


async def test_the_example_of_a_team_shows_its_report(
    hire: Hire, quick: RunConfig, desk: Any, out: Path, capsys: Any
) -> None:
    parts = Parts(environment=desk, model=hire(desk))
    done = await script("agentchat_team").watch(quick, out, parts)
    assert "base+evolved" in done.messages[-1].to_text()
    assert "base+evolved" in capsys.readouterr().out


async def test_the_example_of_an_episode_solves_it(desk: Any) -> None:
    example = script("agentchat_episode")

    def reply(request: Request) -> Reply:
        at = max(i for i, m in enumerate(request.messages) if m.content in desk.asked)
        plan = desk.gold(desk.asked[request.messages[at].content])
        step = sum(m.role == "assistant" for m in request.messages[at:])
        return Reply(
            text="",
            calls=(plan[step],),
            stop_reason=StopReason.TOOL_CALLS,
            model=ModelRef(base="said", revision="0"),
        )

    native = parse_yaml(example.TEXT, where="hand.yaml")
    assert native.middleware.protocol.format == "native"
    done = await example.serve(ModelClient(ScriptedModel(reply)), desk, native)
    assert done.outcome is Outcome.SOLVED
