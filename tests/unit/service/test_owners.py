"""Isolation of owners: every service method answers for a foreign resource as for an absent one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import pytest

from horae.encryption import Key
from horae.errors import Refusal
from horae.model.accounts.pause_change import PauseChange
from horae.model.accounts.principal import Principal, Quotas, Role
from horae.model.agents.delivery import Delivery, as_failed, delivery_record
from horae.model.change import Change, Facts
from horae.model.outcome import Failed, Succeeded
from horae.model.plans.plan import PlanProgress
from horae.model.record import RecordWrite
from horae.model.run import Run
from horae.model.task import Task, TaskState
from horae.ports.journal import Line
from horae.ports.store import RunFilter, TaskFilter
from horae.schedule import After
from horae.schedule.after import Link
from horae.service.accounts.agents import Agents
from horae.service.accounts.approvals import Approvals
from horae.service.accounts.audit import Audit
from horae.service.accounts.calendar_tokens import CalendarTokens
from horae.service.accounts.credential_lookup import (
    CredentialLocation,
    CredentialLookup,
    CredentialState,
    read_credential,
)
from horae.service.accounts.identity import Identity
from horae.service.accounts.key_budget import KeyBudget
from horae.service.accounts.owners import Accounts
from horae.service.accounts.quota_sweep import QuotaSweep
from horae.service.accounts.secrets import SecretVault
from horae.service.accounts.sessions import Sessions
from horae.service.accounts.tokens import Tokens
from horae.service.accounts.views import Views
from horae.service.chats.chats import Chats
from horae.service.chats.deliveries import Deliveries
from horae.service.doctor import Doctor
from horae.service.events.destinations import Destinations
from horae.service.events.event_bodies import EventEncoder
from horae.service.events.listeners import ListenerKind, ListenerRegistry
from horae.service.events.owner_sequence import Events, Gap
from horae.service.events.webhooks import Webhooks
from horae.service.groups.agent_stop import AgentStop
from horae.service.groups.budgets import Budgets
from horae.service.groups.group_nodes import GroupNodes
from horae.service.groups.groups import Groups
from horae.service.groups.lineages import Lineages
from horae.service.messages.streams import MessageDraft, Streams
from horae.service.plans.plans import Plans
from horae.service.runs.daily_quota import DailyQuota
from horae.service.runs.explanations import Explanations
from horae.service.runs.failures import Failures
from horae.service.runs.fire_rights import FireRights
from horae.service.runs.lanes import Lanes
from horae.service.runs.nodes import Nodes
from horae.service.runs.outage_reviews import OutageReviews
from horae.service.runs.outages import Outages
from horae.service.runs.overview import Overviews
from horae.service.runs.planned import PlannedRuns
from horae.service.runs.runs import Runs
from horae.service.service import Service
from horae.service.stations.stations import Stations
from horae.service.tasks.edits import Edits
from horae.service.tasks.functions.declared_tasks import DeclaredTasks
from horae.service.tasks.functions.functions import Functions
from horae.service.tasks.functions.records import FormerName
from horae.service.tasks.operations.bulk import Bulk
from horae.service.tasks.operations.operations import OperationRequest, Operations
from horae.service.tasks.task_request import TaskRequest
from horae.service.tasks.tasks import SystemTasks, Tasks
from horae.testing.factories import DAY, HOUR, NOON, a_node
from tests.app.declared_functions import register_in
from tests.unit.service.service_harness import (
    ADA,
    BOB,
    CHIEF,
    ROOT,
    TARGET,
    ServiceHarness,
    allow_stations,
    code_of,
    open_harness,
)
from tests.unit.service.service_methods import SERVICES, public_methods

ABSENT: Final = "tsk_000000000000"
ABSENT_RUN: Final = "run_000000000000"


class ForeignResources(NamedTuple):
    """What belongs to Ada, and Bob asks for: a task with a run that failed and one that goes on, and their names."""

    task: Task
    failed: Run
    going: Run


Ask = Callable[[ServiceHarness, str], Awaitable[object]]
"""Bob asks for a task or a run by its id, or by a name."""


def _raises_if_evaluated(facts: Facts | None) -> None:
    """A condition on a foreign task must not be evaluated."""
    raise AssertionError(facts)


def _raises_if_attached(facts: Facts, _change: Change) -> Sequence[RecordWrite]:
    """No record is attached to a change of a foreign task."""
    raise AssertionError(facts)


async def _raises_if_called(task: Task) -> None:
    """An action must not be applied to a foreign task."""
    raise AssertionError(task)


def _wish(**fields: Any) -> TaskRequest:
    return TaskRequest("water the plants", "every 1h", TARGET, zone="UTC")._replace(**fields)


BY_TASK: Final[dict[tuple[type, str], Ask]] = {
    (Tasks, "get"): lambda harness, ask: harness.tasks.get(BOB, ask),
    (Tasks, "chain"): lambda harness, ask: harness.tasks.chain(BOB, ask),
    (Tasks, "find_by_name"): lambda harness, ask: harness.tasks.find_by_name(BOB, ask),
    (Tasks, "named"): lambda harness, ask: harness.tasks.named(BOB, ask),
    (Tasks, "rename_declared"): lambda harness, ask: harness.tasks.rename_declared(
        BOB, ask, "code:x", FormerName("water", "garden.water")
    ),
    (Tasks, "edit"): lambda harness, ask: harness.tasks.edit(BOB, ask, Edits(name="mine")),
    (Tasks, "pause"): lambda harness, ask: harness.tasks.pause(BOB, ask),
    (Tasks, "restore"): lambda harness, ask: harness.tasks.restore(
        BOB, PauseChange("opn_1", ask, "", 1, TaskState.ACTIVE, None, None)
    ),
    (Tasks, "can_undo_cancel"): lambda harness, ask: harness.tasks.can_undo_cancel(BOB, ask),
    (Tasks, "undo_cancel"): lambda harness, ask: harness.tasks.undo_cancel(BOB, ask),
    (Tasks, "with_attached"): lambda harness, ask: harness.tasks.with_attached(_raises_if_attached).pause(BOB, ask),
    (Tasks, "resume"): lambda harness, ask: harness.tasks.resume(BOB, ask),
    (Tasks, "cancel"): lambda harness, ask: harness.tasks.cancel(BOB, ask),
    (Tasks, "delete"): lambda harness, ask: harness.tasks.delete(BOB, ask),
    (Tasks, "run_now"): lambda harness, ask: harness.tasks.run_now(BOB, ask),
    (Tasks, "queue_now"): lambda harness, ask: harness.tasks.queue_now(BOB, ask),
    (Tasks, "with_condition"): lambda harness, ask: harness.tasks.with_condition(_raises_if_evaluated).pause(BOB, ask),
    (Tasks, "skip_next"): lambda harness, ask: harness.tasks.skip_next(BOB, ask),
    (Tasks, "backfill"): lambda harness, ask: harness.tasks.backfill(BOB, ask, NOON, NOON + HOUR),
    (Tasks, "cancel_run"): lambda harness, ask: harness.tasks.cancel_run(BOB, ask, "run_any"),
    (Tasks, "import_history"): lambda harness, ask: harness.tasks.import_history(BOB, ask, ()),
    (Tasks, "find_by_key"): lambda harness, ask: harness.tasks.find_by_key(BOB, ask),
    (Approvals, "reject"): lambda harness, ask: harness.service.approvals.reject(BOB, ask, "no"),
    (Approvals, "approve"): lambda harness, ask: harness.service.approvals.approve(BOB, ask, "0" * 64),
    (Explanations, "why"): lambda harness, ask: harness.explanations.why(BOB, ask, NOON),
    (Explanations, "explain"): lambda harness, ask: harness.explanations.explain(BOB, ask, None),
}
"""What takes the id of a task."""
BY_RUN: Final[dict[tuple[type, str], Ask]] = {
    (Runs, "get"): lambda harness, ask: harness.runs.get(BOB, ask),
    (Runs, "usage"): lambda harness, ask: harness.runs.usage(BOB, ask),
    (Runs, "handled"): lambda harness, ask: harness.runs.handled(BOB, ask),
    (Runs, "idle"): lambda harness, ask: harness.runs.idle(BOB, ask),
    (Runs, "chain"): lambda harness, ask: harness.runs.chain(BOB, ask),
    (Runs, "lines"): lambda harness, ask: harness.runs.lines(BOB, ask),
    (Runs, "last_line"): lambda harness, ask: harness.runs.last_line(BOB, ask),
    (Runs, "attempts"): lambda harness, ask: harness.runs.attempts(BOB, ask),
    (Runs, "cancel"): lambda harness, ask: harness.runs.cancel(BOB, ask),
    (Runs, "retry"): lambda harness, ask: harness.runs.retry(BOB, ask),
    (Runs, "awaiting_answer"): lambda harness, ask: harness.runs.awaiting_answer(ask, lambda _: False),
    (Runs, "answer"): lambda harness, ask: harness.runs.answer(ask, lambda _: False, Succeeded()),
}
"""What takes the id of a run. Who answers is no principal: without a proof it learns as little."""
MORE_WAYS: Final[dict[str, Ask]] = {
    "dry run of an edit": lambda harness, ask: harness.tasks.edit(BOB, ask, Edits(name="mine"), dry_run=True),
    "edit of a version": lambda harness, ask: harness.tasks.edit(BOB, ask, Edits(name="mine"), expected=99),
    "by the key of another owner": lambda harness, ask: harness.tasks.find_by_key(BOB, ask, "ada"),
    "its runs": lambda harness, ask: harness.runs.page(BOB, RunFilter(task_id=ask)),
    "a day": lambda harness, ask: harness.explanations.explain(BOB, ask, "yesterday", "Asia/Tokyo"),
    "an empty backfill": lambda harness, ask: harness.tasks.backfill(BOB, ask, NOON + HOUR, NOON),
}


async def _bulk(harness: ServiceHarness, *, dry_run: bool = False) -> object:
    report = await harness.service.bulk.each(
        BOB, TaskFilter(owner="ada"), lambda task: harness.tasks.cancel(BOB, task.id), dry_run=dry_run
    )
    return report.matched, report.done, report.refused


async def _overview(harness: ServiceHarness) -> object:
    seen = await harness.service.overview.now(BOB)
    states = [number for number in seen.tasks.values() if number]
    return (
        states,
        seen.outcomes,
        seen.lateness.total,
        seen.waiting,
        seen.running,
        seen.upcoming,
        seen.needs,
        seen.nodes,
    )


async def _listed_of(harness: ServiceHarness) -> object:
    """Bob reads nothing through facts of Ada's task."""
    everything = (await harness.store.tasks(TaskFilter())).items
    assert everything
    return await harness.tasks.latest(BOB, everything)


