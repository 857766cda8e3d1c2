"""A model for a role beside the student: who is asked, what it costs, and what a resume pays."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evener.adapt import adapted
from evener.agents.harness.load import load as harness
from evener.agents.knowledge.load import dump_yaml
from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.scripted import ScriptedModel
from evener.agents.plan import Evaluation, Plan, Training
from evener.agents.record.run import RunFolder
from evener.cli import commands
from evener.cli.app import app
from evener.config import CriticConfig, DistillConfig, RoleModel, RunConfig, load
from evener.distillation import Distillation
from evener.environments.storefront import Storefront
from evener.parts import Parts
from evener.progress import Silent
from evener.protocols.error import ConfigError, KnowledgeError, ModelError, RunError
from evener.protocols.summary import Summary
from evener.team import Team, rehearse

Hire = Callable[[Any], ScriptedModel]
Body = dict[str, Any]


def blame(body: Body) -> str:
    """Whatever failed, a skill is missing; the first event is the evidence."""
    text = body["messages"][1]["content"]
    kind = re.search(r'\[0\] \{.*?"kind":"(\w+)"', text)
    assert kind is not None
    return json.dumps(
        {"root_cause": "skill_missing", "severity": "major", "event": 0, "quote": kind[1]}
    )


def judged(config: RunConfig, server: FaultServer, **provider: Any) -> RunConfig:
    spec = {"kind": "model", "model": "hosted_vllm/judge", "api_base": server.url}
    critic = CriticConfig.model_validate_json(json.dumps({**spec, "provider": provider}))
    return config.model_copy(update={"critic": critic})


async def whole(config: RunConfig, out: Path, parts: Parts) -> Summary:
    async with Team.open(config, out, parts=parts) as team:
        return await team.run()


async def test_a_model_behind_an_interface_blames_and_its_calls_are_its_own(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    async with FaultServer(blame, models=("judge",)) as server:
        settings = judged(config, server)
        parts = Parts(environment=desk, model=hire(desk))
        summary = await whole(settings, tmp_path / "run", parts)
        asked = server.books.requests
        assert asked > 0
        again = await whole(settings, tmp_path / "run", Parts(environment=desk, model=hire(desk)))
        assert server.books.requests == asked
    assert summary.critic == "model hosted_vllm/judge"
    assert summary.budget.by_role["critic"].calls == asked
    assert summary.budget.by_role["critic"].tokens > 0
    assert again.verdicts == summary.verdicts
    accepted = [v for v in summary.verdicts if v.kind == "improve" and v.outcome == "ACCEPT"]
    assert accepted
    assert {v.author for v in accepted} == {"model hosted_vllm/judge"}
    with RunFolder.read(tmp_path / "run") as folder:
        assert "critic" in folder.manifest.digests


async def test_the_student_s_own_base_may_blame_and_abstains_where_it_says_nothing_valid(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    clerk = hire(desk)

    def reply(request: Any) -> Any:
        if request.messages[0].content.startswith("You are the critic"):
            return "No idea."
        return clerk.complete(request)

    model = ScriptedModel(reply, name="both")
    settings = config.model_copy(update={"critic": CriticConfig(kind="model")})
    summary = await whole(settings, tmp_path / "run", Parts(environment=desk, model=model))
    assert summary.critic == "model student"
    assert summary.budget.by_role["critic"].calls > 0
    assert [v for v in summary.verdicts if v.kind == "improve"] == []


async def test_a_critic_s_budget_ends_the_run_and_a_larger_one_goes_on(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    async with FaultServer(blame, models=("judge",)) as server:
        small = judged(config, server, budget={"calls": 5})
        summary = await whole(small, tmp_path / "run", Parts(environment=desk, model=hire(desk)))
        assert summary.state == "budget"
        assert server.books.requests == 5
        large = judged(config, server, budget={"calls": 500})
        summary = await whole(large, tmp_path / "run", Parts(environment=desk, model=hire(desk)))
        assert summary.state == "finished"
        assert summary.budget.by_role["critic"].calls == server.books.requests
        with pytest.raises(RunError, match="critic"):
            await whole(config, tmp_path / "run", Parts(environment=desk, model=hire(desk)))


async def test_a_role_s_model_is_checked_before_anything_runs(config: RunConfig) -> None:
    def of(model: str) -> RunConfig:
        critic = CriticConfig(kind="model", model=model)
        return config.model_copy(update={"critic": critic})

    with pytest.raises(ModelError, match=r"critic\.api_base"):
        await rehearse(of("hosted_vllm/judge"))
    with pytest.raises(ModelError, match="does not exist"):
        await rehearse(of("./no/such/folder"))


def test_a_critic_has_a_short_form_and_a_table(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('critic = "random"\n', "utf-8")
    assert load(file).critic == CriticConfig(kind="random")
    file.write_text('[critic]\nkind = "model"\nmodel = "openai/gpt-x"\n', "utf-8")
    assert load(file).critic == CriticConfig(kind="model", model="openai/gpt-x")
    assert load(None, ["critic=rule"]).critic.kind == "rule"
    with pytest.raises(ConfigError, match="critic"):
        load(None, ["critic=oracle"])
    assert RoleModel().shared
    assert not RoleModel(model="openai/x").shared


async def test_whose_blame_is_measured_may_be_a_model_of_a_server(tmp_path: Path) -> None:
    commands.attach()
    async with FaultServer(blame, models=("judge",)) as server:
        arguments = [
            *("bench", "critic", "--plants", "second", "--episodes", "1", "--json", "--quiet"),
            *("--critic", "hosted_vllm/judge", "--api-base", server.url),
        ]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert server.books.requests == found["failures"] == 25
    assert found["judge"] == "model"
    skills = next(d for d in found["dimensions"] if d["dimension"] == "S")
    assert (skills["recall"]["value"], skills["blamed"]) == (1.0, 25)
    assert found["false_blame"]["value"] == 1.0


async def test_a_server_s_model_reviews_and_reads_a_k_from_a_file(
    crew: Callable[[], Parts], tmp_path: Path
) -> None:
    desk = crew().environment
    assert isinstance(desk, Storefront)
    optimized, target = (harness(desk.harness_path(name)) for name in ("optimized", "target"))
    made = (await adapted(optimized, target, environment=desk)).knowledge
    note = made.patterns[0].model_copy(update={"intervention": "Count on your fingers first."})
    made = made.model_copy(update={"patterns": (note, *made.patterns[1:])})
    file = tmp_path / "k.yaml"
    file.write_text(dump_yaml(made), "utf-8")

    async with FaultServer("PASS", models=("reviewer",)) as server:
        spec = RoleModel(model="hosted_vllm/reviewer", api_base=server.url)
        config = RunConfig(
            plan=Plan(
                training=Training(collect_tasks=8, resamples=0),
                evaluation=Evaluation(test_tasks=6, ood_tasks=0),
            ),
            distill=DistillConfig(
                replicate_tasks=0,
                control=False,
                reviewer="model",
                reviewer_model=spec,
                knowledge=str(file),
            ),
        )
        async with Distillation.open(config, tmp_path / "run", parts=crew()) as team:
            summary = await team.run()
        prompts = {body["messages"][0]["content"] for body in server.bodies}
        assert summary.budget.by_role["reviewer"].calls == server.books.requests > 0
    assert len(prompts) == 1
    assert "Count on your fingers first." in prompts.pop()
    (line,) = summary.reviews
    assert line.reviewer.startswith("model hosted_vllm/reviewer")
    assert (line.replaced, line.given_up) == (0, 0)


async def test_a_k_that_does_not_fit_is_one_line(crew: Callable[[], Parts], tmp_path: Path) -> None:
    file = tmp_path / "k.yaml"
    file.write_text("name: none\n", "utf-8")
    config = RunConfig(distill=DistillConfig(knowledge=str(file)))
    with pytest.raises(KnowledgeError, match=r"k\.yaml"):
        async with Distillation.open(config, tmp_path / "run", parts=crew()):
            pass
    lost = config.model_copy(update={"distill": DistillConfig(knowledge="nowhere.yaml")})
    with pytest.raises(KnowledgeError, match=r"nowhere\.yaml"):
        async with Distillation.open(lost, tmp_path / "run", parts=crew()):
            pass


async def test_a_price_that_nobody_knows_is_told_with_the_roles_own_table(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    said: list[str] = []

    class Listening(Silent):
        def say(self, text: str) -> None:
            said.append(text)

    async with FaultServer(blame, models=("judge",)) as server:
        settings = judged(config, server, budget={"usd": 1.0})
        parts = Parts(environment=desk, model=hire(desk), progress=Listening())
        async with Team.open(settings, tmp_path / "run", parts=parts):
            pass
    assert any("give critic.provider.price_in" in line for line in said)
