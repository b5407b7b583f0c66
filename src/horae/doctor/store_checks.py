"""Checks in an open store: integrity, backup, lateness, waiting tasks, nodes, functions, webhooks, tasks, secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..agents.host.channel_states import load_channel_states
from ..agents.host.lease import CHANNEL_DUTY, LEASE_KIND, read_holder
from ..agents.model_proxy import EndpointState, ProbeResult
from ..clock import Clock
from ..engine.janitor import ZONE_DATA_KEY
from ..engine.process_identity import is_gone
from ..errors import HoraeError, Refusal
from ..lifecycle.control.pause import can_start_again
from ..message import Message
from ..model.accounts.account import is_blocked
from ..model.accounts.principal import LOCAL, LOCAL_OWNER
from ..model.accounts.system_owner import EVERY_OWNER
from ..model.agents.delivery import DeliveryState
from ..model.change import Facts
from ..model.events.webhook import NO_KEY, Webhook
from ..model.lanes.node_labels import NODE_LABEL, format_labels, has_labels, label_options
from ..model.page import MAX_PAGE_SIZE
from ..model.reason import Reason
from ..model.run import RunState
from ..model.task import PauseCause, TaskState
from ..outgoing.refusals import refuse_address
from ..ports.doctor import LAST_BACKUP, Check, Fix, Grade, escape_braces, fill_message, make_check
from ..ports.node_records import load_agreed_lease, load_clock_steps
from ..ports.store import MAX_COUNTED, Node, RunFilter, TaskFilter
from ..quantities import duration_message, exact_duration, in_bytes
from ..schedule import TZDATA_VERSION
from ..schedule.preview import format_relative
from ..service.events.listeners import topic_of
from ..service.events.refusals import refuse as refuse_event
from ..service.runs.overview import NeedKind, Overview
from ..service.service import Service
from ..wire.problems import sentence_of
from . import messages as words
from .database_checks import check_node_clocks, step_facts
from .machine_checks import check_key

_OLD_BACKUP: Final = timedelta(days=7)
_ON_TIME_SHARE: Final = 0.95
_NAMED: Final = 3
_PAUSE_EVERY: Final = 25
_FIRST_BEFORE: Final = "admin"
"""Owner of the first token in deployments of earlier versions."""
_NEEDS: Final = (
    (NeedKind.FAILING, "failing", words.TASKS_FAILING, words.TASKS_FAILING_FIX),
    (NeedKind.AWAITING_APPROVAL, "approvals", words.APPROVALS_WAIT, words.APPROVALS_FIX),
)
_LATE_DELIVERY: Final = timedelta(minutes=5)
_DELIVERIES: Final = 200
"""Newest deliveries of each state that are looked at."""
_LITTLE_BEHIND: Final = timedelta(seconds=2)


class StoreFacts(NamedTuple):
    """What a process knows about its store beyond the store's content: where it is, and the key of its secrets."""

    is_on_server: bool
    is_file: bool
    key_file: Path | None
    """None: no key is configured."""
    clock_tolerance: timedelta
    clock_offset: timedelta = timedelta(0)
    """How far the clock of the database server is ahead of this machine's."""
    channels: frozenset[str] | None = None
    """Chat channels that the settings name; None: they are not known here."""


def check_file(path: Path, *, schema: int, journal: str, size: int) -> Iterator[Check]:
    facts: dict[str, Any] = {"schema": schema, "journal": journal.upper(), "size": in_bytes(size), "path": path}
    yield make_check("store", "ok", words.STORE_FINE, **facts)
    if journal != "wal":
        yield make_check("journal", "error", words.WRONG_JOURNAL, words.DAMAGED_FIX, journal=journal)


def check_writes(problem: HoraeError | None) -> Iterator[Check]:
    """Yield an error if the last write probe of this process failed; the check itself writes nothing."""
    if problem is not None:
        shown = sentence_of(problem, "en").message, sentence_of(problem, "zh").message
        message = escape_braces(Message(*shown))
        yield make_check("writes", "error", words.WRITES_REFUSED, words.WRITES_REFUSED_FIX, problem=message)