async def _outcomes_of(harness: ServiceHarness) -> object:
    everything = (await harness.store.tasks(TaskFilter())).items
    assert everything
    return await harness.tasks.outcomes(BOB, everything, 30)


_OF_LISTED: Final = ((Tasks, "latest"), (Tasks, "outcomes"))


async def _names_of_predecessors(harness: ServiceHarness) -> object:
    """Bob asks for the names of the tasks that a task after tasks of Ada would name."""
    foreign = [facts.task for facts in (await harness.store.tasks(TaskFilter())).items]
    chained = [each._replace(schedule=After((Link(each.id),))) for each in foreign]
    return await harness.tasks.predecessor_names(BOB, chained)


async def _names_of_all(harness: ServiceHarness) -> object:
    """Bob asks for the names of tasks of Ada by their ids."""
    return await harness.tasks.names(BOB, [facts.task.id for facts in (await harness.store.tasks(TaskFilter())).items])


async def _retry_all(harness: ServiceHarness) -> object:
    """Bob retries runs of Ada: each is refused as absent."""
    runs = (await harness.store.runs(RunFilter())).items
    report = await harness.service.failures.retry(BOB, [run.id for run in runs])
    return report.retried, {each.error.code for each in report.refused} - {"no_such_run"}


LISTS: Final[dict[tuple[type, str], Callable[[ServiceHarness], Awaitable[object]]]] = {
    (Tasks, "page"): lambda harness: harness.tasks.page(BOB, TaskFilter(owner="ada")),
    (Tasks, "count"): lambda harness: harness.tasks.count(BOB, TaskFilter(owner="ada")),
    (Tasks, "upcoming"): lambda harness: harness.tasks.upcoming(BOB),
    (Tasks, "latest"): _listed_of,
    (Tasks, "outcomes"): _outcomes_of,
    (Tasks, "names"): _names_of_all,
    (Tasks, "predecessor_names"): _names_of_predecessors,
    (Failures, "summaries"): lambda harness: harness.service.failures.summaries(BOB),
    (Failures, "groups"): lambda harness: harness.service.failures.groups(BOB, RunFilter(owner="ada")),
    (Failures, "retry"): _retry_all,
    (Runs, "page"): lambda harness: harness.runs.page(BOB, RunFilter(owner="ada")),
    (Overviews, "now"): _overview,
    (OutageReviews, "latest"): lambda harness: harness.service.outage_reviews.latest(BOB),
    (OutageReviews, "dismiss"): lambda harness: harness.service.outage_reviews.dismiss(BOB, NOON),
    (Events, "after"): lambda harness: harness.service.events.after(BOB, 0),
    (Bulk, "each"): _bulk,
    (Operations, "page"): lambda harness: harness.service.operations.page(BOB),
    (DeclaredTasks, "register_start"): lambda harness: harness.service.declared_tasks.register_start(
        BOB, {"garden": []}
    ),
    (DeclaredTasks, "rename"): lambda harness: harness.service.declared_tasks.rename(
        BOB, FormerName("water", "garden.water")
    ),
    (DeclaredTasks, "restore"): lambda harness: harness.service.declared_tasks.restore(BOB, "water"),
    (SecretVault, "names"): lambda harness: harness.service.secrets.names(BOB),
    (Lanes, "all"): lambda harness: harness.service.lanes.all(BOB),
    (Lanes, "limit"): lambda harness: harness.service.lanes.limit(BOB, "garden", 1),
    (Lanes, "queues"): lambda harness: harness.service.lanes.queues(BOB),
    (Lanes, "statuses"): lambda harness: harness.service.lanes.statuses(BOB),
    (Lanes, "show"): lambda harness: harness.service.lanes.show(BOB, "ada/garden"),
    (Lanes, "queued"): lambda harness: harness.service.lanes.queued(BOB, "ada/garden"),
    (Agents, "page"): lambda harness: harness.service.agents.page(BOB),
    (Approvals, "page"): lambda harness: harness.service.approvals.page(BOB),
    (Accounts, "page"): lambda harness: harness.service.accounts.page(BOB),
    (Tokens, "page"): lambda harness: harness.service.tokens.page(BOB, "ada"),
    (Views, "all"): lambda harness: harness.service.views.all(BOB, "tasks"),
    (Sessions, "page"): lambda harness: harness.service.sessions.page(BOB, "ada"),
    (Audit, "page"): lambda harness: harness.service.audit.page(BOB),
    (Stations, "page"): lambda harness: harness.service.stations.page(BOB),
    (Destinations, "page"): lambda harness: harness.service.destinations.page(BOB),
    (AgentStop, "get"): lambda harness: harness.service.agent_stop.get(BOB),
    (Groups, "page"): lambda harness: harness.service.groups.page(BOB),
    (Chats, "page"): lambda harness: harness.service.chats.page(BOB),
    (Deliveries, "page"): lambda harness: harness.service.deliveries.page(BOB),
    (Streams, "page"): lambda harness: harness.service.streams.page(BOB),
    (Webhooks, "page"): lambda harness: harness.service.webhooks.page(BOB),
    (CalendarTokens, "all"): lambda harness: harness.service.calendar_tokens.all(BOB),
    (Overviews, "hours"): lambda harness: harness.service.overview.hours(BOB, NOON, NOON + DAY),
    (PlannedRuns, "clock_changes"): lambda harness: harness.service.planned.clock_changes(BOB, NOON, NOON + 60 * DAY),
    (PlannedRuns, "per_hour"): lambda harness: harness.service.planned.per_hour(BOB, NOON, NOON + DAY),
    (PlannedRuns, "per_period"): lambda harness: harness.service.planned.per_period(BOB, [NOON, NOON + DAY]),
    (PlannedRuns, "list"): lambda harness: harness.service.planned.list(BOB, NOON, NOON + DAY),
}
"""What takes no id: it answers as in an empty harness."""
OTHERWISE: Final[dict[tuple[type, str], str]] = {
    (Tasks, "create"): "test_member_cannot_create_a_task_for_another_owner",
    (Tasks, "create_many"): "test_member_cannot_create_a_task_for_another_owner",
    (Tasks, "declare"): "test_member_cannot_create_a_task_for_another_owner",
    (Tasks, "preview_declaration"): "test_member_cannot_create_a_task_for_another_owner",
    (SecretVault, "set"): "test_member_cannot_set_a_secret_of_another_owner",
    (SecretVault, "remove"): "test_secret_of_another_owner_is_absent",
    (SecretVault, "grant"): "test_secret_of_another_owner_is_absent",
    (SecretVault, "revoke_grant"): "test_secret_of_another_owner_is_absent",
    (Agents, "get"): "test_agents_of_another_owner_are_not_shown_or_limited",
    (Agents, "is_stopped"): "test_agents_of_another_owner_are_not_shown_or_limited",
    (Agents, "put"): "test_agents_of_another_owner_are_not_shown_or_limited",
    (Agents, "quotas"): "test_operator_methods_return_nothing_of_owners",
    (AgentStop, "stop_all"): "test_budget_of_a_group_is_seen_by_itself_and_by_admins",
    (AgentStop, "restart_all"): "test_budget_of_a_group_is_seen_by_itself_and_by_admins",
    (AgentStop, "end_runs"): "test_budget_of_a_group_is_seen_by_itself_and_by_admins",
    (AgentStop, "apply_group"): "test_budget_of_a_group_is_seen_by_itself_and_by_admins",
    (GroupNodes, "apply"): "test_group_is_seen_by_itself_and_by_admins",
    (Chats, "deliver"): "test_group_is_seen_by_itself_and_by_admins",
    (AgentStop, "check"): "test_operator_methods_return_nothing_of_owners",
    (Lineages, "find"): "test_operator_methods_return_nothing_of_owners",
    **{
        (Budgets, name): "test_operator_methods_return_nothing_of_owners"
        for name in ("reserve", "charge", "settle", "exhausted", "notice_write")
    },
    (Budgets, "get"): "test_budget_of_a_group_is_seen_by_itself_and_by_admins",
    (Budgets, "put"): "test_budget_of_a_group_is_seen_by_itself_and_by_admins",
    (FireRights, "check"): "test_operator_methods_return_nothing_of_owners",
    (SecretVault, "reveal"): "test_secret_of_another_owner_is_absent",
    (SecretVault, "rotate"): "test_operator_methods_return_nothing_of_owners",
    (SecretVault, "check"): "test_operator_methods_return_nothing_of_owners",
    (Outages, "record_start"): "test_operator_methods_return_nothing_of_owners",
    (Outages, "record_stop"): "test_operator_methods_return_nothing_of_owners",
    (Outages, "all"): "test_operator_methods_return_nothing_of_owners",
    (Outages, "at"): "test_operator_methods_return_nothing_of_owners",
    (Nodes, "all"): "test_only_an_admin_drains_nodes",
    (Doctor, "report"): "test_only_an_admin_drains_nodes",
    (Doctor, "latest"): "test_only_an_admin_drains_nodes",
    (Doctor, "durability"): "test_only_an_admin_drains_nodes",
    (Doctor, "close"): "test_operator_methods_return_nothing_of_owners",
    (Nodes, "drain"): "test_only_an_admin_drains_nodes",
    (Nodes, "drain_host"): "test_only_an_admin_drains_nodes",
    (SecretVault, "with_records"): "test_secret_of_another_owner_is_absent",
    (CredentialLookup, "locate"): "test_credential_is_unknown_without_its_secret",
    (Accounts, "get"): "test_account_of_another_owner_is_absent",
    (Accounts, "put"): "test_account_of_another_owner_is_absent",
    (Accounts, "revoke"): "test_account_of_another_owner_is_absent",
    (Accounts, "restore"): "test_account_of_another_owner_is_absent",
    (Accounts, "block_for_quota"): "test_operator_methods_return_nothing_of_owners",
    (Accounts, "unblock_for_quota"): "test_operator_methods_return_nothing_of_owners",
    (Accounts, "set_agent_spent"): "test_operator_methods_return_nothing_of_owners",
    (Accounts, "fill_storage"): "test_operator_methods_return_nothing_of_owners",
    (Accounts, "free_storage"): "test_operator_methods_return_nothing_of_owners",
    (Accounts, "read"): "test_operator_methods_return_nothing_of_owners",
    (Tokens, "get"): "test_account_of_another_owner_is_absent",
    (Tokens, "make"): "test_account_of_another_owner_is_absent",
    (Tokens, "revoke"): "test_account_of_another_owner_is_absent",
    (Tokens, "authenticate"): "test_operator_methods_return_nothing_of_owners",
    (Plans, "add"): "test_plan_of_another_owner_is_absent",
    (Plans, "adopt"): "test_plan_of_another_owner_is_absent",
    (Plans, "all"): "test_plan_of_another_owner_is_absent",
    (Plans, "clear"): "test_plan_of_another_owner_is_absent",
    (Plans, "close"): "test_plan_of_another_owner_is_absent",
    (Plans, "find_by_task"): "test_plan_of_another_owner_is_absent",
    (Plans, "flush"): "test_plan_of_another_owner_is_absent",
    (Plans, "get"): "test_plan_of_another_owner_is_absent",
    (Plans, "import_plans"): "test_plan_of_another_owner_is_absent",
    (Plans, "of_tasks"): "test_plan_of_another_owner_is_absent",
    (Plans, "page"): "test_plan_of_another_owner_is_absent",
    (Plans, "pause"): "test_plan_of_another_owner_is_absent",
    (Plans, "remove"): "test_plan_of_another_owner_is_absent",
    (Plans, "reset"): "test_plan_of_another_owner_is_absent",
    (Plans, "skip"): "test_plan_of_another_owner_is_absent",
    (Views, "get"): "test_view_of_another_owner_is_absent",
    (Views, "save"): "test_view_of_another_owner_is_absent",
    (Views, "remove"): "test_view_of_another_owner_is_absent",
    (Sessions, "revoke"): "test_session_of_another_owner_is_absent",
    (Sessions, "make_link"): "test_session_of_another_owner_is_absent",
    (Sessions, "open_with_link"): "test_session_of_another_owner_is_absent",
    (Sessions, "open_for_identity"): "test_session_of_another_owner_is_absent",
    (Sessions, "open_with_token"): "test_session_of_another_owner_is_absent",
    (Sessions, "authenticate"): "test_session_of_another_owner_is_absent",
    (Tokens, "make_first"): "test_operator_methods_return_nothing_of_owners",
    (Audit, "row"): "test_operator_methods_return_nothing_of_owners",
    (Audit, "seal"): "test_operator_methods_return_nothing_of_owners",
    (Audit, "verify"): "test_account_of_another_owner_is_absent",
    (DailyQuota, "enforce_owner"): "test_operator_methods_return_nothing_of_owners",
    (Accounts, "find"): "test_operator_methods_return_nothing_of_owners",
    (SystemTasks, "create"): "test_system_tasks_of_another_owner_are_absent",
    (SystemTasks, "declare"): "test_system_tasks_of_another_owner_are_absent",
    (SystemTasks, "delete"): "test_system_tasks_of_another_owner_are_absent",
    (QuotaSweep, "sweep"): "test_operator_methods_return_nothing_of_owners",
    (QuotaSweep, "sweep_all"): "test_operator_methods_return_nothing_of_owners",
    (Approvals, "stop_agent"): "test_agents_of_another_owner_are_not_shown_or_limited",
    (Approvals, "restart_agent"): "test_agents_of_another_owner_are_not_shown_or_limited",
    (Approvals, "pause_revoked"): "test_agents_of_another_owner_are_not_shown_or_limited",
    (DailyQuota, "enforce"): "test_operator_methods_return_nothing_of_owners",
    (EventEncoder, "encode"): "test_operator_methods_return_nothing_of_owners",
    (Stations, "allow"): "test_station_of_another_owner_is_absent",
    (Stations, "get"): "test_station_of_another_owner_is_absent",
    (Stations, "remove"): "test_station_of_another_owner_is_absent",
    (Destinations, "put"): "test_destination_of_another_owner_is_absent",
    (Destinations, "get"): "test_destination_of_another_owner_is_absent",
    (Destinations, "remove"): "test_destination_of_another_owner_is_absent",
    (Destinations, "deliveries"): "test_destination_of_another_owner_is_absent",
    (Destinations, "test"): "test_destination_of_another_owner_is_absent",
    (Groups, "add"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "unregistered"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "get"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "status"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "describe"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "change"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "remove"): "test_group_is_seen_by_itself_and_by_admins",
    (Groups, "find"): "test_operator_methods_return_nothing_of_owners",
    (Groups, "find_by_chat"): "test_operator_methods_return_nothing_of_owners",
    (Chats, "get"): "test_chat_and_its_deliveries_are_absent_for_other_owners",
    (Chats, "transcript"): "test_chat_and_its_deliveries_are_absent_for_other_owners",
    (Chats, "send"): "test_chat_and_its_deliveries_are_absent_for_other_owners",
    (Chats, "is_working"): "test_operator_methods_return_nothing_of_owners",
    (Deliveries, "get"): "test_chat_and_its_deliveries_are_absent_for_other_owners",
    (Deliveries, "retry"): "test_chat_and_its_deliveries_are_absent_for_other_owners",
    (Deliveries, "discard"): "test_chat_and_its_deliveries_are_absent_for_other_owners",
    (Streams, "send"): "test_stream_of_another_owner_is_absent",
    (Streams, "messages"): "test_stream_of_another_owner_is_absent",
    (Streams, "get"): "test_stream_of_another_owner_is_absent",
    (Streams, "put"): "test_stream_of_another_owner_is_absent",
    (Streams, "remove"): "test_stream_of_another_owner_is_absent",
    (Streams, "register"): "test_stream_of_another_owner_is_absent",
    (Streams, "unregister"): "test_stream_of_another_owner_is_absent",
    (Webhooks, "create"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "get"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "edit"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "remove"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "rotate"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "deliveries"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "delivery"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "test"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "redeliver"): "test_webhook_of_another_owner_is_absent",
    (Webhooks, "close"): "test_operator_methods_return_nothing_of_owners",
    (Operations, "begin"): "test_operation_of_another_owner_is_absent",
    (Operations, "get"): "test_operation_of_another_owner_is_absent",
    (Operations, "cancel"): "test_operation_of_another_owner_is_absent",
    (Operations, "act"): "test_operation_of_another_owner_is_absent",
    (Operations, "new_log"): "test_operation_of_another_owner_is_absent",
    (Operations, "undo"): "test_operation_of_another_owner_is_absent",
    (Operations, "preview_undo"): "test_operation_of_another_owner_is_absent",
    (Operations, "wait"): "test_operation_of_another_owner_is_absent",
    (Operations, "close"): "test_operator_methods_return_nothing_of_owners",
    (Events, "last"): "test_event_numbers_say_nothing_about_other_owners",
    (Events, "gap"): "test_event_numbers_say_nothing_about_other_owners",
    (KeyBudget, "take"): "test_idempotency_key_budget_is_per_owner",
    (ListenerRegistry, "announcer"): "test_listeners_are_counted_for_their_owner_alone",
    (ListenerRegistry, "announce"): "test_listeners_are_counted_for_their_owner_alone",
    (ListenerRegistry, "reach"): "test_listeners_are_counted_for_their_owner_alone",
    (Functions, "register"): "test_functions_belong_to_the_deployment",
    (Functions, "announce"): "test_functions_belong_to_the_deployment",
    (Functions, "withdraw"): "test_functions_belong_to_the_deployment",
    (Functions, "all"): "test_functions_belong_to_the_deployment",
    (Functions, "get"): "test_functions_belong_to_the_deployment",
    (Functions, "load"): "test_functions_belong_to_the_deployment",
    (Functions, "resolve"): "test_functions_belong_to_the_deployment",
    (Functions, "complete_edits"): "test_functions_belong_to_the_deployment",
    (Functions, "by_node"): "test_functions_belong_to_the_deployment",
    (Functions, "check_edits"): "test_functions_belong_to_the_deployment",
    (CalendarTokens, "make"): "test_calendar_token_of_another_owner_is_absent",
    (CalendarTokens, "revoke"): "test_calendar_token_of_another_owner_is_absent",
    (CalendarTokens, "authenticate"): "test_calendar_token_of_another_owner_is_absent",
    (PlannedRuns, "note_write"): "test_operator_methods_return_nothing_of_owners",
}
"""What no row of the tables above fits; the test that looks at it."""


