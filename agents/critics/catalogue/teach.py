"""Repairs that show how a kind of task is solved: a skill, or examples at the prompt.

All content is the documentation's. How many examples are best is left to the search: each count
is an alternative of its own.
"""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from evener.agents.critics.catalogue.repair import Ground, Repair, add, slug
from evener.agents.critics.catalogue.tidy import tidy, true_schema
from evener.agents.critics.catalogue.trigger import trigger_words
from evener.agents.critics.catalogue.wording import system_text
from evener.agents.pattern.background import procedure, properties, question
from evener.protocols.harness import ExampleCall, ExampleTurn, Skill, Tool, When
from evener.protocols.patch import FieldEdit
from evener.protocols.port import WorkedExample

COUNTS = {3: 1.0, 2: 0.8, 1: 0.6}


def no_example(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """A skill of the kind with its own tools and 3, 2 or 1 examples; examples at the prompt."""
    kind = parts[0]
    examples = clean(kind, ground)
    alone = len(ground.background.kinds()) == 1
    for count, prior in COUNTS.items():
        for take, offset in enumerate((0, count)):
            chosen = examples[offset : offset + count]
            if len(chosen) < count:
                continue
            weight = prior * 0.7**take
            again = ("b",) if take else ()
            yield from _skill(kind, chosen, ground, prior=weight * (0.5 if alone else 1), tag=again)
            yield from _prompt(
                kind, chosen, ground, prior=weight * (1 if alone else 0.4), tag=again
            )


def few_examples(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """More examples where there are some: in the skill that shows the kind, or at the prompt, or a
    skill of the kind's own."""
    kind = parts[0]
    home = next((s.name for s in ground.harness.skills if shows(s.examples, kind, ground)), None)
    shown = ground.harness.prompt.examples if home is None else _examples_of(home, ground)
    asked = {question(example) for example in shown}
    fresh = [e for e in clean(kind, ground) if question(e.turns) not in asked]
    path = "prompt.examples" if home is None else f"skills[{home}].examples"
    tools, missing = tools_of(fresh, ground)
    for count, prior in {2: 0.9, 1: 0.8, 3: 0.7}.items():
        if len(fresh) >= count:
            turns = [add(path, turns_of(e, tools)) for e in fresh[:count]]
            yield Repair(
                slug("more", kind, str(count)),
                f"teach:{kind}",
                (*missing, *turns),
                prior,
                f"{count} more worked examples of {kind}",
            )
    if home is None:
        yield from (r for r in no_example(parts, ground) if r.name.startswith("skill"))


def clean(kind: str, ground: Ground) -> list[WorkedExample]:
    """The kind's examples in the documentation's order, without those that repeat a mining task."""
    return [e for e in ground.background.of(kind) if not ground.leaks(question(e.turns))]


def shows(examples: Sequence[tuple[ExampleTurn, ...]], kind: str, ground: Ground) -> bool:
    """Whether any example makes the calls of the kind."""
    known = ground.background.procedures(kind)
    return any(procedure(turns, ground.harness) in known for turns in examples)


def tools_of(
    examples: Sequence[WorkedExample], ground: Ground
) -> tuple[dict[str, Tool], tuple[FieldEdit, ...]]:
    """The harness's tool for each action the examples use, and the edits that add missing ones."""
    tools: dict[str, Tool] = {}
    missing: list[FieldEdit] = []
    for name in dict.fromkeys(a for e in examples for a in procedure(e.turns)):
        tool = ground.tool_for(name) or new_tool(name, ground)
        if tool is None:
            continue
        tools[name] = tool
        if ground.tool_for(name) is None:
            missing.append(add("tools", tool.document()))
    return tools, tuple(missing)


def new_tool(action: str, ground: Ground) -> Tool | None:
    """A tool for an action, named and described as the environment does it."""
    spec = ground.background.action(action)
    if spec is None or any(tool.name == action for tool in ground.harness.tools):
        return None
    return Tool(
        name=action, description=spec.description, parameters=spec.parameters, action=action
    )


def turns_of(example: WorkedExample, tools: dict[str, Tool]) -> list[JsonValue]:
    """The example as a harness writes it, its actions under the tools' names."""
    return [_turn(turn, tools).document() for turn in example.turns]


def _turn(turn: ExampleTurn, tools: dict[str, Tool]) -> ExampleTurn:
    if turn.call is None or turn.call.name not in tools:
        return turn
    call = ExampleCall(name=tools[turn.call.name].name, arguments=turn.call.arguments)
    return turn.model_copy(update={"call": call})


def _skill(
    kind: str,
    chosen: Sequence[WorkedExample],
    ground: Ground,
    *,
    prior: float,
    tag: tuple[str, ...] = (),
) -> Iterator[Repair]:
    words = [w for w in trigger_words(kind, ground.background) if w]
    if not words:
        return
    tools, missing = tools_of(ground.background.of(kind), ground)
    taken = {skill.name for skill in ground.harness.skills}
    name = next(
        n for n in (slug(kind), *(slug(kind, str(i)) for i in range(2, 99))) if n not in taken
    )
    skill = Skill(
        name=name,
        when=When(words=tuple(words)),
        system=system_text(ground.harness.middleware.protocol.format),
        tools=tuple(tool.name for tool in tools.values()),
        examples=tuple(tuple(_turn(t, tools) for t in e.turns) for e in chosen),
    )
    mends = [e for tool in tools.values() for e in _mends(tool, ground)]
    yield Repair(
        slug("skill", kind, str(len(chosen)), *tag),
        f"teach:{kind}",
        (add("skills", skill.document()), *missing, *mends),
        prior,
        f"a skill for {kind} with {len(chosen)} worked examples, its own tools and tidy arguments",
    )


def _mends(tool: Tool, ground: Ground) -> tuple[FieldEdit, ...]:
    """Tidy arguments, and the schema that the examples keep to where the tool's names others."""
    spec = ground.background.action(tool.action or "")
    if spec is None or set(properties(tool.parameters)) <= set(properties(spec.parameters)):
        return tidy(tool, ground)
    true = tool.model_copy(update={"parameters": spec.parameters})
    return (*true_schema(tool, ground), *tidy(true, ground))


def _prompt(
    kind: str,
    chosen: Sequence[WorkedExample],
    ground: Ground,
    *,
    prior: float,
    tag: tuple[str, ...] = (),
) -> Iterator[Repair]:
    tools, missing = tools_of(chosen, ground)
    turns = [add("prompt.examples", turns_of(example, tools)) for example in chosen]
    yield Repair(
        slug("prompt", kind, str(len(chosen)), *tag),
        f"teach:{kind}",
        (*missing, *turns),
        prior,
        f"{len(chosen)} worked examples of {kind} at the prompt",
    )


def _examples_of(skill: str, ground: Ground) -> tuple[tuple[ExampleTurn, ...], ...]:
    return next(s.examples for s in ground.harness.skills if s.name == skill)