async def check_content(service: Service, facts: StoreFacts, clock: Clock) -> list[Check]:
    """Check everything in an open store except its integrity, with reads that do not grow with its history.

    Long loops pause, so that other coroutines of a server run meanwhile.
    """
    overview = await service.overview.now(LOCAL)
    # Times in a store on a server come from the server's clock.
    now = overview.at + facts.clock_offset
    found: list[Check] = []
    if not facts.is_on_server:
        found.append(await _check_backup(service, overview))
    found += [*await _check_time(service, overview, now), _check_lateness(overview), *_check_waiting(overview)]
    found += _check_nodes(overview, now, await load_agreed_lease(service.store))
    found += [
        *check_node_clocks(overview.nodes, facts.clock_tolerance),
        *await check_labels(service, overview.nodes, now, await load_agreed_lease(service.store)),
        *_check_lanes(overview),
        *await _check_functions(service),
        *await _check_listeners(service, clock),
        *check_webhooks((await service.webhooks.page(LOCAL, limit=MAX_PAGE_SIZE)).items),
        *await _check_channels(service, now),
        *await check_deliveries(service, facts.channels, now),
        *await _check_refused_targets(service, overview),
        *await _check_tasks(service, overview),
        *await _check_owners(service),
    ]
    if facts.is_file or facts.is_on_server:
        found.append(await _check_secrets(service, facts.key_file))
    return found


async def check_integrity(service: Service) -> Check:
    """Check the whole store, which takes minutes for a large one."""
    problems = await service.store.check()
    if problems:
        return make_check(
            "integrity", "error", words.DAMAGED, words.DAMAGED_FIX, number=len(problems), doubt=problems[0]
        )
    return make_check("integrity", "ok", words.INTACT)


async def _check_owners(service: Service) -> list[Check]:
    """Detect deployments of earlier versions, where the first token belongs to `admin` and tasks of this machine to `local`."""
    tokens = {owner: await service.tokens.page(LOCAL, owner, limit=1) for owner in (LOCAL_OWNER, _FIRST_BEFORE)}
    if tokens[LOCAL_OWNER].items or not tokens[_FIRST_BEFORE].items:
        return []
    tasks = await service.tasks.page(LOCAL, TaskFilter(LOCAL_OWNER), limit=1)
    return [make_check("owners", "warning", words.TWO_OWNERS, words.TWO_OWNERS_FIX)] if tasks.items else []


async def _check_secrets(service: Service, key_file: Path | None) -> Check:
    number = len((await service.secrets.names(LOCAL, limit=MAX_PAGE_SIZE)).items)
    # It reads the file system, which may be slow.
    return await asyncio.to_thread(check_key, key_file, number)


async def _check_backup(service: Service, overview: Overview) -> Check:
    text = await service.store.read_metadata(LAST_BACKUP)
    if text is None:
        has_tasks = any(overview.tasks.values())
        return make_check("backup", "warning" if has_tasks else "ok", words.NO_BACKUP, words.BACKUP_FIX)
    at = datetime.fromisoformat(text)
    ago = _ago(at - overview.at)
    if overview.at - at > _OLD_BACKUP:
        return _fill(make_check("backup", "warning", words.OLD_BACKUP, words.BACKUP_FIX), ago)
    return _fill(make_check("backup", "ok", words.BACKED_UP_AT), ago)


async def _check_time(service: Service, overview: Overview, now: datetime) -> list[Check]:
    """Check zone data and clock: an event in the future means that the clock was set back."""
    found: list[Check] = []
    seen = await service.store.read_metadata(ZONE_DATA_KEY)
    if seen is not None and seen > TZDATA_VERSION:
        facts: dict[str, Any] = {"version": TZDATA_VERSION, "seen": seen}
        found.append(make_check("zone_data", "warning", words.ZONES_OLDER, words.ZONES_FIX, **facts))
    last = await service.store.last_event()
    events = await service.store.events(max(0, last - 1), 1)
    newest = max([event.event.at for event in events] + [node.renewed for node in overview.nodes], default=now)
    if newest - now > _LITTLE_BEHIND:
        behind = Message(format_relative(now - newest, "en"), format_relative(now - newest, "zh"))
        found.append(
            _fill(make_check("clock_behind", "error", words.CLOCK_BEHIND, words.CLOCK_FIX), behind, "{behind}")
        )
    steps = await load_clock_steps(service.store, now)
    warned = [
        make_check("clock_step", "warning", words.CLOCK_STEP, words.CLOCK_FIX, **step_facts(step)) for step in steps
    ]
    return found + warned


def _check_lateness(overview: Overview) -> Check:
    late, share = overview.lateness, overview.on_time
    if share is None:
        return make_check("lateness", "ok", words.NO_LATENESS)
    facts: dict[str, Any] = {
        "p50": _lateness(late.p50),
        "p99": _lateness(late.p99),
        "share": f"{100 * share:.1f}",
        "number": late.total,
    }
    if share < _ON_TIME_SHARE:
        return make_check("lateness", "warning", words.LATENESS, words.LATENESS_FIX, **facts)
    return make_check("lateness", "ok", words.LATENESS, **facts)


