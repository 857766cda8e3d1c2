"""Thoughts in training text: `<think>` blocks must open and close once, before the answer.

A block that was closed but never opened, or an empty block with thoughts behind it, is what a
template makes of thoughts that it wrapped wrongly; a student would learn to write it.
"""

from typing import Literal, TypeAlias

OPEN, CLOSE = "<think>", "</think>"

ThoughtFault: TypeAlias = Literal["orphan_close", "never_closed", "empty_block_then_thoughts"]


def thought_fault(reply: str, *, opened: bool = False) -> ThoughtFault | None:
    """What is wrong with the thoughts of a reply, or None. `opened`: the prompt ends inside a
    block, as some templates' do."""
    text = f"{OPEN}{reply}" if opened else reply
    head, found, rest = text.partition(CLOSE)
    if not found:
        return "never_closed" if OPEN in text else None
    if OPEN not in head:
        return "orphan_close"
    if CLOSE in rest:
        empty = not head.partition(OPEN)[2].strip()
        return "empty_block_then_thoughts" if empty else "orphan_close"
    return "never_closed" if OPEN in rest else None


def prompt_opens_block(prompt: str) -> bool:
    """Whether the drawn prompt leaves a block open for the reply."""
    return prompt.rstrip().endswith(OPEN)
