"""Rights: every service method, by role and by owner of the subject; a method without a row fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pytest

from horae.errors import NotAllowed, NotFound, Refusal
from horae.model.accounts.pause_change import PauseChange
from horae.model.accounts.principal import LOCAL, SCOPES_OF, Principal, Role, Scope
from horae.model.outcome import Failed
from horae.model.run import Run
from horae.model.task import Pause, Task, TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.schedule import After
from horae.schedule.after import Link
from horae.service.accounts.agents import Agents
from horae.service.accounts.approvals import Approvals
from horae.service.accounts.audit import Audit
from horae.service.accounts.calendar_tokens import CalendarTokens
from horae.service.accounts.owners import Accounts
from horae.service.accounts.secrets import SecretVault
from horae.service.accounts.sessions import Sessions
from horae.service.accounts.tokens import Tokens
from horae.service.accounts.views import Views
from horae.service.chats.chats import Chats
from horae.service.chats.deliveries import Deliveries
from horae.service.doctor import Doctor
from horae.service.events.destinations import Destinations
from horae.service.events.owner_sequence import Events
from horae.service.events.webhooks import Webhooks
from horae.service.groups.agent_stop import AgentStop
from horae.service.groups.budgets import Budgets
from horae.service.groups.group_nodes import GroupNodes
from horae.service.groups.groups import Groups
from horae.service.messages.streams import MessageDraft, Streams
from horae.service.plans.plans import Plans
from horae.service.runs.explanations import Explanations
from horae.service.runs.failures import Failures
from horae.service.runs.lanes import Lanes
from horae.service.runs.nodes import Nodes
from horae.service.runs.outage_reviews import OutageReviews
from horae.service.runs.overview import Overviews
from horae.service.runs.planned import PlannedRuns
from horae.service.runs.runs import Runs
from horae.service.stations.stations import Stations
from horae.service.tasks.edits import Edits
from horae.service.tasks.functions.declared_tasks import DeclaredTasks
from horae.service.tasks.functions.functions import Functions
from horae.service.tasks.functions.records import FormerName
from horae.service.tasks.operations.bulk import Bulk
from horae.service.tasks.operations.operations import Operations
from horae.service.tasks.task_request import TaskRequest
from horae.service.tasks.tasks import Tasks
from horae.testing.factories import HOUR, NOON, a_node, a_task
from tests.unit.service.service_harness import TARGET, ServiceHarness, open_harness

from .service_methods import public_methods

WISH: Final = TaskRequest("water the plants", "every 1h", TARGET, zone="UTC")
ABSENT_TASK: Final = "tsk_000000000000"
ABSENT_RUN: Final = "run_000000000000"


class CallSubject(NamedTuple):
    """Subject of a call: own, foreign or absent."""

    owner: str
    task: str
    run: str
    token: str
    webhook: str
    session: str


CHAINED = a_task(schedule=After((Link(a_task().id),)))


Ask = Callable[[ServiceHarness, Principal, CallSubject], Awaitable[Any]]


class Call(NamedTuple):
    needs: Scope
    ask: Ask
    owned: bool = True
    """Whether the call names a resource with an owner."""


def _tasks(needs: Scope, ask: Callable[[Tasks, Principal, str], Awaitable[Any]]) -> Call:
    return Call(needs, lambda harness, who, things: ask(harness.tasks, who, things.task))


def _runs(needs: Scope, ask: Callable[[Runs, Principal, str], Awaitable[Any]]) -> Call:
    return Call(needs, lambda harness, who, things: ask(harness.runs, who, things.run))


async def _get_view(harness: ServiceHarness, who: Principal) -> None:
    with suppress(NotFound):
        await harness.service.views.get(who, "tasks", "mine")


async def _remove_view(harness: ServiceHarness, who: Principal) -> None:
    with suppress(NotFound):
        await harness.service.views.remove(who, "tasks", "mine")


def _hooks(needs: Scope, ask: Callable[[Webhooks, Principal, str], Awaitable[Any]]) -> Call:
    return Call(needs, lambda harness, who, things: ask(harness.service.webhooks, who, things.webhook))


def _destinations(needs: Scope, ask: Callable[[Destinations, Principal, str], Awaitable[Any]]) -> Call:
    return Call(needs, lambda harness, who, things: ask(harness.service.destinations, who, things.owner))


def _stations(needs: Scope, ask: Callable[[Stations, Principal, str], Awaitable[Any]]) -> Call:
    return Call(needs, lambda harness, who, things: ask(harness.service.stations, who, things.owner))


def _streams(needs: Scope, ask: Callable[[Streams, Principal, str], Awaitable[Any]]) -> Call:
    return Call(needs, lambda harness, who, things: ask(harness.service.streams, who, things.owner))


async def _each(harness: ServiceHarness, who: Principal) -> Any:
    return await harness.service.bulk.each(who, TaskFilter(), lambda task: harness.tasks.get(who, task.id))


async def _cancel_and_restore(harness: ServiceHarness, who: Principal, task: str) -> None:
    with suppress(NotFound):
        await harness.tasks.cancel(LOCAL, task)
    await harness.tasks.undo_cancel(who, task)


async def _function(harness: ServiceHarness, who: Principal) -> None:
    """The right is checked first: without it the answer is a refusal, not that the function is unknown."""
    with suppress(NotFound):
        await harness.service.functions.get(who, "x")


async def _revoke_calendar(harness: ServiceHarness, who: Principal) -> None:
    """The right is checked first: without it the answer is a refusal, not that the token is unknown."""
    with suppress(NotFound):
        await harness.service.calendar_tokens.revoke(who, "cal_" + "0" * 32)


CALLS: Final[dict[tuple[type, str], Call]] = {
    (Tasks, "get"): _tasks(Scope.READ, lambda tasks, who, task: tasks.get(who, task)),
    (Tasks, "chain"): _tasks(Scope.READ, lambda tasks, who, task: tasks.chain(who, task)),
    (Tasks, "find_by_name"): _tasks(Scope.READ, lambda tasks, who, task: tasks.find_by_name(who, task)),
    (Tasks, "rename_declared"): _tasks(
        Scope.WRITE, lambda tasks, who, task: tasks.rename_declared(who, task, "code:x", FormerName("y", "x"))
    ),
    (Tasks, "edit"): _tasks(Scope.WRITE, lambda tasks, who, task: tasks.edit(who, task, Edits(name="other"))),
    (Tasks, "pause"): _tasks(Scope.WRITE, lambda tasks, who, task: tasks.pause(who, task)),
    (Tasks, "restore"): _tasks(
        Scope.WRITE,
        lambda tasks, who, task: tasks.restore(
            who, PauseChange("opn_1", task, "", 1, TaskState.PAUSED, Pause(NOON), None)
        ),
    ),
    (Tasks, "can_undo_cancel"): _tasks(Scope.READ, lambda tasks, who, task: tasks.can_undo_cancel(who, task)),
    (Tasks, "undo_cancel"): Call(
        Scope.WRITE,
        lambda harness, who, things: _cancel_and_restore(harness, who, things.task),
    ),
    (Tasks, "resume"): _tasks(Scope.WRITE, lambda tasks, who, task: tasks.resume(who, task)),
    (Tasks, "cancel"): _tasks(Scope.WRITE, lambda tasks, who, task: tasks.cancel(who, task)),
    (Tasks, "delete"): _tasks(Scope.WRITE, lambda tasks, who, task: tasks.delete(who, task)),
    (Tasks, "import_history"): _tasks(Scope.WRITE, lambda tasks, who, task: tasks.import_history(who, task, ())),
    (Tasks, "run_now"): _tasks(Scope.RUN, lambda tasks, who, task: tasks.run_now(who, task)),
    (Tasks, "queue_now"): _tasks(Scope.RUN, lambda tasks, who, task: tasks.queue_now(who, task)),
    (Tasks, "skip_next"): _tasks(Scope.RUN, lambda tasks, who, task: tasks.skip_next(who, task)),
    (Tasks, "backfill"): Call(
        Scope.RUN,
        lambda harness, who, things: harness.tasks.backfill(
            who, things.task, harness.clock.now() - 2 * HOUR, harness.clock.now()
        ),
    ),
    (Explanations, "why"): Call(
        Scope.READ, lambda harness, who, things: harness.explanations.why(who, things.task, NOON)
    ),
    (Explanations, "explain"): Call(
        Scope.READ, lambda harness, who, things: harness.explanations.explain(who, things.task, None)
    ),
    (Runs, "get"): _runs(Scope.READ, lambda runs, who, run: runs.get(who, run)),
    (Runs, "usage"): _runs(Scope.READ, lambda runs, who, run: runs.usage(who, run)),
    (Runs, "handled"): _runs(Scope.READ, lambda runs, who, run: runs.handled(who, run)),
    (Runs, "idle"): _runs(Scope.READ, lambda runs, who, run: runs.idle(who, run)),
    (Runs, "chain"): _runs(Scope.READ, lambda runs, who, run: runs.chain(who, run)),
    (Runs, "lines"): _runs(Scope.READ, lambda runs, who, run: runs.lines(who, run)),
    (Runs, "last_line"): _runs(Scope.READ, lambda runs, who, run: runs.last_line(who, run)),
    (Runs, "attempts"): _runs(Scope.READ, lambda runs, who, run: runs.attempts(who, run)),
    (Runs, "retry"): _runs(Scope.RUN, lambda runs, who, run: runs.retry(who, run)),
    (Tasks, "create"): Call(
        Scope.WRITE, lambda harness, who, things: harness.tasks.create(who, WISH._replace(owner=things.owner))
    ),
    (Tasks, "create_many"): Call(
        Scope.WRITE,
        lambda harness, who, things: harness.tasks.create_many(who, [WISH._replace(owner=things.owner)], str),
    ),
    (Tasks, "declare"): Call(
        Scope.WRITE, lambda harness, who, things: harness.tasks.declare(who, WISH._replace(owner=things.owner, key="k"))
    ),
    (Tasks, "preview_declaration"): Call(
        Scope.WRITE,
        lambda harness, who, things: harness.tasks.preview_declaration(who, WISH._replace(owner=things.owner, key="k")),
    ),
    (SecretVault, "set"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.secrets.set(who, "new", "value", things.owner)
    ),
    (SecretVault, "remove"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.secrets.remove(who, "token", things.owner)
    ),
    (SecretVault, "grant"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.secrets.grant(who, "token", "robot", things.owner)
    ),
    (SecretVault, "revoke_grant"): Call(
        Scope.WRITE,
        lambda harness, who, things: harness.service.secrets.revoke_grant(who, "token", "robot", things.owner),
    ),
    (Agents, "get"): Call(
        Scope.READ, lambda harness, who, things: harness.service.agents.get(who, "robot", things.owner)
    ),
    (Agents, "is_stopped"): Call(
        Scope.READ, lambda harness, who, _things: harness.service.agents.is_stopped(who), owned=False
    ),
    (Agents, "put"): Call(
        Scope.ADMIN,
        lambda harness, who, things: harness.service.agents.put(who, "robot", {"active_tasks": 3}, things.owner),
        owned=False,
    ),
    (Tokens, "make"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.tokens.make(who, owner=things.owner, name="x")
    ),
    (Tokens, "get"): Call(Scope.READ, lambda harness, who, things: harness.service.tokens.get(who, things.token)),
    (Tokens, "revoke"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.tokens.revoke(who, things.token)
    ),
    (Sessions, "revoke"): Call(
        Scope.READ, lambda harness, who, things: harness.service.sessions.revoke(who, things.session)
    ),
    (Accounts, "get"): Call(Scope.READ, lambda harness, who, things: harness.service.accounts.get(who, things.owner)),
    (Accounts, "put"): Call(
        Scope.ADMIN, lambda harness, who, things: harness.service.accounts.put(who, things.owner, note="x"), owned=False
    ),
    (Accounts, "revoke"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.accounts.revoke(who, "somebody"), owned=False
    ),
    (Accounts, "restore"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.accounts.restore(who, "somebody"), owned=False
    ),
    (Approvals, "stop_agent"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.approvals.stop_agent(who, "robot", things.owner)
    ),
    (Approvals, "restart_agent"): Call(
        Scope.WRITE, lambda harness, who, things: harness.service.approvals.restart_agent(who, "robot", things.owner)
    ),
    (Webhooks, "create"): Call(
        Scope.WRITE,
        lambda harness, who, things: harness.service.webhooks.create(
            who, "https://93.184.216.34/hook", owner=things.owner
        ),
    ),
    (Webhooks, "get"): _hooks(Scope.READ, lambda hooks, who, hook: hooks.get(who, hook)),
    (Webhooks, "deliveries"): _hooks(Scope.READ, lambda hooks, who, hook: hooks.deliveries(who, hook)),
    (Webhooks, "edit"): _hooks(Scope.WRITE, lambda hooks, who, hook: hooks.edit(who, hook, note="x")),
    (Webhooks, "rotate"): _hooks(Scope.WRITE, lambda hooks, who, hook: hooks.rotate(who, hook)),
    (Webhooks, "remove"): _hooks(Scope.WRITE, lambda hooks, who, hook: hooks.remove(who, hook)),
    (Destinations, "put"): Call(
        Scope.WRITE,
        lambda harness, who, things: harness.service.destinations.put(who, "ops", things.owner, url="json://x/"),
    ),
    (Stations, "allow"): _stations(
        Scope.WRITE, lambda all_of, who, owner: all_of.allow(who, "orders", station_key_of(owner), owner=owner)
    ),
    (Stations, "get"): _stations(Scope.READ, lambda all_of, who, owner: all_of.get(who, "orders", owner)),
    (Stations, "remove"): _stations(Scope.WRITE, lambda all_of, who, owner: all_of.remove(who, "orders", owner=owner)),
    (Stations, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.stations.page(who), owned=False),
    (Destinations, "get"): _destinations(Scope.READ, lambda all_of, who, owner: all_of.get(who, "ops", owner)),
    (Destinations, "deliveries"): _destinations(
        Scope.READ, lambda all_of, who, owner: all_of.deliveries(who, "ops", owner)
    ),
    (Destinations, "test"): _destinations(Scope.WRITE, lambda all_of, who, owner: all_of.test(who, "ops", owner)),
    (Destinations, "remove"): _destinations(Scope.WRITE, lambda all_of, who, owner: all_of.remove(who, "ops", owner)),
    (Destinations, "page"): Call(
        Scope.READ, lambda harness, who, _: harness.service.destinations.page(who), owned=False
    ),
    (Budgets, "put"): Call(
        Scope.ADMIN,
        lambda harness, who, things: harness.service.budgets.put(who, things.owner, {"runs": 5}),
        owned=False,
    ),
    (AgentStop, "get"): Call(Scope.READ, lambda harness, who, _: harness.service.agent_stop.get(who), owned=False),
    (AgentStop, "stop_all"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.agent_stop.stop_all(who), owned=False
    ),
    (AgentStop, "restart_all"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.agent_stop.restart_all(who), owned=False
    ),
    (Groups, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.groups.page(who), owned=False),
    (Groups, "unregistered"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.groups.unregistered(who), owned=False
    ),
    (Groups, "add"): Call(
        Scope.ADMIN,
        lambda harness, who, things: harness.service.groups.add(who, f"{things.owner}-2", f"web:{things.owner}-2"),
        owned=False,
    ),
    (Groups, "change"): Call(
        Scope.ADMIN,
        lambda harness, who, things: harness.service.groups.change(who, things.owner, name="x"),
        owned=False,
    ),
    (Groups, "remove"): Call(
        Scope.ADMIN, lambda harness, who, things: harness.service.groups.remove(who, things.owner), owned=False
    ),
    (Chats, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.chats.page(who), owned=False),
    (Deliveries, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.deliveries.page(who), owned=False),
    (Streams, "get"): _streams(Scope.READ, lambda all_of, who, owner: all_of.get(who, "chat:1", owner)),
    (Streams, "messages"): _streams(Scope.READ, lambda all_of, who, owner: all_of.messages(who, "chat:1", owner=owner)),
    (Streams, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.streams.page(who), owned=False),
    (Streams, "send"): _streams(
        Scope.WRITE, lambda all_of, who, owner: all_of.send(who, "chat:1", [MessageDraft("hello")], owner)
    ),
    (Streams, "put"): _streams(Scope.WRITE, lambda all_of, who, owner: all_of.put(who, "chat:1", owner, keep=5)),
    (Streams, "register"): _streams(
        Scope.WRITE, lambda all_of, who, owner: all_of.register(who, "chat:1", "new", owner)
    ),
    (Streams, "unregister"): _streams(
        Scope.WRITE, lambda all_of, who, owner: all_of.unregister(who, "chat:1", "handled", owner)
    ),
    (Streams, "remove"): _streams(Scope.WRITE, lambda all_of, who, owner: all_of.remove(who, "chat:1", owner)),
    (Webhooks, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.webhooks.page(who), owned=False),
    (Tasks, "find_by_key"): Call(
        Scope.READ, lambda harness, who, _: harness.tasks.find_by_key(who, "roses"), owned=False
    ),
    (Tasks, "named"): Call(Scope.READ, lambda harness, who, _: harness.tasks.named(who, "roses"), owned=False),
    (Tasks, "page"): Call(Scope.READ, lambda harness, who, _: harness.tasks.page(who), owned=False),
    (Tasks, "count"): Call(Scope.READ, lambda harness, who, _: harness.tasks.count(who), owned=False),
    (Tasks, "upcoming"): Call(Scope.READ, lambda harness, who, _: harness.tasks.upcoming(who), owned=False),
    (Tasks, "outcomes"): Call(Scope.READ, lambda harness, who, _: harness.tasks.outcomes(who, (), 30), owned=False),
    (Tasks, "latest"): Call(Scope.READ, lambda harness, who, _: harness.tasks.latest(who, ()), owned=False),
    (Tasks, "predecessor_names"): Call(
        Scope.READ, lambda harness, who, _: harness.tasks.predecessor_names(who, (CHAINED,)), owned=False
    ),
    (Tasks, "names"): Call(Scope.READ, lambda harness, who, _: harness.tasks.names(who, ()), owned=False),
    (Failures, "groups"): Call(Scope.READ, lambda harness, who, _: harness.service.failures.groups(who), owned=False),
    (Failures, "summaries"): Call(
        Scope.READ, lambda harness, who, _: harness.service.failures.summaries(who), owned=False
    ),
    (Failures, "retry"): Call(Scope.RUN, lambda harness, who, _: harness.service.failures.retry(who, ()), owned=False),
    (Runs, "page"): Call(Scope.READ, lambda harness, who, _: harness.runs.page(who), owned=False),
    (OutageReviews, "latest"): Call(
        Scope.READ, lambda harness, who, _: harness.service.outage_reviews.latest(who), owned=False
    ),
    (OutageReviews, "dismiss"): Call(
        Scope.WRITE, lambda harness, who, _: harness.service.outage_reviews.dismiss(who, NOON), owned=False
    ),
    (Overviews, "now"): Call(Scope.READ, lambda harness, who, _: harness.service.overview.now(who), owned=False),
    (Events, "after"): Call(Scope.READ, lambda harness, who, _: harness.service.events.after(who, 0), owned=False),
    (Events, "last"): Call(Scope.READ, lambda harness, who, _: harness.service.events.last(who), owned=False),
    (Events, "gap"): Call(Scope.READ, lambda harness, who, _: harness.service.events.gap(who, 0), owned=False),
    (Bulk, "each"): Call(Scope.READ, lambda harness, who, _: _each(harness, who), owned=False),
    (Operations, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.operations.page(who), owned=False),
    (Functions, "register"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.functions.register(who, []), owned=False
    ),
    (Functions, "all"): Call(Scope.READ, lambda harness, who, _: harness.service.functions.all(who), owned=False),
    (Functions, "get"): Call(Scope.READ, lambda harness, who, _: _function(harness, who), owned=False),
    (DeclaredTasks, "rename"): Call(
        Scope.WRITE,
        lambda harness, who, _: harness.service.declared_tasks.rename(who, FormerName("x", "jobs.x")),
        owned=False,
    ),
    (DeclaredTasks, "register_start"): Call(
        Scope.WRITE, lambda harness, who, _: harness.service.declared_tasks.register_start(who, {}), owned=False
    ),
    (DeclaredTasks, "restore"): Call(
        Scope.WRITE, lambda harness, who, _: harness.service.declared_tasks.restore(who, "x"), owned=False
    ),
    (SecretVault, "names"): Call(Scope.READ, lambda harness, who, _: harness.service.secrets.names(who), owned=False),
    (Lanes, "all"): Call(Scope.READ, lambda harness, who, _: harness.service.lanes.all(who), owned=False),
    (Lanes, "queues"): Call(Scope.READ, lambda harness, who, _: harness.service.lanes.queues(who), owned=False),
    (Lanes, "statuses"): Call(Scope.READ, lambda harness, who, _: harness.service.lanes.statuses(who), owned=False),
    (Lanes, "show"): Call(Scope.READ, lambda harness, who, _: harness.service.lanes.show(who, "x"), owned=False),
    (Lanes, "queued"): Call(Scope.READ, lambda harness, who, _: harness.service.lanes.queued(who, "x"), owned=False),
    (Agents, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.agents.page(who), owned=False),
    (Approvals, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.approvals.page(who), owned=False),
    (Lanes, "limit"): Call(Scope.WRITE, lambda harness, who, _: harness.service.lanes.limit(who, "x", 1), owned=False),
    (Nodes, "all"): Call(Scope.ADMIN, lambda harness, who, _: harness.service.nodes.all(who), owned=False),
    (Nodes, "drain"): Call(Scope.ADMIN, lambda harness, who, _: harness.service.nodes.drain(who, "nod_1"), owned=False),
    (Nodes, "drain_host"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.nodes.drain_host(who, "north"), owned=False
    ),
    (Doctor, "report"): Call(Scope.ADMIN, lambda harness, who, _: harness.service.doctor.report(who), owned=False),
    (Doctor, "latest"): Call(Scope.ADMIN, lambda harness, who, _: harness.service.doctor.latest(who), owned=False),
    (Doctor, "durability"): Call(
        Scope.ADMIN, lambda harness, who, _: harness.service.doctor.durability(who), owned=False
    ),
    (Views, "get"): Call(Scope.READ, lambda harness, who, _: _get_view(harness, who), owned=False),
    (Views, "all"): Call(Scope.READ, lambda harness, who, _: harness.service.views.all(who, "tasks"), owned=False),
    (Views, "save"): Call(
        Scope.READ, lambda harness, who, _: harness.service.views.save(who, "tasks", "mine", ""), owned=False
    ),
    (Views, "remove"): Call(Scope.READ, lambda harness, who, _: _remove_view(harness, who), owned=False),
    (Sessions, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.sessions.page(who), owned=False),
    (Sessions, "make_link"): Call(
        Scope.READ, lambda harness, who, _: harness.service.sessions.make_link(who), owned=False
    ),
    (Tokens, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.tokens.page(who), owned=False),
    (Accounts, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.accounts.page(who), owned=False),
    (Audit, "page"): Call(Scope.READ, lambda harness, who, _: harness.service.audit.page(who), owned=False),
    (Audit, "verify"): Call(Scope.ADMIN, lambda harness, who, _: harness.service.audit.verify(who), owned=False),
    (CalendarTokens, "make"): Call(
        Scope.WRITE, lambda harness, who, _: harness.service.calendar_tokens.make(who, "phone"), owned=False
    ),
    (CalendarTokens, "all"): Call(
        Scope.READ, lambda harness, who, _: harness.service.calendar_tokens.all(who), owned=False
    ),
    (CalendarTokens, "revoke"): Call(Scope.WRITE, lambda harness, who, _: _revoke_calendar(harness, who), owned=False),
    (Overviews, "hours"): Call(
        Scope.READ, lambda harness, who, _: harness.service.overview.hours(who, NOON, NOON + HOUR), owned=False
    ),
    (PlannedRuns, "clock_changes"): Call(
        Scope.READ, lambda harness, who, _: harness.service.planned.clock_changes(who, NOON, NOON + HOUR), owned=False
    ),
    (PlannedRuns, "per_hour"): Call(
        Scope.READ, lambda harness, who, _: harness.service.planned.per_hour(who, NOON, NOON + HOUR), owned=False
    ),
    (PlannedRuns, "per_period"): Call(
        Scope.READ, lambda harness, who, _: harness.service.planned.per_period(who, [NOON, NOON + HOUR]), owned=False
    ),
    (PlannedRuns, "list"): Call(
        Scope.READ, lambda harness, who, _: harness.service.planned.list(who, NOON, NOON + HOUR), owned=False
    ),
}
ELSEWHERE: Final = frozenset(
    {
        (Runs, "cancel"),  # needs a run that goes on: below
        (Tasks, "cancel_run"),
        (Webhooks, "delivery"),  # these three send something, or need something that was sent: tests/events
        (Webhooks, "test"),
        (Webhooks, "redeliver"),
        (Operations, "begin"),  # these go on by themselves: test_operations.py
        (Operations, "get"),
        (Operations, "cancel"),
        (Operations, "act"),  # test_undo.py: who may act and undo
        (Operations, "new_log"),
        (Operations, "undo"),
        (Operations, "preview_undo"),
        (Operations, "wait"),
        (Approvals, "pause_revoked"),  # after a token was revoked: test_fire_rights.py
        (Approvals, "approve"),  # test_approvals.py: who may approve
        (Approvals, "reject"),  # test_approvals.py: who may reject
        (Chats, "get"),  # the owner of a chat is its group: test_chats.py
        (Chats, "transcript"),
        (Chats, "send"),
        (Chats, "deliver"),  # of the group: test_owners.py
        (Deliveries, "get"),  # test_deliveries.py
        (Deliveries, "retry"),
        (Deliveries, "discard"),
        (Plans, "add"),  # needs a plan: test_plans.py
        (Plans, "adopt"),
        (Plans, "all"),
        (Plans, "clear"),
        (Plans, "find_by_task"),
        (Plans, "flush"),
        (Plans, "get"),
        (Plans, "import_plans"),
        (Plans, "of_tasks"),  # takes owners whose rights the caller has checked
        (Plans, "page"),
        (Plans, "pause"),
        (Plans, "remove"),
        (Plans, "reset"),
        (Plans, "skip"),
        (AgentStop, "end_runs"),  # after a stop, with its principal
        (GroupNodes, "apply"),  # after the change of a group, with its principal
        (AgentStop, "apply_group"),  # after the change of a group, with its principal
        (Budgets, "get"),  # as the group: tests/agents/safety/test_budgets.py
        (Groups, "get"),  # a group is an owner of its own: test_groups.py
        (Groups, "status"),
        (Groups, "describe"),
    }
)
UNASKED: Final = frozenset(
    {
        "announce",
        "announcer",
        "answer",
        "authenticate",
        "awaiting_answer",
        "block_for_quota",
        "by_node",
        "check",
        "check_edits",
        "close",
        "complete_edits",
        "encode",
        "enforce",
        "enforce_owner",
        "exhausted",
        "fill_storage",
        "find",
        "find_by_chat",
        "free_storage",
        "is_working",
        "load",
        "make_first",
        "note_write",
        "notice_write",
        "open_for_identity",
        "open_with_link",
        "open_with_token",
        "quotas",
        "reach",
        "read",
        "charge",
        "locate",
        "reserve",
        "resolve",
        "row",
        "seal",
        "set_agent_spent",
        "settle",
        "unblock_for_quota",
        "with_attached",
        "with_condition",
        "with_records",
        "withdraw",
    }
)
"""They take no principal: who calls them runs a node, holds the key, or comes with a proof of another kind."""
ROLES: Final = (*Role, "a writer", "a runner", "nobody")
OPERATORS: Final = ("Telling", "Outages", "Daily", "KeyBudget", "QuotaSweep", "SystemTasks")


def test_every_call_has_a_row() -> None:
    """A new method without a row has no reviewed rights."""
    asked = {(kind, name) for kind, name in public_methods() if kind.__name__ not in OPERATORS and name not in UNASKED}
    left_out = (
        asked - set(CALLS) - ELSEWHERE - {(SecretVault, "reveal"), (SecretVault, "rotate"), (SecretVault, "check")}
    )
    assert left_out == set()
    assert set(CALLS) <= asked


async def as_role(harness: ServiceHarness, role: Role | str) -> Principal:
    if isinstance(role, Role):
        return await harness.make_member("me", role, active_tasks=None)
    await harness.make_member("me", active_tasks=None)
    scopes = {"a writer": {Scope.WRITE}, "a runner": {Scope.RUN}, "nobody": set()}[role]
    return Principal("me", scopes=frozenset(scopes), actor="tok_1", via="http")


def station_key_of(owner: str) -> str:
    """Return a public key that only this owner's station has."""
    return owner.ljust(40, "0")


