"""Which skills are active: by whole words of the task, or by tools called before."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from evener.protocols.harness import Skill


@dataclass(frozen=True)
class Trigger:
    """A skill with its words compiled to one pattern, None where it has none."""

    skill: Skill
    pattern: re.Pattern[str] | None

    def fires(self, folded: str, called: Collection[str]) -> bool:
        """Whether the skill is active for a (case-folded) task text after those calls."""
        when = self.skill.when
        if not when.words and not when.tools:
            return True
        if any(name in called for name in when.tools):
            return True
        return self.pattern is not None and self.pattern.search(folded) is not None


class Triggers:
    """All skills of a harness, in its order."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._triggers = tuple(Trigger(skill, _pattern(skill.when.words)) for skill in skills)

    def active(self, question: str, *, called: Collection[str] = ()) -> tuple[Skill, ...]:
        """The active skills, in the harness's order."""
        folded = question.casefold()
        return tuple(t.skill for t in self._triggers if t.fires(folded, called))


def active(skills: Sequence[Skill], question: str) -> tuple[Skill, ...]:
    """The skills that are active when a task begins."""
    return Triggers(skills).active(question)


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    found = [_word(word) for word in words if word.strip()]
    return re.compile("|".join(found)) if found else None


def _word(word: str) -> str:
    """Whole words; an edge that is no letter or digit, like `$`, needs no boundary."""
    parts = word.casefold().split()
    text = r"\s+".join(re.escape(part) for part in parts)
    left = r"(?<!\w)" if re.match(r"\w", parts[0]) else ""
    right = r"(?!\w)" if re.search(r"\w\Z", parts[-1]) else ""
    return f"{left}{text}{right}"
