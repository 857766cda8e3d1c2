"""What a reply is answered with, and what hooks have to say before an attempt is made."""

from collections.abc import Sequence

from evener.agents.harness.episode import Episode, EpisodeOver
from evener.agents.harness.hooks.effect import Block, Effect, Halt, HookState, Remind
from evener.agents.harness.tool import Resolved, action_call
from evener.protocols.message import Call


class Answers:
    """The answer to one reply as it grows, and where it will stand in the episode's messages.

    `unmade` names the calls of the reply that stand behind the one that ended the episode.
    """

    def __init__(self, episode: Episode) -> None:
        self.told: list[tuple[Call | None, str]] = []
        self.executed = 0
        self.done = False
        self.unmade: tuple[str, ...] = ()
        self._native = episode.runtime.harness.middleware.protocol.format == "native"
        self._first = len(episode.account.messages)
        self._of_hooks = 0

    @property
    def place(self) -> int:
        """The index of the message that will hold the next call's result."""
        return self._first + (sum(c is not None for c, _ in self.told) if self._native else 0)

    @property
    def hook_only(self) -> bool:
        """Whether nothing but hooks is heard."""
        return self._of_hooks == len(self.told)

    def add(self, call: Call | None, text: str) -> None:
        """Tell the result of a call, or (None) something else."""
        self.told.append((call, text))

    def remind(self, effects: Sequence[Effect]) -> None:
        """Tell what hooks want told besides."""
        texts = [effect.text for effect in effects if isinstance(effect, Remind)]
        self._of_hooks += len(texts)
        self.told.extend((None, text) for text in texts)


def attempt(
    episode: Episode, signature: str, *, call: Call | None = None, resolved: Resolved | None = None
) -> str | None:
    """Count an attempt and ask the hooks before it: what to tell instead, or None to go on.

    Attempts that cannot be executed (no call, or a refused one) are counted too, so that a student
    that repeats a mistake is stopped as well. Raises EpisodeOver where a hook ends the episode.
    """
    action = made = None
    if resolved is not None and resolved.tool.tool.action is not None:
        action = episode.actions.get(resolved.tool.tool.action)
        made = action_call(resolved.tool, resolved.call)
    repeats = episode.attempts[signature]
    episode.attempts[signature] += 1
    return blocked(
        episode.ask_hooks(
            HookState(
                stage="before_tool",
                call=call,
                action=action,
                action_call=made,
                refused=call is not None and resolved is None,
                repeats=repeats,
            )
        )
    )


def blocked(effects: Sequence[Effect]) -> str | None:
    """What to tell instead of executing a call; None where nothing stands against it."""
    for effect in effects:
        if isinstance(effect, Halt):
            raise EpisodeOver("loop_guard", effect.text)
        if isinstance(effect, Block):
            return effect.text
    return None
