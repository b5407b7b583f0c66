"""Translation of a task request into a change: parsing, checks against quotas, and the pause for approval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...entropy import entropy
from ...errors import Refusal
from ...lifecycle.control import control, edit
from ...lifecycle.plan import Draft, build_task, plan
from ...model.accounts.principal import NO_QUOTAS, Principal
from ...model.accounts.system_owner import is_system_owner
from ...model.agents.agent_task import AGENT_KIND, agent_lanes, check_agent_task, with_agent_lanes
from ...model.change import Change, Facts
from ...model.ids import ENTROPY_BYTES, ascending_ids, make_id
from ...model.inputs.placeholders import check_target_placeholders
from ...model.limits import KEY_CHARACTERS
from ...model.policy import Policies
from ...model.refusals import refuse
from ...model.task import Target, Task, TaskState
from ...model.text.field_checks import check_text
from ...schedule import Schedule
from ..accounts.approval_policy import STRICT_POLICY, ApprovalPolicy
from ..accounts.refusals import refuse as refuse_account
from ..accounts.rights import TaskLanes, task_labels, task_lanes
from .edits import Edits, Keep, apply_edits
from .quotas import check_task, limit_chain
from .task_request import TaskRequest, read_lanes, read_policies, read_when

_MAX_UNYIELDED: Final = 64
"""Tasks that are planned before the event loop gets control: about two milliseconds."""
_MAX_UNYIELDED_SECONDS: Final = 0.005
"""For slow schedule checks: seconds after which the event loop gets control."""


_SUFFIX_CHARACTERS: Final = 6


def suggest_key(key: str, task_id: str) -> str:
    """Suggest a key for a successor of this task: derived from its id, so that it is probably free."""
    return f"{key[: KEY_CHARACTERS - _SUFFIX_CHARACTERS - 1]}-{task_id[-_SUFFIX_CHARACTERS:]}"


class _LoopYield:
    """Gives control to the event loop at intervals during a long synchronous computation."""

    def __init__(self, clock: Clock, *, is_slow: bool) -> None:
        self._clock = clock
        self._is_slow = is_slow
        self._since = clock.steady()

    async def after_task(self, done: int) -> None:
        """Yield if enough tasks or time have passed since the last time."""
        is_full = done % _MAX_UNYIELDED == _MAX_UNYIELDED - 1
        if is_full or (self._is_slow and self._clock.steady() - self._since > _MAX_UNYIELDED_SECONDS):
            await self._clock.pause(0)
            self._since = self._clock.steady()


class TaskDrafts:
    """`check` checks the target of each new or edited task with its payload, and returns the target to store."""

    def __init__(
        self,
        clock: Clock,
        zone: str | None = None,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        entropy: Callable[[int], bytes] = entropy,
        approval_policy: ApprovalPolicy = STRICT_POLICY,
    ) -> None:
        self.approval_policy = approval_policy
        self._clock = clock
        self._zone = zone
        self._check = check
        self.entropy = entropy

    def new_id(self, now: datetime) -> str:
        return make_id("tsk", now, self.entropy(ENTROPY_BYTES))

    def plan(
        self, principal: Principal, request: TaskRequest, task_id: str, now: datetime, paused: str | None = None
    ) -> Change:
        """Plan a new task from a request."""
        draft = self.draft(principal, request, now)
        return self.plan_draft(principal, draft, task_id, now, paused, granted_lanes=request.granted_lanes)

    def plan_draft(
        self,
        principal: Principal,
        draft: Draft,
        task_id: str,
        now: datetime,
        paused: str | None = None,
        *,
        granted_lanes: Collection[str] = (),
    ) -> Change:
        """Plan a new task from a checked draft."""
        self.approval_policy.check_depth(principal)
        full = _with_labels(principal, _with_full_lanes(principal, draft, granted=granted_lanes))
        try:
            change = plan(full, task_id, now)
        except Refusal as refusal:
            _name_lane_field(refusal, draft.lane)
            raise
        if change.task is not None:
            check_task(principal, change.task, None, now)
        checked = self.approval_policy.pause_unapproved(change, now)
        if checked is change and paused is not None:
            checked = control.pause_new_task(change, now, paused)
        return limit_chain(principal, checked)

    async def plan_many(
        self,
        principal: Principal,
        requests: Iterable[TaskRequest],
        pin: Callable[[TaskRequest], Awaitable[TaskRequest]],
    ) -> list[Change]:
        """Plan tasks at one instant, so that the same words mean the same; due runs can start in between.

        `pin` is awaited for tasks of agents (`group_pins.py`).
        """
        now = self._clock.now()
        names = ascending_ids("tsk", now, self.entropy)
        schedules: dict[tuple[str, str | None], Schedule] = {}
        changes: list[Change] = []
        loop_yield = _LoopYield(self._clock, is_slow=principal.quotas != NO_QUOTAS)
        try:
            for request in requests:
                await loop_yield.after_task(len(changes))
                if isinstance(request.when, str):
                    words = request.when, self.zone_of(principal) if request.zone is None else request.zone
                    if words not in schedules:
                        schedules[words] = read_when(*words, now)
                    request = request._replace(when=schedules[words])
                if request.target.kind == AGENT_KIND:
                    request = await pin(request)
                changes.append(self.plan(principal, request, next(names), now))
        except Refusal as refusal:
            refusal.add_note(f"This was number {len(changes) + 1}; nothing was written.")
            refusal.facts["number"] = len(changes) + 1
            raise
        return changes

    def plan_declared(  # noqa: PLR0913 - each by its name
        self,
        principal: Principal,
        draft: Draft,
        current: Facts | None,
        now: datetime,
        plan_new: Callable[[], Change],
        *,
        is_new: bool = False,
        granted_lanes: Collection[str] = (),
    ) -> Change:
        """Edit the task that has this key into the requested one, if it differs; without one, call `plan_new`.

        `is_new`: the caller wants a running task, so that a cancelled one is refused even if nothing would change.
        """
        if current is None:
            return plan_new()
        before = current.task
        full = _with_labels(principal, _with_full_lanes(principal, draft, before, granted_lanes), before)
        try:
            built = build_task(full, before.id, before.created)
        except Refusal as refusal:
            _name_lane_field(refusal, draft.lane)
            raise
        requested = built._replace(version=before.version, successors=before.successors)
        if current.status.state is TaskState.CANCELLED and (is_new or requested != before):
            raise refuse(
                "key_of_cancelled",
                key=before.key,
                name=before.name,
                id=before.id,
                other=suggest_key(before.key or "", before.id),
            )
        return self._plan_edit(principal, current, requested, now)

    def build(
        self, principal: Principal, draft: Draft, task_id: str, now: datetime, granted_lanes: Collection[str]
    ) -> Task:
        """Return the task that a checked draft describes, with the full names of its lanes."""
        full = _with_labels(principal, _with_full_lanes(principal, draft, granted=granted_lanes))
        try:
            return build_task(full, task_id, now)
        except Refusal as refusal:
            _name_lane_field(refusal, draft.lane)
            raise

    def plan_edit(self, principal: Principal, facts: Facts, edits: Edits, now: datetime) -> Change:
        """Plan an edit: only the given fields change."""
        before = facts.task
        lane = edits.lane
        if not isinstance(edits.lane, Keep) or edits.options.lanes is not None:
            edits = _with_full_edited_lanes(principal, before, edits)
        if not isinstance(edits.labels, Keep):
            edits = edits._replace(labels=task_labels(principal, edits.labels, before))
        try:
            requested = apply_edits(before, edits, self.zone_of(principal), now)
        except Refusal as refusal:
            _name_lane_field(refusal, None if isinstance(lane, Keep) else lane)
            raise
        is_same_gate = requested.policies.gate == before.policies.gate
        requested = requested._replace(
            target=self._check_target(requested.target, requested.payload),
            policies=requested.policies if is_same_gate else self._check_gate(requested.policies, requested.payload),
        )
        return self._plan_edit(principal, facts, requested, now)

    def _plan_edit(self, principal: Principal, facts: Facts, edited: Task, now: datetime) -> Change:
        edited = with_agent_lanes(edited)
        if edited == facts.task:
            return Change()
        check_agent_task(edited.owner, edited.target)
        check_task(principal, edited, facts.task, now)
        checked = self.approval_policy.pause_unapproved(edit.edit(facts, edited, now), now, facts)
        return limit_chain(principal, checked)

    def _check_target(self, target: Target, payload: str) -> Target:
        check_target_placeholders(target)
        return self._check(target, payload)

    def _check_gate(self, policies: Policies, payload: str) -> Policies:
        """Check the gate as a target; the pointer of a refusal is a part of the gate."""
        gate = policies.gate
        if gate is None:
            return policies
        try:
            checked = self._check_target(Target(gate.kind, gate.spec), payload)
        except Refusal as refusal:
            refusal.facts["gate"] = gate.kind
            raise
        return replace(policies, gate=replace(gate, spec=checked.spec))

    def check_other_payload(self, task: Task, payload: str) -> None:
        """Refuse a payload that the target of the task does not take.

        What it refuses of the task's own payload, too, is no fault of this one: the node that runs it reports that.
        """
        refusal = self._payload_refusal(task.target, payload)
        if refusal is None:
            return
        own = self._payload_refusal(task.target, task.payload)
        if own is None or own.code != refusal.code:
            raise refusal

    def _payload_refusal(self, target: Target, payload: str) -> Refusal | None:
        try:
            self._check(target, payload)
        except Refusal as refusal:
            return refusal
        return None

    def draft(self, principal: Principal, request: TaskRequest, now: datetime) -> Draft:
        """Parse and check a request."""
        owner = principal.owner if request.owner is None else request.owner
        if owner != principal.owner:
            if principal.owner_filter is not None:
                raise refuse("foreign_owner", owner=owner)
            if is_system_owner(owner):
                raise refuse_account("reserved_owner", owner=owner)
        if request.past is not None and principal.owner_filter is not None and not request.trusted_past:
            raise refuse("past_not_allowed")
        # Owner and key are used for lookups before the other fields are checked.
        check_text("owner", owner, KEY_CHARACTERS)
        if request.key is not None:
            check_text("key", request.key, KEY_CHARACTERS)
        schedule = read_when(request.when, self.zone_of(principal) if request.zone is None else request.zone, now)
        policies = read_policies(schedule, request.options)
        if policies.gate is not None:
            policies = self._check_gate(policies, request.payload)
        target = self._check_target(request.target, request.payload)
        check_agent_task(owner, target)
        return Draft(
            owner,
            request.name,
            schedule,
            target,
            request.payload,
            policies,
            request.key,
            request.lane,
            request.labels,
            request.past,
        )

    def zone_of(self, principal: Principal) -> str | None:
        """Return the caller's own zone, else the deployment's."""
        return principal.zone or self._zone


def _name_lane_field(refusal: Refusal, lane: str | None) -> None:
    """Name the field of the request whose lane name cannot be filled in: its `lane`, or else `lanes`."""
    if refusal.code == "bad_lane_placeholder":
        is_first = lane is not None and str(refusal.facts["value"]).endswith(lane)
        refusal.facts["name"] = "lane" if is_first else "lanes"


def _with_full_lanes(
    principal: Principal, draft: Draft, before: Task | None = None, granted: Collection[str] = ()
) -> Draft:
    has_none = draft.lane is None and not draft.policies.lanes and principal.agent is None
    if has_none and draft.target.kind != AGENT_KIND:
        return draft
    wanted = TaskLanes(draft.lane, draft.policies.lanes)
    lane, further = task_lanes(principal, draft.owner, wanted, before, granted)
    names = agent_lanes(draft.target, () if lane is None else (lane, *further))
    lane, further = (names[0], names[1:]) if names else (lane, further)
    if further != draft.policies.lanes:
        draft = draft._replace(policies=replace(draft.policies, lanes=further))
    return draft._replace(lane=lane)


def _with_labels(principal: Principal, draft: Draft, before: Task | None = None) -> Draft:
    labels = task_labels(principal, draft.labels, before)
    return draft if labels is draft.labels else draft._replace(labels=labels)


def _with_full_edited_lanes(principal: Principal, before: Task, edits: Edits) -> Edits:
    """Return the edits with full names; an edit of the lane leaves the further lanes, and the other way round."""
    further = before.policies.lanes if edits.options.lanes is None else read_lanes(edits.options.lanes)
    if not isinstance(further, tuple) or len(set(further)) < len(further):
        return edits  # the policy refuses it
    wanted = TaskLanes(before.lane if isinstance(edits.lane, Keep) else edits.lane, further)
    lane, further = task_lanes(principal, before.owner, wanted, before, edits.granted_lanes)
    return edits._replace(lane=lane, options=edits.options._replace(lanes=further))
