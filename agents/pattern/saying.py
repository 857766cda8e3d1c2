"""What the harness says in words where the student can read it: texts, sentence by sentence, what
kind of task each is about, and whether they tell the documented procedure.

Only words and names are compared. A sentence is about a kind if it has words that mark the kind's
questions; it names an action if a word has the action's or its tool's stem.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from evener.agents.harness.template import variables_of
from evener.agents.pattern.background import (
    Procedure,
    actions_of,
    calls_of,
    procedure,
    properties,
    question,
)
from evener.agents.pattern.course import pattern
from evener.agents.pattern.finding import Case
from evener.agents.pattern.lexical import singular, words
from evener.agents.pattern.onview import active_skills
from evener.protocols.attribution import RootCause
from evener.protocols.event import HookFired, Remembered

_BREAK = re.compile(r"\n+|(?<=[.!?])\s+(?=[A-Z`\"'(])")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
STEM = 4  # letters that two words must share at their start to have one stem


class Text(NamedTuple):
    """A text of the harness that the student was shown, where it stands, and what may be put in
    its place (None where nothing is known to be right)."""

    path: str
    text: str
    cause: RootCause
    instead: str | None = None


def shown_texts(case: Case) -> Iterator[Text]:
    """What was there to be read, the most particular text first. The environment's own words about
    its actions are not the harness's."""
    recalled = {
        e.entry for e in case.events if isinstance(e, Remembered) and e.action == "recalled"
    }
    names = active_skills(case)
    for note in case.harness.memory.entries:
        if note.name in recalled:
            path = f"memory.entries[{note.name}].text"
            yield Text(path, note.text, RootCause.MEMORY_OVERFLOW, "")
    active = [skill for skill in case.harness.skills if skill.name in names]
    for skill in active:
        yield Text(f"skills[{skill.name}].text", skill.text, RootCause.SKILL_MISSING, "")
    system = next((skill for skill in active if skill.system is not None), None)
    if system is not None:
        path = f"skills[{system.name}].system"
        yield Text(path, system.system or "", RootCause.SKILL_MISSING)
    yield from _of_tools(case)
    yield from _of_hooks(case)
    if system is None:
        yield Text("prompt.system", case.harness.prompt.system, RootCause.PROMPT_AMBIGUITY)
    yield Text("prompt.task", case.harness.prompt.task, RootCause.PROMPT_AMBIGUITY)


def _of_tools(case: Case) -> Iterator[Text]:
    cause = RootCause.TOOL_SCHEMA_ERROR
    for tool in case.harness.tools:
        spec = case.background.action(tool.action or "")
        if spec is None or spec.description != tool.description:
            instead = spec.description if spec else None
            yield Text(f"tools[{tool.name}].description", tool.description, cause, instead)
        real = properties(spec.parameters) if spec else {}
        for name, schema in properties(tool.parameters).items():
            said = schema.get("description")
            if isinstance(said, str) and said != real.get(name, {}).get("description"):
                path = f"tools[{tool.name}].parameters.properties.{name}.description"
                yield Text(path, said, cause)


def _of_hooks(case: Case) -> Iterator[Text]:
    fired = {(event.stage, event.hook) for event in case.events if isinstance(event, HookFired)}
    for stage, hook in sorted(fired):
        hooks = getattr(case.harness.middleware.hooks, stage, ())
        for one in hooks:
            said = one.settings.get("text") if one.name == hook else None
            if isinstance(said, str):
                path = f"middleware.hooks.{stage}[{hook}].settings.text"
                yield Text(path, said, RootCause.MIDDLEWARE_MISMATCH)


def sentences(text: str) -> tuple[str, ...]:
    """A text's sentences and lines, without what templates put in."""
    found = _BREAK.split(_TEMPLATE.sub(" ", text))
    return tuple(one.strip() for one in found if one.strip())


def about(case: Case, sentence: str) -> frozenset[str]:
    """The kinds whose marks a sentence has; none where it is about no kind more than another."""
    said = {singular(word) for word in words(sentence)}
    task = case.background.kind(case.trajectory.task)
    return frozenset(
        kind
        for kind, marked in case.background.marks.items()
        if any(kind != task or _of_this_form(case, word) for word in marked & said)
    )


