"""Approval of tasks made by agents: paused until a person approves the task's digest, which every edit changes."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from ...lifecycle.control import control
from ...model.accounts.account import agent_of
from ...model.accounts.principal import VIA_LABEL, Principal
from ...model.accounts.system_owner import account_of
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.group import folder_of_owner
from ...model.agents.lineage import AGENT_VIA, DEFAULT_MAX_DEPTH
from ...model.change import Change, Facts, combine_decisions, facts_after
from ...model.policy import to_json as policies_to_json
from ...model.task import NEW_TASK_STATUS, OPEN_STATES, PauseCause, Target, Task, gate_target
from ...schedule import to_json
from .refusals import refuse

APPROVED_LABEL: Final = "horae/approved"
REJECTED_LABEL: Final = "horae/rejected"
"""Label of a task that a person rejected, with the reason; empty without one."""
"""Label with the approved digest; like all labels with this prefix, only the service writes it."""
EXEMPT_KINDS: Final = frozenset({"event"})
"""Target kinds that agents may schedule without approval: an event only notifies listeners."""
FUNCTION: Final = "function"
ANY_FUNCTION: Final = "*"
_PROMPT_FIELDS: Final = frozenset({"group", "context_mode", "budget"})
"""Fields of the target of a plain prompt; any other one needs approval."""
_PAUSE_NOTE: Final = "an agent made it: a person must approve it first"


def digest_of(task: Task) -> str:
    """Return a digest of everything that says what the task does, and when; every edit of that changes it."""
    labels = [label for label in task.labels if label[0] != APPROVED_LABEL]
    definition = [
        task.id,
        task.owner,
        task.name,
        to_json(task.schedule),
        list(task.target),
        task.payload,
        policies_to_json(task.policies),
        task.key,
        task.lane,
        labels,
    ]
    return sha256(json.dumps(definition, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def without_approval(task: Task) -> Task:
    return task._replace(labels=tuple(label for label in task.labels if label[0] != APPROVED_LABEL))


def with_approval(task: Task) -> Task:
    unapproved = without_approval(task)
    return unapproved._replace(labels=tuple(sorted((*unapproved.labels, (APPROVED_LABEL, digest_of(unapproved))))))


def with_rejection(task: Task, reason: str) -> Task:
    return task._replace(labels=tuple(sorted({**dict(task.labels), REJECTED_LABEL: reason}.items())))


def rejection_of(task: Task) -> str | None:
    """Return the reason for which a person rejected the task, which may be empty; None if it was not rejected."""
    return dict(task.labels).get(REJECTED_LABEL)


class ApprovalPolicy(NamedTuple):
    """Decides which tasks of agents need approval: all but events, prompts of a group's agent to that group, and the functions
    that the operator allows."""

    functions: frozenset[str] = frozenset()
    """Names of functions that agents may schedule without approval; `*` stands for all."""
    max_depth: int = DEFAULT_MAX_DEPTH
    """Longest line of tasks that runs of agents make one after the other."""

    def needs_approval(self, task: Task) -> bool:
        if agent_of(task) is None:
            return False
        if task.policies.notify is not None:
            return True  # it writes to people
        if is_prompt_to_itself(task):
            return False
        gate = gate_target(task.policies)
        if gate is not None and not self._allows(gate):
            return True
        return task.target.kind not in EXEMPT_KINDS and not self._allows(task.target)

    def awaits_approval(self, task: Task) -> bool:
        """Whether nothing of the task may run before a person approves it as it is."""
        return self.needs_approval(task) and dict(task.labels).get(APPROVED_LABEL) != digest_of(task)

    def check_approved(self, task: Task) -> None:
        if self.awaits_approval(task):
            raise refuse("awaiting_approval", digest=digest_of(task), id=task.id)

    def check_depth(self, principal: Principal) -> None:
        """Refuse a new task that a run of an agent asks for at the end of a long line of such tasks."""
        lineage = principal.lineage
        if principal.agent is not None and lineage is not None and lineage.depth >= self.max_depth:
            raise refuse("lineage_too_deep", depth=lineage.depth + 1, most=self.max_depth)

    def pause_unapproved(self, change: Change, now: datetime, before: Facts | None = None) -> Change:
        """Return the change; if it leaves a going task that is not approved as it is now, the change also pauses it."""
        task = change.task
        if task is None or not self.awaits_approval(task):
            return change
        change = change._replace(task=without_approval(task))
        facts = before or Facts(task, change.status or NEW_TASK_STATUS)
        if facts_after(facts, change).status.state not in OPEN_STATES:
            return change
        return combine_decisions(facts, change, lambda after: _pause_for_approval(after, now))

    def _allows(self, target: Target) -> bool:
        if target.kind != FUNCTION or not self.functions:
            return False
        return ANY_FUNCTION in self.functions or json.loads(target.spec).get("name") in self.functions


def is_prompt_to_itself(task: Task) -> bool:
    """Whether an agent of a group made a plain prompt to the group that owns the task: no gate, no script, nothing else.

    An agent makes tasks of its own group only. Horae lets the agent of a main group act for another group (`horae/via`).
    """
    if task.target.kind != AGENT_KIND or task.policies.gate is not None:
        return False
    folder = folder_of_owner(account_of(task.owner))
    is_of_group = agent_of(task) == folder or dict(task.labels).get(VIA_LABEL) == AGENT_VIA
    if folder is None or not is_of_group:
        return False
    spec = json.loads(task.target.spec)
    further = [name for name, value in spec.items() if name not in _PROMPT_FIELDS and value]
    return spec.get("group") == folder and not further


STRICT_POLICY: Final = ApprovalPolicy()
"""Every function of an agent needs approval."""


def _pause_for_approval(facts: Facts, now: datetime) -> Change:
    return control.pause(facts, now, cause=PauseCause.AWAITING_APPROVAL, note=_PAUSE_NOTE)