async def test_system_tasks_of_another_owner_are_absent() -> None:
    async with open_harness() as harness:
        system, wish = harness.service.system_tasks, TaskRequest("turn", "every 1h", TARGET, key="turn", zone="UTC")
        made = await system.create("ada", wish)
        assert (await system.declare("bob", wish)).id != made.id
        for asked in ("tsk_" + "0" * 32, made.id):
            assert await code_of(system.delete("bob", asked)) == "no_such_task"
            assert await code_of(harness.tasks.get(BOB, asked)) == "no_such_task"
        await system.delete("ada", made.id)


async def test_calendar_token_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        tokens = harness.service.calendar_tokens
        for name in ("ada", "bob"):
            await harness.service.accounts.put(CHIEF, name)
        token, text = await tokens.make(ADA, "phone")
        for asked in ("cal_" + "0" * 32, token.id):
            assert await code_of(tokens.revoke(BOB, asked)) == "no_such_calendar_token"
        assert (await tokens.make(BOB, "mine"))[0].owner == "bob"
        assert [each.name for each in await tokens.all(ADA)] == ["phone"]
        assert (await tokens.authenticate(text)).owner == "ada"


async def test_credential_is_unknown_without_its_secret() -> None:
    async with open_harness() as harness:
        for name in ("ada", "bob"):
            await harness.service.accounts.put(CHIEF, name)
        _, text = await harness.service.calendar_tokens.make(ADA, "phone")
        _, other = await harness.service.calendar_tokens.make(BOB, "phone")
        mine, theirs = read_credential(text), read_credential(other)
        assert mine is not None
        assert theirs is not None
        lookup = harness.service.credential_lookup
        assert await lookup.locate(mine) == CredentialLocation(CredentialState.HERE, "ada")
        guessed = theirs._replace(proof=mine.proof)
        assert await lookup.locate(guessed) == CredentialLocation(CredentialState.UNKNOWN)


