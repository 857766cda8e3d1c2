"""`model`: any model reads K and judges a candidate in words; its answer is read as a review.

Its prompt is K and the target's tools; what it is shown of the episode is the request, and the
hints that fired. Whatever it writes besides a PASS or a REPLACE with one response is no review.
"""

import re

from evener.agents.harness.decode import Malformed, value_at
from evener.agents.harness.render import Menu, call_text
from evener.agents.harness.shape import split_reasoning
from evener.agents.knowledge.hints import Fired, fire
from evener.agents.knowledge.render import prompt_of
from evener.agents.knowledge.seen import Seen
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.digest import digest
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Message
from evener.protocols.model import Reply, Request, Sampling, StopReason
from evener.protocols.port import Model
from evener.protocols.wire import Review, ReviewRequest

AGAIN = 0.7
"""The temperature of an answer that is asked for again after an invalid one."""
MAX_TOKENS = 512
SHOWN = 200

_TASK = """\
You review the responses of an assistant before they are executed. You see its task, what was done \
so far, and its next response. If that response is a good next step, answer PASS. If it is not, \
answer REPLACE and on the next line one complete response that is to be executed instead.
A response is one call and nothing else, written like this: {example}
The tools:
{tools}"""
_ANSWER = "Answer PASS, or REPLACE and on the next line the response."
_VERDICT = re.compile(r"\W*(PASS|REPLACE)\b[*:.]*\s*(.*)", re.DOTALL)
_FENCE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)


class ModelReviewer:
    """`model` with K as its prompt. An answer has at most `MAX_TOKENS` tokens."""

    def __init__(self, model: Model, knowledge: Knowledge, space: ActionSpace) -> None:
        self.knowledge = knowledge
        self._model = model
        self._space = space
        tools = tuple(space.runtime.toolbox.tools.values())
        task = _TASK.format(example=_example(space), tools=Menu(tools))
        said = prompt_of(knowledge, target=space.target)
        self._system = Message(role="system", content=f"{task}\n\n{said}" if said else task)

    @property
    def name(self) -> str:
        """The model's."""
        return f"model {self._model.ref}"

    @property
    def digest(self) -> str:
        """Over the model, its prompt and length, K with its hints, and the target."""
        return digest(
            {
                "reviewer": "model",
                "model": self._model.ref.revision,
                "prompt": self._system.content,
                "max_tokens": MAX_TOKENS,
                "knowledge": self.knowledge.digest(),
                "target": self._space.digest,
            }
        )

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """The model's word. Raises InfraError where it fails."""
        fired = fire(Seen(request, self.knowledge, self._space.runtime))
        asked = Message(role="user", content=_question(request, fired))
        seed = int(digest([asked.content, attempt])[:7], 16)
        question = Request(
            messages=(self._system, asked),
            sampling=Sampling(
                temperature=AGAIN if attempt else 0.0,
                max_tokens=MAX_TOKENS,
                seed=seed if attempt else 0,
            ),
        )
        reply = await self._model.complete(question)
        return read_review(reply).model_copy(
            update={
                "hints": fired.names,
                "hint_faults": fired.faults,
                "requests": {question.key(): reply.usage.read + reply.usage.written},
            }
        )


def read_review(reply: Reply) -> Opinion:
    """What an answer says: a verdict and what follows it, or the same as a JSON object with
    `decision`, `replacement` and `reason`. Anything else has a fault."""
    if reply.stop_reason is StopReason.LENGTH:
        return Opinion(decision="PASS", fault="cut_by_length")
    text = split_reasoning(reply.text)[0].strip()
    fenced = _FENCE.fullmatch(text)
    text = fenced.group(1).strip() if fenced else text
    if text.startswith("{"):
        return _object(text)
    found = _VERDICT.match(text)
    if found is None:
        return Opinion(decision="PASS", fault=f"prose: {text[:SHOWN]}")
    rest = found.group(2).strip()
    if found.group(1) == "PASS":
        return Opinion(decision="PASS", reason=rest)
    fenced = _FENCE.fullmatch(rest)
    return Opinion(decision="REPLACE", replacement=fenced.group(1).strip() if fenced else rest)


def _object(text: str) -> Opinion:
    try:
        value, end = value_at(text, 0)
    except Malformed as error:
        return Opinion(decision="PASS", fault=f"invalid_json: {error}")
    if text[end:].strip() or not isinstance(value, dict):
        return Opinion(decision="PASS", fault=f"prose: {text[:SHOWN]}")
    replacement = value.get("replacement")
    reason = value.get("reason", "")
    well = (replacement is None or isinstance(replacement, str)) and isinstance(reason, str)
    match value.get("decision"):
        case "PASS" | "REPLACE" as decision if well:
            return Opinion.model_validate(
                {"decision": decision, "replacement": replacement, "reason": reason}
            )
        case _:
            return Opinion(decision="PASS", fault=f"wrong_shape: {text[:SHOWN]}")


def _question(request: ReviewRequest, fired: Fired) -> str:
    """The request in words, then the hints."""
    done = [
        f"{'response' if message.role == 'assistant' else 'result'}: {message.content}"
        for message in request.visible
    ]
    parts = [f"Task:\n{request.prompt}"]
    if done:
        parts.append("So far:\n" + "\n".join(done))
    parts.append(f"Its next response:\n{request.candidate}")
    if fired.texts:
        parts.append("Hints:\n" + "\n".join(f"- {text}" for text in fired.texts))
    return "\n\n".join([*parts, _ANSWER])


def _example(space: ActionSpace) -> str:
    """The first call of the target's worked examples; else the bare form of a call."""
    calls = (turn.call for turns in space.target.prompt.examples for turn in turns if turn.call)
    shown = next(calls, None)
    if shown is None:
        return call_text(space.target, "TOOL", {"ARGUMENT": "VALUE"})
    return call_text(space.target, shown.name, shown.arguments)