def _of_this_form(case: Case, mark: str) -> bool:
    """Whether a word that marks the task's kind may mark its form: some documented example with it
    has the form of the one most like the task."""
    like = pattern(case)
    if like is None:
        return True
    form = case.background.form
    wanted = form(calls_of(like.turns))
    having = [
        example
        for example in case.background.of(like.kind)
        if mark in {singular(word) for word in words(question(example.turns))}
    ]
    return not having or any(form(calls_of(e.turns)) == wanted for e in having)


def fits(case: Case, sentence: str, kind: str) -> bool:
    """Whether a sentence may be meant for a kind: it is about it, or about none."""
    kinds = about(case, sentence)
    return not kinds or kind in kinds


def tells(case: Case, text: Text, kind: str) -> bool:
    """Whether a text tells how the kind is solved: in words about it, the documented actions in
    their order, but for the one that ends a task."""
    final = {action.name for action in case.background.actions if action.final}
    wanted = [
        tuple(dict.fromkeys(a for a in procedure(e.turns) if a not in final))
        for e in case.background.of(kind)
    ]
    for one in sentences(text.text):
        told = tuple(action for action in named(case, one) if action not in final)
        if told and told in wanted and kind in about(case, one):
            return True
    return False


def told(case: Case, kind: str) -> bool:
    """Whether any text on view tells how the kind is solved, and words are how the harness teaches:
    where it has worked examples of other things, words alone are not yet enough."""
    harness = case.harness
    if harness.prompt.examples or any(skill.examples for skill in harness.skills):
        return False
    if any(tells(case, text, kind) for text in shown_texts(case)):
        return True
    return _plain(case, kind)


def _plain(case: Case, kind: str) -> bool:
    """Whether the kind takes one action and the end, the action's tool is listed with what it does,
    and a text says with which tool to end: then nothing is left to be told, unless the harness
    keeps what it tells elsewhere, or tells it of other kinds of one action."""
    if case.harness.skills or case.harness.memory.entries:
        return False
    final = {action.name for action in case.background.actions if action.final}
    short = [
        name
        for name in case.background.kinds()
        if all(len(p) == 2 and p[1] in final for p in case.background.procedures(name))
    ]
    others = [name for name in short if name != kind]
    if kind not in short or any(tells(case, t, k) for t in shown_texts(case) for k in others):
        return False
    texts = [text for text in shown_texts(case) if text.path.endswith((".system", ".text"))]
    listed = any("tools" in variables_of(t.text) for t in texts if t.path.endswith(".system"))
    ends = {tool.name for tool in case.harness.tools if tool.action in final}
    spoken = " ".join(one for text in texts for one in sentences(text.text))
    return listed and bool(ends & set(re.findall(r"\w+", spoken)))


def named(case: Case, sentence: str) -> Procedure:
    """The actions that a sentence names, each once, in its order."""
    tokens = re.findall(r"[^\W_]+", sentence.casefold())
    joined = [*tokens, *(a + b for a, b in pairwise(tokens))]
    places: list[tuple[int, Procedure]] = []
    for tool in case.harness.tools:
        at = (i % max(1, len(tokens)) for i, w in enumerate(joined) if same_stem(w, tool.name))
        first = min(at, default=None)
        if first is not None:
            places.append((first, actions_of(tool.name, case.harness)))
    places.sort(key=lambda place: place[0])
    return tuple(dict.fromkeys(action for _, actions in places for action in actions))


def same_stem(word: str, name: str) -> bool:
    """Whether a word is a form of a tool's name: equal, or alike in most of the name's letters."""
    plain = re.sub(r"[\W_]+", "", name.casefold())
    if word == plain:
        return True
    shared = next((i for i, (a, b) in enumerate(zip(word, plain, strict=False)) if a != b), None)
    alike = min(len(word), len(plain)) if shared is None else shared
    return alike >= max(STEM, round(len(plain) * 0.6))
