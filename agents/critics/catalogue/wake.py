"""Repairs for procedures that are there and are not followed."""

from collections.abc import Iterator, Sequence

from evener.agents.critics.catalogue.example import shows
from evener.agents.critics.catalogue.hook import hooked
from evener.agents.critics.catalogue.repair import Ground, Repair, slug
from evener.agents.critics.catalogue.teach import few_examples, no_example
from evener.agents.critics.catalogue.trigger import trigger_words
from evener.agents.pattern.background import question
from evener.agents.pattern.lexical import GRAMMAR, words


def skill_not_active(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """More trigger words: those that mark the kind, then all that no other kind has."""
    kind, name = parts[0], parts[1]
    skill = next((s for s in ground.harness.skills if s.name == name), None)
    if skill is None or not (skill.when.words or skill.when.tools):
        return
    for everything, prior in ((False, 0.8), (True, 0.7)):
        found = trigger_words(kind, ground.background, all_of_them=everything)
        words = [*skill.when.words, *(w for w in found if w not in skill.when.words)]
        edits = ground.change(f"skills[{name}].when.words", list(words))
        if edits:
            yield Repair(
                slug("all" if everything else "more", "triggers", name),
                f"trigger:{name}",
                edits,
                prior,
                "more trigger words",
            )


def wrong_skill(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Fewer trigger words: none that a documented question of another kind has, none of grammar.
    Or a skill of the kind's own."""
    name = parts[1]
    skill = next((s for s in ground.harness.skills if s.name == name), None)
    if skill is not None:
        own = next((k for k in ground.background.kinds() if shows(skill.examples, k, ground)), None)
        foreign = {
            word
            for example in ground.background.examples
            if example.kind != own
            for word in words(question(example.turns))
        }
        kept = [w for w in skill.when.words if not {*words(w)} <= foreign | GRAMMAR]
        if kept:
            edits = ground.change(f"skills[{name}].when.words", list(kept))
            reason = "triggers that no other kind has"
            yield Repair(slug("narrow", name), f"trigger:{name}", edits, 0.8, reason)
    yield from no_example(parts, ground)


def off_procedure(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """More examples, and a hook that looks at an answer before it counts."""
    yield from few_examples(parts, ground)
    group = f"teach:{parts[0]}"
    yield from hooked("verify_answer", ground, group=group, prior=0.3)
