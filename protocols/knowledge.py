"""K: an optimized harness h* rewritten for a reviewer (Harness-Zero, arXiv 2609.24974).

A tool becomes a recipe that uses the target harness's actions alone, a hook a hint, a skill
guidance, a memory entry a failure pattern. Every part of h* has an entry, or a reason why not.
K is private: nothing of it may reach a training row.
"""

from evener.protocols.digest import JsonObject, Wire
from evener.protocols.harness import ArgumentRule, ExampleTurn, Step, When


class Recipe(Wire):
    """What a call of the tool `tool` of h* comes to in the target's actions: `steps` in order,
    their arguments templates over the tool's arguments and `result`, as in a composite tool.
    `mends` are the tool's argument rules; `example` is one call written out, in the target's
    actions."""

    tool: str
    text: str
    parameters: JsonObject = {}
    steps: tuple[Step, ...]
    mends: dict[str, ArgumentRule] = {}
    example: tuple[ExampleTurn, ...] = ()


class Hint(Wire):
    """A rule that looks at a candidate and the visible trajectory and says something, or nothing.
    `rule` is an entry of the table of hints, `settings` its own; `source` is the part of h*."""

    name: str
    rule: str
    settings: JsonObject = {}
    text: str
    source: str


class Guidance(Wire):
    """A skill for a reviewer: when it applies, how such a task is solved, worked examples in the
    target's actions. `source` is the part of h*."""

    skill: str
    source: str = ""
    when: When = When()
    text: str
    examples: tuple[tuple[ExampleTurn, ...], ...] = ()


class FailurePattern(Wire):
    """What goes wrong: what sets it off, what shows it, what to do, and when to leave it alone.
    `source` is the part of h*."""

    name: str
    source: str = ""
    trigger: str
    evidence: str
    intervention: str
    not_when: str = ""


class Omission(Wire):
    """A part of h* (its field path) without an entry, and why it does not transfer."""

    part: str
    reason: str


class Knowledge(Wire):
    """K, of the harness whose digest is `source`, for the target harness `target` (a digest)."""

    name: str
    source: str
    target: str
    recipes: tuple[Recipe, ...] = ()
    hints: tuple[Hint, ...] = ()
    guidance: tuple[Guidance, ...] = ()
    patterns: tuple[FailurePattern, ...] = ()
    omissions: tuple[Omission, ...] = ()
