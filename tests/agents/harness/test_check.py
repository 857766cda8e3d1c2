"""A harness that cannot run is refused before any episode, with the path of its first fault."""

from collections.abc import Callable

import pytest

from evener.agents.harness import template
from evener.agents.harness.check import check
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness
from evener.protocols.port import ActionSpec

Make = Callable[..., Harness]

STEP = """
tools:
- {name: final, action: final}
- name: quote
  parameters: {type: object, properties: {item: {type: string}}, required: [item]}
  steps:
  - {action: lookup, arguments: {item: "FIRST"}}
  - {action: calculator, arguments: {expression: "SECOND"}}
"""


def refusal(harness: Harness, actions: tuple[ActionSpec, ...]) -> str:
    with pytest.raises(HarnessError) as caught:
        check(harness, actions)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_sound_harness_passes(harness: Make, actions: tuple[ActionSpec, ...]) -> None:
    check(harness(), actions)
    steps = STEP.replace("FIRST", "{{ item }}").replace("SECOND", "2*{{ result | number }}")
    check(harness(tools=steps), actions)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('prompt: {system: "{{ foo }}"}', "prompt.system: {{ foo }} is not a variable here."),
        ('prompt: {system: "{{ tolls }}"}', "did you mean tools? variables: tools, memory, skill"),
        ('prompt: {system: "a\\n{{ tools"}', "prompt.system, line 2: not a template"),
        ('prompt: {system: "{% if %}"}', "prompt.system, line 1: not a template"),
        ('prompt: {task: "Do it."}', "prompt.task: the task is never shown"),
        ('prompt: {task: "{{ question.upper() }}"}', "prompt.task: call is not allowed"),
        ('prompt: {task: "{{ question.x }}"}', "prompt.task: only a loop's variable has fields"),
        ('prompt: {task: "{{ question * 9 }}"}', "prompt.task: mul is not allowed"),
        ('prompt: {task: "{{ question | indent }}"}', "prompt.task"),
        (
            'prompt: {task: "{% for x in question %}{{ x }}{% endfor %}"}',
            "a template may only loop over tools",
        ),
        # `%` of a text is a format, as long as it says
        (
            'prompt: {task: "{{ question is even }}"}',
            "line 1: not a template: No test",
        ),
        ('prompt: {task: "{{ question is divisibleby 0 }}"}', "tests: defined, eq, false, ge, gt"),
        (f"prompt: {{task: '{{{{ {'9' * 5000} }}}}'}}", "prompt.task: not a template: Exceeds"),
        ('prompt: {task: "{% include question %}"}', "prompt.task: include is not allowed"),
        (
            'prompt: {system: "{% for t in tools %}{{ t.__class__ }}{% endfor %}"}',
            "prompt.system",
        ),
        ('skills: [{name: s, system: "{{ question }}"}]', "skills[s].system: {{ question }}"),
        ("skills: [{name: s, tools: [finl]}]", "skills[s].tools[0]: there is no tool 'finl'."),
        ("skills: [{name: s, tools: [lookup]}]", "skills[s].tools: no tool here ends the episode"),
        ("skills: [{name: s, when: {tools: [x]}}]", "skills[s].when.tools[0]: there is no tool"),
        ('skills: [{name: "a]b"}]', "no brackets"),
        (
            "prompt: {examples: [[{role: assistant, call: {name: find}}]]}",
            "prompt.examples[0][0].call.name: there is no tool 'find'. did you mean final?",
        ),
        ("middleware: {loop: {votes: 65}}", "65 votes: an episode has 64 at most"),
        ("middleware: {loop: {stop: ['']}}", "middleware.loop.stop"),
        (
            "middleware: {hooks: {after_tool: [{name: retri}]}}",
            "middleware.hooks.after_tool[retri]: there is no such hook. did you mean retry?",
        ),
        (
            "middleware: {hooks: {before_model: [{name: retry}]}}",
            "before_model[retry]: the hook retry cannot stand here. put it at after_tool",
        ),
        (
            "middleware: {hooks: {after_tool: [{name: retry, settings: {attempt: 2}}]}}",
            "after_tool[retry].settings.attempt: unknown field. did you mean attempts?",
        ),
        (
            "middleware: {hooks: {after_tool: [{name: retry, settings: {attempts: two}}]}}",
            "settings.attempts: expected an integer, found the text 'two'",
        ),
    ],
)
def test_a_fault_is_named_with_its_path(
    harness: Make, actions: tuple[ActionSpec, ...], more: str, message: str
) -> None:
    assert message in refusal(harness(more), actions)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("[{name: final, action: finale}]", "tools[final].action: there is no action 'finale'."),
        ("[{name: lookup, action: lookup}]", "tools: no tool here ends the episode. add final"),
        ("[{name: 'a b', action: final}]", "tools[a b]: a tool's name has"),
        (
            "[{name: final, action: final, parameters: {type: objekt}}]",
            "tools[final].parameters: parameters must be a JSON Schema of type object",
        ),
        (
            "[{name: final, action: final, parameters: {type: object, required: answer}}]",
            "tools[final].parameters.required: not a JSON Schema",
        ),
        (
            "[{name: final, action: final, parameters: {type: object, properties: {a: {$ref: "
            "'http://x.test/s'}}}}]",
            "leads outside the schema",
        ),
        (
            "[{name: final, action: final, parameters: {type: object, properties: "
            "{answer: {}}}, arguments: {anser: {strip: true}}}]",
            "tools[final].arguments.anser: there is no argument 'anser'. did you mean answer?",
        ),
        (
            "[{name: final, action: final}, {name: end, action: final, aliases: [final]}]",
            "tools[end].aliases: 'final' already means the tool final",
        ),
        (
            "[{name: final, action: final, parameters: {type: object, properties: "
            "{a: {}, b: {}}}, arguments: {a: {names: [b]}}}]",
            "tools[final].arguments.a.names: 'b' already means the argument b",
        ),
        ("[{name: final, action: final, timeout_s: 0.0}]", "tools[final].timeout_s"),
        ("[{name: final, action: final}, {name: q, steps: []}]", "tools[q].steps"),
        (
            "[{name: final, action: final}, {name: q, steps: [{action: lokup}]}]",
            "tools[q].steps[0].action: there is no action 'lokup'. did you mean lookup?",
        ),
        (
            "[{name: final, action: final}, {name: q, steps: "
            "[{action: lookup, arguments: {itm: x}}]}]",
            "tools[q].steps[0].arguments.itm: there is no argument 'itm'.",
        ),
    ],
)
def test_a_fault_of_a_tool_is_named_with_its_path(
    harness: Make, actions: tuple[ActionSpec, ...], tools: str, message: str
) -> None:
    assert message in refusal(harness(tools=f"tools: {tools}\n"), actions)


def test_a_step_knows_the_tools_arguments_and_later_the_result(
    harness: Make, actions: tuple[ActionSpec, ...]
) -> None:
    first = STEP.replace("FIRST", "{{ result }}")
    assert "tools[quote].steps[0].arguments.item: {{ result }} is not a variable" in refusal(
        harness(tools=first), actions
    )
    second = STEP.replace("SECOND", "{{ quantity }}")
    assert "tools[quote].steps[1].arguments.expression: {{ quantity }}" in refusal(
        harness(tools=second), actions
    )


@pytest.mark.parametrize("text", ["{{ 9**9 }}", "{{ 'a' * 9 }}", "{{ 'a' ~ 'b' }}", "{{ [1] }}"])
def test_nothing_is_compiled_that_is_not_allowed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling works out what is constant, and `9**(9**9)` would take for ever."""

    def compiled(*_: object, **__: object) -> None:
        raise AssertionError("it was compiled")

    monkeypatch.setattr("jinja2.Environment.compile", compiled)
    with pytest.raises(HarnessError, match="is not allowed in a template"):
        template.check(text, (), where="x")
