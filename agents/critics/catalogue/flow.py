"""Repairs of protocol, loop and window (middleware), and of the words that ask for calls."""

from collections.abc import Iterator, Sequence

from evener.agents.critics.catalogue.hook import hooked
from evener.agents.critics.catalogue.repair import Ground, Repair, slug
from evener.agents.critics.catalogue.wording import only_calls
from evener.agents.pattern.running import PASSING
from evener.protocols.patch import FieldEdit

MOST_TURNS = 64
MOST_TOKENS = 1 << 16


def parse(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Read near misses; ask again; room for the whole reply; the other wire format."""
    fault, group = parts[0], f"parse:{parts[0]}"
    if fault == "cut_by_length":
        yield from reply_cut(parts, ground)
        return
    lenient = ground.change("middleware.protocol.strict", False)
    if lenient:
        yield Repair("lenient-protocol", group, lenient, 0.9, "read calls that are nearly right")
    if lenient:
        yield from hooked("repair_call", ground, group=group, prior=0.6)
    yield from hooked("ask_for_help", ground, group=group, prior=0.5, also=lenient)
    yield from _asking(ground, group=group, prior=0.4)
    if fault == "call_like_text" and ground.harness.middleware.protocol.format == "json":
        other = ground.change("middleware.protocol.format", "hermes")
        yield Repair(
            "hermes-format", group, other, 0.3, "calls in tags, as the student writes them"
        )


def plain_answer(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Insist on a call: a hook, or a line of the prompt."""
    del parts
    yield from hooked("require_action", ground, group="plain_answer", prior=0.7)
    yield from _asking(ground, group="plain_answer", prior=0.5)


def repeat(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Stop a call that is made again and again."""
    del parts
    yield from hooked("loop_guard", ground, group="repeat", prior=0.7)


def passing_error(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Execute again what failed for a passing reason."""
    kinds = list(dict.fromkeys([*PASSING, parts[0]]))
    yield from hooked(
        "retry", ground, group="passing_error", prior=0.8, settings={"kinds": list(kinds)}
    )


def answer_differs(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Hold the answer against the last result."""
    del parts
    yield from hooked("verify_answer", ground, group="answer_differs", prior=0.6)


def turns_out(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """More turns."""
    del parts
    now = ground.harness.middleware.loop.max_turns
    for factor, prior in ((2, 0.8), (4, 0.6)):
        yield from _raised(
            "middleware.loop.max_turns", now, now * factor, MOST_TURNS, ground, "turns_out", prior
        )


def reply_cut(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Longer replies."""
    del parts
    now = ground.harness.middleware.loop.max_reply_tokens
    for factor, prior in ((2, 0.8), (4, 0.6)):
        yield from _raised(
            "middleware.loop.max_reply_tokens",
            now,
            now * factor,
            MOST_TOKENS,
            ground,
            "reply_cut",
            prior,
        )


def dropped(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """A wider window, or none."""
    del parts
    now = ground.harness.middleware.context.keep_tokens
    path = "middleware.context.keep_tokens"
    for factor, prior in ((4, 0.9), (2, 0.7)):
        yield from _raised(path, now, now * factor, MOST_TOKENS, ground, "window", prior)
    whole = ground.change("middleware.context.policy", "all")
    if whole:
        yield Repair("no-window", "window", whole, 0.8, "show the whole episode")


def output_cut(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """Longer tool output."""
    del parts
    now = ground.harness.middleware.context.tool_output_tokens
    path = "middleware.context.tool_output_tokens"
    for factor, prior in ((4, 0.8), (2, 0.6)):
        yield from _raised(path, now, now * factor, MOST_TOKENS, ground, "output_cut", prior)


def context_exceeded(parts: Sequence[str], ground: Ground) -> Iterator[Repair]:
    """A window, and a smaller one; less of each tool's output."""
    del parts
    context = ground.harness.middleware.context
    window = ground.change("middleware.context.policy", "window")
    half = ground.change("middleware.context.keep_tokens", max(256, context.keep_tokens // 2))
    less = ground.change(
        "middleware.context.tool_output_tokens", max(128, context.tool_output_tokens // 2)
    )
    for name, edits, prior in (
        ("window", (*window, *half), 0.8),
        ("window-and-output", (*window, *half, *less), 0.7),
        ("output", less, 0.5),
    ):
        if edits:
            yield Repair(slug("smaller", name), "context_exceeded", edits, prior, "fit the context")


def _asking(ground: Ground, *, group: str, prior: float) -> Iterator[Repair]:
    line = only_calls(ground.harness.middleware.protocol.format)
    system = ground.harness.prompt.system
    if line not in system:
        edits: tuple[FieldEdit, ...] = ground.change("prompt.system", f"{system}\n{line}".strip())
        yield Repair("ask-for-calls", group, edits, prior, "say that a reply is one call")


def _raised(
    path: str, now: int, wanted: int, most: int, ground: Ground, group: str, prior: float
) -> Iterator[Repair]:
    value = min(wanted, most)
    if value > now:
        name = slug(path.rpartition(".")[2], str(value))
        yield Repair(
            name, group, ground.change(path, value), prior, f"{path} from {now} to {value}"
        )