def _check_waiting(overview: Overview) -> Iterator[Check]:
    waiting = overview.waiting
    if waiting.overdue:
        yield make_check("overdue", "error", words.OVERDUE, words.OVERDUE_FIX, number=waiting.overdue)
    if waiting.parked:
        yield make_check("parked", "warning", words.PARKED, words.PARKED_FIX, number=waiting.parked)
    if waiting.stranded:
        yield make_check("stranded", "error", words.WAITS_FOR_NODE, words.WAITS_FOR_NODE_FIX, number=waiting.stranded)
    if not any(waiting):
        yield make_check("waiting", "ok", words.NOTHING_WAITS)


def _check_nodes(overview: Overview, now: datetime, lease: timedelta) -> Iterator[Check]:
    gone = [node.id for node in overview.nodes if is_gone(node.home) or now - node.renewed > lease]
    alive = len(overview.nodes) - len(gone)
    if alive:
        yield make_check("nodes", "ok", words.NODES, number=alive)
    elif overview.tasks[TaskState.ACTIVE]:
        yield make_check("nodes", "warning", words.NO_NODES, words.OVERDUE_FIX)
    if gone:
        yield make_check(
            "stale_nodes", "warning", words.STALE_NODES, words.STALE_FIX, number=len(gone), names=_few(gone)
        )


async def check_labels(service: Service, nodes: Sequence[Node], now: datetime, lease: timedelta) -> list[Check]:
    """Report the labels of the running nodes, and tasks, of those that are due soonest, that no running node can take."""
    running = [node for node in nodes if not node.draining and not is_gone(node.home) and now - node.renewed <= lease]
    labels = sorted({pair for node in running for pair in node.labels if pair[0] != NODE_LABEL})
    found = [make_check("labels", "ok", words.LABELS, names=_few([f"{name}={value}" for name, value in labels]))]
    candidates = (
        *await service.store.stranded(None, now, MAX_PAGE_SIZE),
        *await service.store.upcoming(None, MAX_PAGE_SIZE),
    )
    tasks = {facts.task.id: facts.task for facts in candidates if facts.task.policies.where}
    missing = [
        task for task in tasks.values() if not any(has_labels(task.policies.where, node.labels) for node in running)
    ]
    if not missing:
        return found if labels else []
    names = _few([f"{task.name} ({format_labels(task.policies.where)})" for task in missing])
    command = f"horae up {label_options(missing[0].policies.where)}"
    text = escape_braces(Message(f"start a node with the labels: {command}", f"启动带有这些标签的节点:{command}"))
    facts: dict[str, Any] = {"number": len(missing), "names": names}
    check = make_check("missing_labels", "warning", words.LABELS_MISSING, Fix(text, command), **facts)
    return [*(found if labels else ()), check]


async def _check_channels(service: Service, now: datetime) -> list[Check]:
    """Report the connections of chat channels, as far as a host of agents runs now."""
    states = []
    for state in await load_channel_states(service.store):
        record = await service.store.get_record(LEASE_KIND, CHANNEL_DUTY + state.name)
        if record is not None and read_holder(record).until > now:
            states.append(state)
    connected = [state.name for state in states if state.is_connected]
    found = [make_check("channels", "ok", words.CHANNELS, names=_few(connected))] if connected else []
    for state in states:
        if not state.is_connected:
            grade: Grade = "error" if state.is_final else "warning"
            facts = {"name": state.name, "problem": state.problem}
            fix = Fix(fill_message(words.CHANNEL_FIX.text, name=state.name))
            found.append(make_check("channels_failing", grade, words.CHANNEL_FAILS, fix, **facts))
    return found


def check_model(probe: ProbeResult) -> Check:
    """Report the model endpoint of agents."""
    state = probe.state
    grade: Grade = "ok" if state is EndpointState.ANSWERS else "warning" if state is EndpointState.FAILS else "error"
    facts = {"place": probe.place, "problem": probe.problem}
    return make_check("model", grade, words.MODEL_STATES[state], words.MODEL_FIXES.get(state), **facts)


def _check_lanes(overview: Overview) -> Iterator[Check]:
    closed = [lane.name for lane in overview.lanes if lane.limit == 0]
    if closed:
        yield make_check("lanes", "warning", words.LANES_CLOSED, words.PARKED_FIX, names=_few(closed))
    elif overview.lanes:
        yield make_check("lanes", "ok", words.LANES_FINE, number=len(overview.lanes))


