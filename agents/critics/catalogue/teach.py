"""Repairs that show how a kind of task is solved: a skill, or examples at the prompt.

All content is the documentation's. How many examples are best is left to the search: each count
is an alternative of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Literal

from evener.agents.critics.catalogue.example import (
    clean,
    shows,
    tools_of,
    turn_of,
    turns_of,
)
from evener.agents.critics.catalogue.repair import Ground, Repair, add, slug
from evener.agents.critics.catalogue.tidy import tidy, true_schema
from evener.agents.critics.catalogue.trigger import trigger_words
from evener.agents.critics.catalogue.wording import procedure_text
from evener.agents.pattern.background import calls_of, properties, question
from evener.protocols.harness import ExampleTurn, Skill, Tool, When
from evener.protocols.patch import FieldEdit
from evener.protocols.port import WorkedExample

# Skills to try, likeliest first: how many examples, and what the system text says. A small student
# imitates the examples and is led astray by a long text beside them, so the short ones come first.
System = Literal["steps", "none", "prompt"]
SKILLS: tuple[tuple[int, System, float], ...] = (
    (3, "steps", 1.0),
    (3, "none", 0.9),
    (2, "steps", 0.8),
    (3, "prompt", 0.7),
    (5, "steps", 0.65),
    (1, "steps", 0.6),
    (2, "none", 0.55),
)
_SIGN = {"*": " times ", "+": " plus ", "-": " minus ", "/": " over "}  # for names of patches
AT_PROMPT = {3: 0.4, 2: 0.35, 1: 0.3}


def no_example(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """A skill of the kind with its own tools and examples, in several counts; examples at the
    prompt, which come first where the documentation knows one kind alone."""
    kind = parts[0]
    examples = clean(kind, ground)
    alone = len(ground.background.kinds()) == 1
    skills = list(_skills(kind, examples, ground))
    at_prompt = [
        _prompt(kind, examples[:number], ground, prior=prior * (2.4 if alone else 1))
        for number, prior in AT_PROMPT.items()
        if number <= len(examples)
    ]
    yield from (*at_prompt, *skills) if alone else (*skills, *at_prompt)


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
    for number, prior in {2: 0.9, 1: 0.8, 3: 0.7}.items():
        if len(fresh) >= number:
            turns = [add(path, turns_of(e, tools)) for e in fresh[:number]]
            yield Repair(
                slug("more", kind, str(number)),
                f"teach:{kind}",
                (*missing, *turns),
                prior,
                f"{number} more worked examples of {kind}",
            )
    if home is None:
        yield from (r for r in no_example(parts, ground) if r.name.startswith("skill"))


def no_form(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Examples of the form that was not shown, where the kind is shown; or a skill with an example
    of every form the documentation has."""
    kind, wanted = parts[0], parts[1]
    by_form: dict[str, list[WorkedExample]] = {}
    for example in clean(kind, ground):
        by_form.setdefault(ground.background.form(calls_of(example.turns)), []).append(example)
    home = next((s.name for s in ground.harness.skills if shows(s.examples, kind, ground)), None)
    path = "prompt.examples" if home is None else f"skills[{home}].examples"
    fresh = by_form.get(wanted, [])
    tools, missing = tools_of(fresh, ground)
    group = f"form:{kind}:{wanted}"
    for number, prior in {1: 0.7, 2: 0.6}.items():
        if len(fresh) >= number:
            turns = [add(path, turns_of(e, tools)) for e in fresh[:number]]
            name = slug("form", kind, "".join(_SIGN.get(c, c) for c in wanted), str(number))
            reason = f"{number} worked examples of the form {wanted}"
            yield Repair(name, group, (*missing, *turns), prior, reason)
    if home is None:
        each = [examples[0] for examples in by_form.values()]
        yield from _skills(kind, each, ground, plans=[(len(each), "steps", 0.9)])


def _skills(
    kind: str,
    examples: Sequence[WorkedExample],
    ground: Ground,
    *,
    plans: Sequence[tuple[int, System, float]] = SKILLS,
) -> Iterator[Repair]:
    """The skills of `plans`, and one of other examples; none where no word triggers them."""
    words = trigger_words(kind, ground.background)
    if not words or not examples:
        return
    tools, missing = tools_of(ground.background.of(kind), ground)
    mends = [e for tool in tools.values() for e in _mends(tool, ground)]
    texts: Mapping[System, str | None] = {
        "steps": procedure_text(tuple(tools.values())),
        "none": "",
        "prompt": None,
    }
    tries: list[tuple[Sequence[WorkedExample], System, float, str]]
    tries = [(examples[:n], system, prior, "") for n, system, prior in plans if n <= len(examples)]
    if len(examples) > 3 and plans is SKILLS:
        tries.append((examples[3:6], "steps", 0.5, "b"))
    for chosen, system, prior, tag in tries:
        skill = Skill(
            name=_free(slug(kind), {skill.name for skill in ground.harness.skills}),
            when=When(words=words),
            system=texts[system],
            tools=tuple(tool.name for tool in tools.values()),
            examples=tuple(tuple(turn_of(t, tools) for t in e.turns) for e in chosen),
        )
        told = "" if system == "steps" else f"{system}-text"
        yield Repair(
            slug("skill", kind, str(len(chosen)), told, tag),
            f"teach:{kind}",
            (add("skills", skill.document()), *missing, *mends),
            prior,
            f"a skill for {kind}: {len(chosen)} worked examples, its own tools, tidy arguments",
        )


def _free(name: str, taken: set[str]) -> str:
    """The name, numbered where it is taken."""
    return next(n for n in chain([name], (f"{name}-{i}" for i in count(2))) if n not in taken)


def _mends(tool: Tool, ground: Ground) -> tuple[FieldEdit, ...]:
    """Tidy arguments, and the schema that the examples keep to where the tool's names others."""
    spec = ground.background.action(tool.action or "")
    if spec is None or set(properties(tool.parameters)) <= set(properties(spec.parameters)):
        return tidy(tool, ground)
    true = tool.model_copy(update={"parameters": spec.parameters})
    return (*true_schema(tool, ground), *tidy(true, ground))


def _prompt(kind: str, chosen: Sequence[WorkedExample], ground: Ground, *, prior: float) -> Repair:
    tools, missing = tools_of(chosen, ground)
    turns = [add("prompt.examples", turns_of(example, tools)) for example in chosen]
    return Repair(
        slug("prompt", kind, str(len(chosen))),
        f"teach:{kind}",
        (*missing, *turns),
        prior,
        f"{len(chosen)} worked examples of {kind} at the prompt",
    )


def _examples_of(skill: str, ground: Ground) -> tuple[tuple[ExampleTurn, ...], ...]:
    return next(s.examples for s in ground.harness.skills if s.name == skill)