async def make_subject(harness: ServiceHarness, owner: str) -> CallSubject:
    """Everything that one can have, and a run that failed."""
    chief = LOCAL._replace(owner=owner)
    task: Task = await harness.tasks.create(chief, WISH._replace(key="roses"))
    harness.advance(HOUR)
    claimed: list[Run] = await harness.claim()
    for each in claimed:
        await harness.settle(each, Failed("no", permanent=True))
    run = next(each for each in claimed if each.owner == owner)
    await harness.service.secrets.set(chief, "token", "value")
    token, text = await harness.service.tokens.make(LOCAL, owner=owner, name="theirs")
    opened = await harness.service.sessions.open_with_token(text)
    await harness.service.secrets.grant(chief, "token", "robot")
    await harness.service.agents.put(LOCAL, "robot", {"active_tasks": 5}, owner)
    webhook, _ = await harness.service.webhooks.create(chief, "https://93.184.216.34/hook")
    await harness.service.destinations.put(chief, "ops", url="json://x/")
    await harness.service.stations.allow(chief, "orders", station_key_of(owner))
    await harness.service.groups.add(LOCAL, owner, f"web:{owner}")
    await harness.service.streams.send(chief, "chat:1", [MessageDraft("hello")])
    await harness.service.streams.register(chief, "chat:1", "handled")
    return CallSubject(owner, task.id, run.id, token.id, webhook.id, opened.session.id)