async def _check_functions(service: Service) -> list[Check]:
    known = await service.functions.all(LOCAL)
    differing = [each.registration.name for each in known if not (each.same_signature and each.same_defaults)]
    if differing:
        return [
            make_check(
                "functions",
                "warning",
                words.FUNCTIONS_DIFFER,
                words.FUNCTIONS_DIFFER_FIX,
                number=len(differing),
                names=_few(differing),
            )
        ]
    return [make_check("functions", "ok", words.FUNCTIONS_FINE, number=len(known))] if known else []


async def _check_listeners(service: Service, clock: Clock) -> list[Check]:
    """Warn about event tasks, of the first page of active ones, that no listener would receive now."""
    events = await service.store.tasks(
        TaskFilter(EVERY_OWNER, frozenset({TaskState.ACTIVE}), kind="event"), limit=MAX_PAGE_SIZE
    )
    unreceived = []
    for number, each in enumerate(events.items):
        if number % _PAUSE_EVERY == 0:
            await clock.pause(0)
        reach = await service.listeners.reach(each.task.owner, each.task.id, topic_of(each.task.target))
        if not reach.hears(each.task.target, each.task.policies.notify):
            unreceived.append(each.task.name)
    if not unreceived:
        return []
    facts: dict[str, Any] = {"number": len(unreceived), "names": _few(unreceived)}
    return [make_check("listeners", "warning", words.NO_LISTENER, words.NO_LISTENER_FIX, **facts)]


def check_webhooks(webhooks: Sequence[Webhook]) -> Iterator[Check]:
    blocked = [each for each in webhooks if each.enabled and each.blocked]
    unsigned = [each for each in blocked if NO_KEY in each.blocked]
    if unsigned:
        yield _blocked_webhooks(unsigned, words.WEBHOOKS_WITHOUT_KEY, refuse_event("webhook_without_key", host=""))
    refused = [each for each in blocked if NO_KEY not in each.blocked]
    if refused:
        networks = dict.fromkeys(network for each in refused for network in each.blocked)
        yield _blocked_webhooks(refused, words.WEBHOOKS_BLOCKED, refuse_address("", networks))
    failing = [each.id for each in webhooks if each.enabled and not each.blocked and each.failing_since is not None]
    if failing:
        facts: dict[str, Any] = {"number": len(failing), "names": _few(failing)}
        yield make_check("webhooks_failing", "warning", words.WEBHOOKS_FAILING, words.WEBHOOKS_FAILING_FIX, **facts)


def _blocked_webhooks(webhooks: list[Webhook], message: Message, refusal: Refusal) -> Check:
    fix = Fix(escape_braces(Message(refusal.in_language("en").hint, refusal.in_language("zh").hint)))
    return make_check(
        "webhooks", "error", message, fix, number=len(webhooks), names=_few([each.id for each in webhooks])
    )


