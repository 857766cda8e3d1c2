"""Accepted episodes become rows of token ids, drawn as the serving harness and engine draw them.

Nothing is tokenised again after this. Only accepted replies of the episode carry a loss, each with
its end-of-turn token; worked examples and replies that led to an error never do. With
`mask = "format"` it is their form alone: see skeleton.py. Nothing of a reviewer's private side may
stand in a row: see marker.py.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evener.agents.harness.replay import View
from evener.agents.models.local.render import Renderer
from evener.distill.rows.marker import Markers, reasoning_of
from evener.distill.rows.mask import Span, cut, join, runs, without
from evener.distill.rows.place import places
from evener.distill.rows.reasoning import prompt_opens_block, thought_fault
from evener.distill.rows.skeleton import skeleton
from evener.distill.rows.taught import Lessons, Refused
from evener.distill.rows.template import end_of_turn, marked_ids, marked_template
from evener.distill.settings import SftSettings
from evener.protocols.digest import Wire, digest
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.trajectory import Trajectory


class Row(Wire):
    """Token ids, and the half-open spans of them that carry the loss."""

    task: str
    kind: str
    trajectory: str
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def trained(self) -> int:
        """Tokens with a loss."""
        return sum(end - start for start, end in self.spans)


class RowSet(Wire):
    """Rows to train on. `refused` counts rows (or whole episodes) left out, `untrained` the single
    replies inside kept episodes that carry no loss, both by reason."""

    rows: tuple[Row, ...]
    refused: dict[str, int] = {}
    untrained: dict[str, int] = {}

    def data_digest(self) -> str:
        """Digest of all token ids, in order."""
        return digest([list(row.ids) for row in self.rows])

    def mask_digest(self) -> str:
        """Digest of all spans, in order."""
        return digest([[list(span) for span in row.spans] for row in self.rows])


class _Turn(NamedTuple):
    """Prompt and reply as ids, and the stretches of the reply's ids that carry no loss."""

    prompt: list[int]
    reply: list[int]
    holes: list[Span]

    @property
    def masked(self) -> list[Span]:
        """The stretches, counted from the prompt's first token."""
        at = len(self.prompt)
        return [(at + start, at + end) for start, end in self.holes]


def build_rows(
    episodes: Sequence[Trajectory],
    harness: Harness,
    renderer: Renderer,
    *,
    settings: SftSettings,
    model: str,
    markers: Markers | None = None,
) -> RowSet:
    """The rows of accepted episodes as `harness` would have shown them, without any in which one of
    `markers` stands.

    Raises DataError for a harness or a chat template that no row can be drawn with.
    """
    if harness.middleware.protocol.format == "native":
        raise DataError(
            "rows cannot be drawn for the native protocol: the provider alone knows its tokens",
            where=f"harness {harness.name}, middleware.protocol.format",
            remedy="train under a harness whose protocol is json or hermes",
        )
    builder = _Builder(harness, renderer, settings, model, markers or Markers())
    for episode in episodes:
        builder.add(episode)
    return RowSet(
        rows=tuple(builder.rows),
        refused=dict(builder.refused),
        untrained=dict(builder.untrained),
    )