async def answer_code(call: Awaitable[Any]) -> str:
    """`ok`, or the code of the refusal."""
    try:
        await call
    except NotAllowed:
        return "not_allowed"
    except Refusal as refusal:
        return refusal.code
    return "ok"


NOTHING_THERE: Final = frozenset(
    {
        "no_such_task",
        "no_such_run",
        "no_such_session",
        "no_such_token",
        "no_such_webhook",
        "no_such_destination",
        "no_such_station",
        "no_such_stream",
        "no_such_owner",
        "foreign_owner",
    }
)
SECRETLESS: Final = NOTHING_THERE | {"no_such_secret"}


@pytest.mark.parametrize("role", ROLES, ids=str)
@pytest.mark.parametrize("method", CALLS, ids=lambda method: f"{method[0].__name__}.{method[1]}")
async def test_rights_by_role_and_subject(method: tuple[type, str], role: Role | str) -> None:
    async with open_harness() as harness:
        call = CALLS[method]
        me = await as_role(harness, role)
        await harness.make_member("you", active_tasks=None)
        await harness.make_member("somebody")
        await harness.store.join(a_node("nod_1", host="north"))
        mine, yours = await make_subject(harness, "me"), await make_subject(harness, "you")
        nobodys = CallSubject(
            "nobody", ABSENT_TASK, ABSENT_RUN, "tok_" + "0" * 32, "whk_" + "0" * 32, "ses_" + "0" * 32
        )
        said: list[str] = []
        for things in (yours, nobodys, mine):
            harness.advance(HOUR / 60)
            said.append(await answer_code(call.ask(harness, me, things)))
        foreign, absent, own = said
        if call.needs not in me.scopes or (call.needs is Scope.ADMIN and not me.admin):
            assert (own, foreign, absent) == ("not_allowed",) * 3, "alike, whatever there is"
        elif not call.owned or me.admin:
            assert (own, foreign) == ("ok", "ok")
        else:
            assert own == "ok"
            assert foreign == absent
            assert foreign in SECRETLESS