async def event_numbers_say_nothing_about_other_owners(harness: ServiceHarness) -> None:
    events = harness.service.events
    await harness.add(who=ADA)
    assert await events.last(BOB) == 0
    assert await events.gap(BOB, 1) == Gap(1, 0)
    await harness.add(who=BOB)
    assert await events.last(BOB) == 1
    assert await events.gap(BOB, 1) is None
    assert await events.last(ROOT) == 2


async def test_event_numbers_say_nothing_about_other_owners() -> None:
    async with open_harness() as here:
        await event_numbers_say_nothing_about_other_owners(here)


def test_every_public_service_method_is_in_a_table() -> None:
    """A new method must be in a table."""
    tables = (BY_TASK, BY_RUN, LISTS, OTHERWISE)
    seen = [method for table in tables for method in table]
    assert len(seen) == len(set(seen))
    assert set(seen) == public_methods()
    assert set(OTHERWISE.values()) <= set(globals())


def test_every_service_is_in_the_table() -> None:
    service = ServiceHarness().service
    components = {name for name, each in vars(Service).items() if isinstance(each, cached_property)}
    public = {name for name in components if not name.startswith("_")} - {"dry_run"}
    assert {type(getattr(service, name)) for name in public | {"secrets"}} == set(SERVICES)


# --- how the same question is asked twice ----------------------------------------------------------------------------


