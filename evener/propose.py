"""A person's change of the harness, through the same gate as the critic's."""

from pathlib import Path

from evener.agents.harness.check import check
from evener.agents.pattern.background import published
from evener.agents.record.registry import Registry
from evener.evaluate import serve
from evener.protocols.attribution import Proposal
from evener.protocols.diff import DiffRecord
from evener.protocols.harness import Harness
from evener.protocols.patch import between
from evener.protocols.wire import PatchTried, TryPatch
from evener.team import Parts, Team


async def propose(
    run: Path, harness: Harness, *, name: str, model: str, parts: Parts
) -> DiffRecord:
    """The record of the trial of HEAD against `harness`; committed if the gate accepts.

    Raises PatchError where the harness is what HEAD is already.
    """
    async with Team.reopen(run, parts=parts) as team:
        check(harness, (await published(team.environment)).actions)
        _, head = Registry(team.folder.harness).head()
        patch = between(head, harness)
        patch.apply(head)
        # the name seeds the draw: another patch gets fresh tasks
        name = f"{name}-{patch.digest()[:8]}"
        tried = await team.bus.ask(
            "conductor",
            TryPatch(
                proposal=Proposal(name=name, author="person", patch=patch, kind="improve"),
                model=await serve(team, model),
            ),
            PatchTried,
        )
        return tried.record