class _Builder:
    def __init__(
        self,
        harness: Harness,
        renderer: Renderer,
        settings: SftSettings,
        model: str,
        markers: Markers,
    ) -> None:
        self.rows: list[Row] = []
        self.refused: Counter[str] = Counter()
        self._harness = harness
        self._renderer = renderer
        self._settings = settings
        self._lessons = Lessons(harness, markers)
        self._private = self._lessons.private
        self.untrained = self._lessons.untrained
        self._end = end_of_turn(renderer, model=model)
        self._ends = {self._end, renderer.tokenizer.eos_token_id}
        self._seen: set[str] = set()
        template = settings.mask == "template"
        self._marked = marked_template(renderer, model=model) if template else None

    def add(self, episode: Trajectory) -> None:
        """Add the episode's rows, or count why not."""
        try:
            taught = self._lessons.of(episode)
            turns = [self._tokens(view) for view in taught]
        except Refused as refusal:
            self.refused[str(refusal)] += 1
            return
        if not turns:
            self.refused["no_trainable_token"] += 1
        done = 0
        for ids, spans in join((turn.prompt, turn.reply) for turn in turns):
            holes = [hole for turn in turns[done : done + len(spans)] for hole in turn.masked]
            done += len(spans)
            try:
                self._keep(episode, taught[done - 1], ids, spans, holes)
            except Refused as refusal:
                self.refused[str(refusal)] += 1

    def _holes(self, content: str) -> list[Span]:
        """The ids of a replacement in which its reviewer speaks. Refuses one where that is not
        reasoning before the call, or is all there is."""
        spoken = self._private.voiced(content)
        if not spoken:
            return []
        reasoning, start = reasoning_of(content)
        spoken = self._private.voiced(reasoning)
        if self._private.voiced(content[start:]) or not content[start:].strip():
            raise Refused("private_marker")
        places = self._renderer.places(content)
        inside = [any(a < high and low < b for low, high in spoken) for a, b in places]
        return runs(inside)

    def _tokens(self, view: View) -> _Turn:
        """Prompt and reply as ids: sampled ids where they are known, else those of the text."""
        text = self._renderer.text(view.context)
        content = self._renderer.defuse(view.response.content)
        sampled = list(view.response.token_ids or ())
        holes: list[Span] = []
        if sampled:
            said = self._renderer.decode(sampled)
            if not said.rstrip().endswith(view.response.content.rstrip()):
                raise Refused("mask_mismatch")
            reply = sampled if sampled[-1] in self._ends else [*sampled, self._end]
        else:
            said = content
            if view.response.origin == "reviewer":
                holes = self._holes(content)
            reply = [*self._renderer.encode(content), self._end]
        if thought_fault(said, opened=prompt_opens_block(text)) is not None:
            raise Refused("misplaced_thoughts")
        if self._settings.mask == "format":
            holes = self._all_but_form(said, reply)
        return _Turn(self._renderer.encode(text), reply, holes)

    def _all_but_form(self, said: str, reply: Sequence[int]) -> list[Span]:
        """The ids of a reply that are more than the form of a call; all of them where it is none.
        Refuses a reply whose tokens cannot be told apart in its text."""
        form = skeleton(said, self._harness)
        body = reply[:-1]
        if form and self._renderer.decode(body) != said:
            raise Refused("mask_mismatch")
        try:
            where = places(body, self._renderer.decode) if form else []
        except ValueError:
            raise Refused("mask_mismatch") from None
        formal = [a < b and any(low <= a and b <= high for low, high in form) for a, b in where]
        if not any(formal):
            self.untrained["no_format_token" if form else "no_call"] += 1
            return [(0, len(reply))]
        return runs([not token for token in formal])

    def _keep(
        self,
        episode: Trajectory,
        last: View,
        ids: tuple[int, ...],
        spans: list[Span],
        holes: list[Span],
    ) -> None:
        if self._marked is not None:
            self._second_opinion(last, ids, spans)
        if len(ids) > self._settings.max_tokens:
            if self._settings.overlong == "refuse":
                raise Refused("too_long")
            ids, spans = cut(ids, spans, max_tokens=self._settings.max_tokens)
        spans = without(spans, holes)
        if not spans:
            raise Refused("no_trainable_token")
        content = digest([list(ids), [list(span) for span in spans]])
        if content in self._seen:
            raise Refused("duplicate")
        self._seen.add(content)
        self.rows.append(
            Row(
                task=episode.task.id,
                kind=episode.task.kind,
                trajectory=episode.id,
                ids=ids,
                spans=tuple(spans),
            )
        )

    def _second_opinion(
        self, last: View, ids: tuple[int, ...], spans: list[tuple[int, int]]
    ) -> None:
        """Refuse a row whose spans are not stretches that the chat template marks."""
        assert self._marked is not None
        conversation = [*last.context, last.response]
        drawn, marks = marked_ids(self._renderer, conversation, self._marked)
        marked = set(runs(marks[: len(ids)]))
        if tuple(drawn[: len(ids)]) != ids or not marked.issuperset(spans):
            raise Refused("mask_mismatch")
