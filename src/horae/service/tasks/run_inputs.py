"""Checks of the input of a requested run: the rights of the caller, and the rules that the payload of the task has."""

from __future__ import annotations

import json
from typing import Any, Final

from ...errors import Refusal
from ...model.accounts.account import agent_of
from ...model.accounts.principal import Principal, Scope
from ...model.inputs.effective_payload import check_input, with_input
from ...model.inputs.run_input import RunInput
from ...model.task import Task
from ...ports.records import Records
from ..accounts.refusals import refuse
from ..accounts.secret_grants import SecretGrants
from .drafts import TaskDrafts
from .functions.functions import Functions
from .quotas import check_task

_PAYLOAD_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})


class RunInputs:
    """An input needs the right to edit the task, because it changes what the task does.

    A person who may edit a task of an agent may also approve it, so that an input of a person needs no further approval.
    An agent may give an input only where its task needs no approval. The node checks this again when the run starts
    (`FireRights`): the task may have changed meanwhile.
    """

    def __init__(self, records: Records, drafts: TaskDrafts, functions: Functions) -> None:
        self._drafts = drafts
        self._functions = functions
        self._grants = SecretGrants(records)

    async def check(self, principal: Principal, task: Task, given: RunInput) -> RunInput:
        """Return the input with the agent that gives it; refused if the task could not run with it."""
        principal.require_scope(Scope.WRITE)
        given = RunInput(given.mode, given.value, principal.agent)
        try:
            changed = self._apply(task, given)
            check_task(principal, changed, task, task.created)
            await self._grants.check(task.owner, agent_of(task), changed.target, changed.payload)
            (await self._functions.load(fresh=True)).check(changed.target, changed.payload)
        except Refusal as refusal:
            raise _located(refusal, given) from None
        return given

    def check_again(self, task: Task, given: RunInput | None) -> None:
        """Check within the transaction, on the task as it is then."""
        if given is not None:
            try:
                self._apply(task, given)
            except Refusal as refusal:
                raise _located(refusal, given) from None

    def _apply(self, task: Task, given: RunInput) -> Task:
        if given.agent is not None and self._drafts.approval_policy.needs_approval(task):
            raise refuse("input_not_approved", id=task.id)
        check_input(given)
        if not _uses_payload(task):
            raise refuse("input_unused")
        changed = with_input(task, given)
        self._drafts.check_other_payload(task, changed.payload)
        return changed


def _uses_payload(task: Task) -> bool:
    """Whether the payload reaches the target: an http target with a body of its own, or a command that reads no payload,
    would ignore an input without a word."""
    if task.target.kind not in ("http", "command"):
        return True
    spec = json.loads(task.target.spec)
    if task.target.kind == "command":
        return bool(spec.get("stdin") == "payload")
    return "body" not in spec and spec.get("method", "POST") in _PAYLOAD_METHODS


def input_detail(given: RunInput | None) -> dict[str, Any]:
    """Return what the audit log says of an input: not its value, which the run has."""
    return {} if given is None else {"input": given.mode}


def _located(refusal: Refusal, given: RunInput) -> Refusal:
    """Return the refusal of a payload as one of this input, for its JSON pointer."""
    refusal.facts["input"] = given.mode
    return refusal