async def make_resources_of_ada(harness: ServiceHarness) -> ForeignResources:
    """Everything that one can have: runs of all kinds, lines, a key, an event, a secret, something that is stranded."""
    task = await harness.add(name="water the roses", key="roses", lane="garden", labels={"room": "a"})
    failed = await harness.run_due(HOUR, Failed("no", permanent=True))
    harness.advance(HOUR)
    (going,) = await harness.claim()
    await harness.store.write_lines([Line(each.id, NOON, "info", "secret words") for each in (failed, going)])
    await harness.service.secrets.set(ADA, "token", "secret words")
    await harness.service.declared_tasks.register_start(ADA, {"garden": ["water"]})
    await harness.service.accounts.put(CHIEF, "ada")
    await harness.service.tokens.make(CHIEF, owner="ada", name="hers", agent="robot")
    await harness.service.lanes.limit(ADA, "garden", 2)
    await harness.service.groups.add(CHIEF, "family", "web:1")
    await harness.service.webhooks.create(ADA, "https://93.184.216.34/hook")
    await harness.service.destinations.put(ADA, "ops", url="json://x/")
    await harness.service.streams.send(ADA, "chat:1", [MessageDraft("secret words")])
    await harness.service.streams.register(ADA, "chat:1", "handled")
    return ForeignResources(task, failed, going)


async def answer_code(call: Awaitable[object]) -> object:
    try:
        return await call
    except Refusal as refusal:
        return refusal


def answer_without_id(answer: object, asked: str) -> object:
    """The answer without the id of the request."""
    if not isinstance(answer, Refusal):
        return answer
    sentences = [
        (each.message.replace(asked, "…"), each.hint.replace(asked, "…")) for each in answer.sentences.values()
    ]
    facts = {name: fact.replace(asked, "…") if isinstance(fact, str) else fact for name, fact in answer.facts.items()}
    return type(answer), answer.code, sentences, facts, answer.position, answer.source, getattr(answer, "__notes__", [])


async def call_each(harness: ServiceHarness, mine: ForeignResources) -> AsyncIterator[tuple[str, Ask, str, str]]:
    for (kind, name), ask in BY_TASK.items():
        yield f"{kind.__name__}.{name}", ask, mine.task.id, ABSENT
    for name, ask in MORE_WAYS.items():
        yield name, ask, mine.task.id, ABSENT
    for (kind, name), ask in BY_RUN.items():
        for run in (mine.failed, mine.going):
            yield f"{kind.__name__}.{name} of a run that {run.state.value}", ask, run.id, ABSENT_RUN
    for other in ("roses", "water the roses", mine.task.id[:9]):
        yield f"by {other}", lambda harness, ask: harness.tasks.find_by_name(BOB, ask), other, "nothing like it"
    assert await harness.store.facts(mine.task.id, "ada") is not None


async def test_foreign_resources_answer_like_absent_ones() -> None:
    async with open_harness() as harness:
        mine = await make_resources_of_ada(harness)
        before = await harness.store.facts(mine.task.id, None)
        events = await harness.store.last_event()
        harness.writes.clear()
        async for name, ask, theirs, nowhere in call_each(harness, mine):
            foreign = await answer_code(ask(harness, theirs))
            absent = await answer_code(ask(harness, nowhere))
            assert answer_without_id(foreign, theirs) == answer_without_id(absent, nowhere), name
        assert await harness.store.facts(mine.task.id, None) == before, "nothing of it was touched"
        assert (await harness.store.last_event(), harness.writes) == (events, []), "and nothing was notified"


async def test_owner_and_admin_get_answers_to_the_same_calls() -> None:
    """Otherwise the test above would pass if nothing ever answered."""

    async with open_harness() as harness:
        mine = await make_resources_of_ada(harness)
        for who in (ADA, ROOT):
            assert (await harness.tasks.get(who, mine.task.id)).task == mine.task
            assert (await harness.tasks.find_by_name(who, "water the roses")).task == mine.task
            assert await harness.runs.get(who, mine.failed.id) == mine.failed
            assert [line.line.text for line in await harness.runs.lines(who, mine.going.id)] == ["secret words"]
            assert len((await harness.runs.page(who, RunFilter(task_id=mine.task.id))).items) == 2
            assert len((await harness.tasks.page(who)).items) == 1
            assert len(await harness.service.events.after(who, 0)) > 2
            assert (await harness.service.overview.now(who)).outcomes == {"failed": 1}
            assert (await harness.service.secrets.names(who)).items[0].name == "token"


@pytest.mark.parametrize("method", LISTS, ids=lambda method: f"{method[0].__name__}.{method[1]}")
async def test_lists_show_no_foreign_resources(method: tuple[type, str]) -> None:
    async with open_harness() as harness:
        empty = await LISTS[method](ServiceHarness()) if method not in _OF_LISTED else {}
        mine = await make_resources_of_ada(harness)
        before = await harness.store.facts(mine.task.id, None)
        assert await LISTS[method](harness) == empty
        assert await harness.store.facts(mine.task.id, None) == before


