"""Check of rights before a run of an agent's task starts: the agent and its owner must have them now."""

from __future__ import annotations

import json

from ...errors import Refusal
from ...model.accounts.account import OWNER_KIND, agent_of, is_blocked, is_owner_name, owner_from
from ...model.accounts.system_owner import account_of
from ...model.inputs.run_input import RunInput
from ...model.outcome import Failed, Outcome, Skipped
from ...model.reason import Reason, describe_reason
from ...model.task import Task, gate_target
from ...ports.records import Records
from ..accounts.agent_switch import load_switch
from ..accounts.approval_policy import ApprovalPolicy
from ..accounts.refusals import refuse
from ..accounts.secret_grants import SecretGrants
from ..tasks.task_quota import QUOTA_KIND, agent_record_key


class FireRights:
    def __init__(self, records: Records, approval_policy: ApprovalPolicy) -> None:
        self._records = records
        self._policy = approval_policy
        self._grants = SecretGrants(records)

    async def check(self, task: Task, given: RunInput | None = None) -> Outcome | None:
        """Return the outcome of a run with this input that may not start, or None if it may.

        Tasks that no agent made always may. An input of an agent is not part of what a person approved.
        """
        agent, owner = agent_of(task), account_of(task.owner)
        if agent is None:
            return None
        if self._policy.awaits_approval(task):
            return Skipped(describe_reason(Reason.AWAITING_APPROVAL), Reason.AWAITING_APPROVAL)
        if await load_switch(self._records) is not None:
            return Skipped(describe_reason(Reason.AGENT_STOPPED), Reason.AGENT_STOPPED)
        if await self._is_revoked(owner, agent):
            return Skipped(describe_reason(Reason.OWNER_REVOKED), Reason.OWNER_REVOKED)
        if given is not None and given.agent is not None and self._policy.needs_approval(task):
            return _not_called(refuse("input_not_approved", id=task.id))
        payload = task.payload if given is None else given.payload_for(task.payload)
        missing = await self._grants.missing(owner, agent, task.target, payload)
        gate = gate_target(task.policies)
        if missing is None and gate is not None:
            missing = await self._grants.missing(owner, agent, gate, "{}")
        if missing is not None:
            return _not_called(refuse("secret_not_granted", agent=agent, name=missing, owner=owner))
        return None

    async def _is_revoked(self, owner: str, agent: str) -> bool:
        quota_record = await self._records.get_record(QUOTA_KIND, agent_record_key(owner, agent))
        if quota_record is not None and json.loads(quota_record.body).get("revoked"):
            return True
        account = await self._records.get_record(OWNER_KIND, owner) if is_owner_name(owner) else None
        return account is not None and is_blocked(owner_from(account))


def _not_called(refusal: Refusal) -> Failed:
    return Failed(f"{refusal.message} {refusal.hint}", permanent=True, reason=Reason.NOT_CALLED)
