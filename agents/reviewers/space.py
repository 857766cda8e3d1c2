"""The target's action space: what a response must be to be executed under the target harness."""

from collections.abc import Sequence

from evener.agents.harness.observation import CHARACTERS_A_TOKEN
from evener.agents.harness.parse import read_text
from evener.agents.harness.render import call_text
from evener.agents.harness.runtime import prepare
from evener.agents.reviewed import check_reviewable
from evener.protocols.event import CallRefused, ParseFailed
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec


class ActionSpace:
    """The calls of a target harness, read and written by its protocol.

    `actions` are the environment's, which say what ends an episode. Raises HarnessError for a
    target whose responses cannot be reviewed.
    """

    def __init__(self, target: Harness, actions: Sequence[ActionSpec] = ()) -> None:
        check_reviewable(target)
        self.target = target
        self.runtime = prepare(target)
        self.tools = tuple(tool.name for tool in target.tools)
        ending = {action.name: action for action in actions}
        self.finals = frozenset(
            name for name, tool in self.runtime.toolbox.tools.items() if tool.ends(ending)
        )

    @property
    def digest(self) -> str:
        """The target harness's."""
        return self.runtime.digest

    def write(self, call: Call) -> str:
        """The call as the protocol writes it, its arguments in the schema's order."""
        tool = self.runtime.toolbox.tools.get(call.name)
        arguments = tool.arguments.ordered(call.arguments) if tool else call.arguments
        return call_text(self.target, call.name, arguments)

    def fault(self, text: str) -> str:
        """Why the text is not one complete response that the target executes; empty where it is.

        Protocol and schemas are taken strictly, whatever the target forgives: a student learns
        this text.
        """
        limit = self.target.middleware.loop.max_reply_tokens
        if len(text) > limit * CHARACTERS_A_TOKEN:
            return f"too_long: {len(text)} characters for a reply of {limit} tokens"
        reading = read_text(text, self.target, self.tools, strict=True)
        if isinstance(reading, ParseFailed):
            return f"{reading.fault}: {reading.detail}"
        for call in reading.calls:
            resolved = self.runtime.toolbox.resolve(call, self.tools, turn=0)
            if isinstance(resolved, CallRefused):
                return f"{resolved.reason}: {resolved.detail}"
            if resolved.mended:
                mended = ", ".join(one.argument for one in resolved.mended)
                return f"bad_arguments: {mended} would only fit after being mended"
        return ""