async def test_plan_of_another_owner_is_absent() -> None:
    fields = {"station": "api", "plan_type": "minute", "plan_value": 1, "plan_repet": -1, "command": "run"}
    async with open_harness() as harness:
        plans = harness.service.plans
        await allow_stations(harness.service, "ada", "api")
        await allow_stations(harness.service, "bob", "other")
        mine = await plans.add(ADA, fields | {"plan_id": 255})
        calls: list[Callable[[str], Awaitable[object]]] = [
            lambda name: plans.get(BOB, name),
            lambda name: plans.skip(BOB, name, 1),
            lambda name: plans.pause(BOB, name),
            lambda name: plans.reset(BOB, name),
            lambda name: plans.close(BOB, name),
            lambda name: plans.remove(BOB, name),
        ]
        for call in calls:
            for foreign, missing in ((mine.plan.name, "msg:api:fe"), (mine.task_id, "tsk_" + "0" * 32)):
                assert await _code(call(foreign)) == await _code(call(missing))
        assert await plans.find_by_task(BOB, mine.task_id) is None
        assert await plans.of_tasks({mine.task_id: BOB.owner}) == {}
        assert set(await plans.of_tasks({mine.task_id: ADA.owner})) == {mine.task_id}
        assert (await plans.page(BOB)).items == ()
        assert await plans.all(BOB) == []
        # The id of another owner's plan is free.
        await plans.add(BOB, fields | {"plan_id": 255, "station": "other"})
        (imported,) = await plans.import_plans(BOB, [fields | {"plan_id": 254}])
        assert imported.view is not None
        await plans.close(ADA, "ff")
        assert await plans.clear(BOB) == 0
        assert await plans.flush(BOB) == 2
        adopted = await plans.adopt(BOB, mine.plan._replace(plan_id=253), PlanProgress(), NOON)
        assert (await plans.get(BOB, "fd")).task_id == adopted.task_id
        assert await plans.find_by_task(ADA, adopted.task_id) is None
        assert (await plans.get(ADA, "ff")).plan == mine.plan


async def _code(call: Awaitable[object]) -> str:
    with pytest.raises(Refusal) as refused:
        await call
    return refused.value.code


async def test_view_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        views = harness.service.views
        await views.save(ADA, "tasks", "mine", "state:failed")
        for call in (views.get, views.remove):
            with pytest.raises(Refusal) as absent:
                await call(BOB, "tasks", "mine")
            assert absent.value.code == "no_such_view"
        await views.save(BOB, "tasks", "mine", "")
        assert [view.query for view in await views.all(ADA, "tasks")] == ["state:failed"]


async def test_bulk_operation_affects_own_tasks_only() -> None:
    async with open_harness() as harness:
        mine = await make_resources_of_ada(harness)
        own = await harness.add(who=BOB)
        report = await harness.service.bulk.each(BOB, TaskFilter(), lambda task: harness.tasks.cancel(BOB, task.id))
        assert (report.matched, report.done) == (1, 1)
        assert (await harness.tasks.get(BOB, own.id)).status.state == "cancelled"
        assert (await harness.tasks.get(ADA, mine.task.id)).status.state == "active"


async def test_member_cannot_create_a_task_for_another_owner() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: harness.tasks.create(BOB, _wish(owner="ada")),
            lambda: harness.tasks.create(BOB, _wish(owner="ada", key="roses")),
            lambda: harness.tasks.declare(BOB, _wish(owner="ada", key="roses")),
            lambda: harness.tasks.create_many(BOB, [_wish(), _wish(owner="ada")], lambda task: task),
        ]
        for call in calls:
            answer = await answer_code(call())
            assert isinstance(answer, Refusal)
            assert answer.code == "foreign_owner"
        own = await harness.tasks.declare(BOB, _wish(key="roses"))
        assert own.owner == "bob", "a key is an owner's own"
        assert len((await harness.tasks.page(BOB)).items) == 1


async def test_member_cannot_set_a_secret_of_another_owner() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        secrets = harness.service.secrets
        answer = await answer_code(secrets.set(BOB, "token", "mine", "ada"))
        assert isinstance(answer, Refusal)
        assert answer.code == "foreign_owner"
        await secrets.set(BOB, "token", "mine")
        assert (await secrets.reveal("ada", "token"), await secrets.reveal("bob", "token")) == ("secret words", "mine")


async def test_secret_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        secrets = harness.service.secrets
        for owner in (None, "ada", "nobody"):
            foreign = answer_without_id(await answer_code(secrets.remove(BOB, "token", owner)), "token")
            assert foreign == answer_without_id(await answer_code(secrets.remove(BOB, "absent", owner)), "absent")
            for call in (secrets.grant, secrets.revoke_grant):
                foreign = answer_without_id(await answer_code(call(BOB, "token", "robot", owner)), "token")
                assert foreign == answer_without_id(await answer_code(call(BOB, "absent", "robot", owner)), "absent")
        assert await secrets.reveal("bob", "token") is None
        assert await secrets.reveal("ada", "token") == "secret words"


async def test_account_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        accounts, tokens = harness.service.accounts, harness.service.tokens
        (hers,) = (await tokens.page(ROOT, "ada")).items
        absent = "tok_" + "0" * 32
        asked: list[tuple[Callable[[str], Awaitable[object]], str, str]] = [
            (lambda name: accounts.get(BOB, name), "ada", "nobody"),
            (lambda name: accounts.put(BOB, name, note="mine"), "ada", "nobody"),
            (lambda name: accounts.put(BOB, name, zone="UTC"), "ada", "nobody"),
            (lambda name: accounts.revoke(BOB, name), "ada", "nobody"),
            (lambda name: accounts.restore(BOB, name), "ada", "nobody"),
            (lambda name: tokens.make(BOB, owner=name, name="mine"), "ada", "nobody"),
            (lambda name: tokens.get(BOB, name), hers.id, absent),
            (lambda name: tokens.revoke(BOB, name), hers.id, absent),
        ]
        for ask, theirs, nowhere in asked:
            foreign = answer_without_id(await answer_code(ask(theirs)), theirs)
            assert isinstance(foreign, tuple)
            assert foreign == answer_without_id(await answer_code(ask(nowhere)), nowhere)
        verdict = await answer_code(harness.service.audit.verify(BOB))
        assert isinstance(verdict, Refusal)
        assert (await tokens.page(ROOT, "ada")).items == (hers,)
        assert (await accounts.get(ROOT, "ada")).version == 1


async def test_session_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        sessions = harness.service.sessions
        await harness.make_member("ada")
        bob = await harness.make_member("bob")
        _, text = await harness.service.tokens.make(ROOT, owner="ada", name="hers")
        hers = await sessions.open_with_token(text)
        foreign, absent = hers.session.id, "ses_" + "0" * 32
        answers = [answer_without_id(await answer_code(sessions.revoke(bob, name)), name) for name in (foreign, absent)]
        assert answers[0] == answers[1]
        assert (await sessions.authenticate(hers.cookie)).owner == "ada"
        known = await sessions.open_for_identity(Identity("bob", Role.VIEWER, "https://id.example.org", "7"))
        assert (await sessions.authenticate(known.cookie)).owner == "bob"
        own = await sessions.open_with_link((await sessions.make_link(bob)).code)
        assert (await sessions.authenticate(own.cookie)).owner == "bob"