async def check_deliveries(service: Service, channels: frozenset[str] | None, now: datetime) -> list[Check]:
    """Report texts for chats that no channel can send, that wait for long, or that failed in the last day."""
    pending = (await service.deliveries.page(LOCAL, DeliveryState.PENDING, limit=_DELIVERIES)).items
    failed = (await service.deliveries.page(LOCAL, DeliveryState.FAILED, limit=_DELIVERIES)).items
    lost = [each for each in pending if channels is not None and each.channel not in channels]
    late = [each for each in pending if each not in lost and now - (each.retried or each.created) > _LATE_DELIVERY]
    recent = [each for each in failed if each.ended is not None and now - each.ended <= timedelta(days=1)]
    found: list[Check] = []
    if lost:
        facts = {"number": len(lost), "names": _few(sorted({each.channel for each in lost}))}
        fix = words.DELIVERIES_WITHOUT_CHANNEL_FIX
        found.append(make_check("deliveries", "error", words.DELIVERIES_WITHOUT_CHANNEL, fix, **facts))
    if late:
        minutes, chats = int(_LATE_DELIVERY.total_seconds() // 60), _few(sorted({each.chat for each in late}))
        facts = {"number": len(late), "names": chats, "minutes": minutes}
        found.append(make_check("deliveries", "warning", words.DELIVERIES_WAIT, words.DELIVERIES_WAIT_FIX, **facts))
    if recent:
        facts = {"number": len(recent), "names": _few(sorted({each.chat for each in recent}))}
        found.append(make_check("deliveries", "warning", words.DELIVERIES_FAILED, words.DELIVERIES_FAILED_FIX, **facts))
    return found


async def _check_refused_targets(service: Service, overview: Overview) -> list[Check]:
    """Report tasks whose last run of the day failed because the node does not allow its network or program."""
    query = RunFilter(states=frozenset({RunState.FAILED}), since=overview.at - timedelta(days=1))
    runs = (await service.runs.page(LOCAL, query, limit=MAX_PAGE_SIZE)).items
    found: list[str] = []
    for name in dict.fromkeys(run.task_id for run in runs if run.reason is Reason.TARGET_NOT_ALLOWED):
        facts = await service.store.facts(name, LOCAL.owner_filter)
        last = await service.runs.page(LOCAL, RunFilter(task_id=name), limit=1)
        if facts is not None and last.items and last.items[0].reason is Reason.TARGET_NOT_ALLOWED:
            found.append(facts.task.name)
    if not found:
        return []
    fix, names = words.TARGETS_REFUSED_FIX, _few(found)
    return [make_check("targets", "error", words.TARGETS_REFUSED, fix, number=len(found), names=names)]


async def _check_tasks(service: Service, overview: Overview) -> list[Check]:
    found: list[Check] = []
    failed = overview.tasks[TaskState.FAILED]
    if failed:
        page = await service.store.tasks(TaskFilter(EVERY_OWNER, frozenset({TaskState.FAILED})), limit=_NAMED)
        names = _few([each.task.name for each in page.items], failed)
        fix = _fix_of_failed(page.items, overview.at)
        found.append(make_check("failed", "error", words.TASKS_FAILED, fix, number=failed, names=names))
    orphaned = TaskFilter(EVERY_OWNER, pause_cause=PauseCause.ORPHANED)
    first_orphaned = (await service.store.tasks(orphaned, limit=_NAMED)).items
    if first_orphaned:
        number = await service.store.count_tasks(orphaned, MAX_COUNTED)
        names = _few([each.task.name for each in first_orphaned], number)
        facts: dict[str, Any] = {"number": number, "names": names}
        found.append(make_check("orphaned", "warning", words.TASKS_ORPHANED, words.TASKS_ORPHANED_FIX, **facts))
    found += _check_needs(overview)
    blocked = await _blocked_owners(service)
    if blocked:
        facts = {"number": len(blocked), "names": _few(blocked)}
        found.append(make_check("owners", "warning", words.OWNERS_BLOCKED, words.OWNERS_BLOCKED_FIX, **facts))
    return found or [make_check("tasks", "ok", words.TASKS_FINE, number=sum(overview.tasks.values()))]


def _check_needs(overview: Overview) -> Iterator[Check]:
    """Yield warnings for active tasks that fail, and for tasks of agents that wait for approval."""
    for kind, code, message, fix in _NEEDS:
        number = overview.needs_counts.get(kind, 0)
        if number:
            names = [need.facts.task.name for need in overview.needs if need.kind is kind]
            yield make_check(code, "warning", message, fix, number=number, names=_few(names, number))


def _fix_of_failed(failed: Sequence[Facts], now: datetime) -> Fix:
    """Return the fix: a task that runs once cannot be resumed, but its failed run can be retried."""
    resumable = {can_start_again(facts, now) for facts in failed}
    if resumable == {False}:
        return words.ONCE_FAILED_FIX
    return words.TASKS_FAILED_FIX if resumable == {True} else words.MIXED_FAILED_FIX


async def _blocked_owners(service: Service) -> list[str]:
    """Return blocked owners with active tasks, of the first page of accounts."""
    accounts = (await service.accounts.page(LOCAL, limit=MAX_PAGE_SIZE)).items
    active = frozenset({TaskState.ACTIVE})
    return [
        owner.name
        for owner in accounts
        if is_blocked(owner) and (await service.store.tasks(TaskFilter(owner.name, active), limit=1)).items
    ]


def _few(names: list[str], number: int | None = None) -> str:
    more = (len(names) if number is None else number) > _NAMED
    return ", ".join(names[:_NAMED]) + (", …" if more else "")


def _ago(length: timedelta) -> Message:
    return Message(format_relative(length, "en"), format_relative(length, "zh"))


def _fill(check: Check, fact: Message, placeholder: str = "{ago}") -> Check:
    message = check.message
    filled = Message(message.en.replace(placeholder, fact.en), message.zh.replace(placeholder, fact.zh))
    return check._replace(message=filled)


def _lateness(length: timedelta | None) -> Message:
    return duration_message("-" if length is None else exact_duration(length))
