"""The last look before an agent's task runs: it runs with at most the rights that its agent and its owner have now."""

from __future__ import annotations

from ..model.made_by import agent_of
from ..model.outcome import Failed, Outcome, Skipped
from ..model.reason import Reason
from ..model.task import Task
from ..ports.records import Records
from .gate import is_closed
from .grants import SecretGrants
from .refusals import refuse


class FireRights:
    def __init__(self, records: Records) -> None:
        self._grants = SecretGrants(records)

    async def refused(self, task: Task) -> Outcome | None:
        """How a run ends that may not start any more; None where it may. Tasks that no agent made always may."""
        agent = agent_of(task)
        if agent is None:
            return None
        if is_closed(task):
            return Skipped("nobody has approved the task as it is", Reason.AWAITING_APPROVAL)
        missing = await self._grants.missing(task.owner, agent, task.target, task.payload)
        if missing is not None:
            refusal = refuse("secret_not_granted", agent=agent, name=missing, owner=task.owner)
            return Failed(f"{refusal.message} {refusal.hint}", permanent=True, reason=Reason.TARGET_FAILED)
        return None