@pytest.mark.parametrize("role", ROLES, ids=str)
async def test_cancel_run_rights_by_role(role: Role | str) -> None:
    async with open_harness() as harness:
        me = await as_role(harness, role)
        may = Scope.RUN in me.scopes
        for ask in (
            lambda who, run: harness.runs.cancel(who, run.id),
            lambda who, run: harness.tasks.cancel_run(who, run.task_id, run.id),
        ):
            for owner in ("me", "you"):
                await harness.tasks.create(LOCAL._replace(owner=owner), WISH._replace(when="now"))
                (run,) = await harness.claim()
                answer = await answer_code(ask(me, run))
                if not may:
                    assert answer == "not_allowed"
                else:
                    assert (answer == "ok") is (owner == "me" or me.admin)
                    assert answer == "ok" or answer in NOTHING_THERE
                await harness.settle(run)


async def test_local_principal_may_call_everything() -> None:
    async with open_harness() as harness:
        await harness.make_member("me")
        await harness.make_member("somebody")
        await harness.store.join(a_node("nod_1", host="north"))
        for method, call in CALLS.items():
            mine = await make_subject(harness, "me")
            harness.advance(HOUR / 60)
            assert await answer_code(call.ask(harness, LOCAL, mine)) == "ok", method
            await harness.service.accounts.put(LOCAL, "me", quotas={"active_tasks": None})
            facts = await harness.store.find("me", "roses")
            if facts is not None:
                await harness.tasks.delete(LOCAL, facts.task.id)
            for group in (await harness.service.groups.page(LOCAL)).items:
                await harness.service.groups.remove(LOCAL, group.folder)
            for webhook in (await harness.service.webhooks.page(LOCAL)).items:
                await harness.service.webhooks.remove(LOCAL, webhook.id)


def test_role_includes_its_scopes() -> None:
    assert SCOPES_OF[Role.ADMIN] == frozenset(Scope)
    assert SCOPES_OF[Role.MEMBER] == {Scope.READ, Scope.WRITE, Scope.RUN}
    assert SCOPES_OF[Role.VIEWER] == {Scope.READ}
    assert LOCAL.scopes == frozenset(Scope)
    assert RunFilter().owner is None
