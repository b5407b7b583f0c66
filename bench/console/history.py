"""A SQLite file with a realistic history: schedules, states, owners, errors, retries, an outage, lanes, logs, records."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import apsw

import horae
from bench.lists.filling import LARGE_OWNER, RARE_LABEL, RARE_TEXT, SMALL_OWNER, make_file, without_indexes
from horae.clock import SystemClock
from horae.model.accounts.account import Owner, Token, owner_record, token_record
from horae.model.accounts.principal import AGENT_LABEL, VIA_LABEL, Role, Scope
from horae.model.counts import LATENESS_PREFIX, NO_HOUR, OUTCOME_PREFIX, STATE_PREFIX, bucket_of_microseconds, hour_of
from horae.model.entry import NEXT_SLOT, Entry, EntryKind, EntryState
from horae.model.events.webhook import Attempt, Delivery, DeliveryState, Webhook, delivery_id, delivery_record
from horae.model.events.webhook import webhook_record as make_webhook_record
from horae.model.ids import make_id, run_id, to_microseconds
from horae.model.policy import DEFAULT_POLICIES
from horae.model.record import Record
from horae.model.task import NEW_TASK_STATUS, Pause, PauseCause, Target, Task, TaskState, TaskStatus
from horae.schedule import Past, Schedule
from horae.schedule import next as next_occurrence
from horae.service.accounts.audit import OPEN_KIND, Audit
from horae.stores.codec.rows import encode_entry, encode_status, encode_task
from horae.stores.sqlite import SQLiteStore

HISTORY_TASK: Final = 8
"""Number of the task with a long history: as many runs as there are tasks."""
LANE: Final = "press"
FUNCTION: Final = "reports.build"
FILLED_AT: Final = "filled_at"
"""Name of the metadata with the instant at which everything was written: a reader sets its clock to it."""
LOG_LINES: Final = 100_000
_OWNERS: Final = 200
_RARE: Final = 10
_LIVE: Final = 200
_PARKED: Final = 300
_STRANDED: Final = 30
_AUDIT_ROWS: Final = 50_000
_EVENTS: Final = 200_000
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_OUTAGE_BEGAN: Final = 3 * _HOUR
_OUTAGE_ENDED: Final = 160 * _MINUTE
"""Both before the instant of filling."""
_HTTP: Final = Target("http", '{"method":"POST","url":"https://api.example.com/jobs","redirects":0}')
_FUNCTION: Final = Target("function", json.dumps({"name": FUNCTION}))
_PAYLOAD: Final = (
    '{"customer":"c-000000","report":"daily","format":"pdf","recipients":["a@example.com","b@example.com"]}'
)
_ZONES: Final = ("UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York")

# The columns `late` and `took` are microseconds. Every run that the outage hit was skipped or started after it.
_RUNS: Final = """
INSERT INTO runs (id, task, owner, origin, planned, due, attempt, live, state, reason, token, node, claimed, started, ended,
  span_first, span_last, span_count, result, error)
