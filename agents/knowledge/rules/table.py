"""All hint rules by name."""

from evener.agents.knowledge.rules.call import BAD_ARGUMENTS, SPELLING, UNKNOWN_TOOL, UNREADABLE
from evener.agents.knowledge.rules.course import NO_ACTION, REPEAT, WRONG_PROCEDURE
from evener.agents.knowledge.rules.number import ANSWER_DIFFERS, OPERANDS
from evener.agents.knowledge.rules.rule import AnyRule

RULES: dict[str, AnyRule] = {
    rule.name: rule
    for rule in (
        UNREADABLE,
        UNKNOWN_TOOL,
        BAD_ARGUMENTS,
        SPELLING,
        REPEAT,
        NO_ACTION,
        WRONG_PROCEDURE,
        ANSWER_DIFFERS,
        OPERANDS,
    )
}