async def test_webhook_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        webhooks = harness.service.webhooks
        (hers,) = (await webhooks.page(ADA)).items
        asked: list[Callable[[str], Awaitable[object]]] = [
            lambda name: webhooks.get(BOB, name),
            lambda name: webhooks.edit(BOB, name, note="mine"),
            lambda name: webhooks.remove(BOB, name),
            lambda name: webhooks.rotate(BOB, name),
            lambda name: webhooks.deliveries(BOB, name),
            lambda name: webhooks.delivery(BOB, name, "dlv_1"),
            lambda name: webhooks.test(BOB, name),
            lambda name: webhooks.redeliver(BOB, name, "dlv_1"),
        ]
        absent = "whk_" + "0" * len(hers.id.removeprefix("whk_"))
        for ask in asked:
            foreign = answer_without_id(await answer_code(ask(hers.id)), hers.id)
            assert isinstance(foreign, tuple)
            assert foreign == answer_without_id(await answer_code(ask(absent)), absent)
        made = await answer_code(webhooks.create(BOB, "https://93.184.216.34/hook", owner="ada"))
        assert isinstance(made, Refusal)
        assert (await webhooks.page(ROOT)).items == (hers,)


async def test_destination_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        destinations = harness.service.destinations
        asked: list[Callable[[str, str], Awaitable[object]]] = [
            lambda name, owner: destinations.get(BOB, name, owner),
            lambda name, owner: destinations.remove(BOB, name, owner),
            lambda name, owner: destinations.deliveries(BOB, name, owner),
            lambda name, owner: destinations.test(BOB, name, owner),
        ]
        for ask in asked:
            foreign = answer_without_id(await answer_code(ask("ops", "ada")), "ops")
            assert isinstance(foreign, tuple)
            assert foreign == answer_without_id(await answer_code(ask("none", "ada")), "none")
            assert foreign == answer_without_id(await answer_code(ask("ops", "bob")), "ops")
        assert isinstance(await answer_code(destinations.put(BOB, "ops", "ada", url="json://x/")), Refusal)
        assert [each.owner for each in (await destinations.page(ROOT)).items] == ["ada"]


async def test_station_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        stations = harness.service.stations
        await stations.allow(ADA, "orders", "a" * 40)
        asked: list[Callable[[str, str], Awaitable[object]]] = [
            lambda name, owner: stations.get(BOB, name, owner),
            lambda name, owner: stations.remove(BOB, name, owner=owner),
        ]
        for ask in asked:
            foreign = answer_without_id(await answer_code(ask("orders", "ada")), "orders")
            assert isinstance(foreign, tuple)
            assert foreign == answer_without_id(await answer_code(ask("none", "ada")), "none")
            assert foreign == answer_without_id(await answer_code(ask("orders", "bob")), "orders")
        assert await code_of(stations.allow(BOB, "orders", "b" * 40, owner="ada")) == "foreign_owner"
        assert await code_of(stations.allow(BOB, "orders", "a" * 40)) == "station_key_taken"
        assert [each.station.owner for each in (await stations.page(ROOT)).items] == ["ada"]


async def test_budget_of_a_group_is_seen_by_itself_and_by_admins() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        budgets = harness.service.budgets
        itself = Principal("group:family")
        assert (await budgets.get(itself, "family")).folder == "family"
        assert await code_of(budgets.put(itself, "family", {"runs": 1})) == "not_allowed"
        for folder in ("family", "none"):
            assert await code_of(budgets.get(BOB, folder)) == "no_such_group"
            assert await code_of(budgets.put(BOB, folder, {"runs": 1})) == "not_allowed"
        for call in (harness.service.agent_stop.stop_all, harness.service.agent_stop.restart_all):
            assert await code_of(call(BOB)) == "not_allowed"
        assert await harness.service.agent_stop.end_runs(BOB, "ada", "robot") == 0


async def test_group_is_seen_by_itself_and_by_admins() -> None:
    async with open_harness() as harness:
        groups = harness.service.groups
        await groups.add(ROOT, "family", "web:1")
        itself = Principal("group:family")
        assert (await groups.get(itself, "family")).chat == "web:1"
        assert await code_of(groups.get(BOB, "family")) == "no_such_group"
        assert (await groups.status(itself, "family")).waiting == 0
        assert await code_of(groups.status(BOB, "family")) == "no_such_group"
        assert await code_of(groups.describe(BOB, await groups.get(ROOT, "family"))) == "no_such_group"
        assert [each.folder for each in (await groups.page(itself)).items] == ["family"]
        assert await code_of(harness.service.chats.deliver(BOB, "family", "hello")) == "no_such_group"
        assert (await harness.service.chats.deliver(itself, "family", "hello")).number == 1
        for refused in (
            harness.service.group_nodes.apply(itself, await groups.get(ROOT, "family")),
            groups.unregistered(itself),
            groups.add(itself, "other", "web:2"),
            groups.change(itself, "family", is_main=True),
            groups.remove(itself, "family"),
        ):
            assert await code_of(refused) == "not_allowed"


async def test_chat_and_its_deliveries_are_absent_for_other_owners() -> None:
    async with open_harness() as harness:
        service = harness.service
        await service.groups.add(ROOT, "family", "web:1")
        await service.chats.send(ROOT, "web:1", "secret words")
        failed = as_failed(Delivery("dlv_" + "1" * 32, "group:family", "web:1", "secret", NOON), NOON, "no")
        await harness.store.write_records([RecordWrite(delivery_record(failed))])
        by_chat: list[Callable[[str], Awaitable[object]]] = [
            lambda chat: service.chats.get(BOB, chat),
            lambda chat: service.chats.transcript(BOB, chat),
            lambda chat: service.chats.send(BOB, chat, "hello"),
        ]
        by_delivery: list[Callable[[str], Awaitable[object]]] = [
            lambda delivery: service.deliveries.get(BOB, delivery),
            lambda delivery: service.deliveries.retry(BOB, delivery),
            lambda delivery: service.deliveries.discard(BOB, delivery),
        ]
        for asked, there, absent in ((by_chat, "web:1", "web:0"), (by_delivery, failed.id, "dlv_" + "0" * 32)):
            for ask in asked:
                foreign = answer_without_id(await answer_code(ask(there)), there)
                assert isinstance(foreign, tuple)
                assert foreign == answer_without_id(await answer_code(ask(absent)), absent)
        itself = Principal("group:family")
        assert (await service.deliveries.get(itself, failed.id)).text == "secret"
        assert len((await service.chats.page(itself)).items) == 1


async def test_stream_of_another_owner_is_absent() -> None:
    async with open_harness() as harness:
        await make_resources_of_ada(harness)
        streams = harness.service.streams
        asked: list[Callable[[str, str], Awaitable[object]]] = [
            lambda name, owner: streams.get(BOB, name, owner),
            lambda name, owner: streams.messages(BOB, name, owner=owner),
            lambda name, owner: streams.register(BOB, name, "handled", owner),
            lambda name, owner: streams.unregister(BOB, name, "handled", owner),
            lambda name, owner: streams.remove(BOB, name, owner),
        ]
        for ask in asked:
            foreign = answer_without_id(await answer_code(ask("chat:1", "ada")), "chat:1")
            assert isinstance(foreign, tuple)
            assert foreign == answer_without_id(await answer_code(ask("chat:0", "ada")), "chat:0")
            assert foreign == answer_without_id(await answer_code(ask("chat:1", "bob")), "chat:1")
        assert isinstance(await answer_code(streams.send(BOB, "chat:1", [MessageDraft("x")], "ada")), Refusal)
        assert isinstance(await answer_code(streams.put(BOB, "chat:1", "ada", keep=1)), Refusal)
        assert await streams.send(BOB, "chat:1", [MessageDraft("mine")]) == (1,)
        assert [message.message.text for message in (await streams.messages(ADA, "chat:1")).messages] == [
            "secret words"
        ]


