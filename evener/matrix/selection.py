"""Episodes to train on within a budget of tokens, evenly over the kinds of tasks."""

from collections.abc import Sequence

from evener.protocols.trajectory import Trajectory

CHARACTERS = 3  # for one token at least, where the engine does not give the sampled ones


def within(episodes: Sequence[Trajectory], *, tokens: int) -> list[Trajectory]:
    """Episodes whose replies have at most so many tokens in all, taken from the kinds in turn, each
    in its order; one that does not fit is passed over."""
    kinds: dict[str, list[Trajectory]] = {}
    for episode in episodes:
        kinds.setdefault(episode.task.kind, []).append(episode)
    chosen: list[Trajectory] = []
    left = tokens
    while any(kinds.values()):
        for waiting in kinds.values():
            while waiting:
                cost = sampled_tokens(episode := waiting.pop(0))
                if cost <= left:
                    chosen.append(episode)
                    left -= cost
                    break
    return chosen


def sampled_tokens(episode: Trajectory) -> int:
    """The most tokens of the episode that can carry a loss: all that the student sampled, and an
    end of turn for each reply."""
    return sum(
        1 + (len(message.token_ids) if message.token_ids else _estimate(message.content))
        for message in episode.messages
        if message.sampled
    )


def _estimate(text: str) -> int:
    return -(-len(text) // CHARACTERS)