SELECT printf('run_%012x%s', planned / 1000, lower(hex(randomblob(10)))), task, owner, 'scheduled', planned, planned, attempt,
  0, state,
  CASE state WHEN 'succeeded' THEN NULL WHEN 'failed' THEN 'target_failed' WHEN 'timed_out' THEN 'deadline'
    WHEN 'lost' THEN 'lease_lost' WHEN 'cancelled' THEN 'cancelled'
    ELSE CASE WHEN missed THEN 'missed_skipped' WHEN chance % 3 = 0 THEN 'overlap' WHEN chance % 3 = 1 THEN 'superseded'
      ELSE 'paused' END END,
  CASE state WHEN 'skipped' THEN 0 ELSE chance + 1 END, CASE state WHEN 'skipped' THEN NULL ELSE 'nod_' || (task % 3) END,
  CASE state WHEN 'skipped' THEN NULL ELSE planned + late - 500 END,
  CASE state WHEN 'skipped' THEN NULL ELSE planned + late END, planned + late + took,
  CASE WHEN state = 'skipped' AND chance % 50 = 0 THEN planned - 60000000 END,
  CASE WHEN state = 'skipped' AND chance % 50 = 0 THEN planned - 60000000 END,
  CASE WHEN state = 'skipped' AND chance % 50 = 0 THEN 2 END,
  CASE WHEN state = 'succeeded' THEN '{"rows":' || chance || ',"took":"0.2 s"}' END,
  CASE WHEN state = 'failed' THEN CASE (chance * 31 + task) % 12
    WHEN 0 THEN 'api.example.com answered 503 Service Unavailable: try again later'
    WHEN 1 THEN 'ConnectionError: could not reach 10.0.' || task % 256 || '.7:8443 within 5.' || chance || ' s'
    WHEN 2 THEN 'KeyError: ''customer-' || task || ''''
    WHEN 3 THEN 'ValueError: invoice ' || task * chance || ' has no lines' || char(10) || '  File "jobs.py", line 12, in run'
    WHEN 4 THEN 'https://api.example.com/jobs/' || task || ' answered 500'
    WHEN 5 THEN '"/srv/backup/' || task || '.tar" is not there'
    WHEN 6 THEN 'exit status ' || (chance % 4 + 1) || ': cannot read input'
    WHEN 7 THEN 'Timeout after 30 s in step ' || chance % 9
    WHEN 8 THEN 'psycopg.OperationalError: server closed the connection, pid ' || task
    WHEN 9 THEN '磁盘空间不足：还剩 ' || chance || ' MB'
    WHEN 10 THEN 'unauthorized: token tok_' || lower(hex(task * 7919)) || ' has expired'
    ELSE 'shape ' || char(97 + task % 26) || char(97 + chance % 26) || ' is not supported' END END
FROM (
  SELECT *,
    CASE WHEN missed THEN 'skipped' WHEN attempt = 2 THEN 'succeeded' WHEN chance < 940 THEN 'succeeded'
      WHEN chance < 965 THEN 'failed' WHEN chance < 972 THEN 'timed_out' WHEN chance < 975 THEN 'lost'
      WHEN chance < 977 THEN 'cancelled' ELSE 'skipped' END AS state,
    CASE WHEN planned BETWEEN :began AND :ended THEN :ended - planned + 1000 * chance
      WHEN attempt = 2 THEN 60000000 WHEN chance % 200 = 7 THEN 2500000 ELSE 1000 + 1000 * (chance % 5) END AS late,
    CASE WHEN chance % 100 = 3 THEN 95000000 ELSE 100000 + 1000 * chance END AS took
  FROM (
    SELECT *, planned BETWEEN :began AND :ended AND chance % 2 = 0 AS missed FROM (
      SELECT task, owner, due - back * step AS planned, (task * 7919 + back * 104729) % 1000 AS chance, 1 AS attempt
      FROM plans, backs WHERE back <= CASE task WHEN :long_task THEN :long ELSE :each END
      UNION ALL
      SELECT task, owner, due - back * step, (task * 7919 + back * 104729) % 1000 AS chance, 2
      FROM plans, backs WHERE back <= :each AND task <> :long_task
        AND (task * 7919 + back * 104729) % 1000 BETWEEN 940 AND 949
    )
  )
) WHERE NOT (attempt = 2 AND planned BETWEEN :began AND :ended) ORDER BY planned
"""
_ENDED: Final = """
SELECT owner, ended / 3600000000, state, reason, started - due, sum(coalesce(span_count, 1)) FROM runs
WHERE live = 0 AND ended >= ? GROUP BY 1, 2, 3, 4, 5
"""


def fill_sqlite(path: str, tasks: int, runs_each: int) -> int:
    """Fill a new file; returns the number of runs."""
    asyncio.run(make_file(path))
    now = SystemClock().now().replace(microsecond=0)
    connection = apsw.Connection(path)
    try:
        with without_indexes(connection), connection:
            _add_tasks(connection, tasks, now)
            _add_runs(connection, tasks, runs_each, now)
            _add_nodes(connection, now)
            _add_live_runs(connection, min(_LIVE, tasks // 5), now)
            _add_log(connection, min(LOG_LINES, 10 * tasks), now)
            _add_counts(connection, now)
            _add_events(connection, min(_EVENTS, 2 * tasks), now)
            _add_records(connection, tasks, now)
            connection.execute("INSERT INTO metadata VALUES (?, ?)", (FILLED_AT, now.isoformat()))
        connection.execute("PRAGMA journal_mode = WAL")
        total: Any = connection.execute("SELECT count(*) FROM runs").get
    finally:
        connection.close()
    asyncio.run(_seal(path))
    return int(total)


async def _seal(path: str) -> None:
    store = SQLiteStore(path)
    await store.open()
    try:
        await Audit(store, SystemClock()).seal()
    finally:
        await store.close()


# --- tasks -----------------------------------------------------------------------------------------------------------


def _add_tasks(connection: apsw.Connection, tasks: int, now: datetime) -> None:
    rows: list[tuple[Any, ...]] = []
    states: list[tuple[Any, ...]] = []
    entries: list[tuple[Any, ...]] = []
    plans: list[tuple[int, str, int, int]] = []
    created = now - 120 * _DAY
    for number in range(1, tasks + 1):
        schedule, step = _schedule(number)
        due = _next_due(schedule, step, number, tasks, now)
        at = created + timedelta(seconds=number * 7_000_000 // max(tasks, 1))
        task = Task(
            make_id("tsk", at, number.to_bytes(10)), owner_of(number, tasks), _name(number, tasks), schedule,
            _FUNCTION if _is_stranded(number, tasks) else _HTTP, _PAYLOAD, DEFAULT_POLICIES, at,
            lane=LANE if _is_parked(number, tasks) else None, labels=_labels(number, tasks),
        )  # fmt: skip
        status = _status(number, now)
        rows.append((number, *encode_task(task)))
        states.append(encode_status(number, 1, status))
        plans.append((number, task.owner, to_microseconds(due), round(step.total_seconds() * 1e6)))
        if status.state in (TaskState.ACTIVE, TaskState.PAUSED):
            entries.append(encode_entry(number, _entry(task, status, due, number, tasks, now)))
    for table, values in (("tasks", rows), ("task_state", states), ("agenda", entries)):
        marks = ", ".join("?" * len(values[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - our own names
    connection.execute("CREATE TEMPORARY TABLE plans (task INTEGER PRIMARY KEY, owner, due, step)")
    connection.executemany("INSERT INTO plans VALUES (?, ?, ?, ?)", plans)


def _schedule(number: int) -> tuple[Schedule, timedelta]:
    """Return a schedule and about how long its intervals are."""
    if number == HISTORY_TASK:
        return _parse("every 1m", "UTC"), _MINUTE
    zone = _ZONES[number % len(_ZONES)]
    match number % 20:
        case 12 | 13:
            return _parse("every 10m", "UTC"), 10 * _MINUTE
        case 14 | 15:
            return _parse(f"{number // 20 % 60} {number // 1200 % 24} * * *", zone), _DAY
        case 16 | 17:
            return _parse(f"every weekday at {number // 20 % 24:02}:{number // 480 % 60:02}", zone), _DAY
        case 18:
            return _parse(f"every Mon,Thu at {number // 20 % 24:02}:30", zone), 3 * _DAY
        case 19:
            return _parse(f"last day of month at {number // 20 % 24:02}:00", zone), 7 * _DAY
        case _:
            return _parse("every 1h", "UTC"), _HOUR


_parsed: dict[tuple[str, str], Schedule] = {}
_nexts: dict[Schedule, datetime] = {}


def _parse(text: str, zone: str) -> Schedule:
    if (text, zone) not in _parsed:
        _parsed[text, zone] = horae.parse(text, zone=zone)
    return _parsed[text, zone]


def _next_due(schedule: Schedule, step: timedelta, number: int, tasks: int, now: datetime) -> datetime:
    if step <= _HOUR:
        # Fixed intervals come due all over the time to come.
        return now + _MINUTE + step * (number * 7919 % tasks) / tasks
    if schedule not in _nexts:
        found = next_occurrence(schedule, now + _MINUTE, Past(anchor=now - 120 * _DAY))
        assert found is not None
        _nexts[schedule] = found
    return _nexts[schedule]


def _entry(task: Task, status: TaskStatus, due: datetime, number: int, tasks: int, now: datetime) -> Entry:
    entry = Entry(task.id, NEXT_SLOT, EntryKind.NEXT, due, due, task.owner)
    if status.pause is not None:
        return entry._replace(state=EntryState.ASLEEP)
    if _is_parked(number, tasks):
        past = now - timedelta(seconds=number % 900)
        return entry._replace(state=EntryState.PARKED, lane=LANE, due=past, planned=past)
    if _is_stranded(number, tasks):
        past = now - timedelta(seconds=number % 900)
        return entry._replace(state=EntryState.PARKED, lane=f"function:{FUNCTION}", due=past, planned=past)
    return entry


def _is_rare(number: int, tasks: int, many: int = _RARE) -> bool:
    return number % max(tasks // many, 1) == 1 and number <= many * max(tasks // many, 1)


def _is_parked(number: int, tasks: int) -> bool:
    return number % max(tasks // _PARKED, 25) == 20


def _is_stranded(number: int, tasks: int) -> bool:
    return number % max(tasks // _STRANDED, 50) == 21


def owner_of(number: int, tasks: int) -> str:
    if _is_rare(number, tasks, 2 * _RARE):
        return SMALL_OWNER
    return (LARGE_OWNER, LARGE_OWNER, "local", f"user:{number // 4 % _OWNERS}")[number % 4]


def _name(number: int, tasks: int) -> str:
    verb = ("send", "fetch", "check", "clean")[number % 4]
    noun = ("report", "invoices", "backups", "feeds")[number // 4 % 4]
    return f"{verb} {RARE_TEXT if _is_rare(number, tasks) else noun} {number:06d}"


def _labels(number: int, tasks: int) -> tuple[tuple[str, str], ...]:
    labels = [("source", "api"), ("team", str(number % 10))]
    if _is_rare(number, tasks):
        labels.append(RARE_LABEL)
    if _awaits_approval(number):
        labels += [(AGENT_LABEL, f"agent-{number % 7}"), (VIA_LABEL, "mcp")]
    return tuple(sorted(labels))


def _awaits_approval(number: int) -> bool:
    return number % 1_000 == 3


def _status(number: int, now: datetime) -> TaskStatus:
    usual = NEW_TASK_STATUS._replace(counted=50, last_end=now - _HOUR, last_result='{"rows":7}')
    if _awaits_approval(number):
        return NEW_TASK_STATUS._replace(
            state=TaskState.PAUSED, pause=Pause(now - _HOUR, PauseCause.AWAITING_APPROVAL, "", None)
        )
    match number % 100:
        case 1:
            error = "api.example.com answered 503 Service Unavailable: try again later"
            return usual._replace(state=TaskState.FAILED, failures=10, ended=now - _HOUR, last_result=error)
        case 2 | 3:
            cause = PauseCause.ORPHANED if number % 700 == 2 else PauseCause.REQUESTED
            return usual._replace(state=TaskState.PAUSED, pause=Pause(now - _HOUR, cause, "spring cleaning", None))
        case 4 | 5:
            return usual._replace(state=TaskState.COMPLETED, ended=now - _HOUR)
        case 6:
            return usual._replace(state=TaskState.CANCELLED, ended=now - _HOUR)
        case 7 | 9:
            return usual._replace(failures=2, last_result="KeyError: 'customer'")
        case _:
            return usual


# --- runs ------------------------------------------------------------------------------------------------------------


def _add_runs(connection: apsw.Connection, tasks: int, runs_each: int, now: datetime) -> None:
    """Add the history in the order of planned instants, as a node would have written it."""
    long = tasks
    connection.execute("CREATE TEMPORARY TABLE backs (back INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO backs VALUES (?)", ((back,) for back in range(1, max(long, runs_each) + 1)))
    connection.execute(
        _RUNS,
        {
            "each": max(1, runs_each - 1),
            "long": long,
            "long_task": HISTORY_TASK,
            "began": to_microseconds(now - _OUTAGE_BEGAN),
            "ended": to_microseconds(now - _OUTAGE_ENDED),
        },
    )


def _add_nodes(connection: apsw.Connection, now: datetime) -> None:
    at = to_microseconds(now)
    for number in range(3):
        connection.execute(
            "INSERT INTO nodes (id, home, version, joined, renewed, renewals, host, load, capacity, clock_offset, draining)"
            " VALUES (?, 'here', '1', ?, ?, 1, ?, 20, 512, ?, 0)",
            (f"nod_{number}", at - 9_600_000_000, at, f"node-{number}.example.com", 150 * number),
        )


def _add_live_runs(connection: apsw.Connection, many: int, now: datetime) -> None:
    """Start runs of active tasks a short while ago; three of them fill the lane."""
    wanted = (
        "SELECT tasks.seq, tasks.id, tasks.owner FROM tasks JOIN task_state ON task_state.task = tasks.seq JOIN agenda ON agenda.task = tasks.seq"
        " WHERE task_state.state = 'active' AND agenda.state = 0 LIMIT ?"
    )
    found: list[Any] = connection.execute(wanted, (many,)).fetchall()
    for number, task_id, owner in found:
        began = now - timedelta(seconds=5 + number % 300)
        at, name = to_microseconds(began), run_id(str(task_id), "scheduled", began, 1)
        lanes = json.dumps([LANE]) if number <= 30 else None
        connection.execute(
            "INSERT INTO runs (id, task, owner, origin, planned, due, attempt, state, token, node, claimed, started, lanes)"
            " VALUES (?, ?, ?, 'scheduled', ?, ?, 1, 'running', 1, 'nod_1', ?, ?, ?)",
            (name, number, owner, at, at, at, at + 1_000, lanes),
        )
        if lanes:
            connection.execute("INSERT INTO lane_slots VALUES (?, ?)", (LANE, name))
        lines = [(name, 1, at + 2_000, "info", "started"), (name, 2, at + 3_000, "progress", f"0.{number % 9}2 batch")]
        connection.executemany("INSERT INTO lines VALUES (?, ?, ?, ?, ?)", lines)
    connection.execute("INSERT INTO lanes (name, slot_limit) VALUES (?, 3)", (LANE,))
    connection.executemany(
        "INSERT INTO lanes (name, slot_limit) VALUES (?, 5)", ((f"lane {number}",) for number in range(20))
    )


def _add_log(connection: apsw.Connection, lines: int, now: datetime) -> None:
    """Give the newest ended run of the task with a long history a long log."""
    found = "SELECT id FROM runs WHERE task = ? AND live = 0 AND state = 'succeeded' ORDER BY planned DESC LIMIT 1"
    ((name,),) = connection.execute(found, (HISTORY_TASK,)).fetchall()
    at = to_microseconds(now)
    rows = ((name, number, at, "output", f"line {number}: copied 17 files") for number in range(1, lines + 1))
    connection.executemany("INSERT INTO lines VALUES (?, ?, ?, ?, ?)", rows)


def _add_counts(connection: apsw.Connection, now: datetime) -> None:
    counts: Counter[tuple[str, int, str]] = Counter()
    states = "SELECT owner, state, count(*) FROM tasks JOIN task_state ON task = seq GROUP BY 1, 2"
    for owner, state, many in connection.execute(states):
        counts[owner, NO_HOUR, STATE_PREFIX + state] += many
    late_since = hour_of(now - 48 * _HOUR)
    for owner, hour, state, reason, late, many in connection.execute(_ENDED, (to_microseconds(now - 62 * _DAY),)):
        outcome = state if late is not None or reason is None else f"{state}:{reason}"
        counts[owner, hour, OUTCOME_PREFIX + outcome] += many
        if late is not None and hour > late_since:
            counts[owner, hour, f"{LATENESS_PREFIX}{bucket_of_microseconds(late)}"] += many
    for (_, hour, name), many in tuple(counts.items()):
        counts["", hour, name] += many
    connection.executemany("INSERT INTO counters VALUES (?, ?, ?, ?)", [(*key, many) for key, many in counts.items()])


def _add_events(connection: apsw.Connection, many: int, now: datetime) -> None:
    """Add the events of the newest runs: two of each."""
    statement = """
    INSERT INTO events (kind, at, owner, task_id, run_id)
    SELECT kind, min(at, ?), owner, task_id, id FROM (
      SELECT 'run.started' AS kind, runs.started AS at, runs.owner, tasks.id AS task_id, runs.id
      FROM (SELECT * FROM runs WHERE live = 0 AND started IS NOT NULL ORDER BY seq DESC LIMIT ?) AS runs
      JOIN tasks ON tasks.seq = runs.task
      UNION ALL
      SELECT 'run.' || runs.state, runs.ended, runs.owner, tasks.id, runs.id
      FROM (SELECT * FROM runs WHERE live = 0 AND started IS NOT NULL ORDER BY seq DESC LIMIT ?) AS runs
      JOIN tasks ON tasks.seq = runs.task
    ) ORDER BY at
    """
    connection.execute(statement, (to_microseconds(now), many // 2, many // 2))


# --- records ---------------------------------------------------------------------------------------------------------


def _add_records(connection: apsw.Connection, tasks: int, now: datetime) -> None:
    records = [*_accounts(now), *_webhooks(now), *_outages(now), *_audit_rows(min(_AUDIT_ROWS, 5 * tasks), now)]
    rows = [
        (each.kind, each.key, each.owner, each.body, 1, None if each.expires is None else to_microseconds(each.expires))
        for each in records
    ]
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)


def _accounts(now: datetime) -> Iterator[Record]:
    names = [f"user:{number}" for number in range(_OWNERS)]
    for number, name in enumerate(names):
        yield owner_record(Owner(name, Role.MEMBER, now - 90 * _DAY))
        token_id = make_id("tok", now - _DAY, number.to_bytes(10))
        yield token_record(Token(token_id, name, "laptop", frozenset({Scope.READ, Scope.WRITE}), now - _DAY, "0" * 64))


def _webhooks(now: datetime) -> Iterator[Record]:
    for number in range(60):
        webhook_id = make_id("whk", now - 60 * _DAY, number.to_bytes(10))
        yield make_webhook_record(Webhook(webhook_id, "local", f"https://example.org/{number}", now - 60 * _DAY, 0))
        for delivered in range(100 if number else 2_000):
            at = now - _MINUTE * delivered
            attempts = (Attempt(at, 200, "OK"),)
            yield delivery_record(
                Delivery(
                    delivery_id(at, delivered), webhook_id, "local", "evt_1", "run.failed", "tsk_1", "{}", at,
                    DeliveryState.DELIVERED, None, attempts, 1,
                )
            )  # fmt: skip


def _outages(now: datetime) -> Iterator[Record]:
    for days in (*range(40, 0, -2), 0):
        since, until = now - days * _DAY - _OUTAGE_BEGAN, now - days * _DAY - _OUTAGE_ENDED
        body = {"since": since.isoformat(), "until": until.isoformat(), "clean": False}
        yield Record("outage", f"{to_microseconds(since):020d}", "", json.dumps(body))


def _audit_rows(many: int, now: datetime) -> Iterator[Record]:
    """Yield rows that are not sealed yet."""
    actions = ("task.pause", "task.edit", "run.cancel", "token.make", "session.open")
    for number in range(many):
        owner = (LARGE_OWNER, "local", f"user:{number % _OWNERS}")[number % 3]
        action = actions[number % len(actions)]
        body = {
            "at": (now - _MINUTE * (many - number)).isoformat(), "action": action, "subject": f"tsk_{number % 5000:032x}",
            "owner": owner, "by": owner, "actor": "tok_1", "via": "http", "request": f"req_{number}", "agent": None,
            "detail": {"changes": {"name": ["old", "new"]}} if action == "task.edit" else {},
        }  # fmt: skip
        yield Record(OPEN_KIND, f"{number:020d}", owner, json.dumps(body))