async def test_operation_of_another_owner_is_absent() -> None:
    """It affects no foreign task, and operations of one owner do not block those of another."""

    async with open_harness() as harness:
        mine = await make_resources_of_ada(harness)
        operations, order = harness.service.operations, OperationRequest("cancel", {}, {})
        begun = {
            who: await operations.begin(
                who,
                order,
                TaskFilter(),
                lambda task, who=who: harness.tasks.cancel(who, task.id),  # type: ignore[misc]
            )
            for who in (BOB, ADA)
        }
        absent = "opn_" + "0" * len(begun[ADA].id.removeprefix("opn_"))
        for ask in (operations.get, operations.cancel, operations.undo, operations.preview_undo, operations.wait):
            foreign = answer_without_id(await answer_code(ask(BOB, begun[ADA].id)), begun[ADA].id)
            assert isinstance(foreign, tuple)
            assert foreign == answer_without_id(await answer_code(ask(BOB, absent)), absent)
        async with asyncio.timeout(30):
            while (await operations.get(BOB, begun[BOB].id)).ended is None:
                await harness.clock.pause(0)
            assert (await operations.get(BOB, begun[BOB].id)).total == 0
            while (await operations.get(ADA, begun[ADA].id)).ended is None:
                await harness.clock.pause(0)
        assert (await harness.tasks.get(ADA, mine.task.id)).status.state == "cancelled"
        log = operations.new_log(BOB, "pause")
        report = await operations.act(
            BOB, OperationRequest("pause", {}, {}), TaskFilter(owner="ada"), _raises_if_called, log=log
        )
        assert (report.matched, report.undo) == (0, None)


async def test_only_an_admin_drains_nodes() -> None:
    """For other principals the node is absent."""

    async with open_harness() as harness:
        await harness.store.join(a_node("nod_1a", host="north"))
        nodes = harness.service.nodes
        asked: list[tuple[str, Callable[[str], Awaitable[object]]]] = [
            ("nod_1a", lambda name: nodes.drain(BOB, name)),
            ("nod_1", lambda name: nodes.drain(BOB, name)),
            ("nod_1a", lambda name: nodes.drain(BOB, name, draining=False)),
            ("north", lambda name: nodes.drain_host(BOB, name)),
        ]
        for theirs, ask in asked:
            assert answer_without_id(await answer_code(ask(theirs)), theirs) == answer_without_id(
                await answer_code(ask("absent")), "absent"
            )
        for call in (
            nodes.all(BOB),
            harness.service.doctor.report(BOB),
            harness.service.doctor.latest(BOB),
            harness.service.doctor.durability(BOB),
        ):
            answer = await answer_code(call)
            assert isinstance(answer, Refusal)
            assert (answer.code, harness.writes) == ("not_allowed", [])
        assert [node.draining for node in await harness.store.nodes()] == [False]
        assert (await nodes.drain(ROOT, "nod_1a")).draining


async def _budgets(harness: ServiceHarness) -> None:
    one = BOB._replace(quotas=Quotas(idempotency_keys=1))
    await harness.service.key_budget.take(one)
    refused = await answer_code(harness.service.key_budget.take(one))
    assert isinstance(refused, Refusal)
    assert refused.code == "too_many_keys"
    await harness.service.key_budget.take(one._replace(owner="ada"))


async def test_idempotency_key_budget_is_per_owner() -> None:
    async with open_harness() as here:
        await _budgets(here)


async def test_listeners_are_counted_for_their_owner_alone() -> None:
    await _counted_listeners()


async def _counted_listeners() -> None:
    harness = ServiceHarness()
    await make_resources_of_ada(harness)
    presence = harness.service.listeners
    assert (await presence.reach("ada", "tsk_1", "task.triggered", fresh=True)).webhooks == 1
    assert (await presence.reach("bob", "tsk_1", "task.triggered", fresh=True)).total == 0
    announcer = presence.announcer()
    await announcer.join(ListenerKind("stream", "ada"))
    async with presence.announce(ListenerKind("terminal", "ada")):
        assert (await presence.reach("ada", "tsk_1", "task.triggered", fresh=True)).total == 3
        assert (await presence.reach("bob", "tsk_1", "task.triggered", fresh=True)).total == 0
    await announcer.close()


async def test_functions_belong_to_the_deployment() -> None:
    await _registered_functions()


async def _registered_functions() -> None:
    harness = ServiceHarness()
    await make_resources_of_ada(harness)
    await register_in(harness.service)
    functions = harness.service.functions
    for who in (ADA, BOB):
        assert [each.registration.name for each in await functions.all(who)] == ["mail", "report"]
        assert (await functions.get(who, "mail")).registration.name == "mail"
        with pytest.raises(Refusal) as refused:
            await functions.register(who, [])
        assert refused.value.code == "not_allowed"
    await functions.announce("nod_1", "home", [])
    assert await functions.by_node() == {"nod_1": (), "home": ()}
    await functions.withdraw("nod_1")
    for word in ("ada", "roses", "secret words"):
        assert word not in repr(await functions.load(fresh=True))


async def test_operator_methods_return_nothing_of_owners() -> None:
    """They take no principal, are called by nodes and key holders only, and return no owner."""

    async with open_harness() as harness:
        mine = await make_resources_of_ada(harness)
        outages = harness.service.outages
        await outages.record_stop()
        await harness.service.secrets.check()
        await harness.service.webhooks.close()
        await harness.service.operations.close()
        await harness.service.doctor.close()
        answers = [
            await outages.record_start(),
            await outages.all(),
            await outages.at(NOON),
            await harness.service.secrets.rotate(Key.random()),
            await harness.service.audit.seal(),
            await harness.service.event_encoder.encode(()),
            await harness.service.daily_quota.enforce(harness.clock.now()),
            await harness.service.tokens.make_first(),
            harness.service.audit.row(Principal("nobody"), "task.create", "tsk_1"),
        ]
        for word in ("ada", mine.task.id, "roses", "token", "secret words"):
            assert not re.search(rf"\b{word}\b", repr(answers))


async def test_agents_of_another_owner_are_not_shown_or_limited() -> None:
    async with open_harness() as here:
        await agents_of_another_owner(here)


async def agents_of_another_owner(harness: ServiceHarness) -> None:
    agents = harness.service.agents
    await make_resources_of_ada(harness)
    foreign = answer_without_id(await answer_code(agents.get(BOB, "robot", "ada")), "ada")
    assert foreign == answer_without_id(await answer_code(agents.get(BOB, "robot", "absent")), "absent")
    assert getattr(await answer_code(agents.put(BOB, "robot", {"active_tasks": 1}, "ada")), "code", "") == "not_allowed"
    await agents.put(CHIEF, "robot", {"active_tasks": 2}, "ada")
    approvals = harness.service.approvals
    for call in (approvals.stop_agent, approvals.restart_agent, agents.get):
        for owner in (None, "ada"):
            foreign = answer_without_id(await answer_code(call(BOB, "robot", owner)), "robot")
            assert foreign == answer_without_id(await answer_code(call(BOB, "absent", owner)), "absent")
    await approvals.stop_agent(CHIEF, "robot", "ada")
    assert await agents.is_stopped(BOB._replace(owner="ada", agent="robot"))
    assert not await agents.is_stopped(BOB._replace(agent="robot"))
    assert await harness.service.approvals.pause_revoked(BOB, "ada", "robot") == 0
    assert (await agents.put(CHIEF, "robot", {"active_tasks": 1}, "ada")).quotas.active_tasks == 1
