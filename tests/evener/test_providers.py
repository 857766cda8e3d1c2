"""A student behind an interface, from the configuration to the log of its run."""

from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.remote.faults import FaultServer, scripted
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.record.run import RunFolder
from evener.choose import check_model, choose_model
from evener.config import RunConfig, StudentConfig, parse
from evener.doctor import examine
from evener.parts import Parts
from evener.protocols.error import BudgetError, ConfigError, ModelError
from evener.protocols.message import Message
from evener.protocols.model import Request, Sampling
from evener.team import Team, rehearse

WRONG = '{"name": "final", "arguments": {"answer": -1}}'


class Heard:
    """Progress that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, label: str, *, total: int) -> None:
        pass

    def advance(self, steps: int = 1) -> None:
        pass

    def say(self, text: str) -> None:
        self.said.append(text)


def student(server: FaultServer, config: RunConfig, **provider: Any) -> RunConfig:
    data = config.document() | {
        "student": {
            "model": "hosted_vllm/small",
            "api_base": server.url,
            "provider": {"timeouts": {"total_s": 20.0}} | provider,
        }
    }
    return parse(data, where="the test")


def clerk_s_words(clerk: Any) -> Any:
    """What the scripted clerk would say to the messages of a body."""

    def answer(body: dict[str, Any]) -> str:
        messages = tuple(
            Message(role=m["role"], content=m["content"] or "") for m in body["messages"]
        )
        request = Request(messages=messages, sampling=Sampling())
        return str(clerk._rule(request))

    return answer


def test_one_line_selects_a_provider_and_folders_and_hub_ids_stay_what_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = {"student": {"model": "openai/m", "api_base": "http://127.0.0.1:8000/v1"}}
    assert isinstance(choose_model(parse(data, where="here")), OpenAIModel)
    with pytest.raises(ModelError, match="not a model that can be loaded"):
        check_model(RunConfig(student=StudentConfig(model=str(tmp_path))))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check_model(RunConfig(student=StudentConfig(model="openai/m@main")))
    with pytest.raises(ModelError, match="did you mean openai/m"):
        choose_model(RunConfig(student=StudentConfig(model="opnai/m")))


async def test_a_rehearsal_names_what_is_missing_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, config: RunConfig
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    def with_student(**given: Any) -> RunConfig:
        return config.model_copy(update={"student": StudentConfig(**given)})

    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        await rehearse(with_student(model="anthropic/claude"))
    with pytest.raises(ModelError, match="nearest: openai/m"):
        await rehearse(with_student(model="opnai/m", api_base="http://127.0.0.1:8000"))
    with pytest.raises(ModelError, match="no http address"):
        await rehearse(with_student(model="openai/m", api_base="127.0.0.1:8000"))


async def test_training_weights_that_are_out_of_reach_is_refused(
    tmp_path: Path, config: RunConfig
) -> None:
    async with FaultServer() as server:
        asked = student(server, RunConfig())
        with pytest.raises(ConfigError, match="out of reach"):
            async with Team.open(asked, tmp_path / "run"):
                pass


async def test_no_server_is_one_line_before_the_run_has_a_folder(
    tmp_path: Path, config: RunConfig
) -> None:
    data = config.document() | {
        "student": {"model": "hosted_vllm/m", "api_base": "http://127.0.0.1:9"}
    }
    with pytest.raises(ModelError, match=r"no server answers.*api_base"):
        async with Team.open(parse(data, where="x"), tmp_path / "run"):
            pass
    assert not (tmp_path / "run").exists()


async def test_a_window_smaller_than_the_harness_needs_is_refused_with_both_figures(
    tmp_path: Path, config: RunConfig
) -> None:
    async with FaultServer(models=("small",), window=96) as server:
        with pytest.raises(ConfigError, match=r"needs about \d+ tokens.*has 96"):
            async with Team.open(student(server, config), tmp_path / "run"):
                pass
        assert server.books.requests == 0


async def test_a_run_on_a_server_logs_every_request_and_goes_on_under_a_larger_budget(
    tmp_path: Path, config: RunConfig, desk: Any, hire: Any
) -> None:
    answer = clerk_s_words(hire(desk))
    async with FaultServer(answer, scripted([None, "cut", "empty_choices"])) as server:
        heard = Heard()
        parts = Parts(environment=desk, progress=heard)
        short = student(server, config, budget={"calls": 30, "usd": 1.0})
        with pytest.raises(BudgetError, match="30 calls of the student"):
            async with Team.open(short, tmp_path / "run", parts=parts) as team:
                await team.run()
        assert server.books.requests == 30
        assert "price of hosted_vllm/small is unknown" in heard.said[0]
        assert heard.said[-1].startswith("student: 30 requests")
        assert "unknown price" in heard.said[-1]

        async with Team.open(student(server, config), tmp_path / "run", parts=parts) as team:
            summary = await team.run()
        assert summary.state == "finished"
        with RunFolder.read(tmp_path / "run") as folder:
            attempts = [a for b in folder.record.bodies("provider_call") for a in b["attempts"]]  # type: ignore[union-attr]
        books = server.books
        told = [a for a in attempts if a["prompt_tokens"] is not None]  # type: ignore[index,call-overload]
        assert len(attempts) == books.requests
        assert len(told) == books.told
        assert sum(a["prompt_tokens"] for a in told) == books.prompt_tokens  # type: ignore[index,call-overload,misc]
        assert sum(a["completion_tokens"] for a in told) == books.completion_tokens  # type: ignore[index,call-overload,misc]


def test_the_doctor_says_which_keys_are_set_and_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "hunter22hunter22")
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    found = {finding.name: finding for finding in examine()}
    assert (found["MISTRAL_API_KEY"].state, found["GROQ_API_KEY"].state) == ("ok", "absent")
    assert "groq/" in found["GROQ_API_KEY"].remedy
    assert found["litellm"].state == "ok"
    assert "hunter22" not in "".join(f.model_dump_json() for f in found.values())


async def test_settings_that_decide_replies_may_not_change(
    tmp_path: Path, config: RunConfig, desk: Any
) -> None:
    async with FaultServer(WRONG) as server:
        parts = Parts(environment=desk)
        async with Team.open(student(server, config), tmp_path / "run", parts=parts):
            pass
        async with Team.open(student(server, config, attempts=2), tmp_path / "run", parts=parts):
            pass
        with pytest.raises(Exception, match="stream"):
            async with Team.open(
                student(server, config, stream=True), tmp_path / "run", parts=parts
            ):
                pass
