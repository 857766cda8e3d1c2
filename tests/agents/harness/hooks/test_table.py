"""The table of hooks: each by its name, with defaults that work, at the stages it is made for."""

import pytest

from evener.agents.harness.hooks.effect import Block, Halt, HookState, Remind, Repeat, Reread
from evener.agents.harness.hooks.table import STAGES, TABLE, allowed, bind
from evener.protocols.error import HarnessError
from evener.protocols.harness import Hook, Hooks
from evener.protocols.message import Call


def test_the_stages_are_those_of_a_harness() -> None:
    assert tuple(Hooks.model_fields) == STAGES


@pytest.mark.parametrize("name", TABLE)
def test_every_hook_has_defaults_and_is_quiet_when_nothing_happened(name: str) -> None:
    hook = TABLE[name]
    assert hook.name == name
    assert hook.stages
    for stage in hook.stages:
        assert bind(Hook(name=name), stage)(HookState(stage=stage)) is None


@pytest.mark.parametrize("name", TABLE)
def test_a_hook_is_refused_where_it_cannot_stand(name: str) -> None:
    for stage in STAGES:
        if stage in TABLE[name].stages:
            assert name in allowed(stage)
        else:
            with pytest.raises(HarnessError, match="cannot stand here"):
                bind(Hook(name=name), stage)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(HarnessError, match=r"before_tool\[loop_guard\].settings.repeat: unknown"):
        bind(Hook(name="loop_guard", settings={"repeat": 3}), "before_tool")
    with pytest.raises(HarnessError, match=r"settings.repeats: input should be"):
        bind(Hook(name="loop_guard", settings={"repeats": 1}), "before_tool")


def test_retry_waits_longer_each_time_and_stops() -> None:
    hook = bind(Hook(name="retry", settings={"attempts": 3, "backoff_s": 0.5}), "after_tool")
    effects = [
        hook(HookState(stage="after_tool", error_kind="timeout", attempt=n)) for n in (1, 2, 3)
    ]
    assert effects == [Repeat(0.5), Repeat(1.0), None]
    assert hook(HookState(stage="after_tool", error_kind="unknown_item")) is None


def test_loop_guard_counts_equal_attempts() -> None:
    hook = bind(Hook(name="loop_guard"), "before_tool")
    effects = [hook(HookState(stage="before_tool", repeats=n)) for n in range(5)]
    assert [type(effect) for effect in effects] == [type(None), type(None), Block, Halt, Halt]


def test_repair_call_wants_a_reading_to_take() -> None:
    hook = bind(Hook(name="repair_call"), "after_model")
    failed = HookState(stage="after_model", fault="invalid_json")
    assert hook(failed) is None
    repairable = HookState(stage="after_model", fault="invalid_json", repairable=True)
    assert hook(repairable) == Reread()


def test_require_action_is_for_replies_without_any_call() -> None:
    hook = bind(Hook(name="require_action", settings={"reminders": 2}), "after_model")
    assert isinstance(hook(HookState(stage="after_model", fault="no_call", fired=1)), Remind)
    assert hook(HookState(stage="after_model", fault="no_call", fired=2)) is None
    assert hook(HookState(stage="after_model", fault="invalid_json")) is None


@pytest.mark.parametrize(
    ("answer", "result", "kept"),
    [
        ("6", "6", True),
        ("6.0", "6", True),
        ("1,200", "1200", True),
        ("it is 6 pounds", "6", True),
        (6, "6", True),
        ("0.30000000000000004", "0.3", True),
        ("7", "6", False),
        ("six", "6", False),
        ("-6", "6", False),
        ("6", "no numbers", True),
        ("6", None, True),
        ("6", "first 5, then 6", True),
    ],
)
def test_verify_answer_compares_numbers(answer: str | int, result: str | None, kept: bool) -> None:
    hook = bind(Hook(name="verify_answer"), "before_finish")
    call = Call(name="final", arguments={"answer": answer})
    state = HookState(stage="before_finish", call=call, last_result=result)
    assert (hook(state) is None) is kept
