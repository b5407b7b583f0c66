"""A store in which every state, reason and kind of need is present, with long and hostile texts; filled by real calls.

The past is written with a virtual clock that stands two days before now and advances: tasks are created, claimed and
settled by the same code as in a node. Reasons that need rare faults come as imported history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL, Principal, Role
from horae.model.agents.delivery import Delivery as ChatDelivery
from horae.model.agents.delivery import as_failed, delivery_record
from horae.model.agents.known_chat import KnownChat, known_chat_record
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.events.webhook import Attempt, Delivery, DeliveryState, delivery_id, new_delivery_writes
from horae.model.gate import Gate
from horae.model.messages import KeepRules
from horae.model.outcome import Failed, Outcome, Settlement, Skipped, Succeeded, TimedOut, Waiting
from horae.model.reason import Reason
from horae.model.record import RecordWrite
from horae.model.run import Origin, Run, RunState, Span
from horae.model.task import PauseCause, Target, Task
from horae.ports.chat_messages import assistant_message
from horae.ports.journal import Line
from horae.ports.store import Node
from horae.runtime.service_factory import make_service
from horae.runtime.target_kinds import TargetKinds
from horae.service.accounts.approvals import digest_of
from horae.service.messages.streams import MessageDraft
from horae.service.service import Service
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import NEVER, Options, TaskRequest
from horae.settings import read_settings
from horae.virtual_time import VirtualClock
from horae.wire.tasks.task import after_when, parse_link
from tests.api.api_server import Api

SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
NODE: Final = "nod_seed_1"

HTTP: Final = Target("http", '{"url":"https://example.org/hook?value=%3Cscript%3E","method":"POST"}')
FUNCTION: Final = Target("function", '{"name":"reports.daily"}')
EVENT: Final = Target("event", '{"topic":"weather"}')

SCRIPT: Final = "<script>window.__xss=1</script>"
IMAGE: Final = "<img src=x onerror=window.__xss=2>"
QUOTES: Final = "\"'><svg/onload=window.__xss=3> {{7*7}} {% raw %} ${7*7}"
FORMULA: Final = '=HYPERLINK("http://evil.example","open")'
BIDI: Final = "invoice\u202egnp.exe\u2066 \u200b\u200d\ufeffzero width"
ANSI: Final = "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x07 \x08"
LONG_ENGLISH: Final = (
    "quarterly-reconciliation-of-supplier-invoices-with-purchase-orders-and-goods-received-" + "notes" * 20
)
LONG_CHINESE: Final = "每季度末核对全部供应商发票与采购订单及收货单并把差异清单发送给财务部门负责人审核的任务" * 4
HOSTILE_TEXTS: Final = (
    SCRIPT,
    IMAGE,
    QUOTES,
    FORMULA,
    BIDI,
    ANSI,
    "\u0000\ufffd\u2028line",
    LONG_ENGLISH,
    LONG_CHINESE,
)
NAMES: Final = (
    SCRIPT,
    IMAGE,
    QUOTES,
    FORMULA,
    "+1+1",
    "@SUM(A1)",
    LONG_ENGLISH[:200],
    LONG_CHINESE[:200],
    "天气@Andy 🌧",
    "مرحبا",
)
"""Names that the service accepts: invisible characters are refused there, and appear in results, errors and logs."""


@dataclass
class Seed:
    """Ids with which pages are opened: by the segment of the path before the parameter."""

    ids: dict[str, list[str]] = field(default_factory=dict)

    def add(self, segment: str, value: str) -> None:
        self.ids.setdefault(segment, []).append(value)

    def paths(self, route: str) -> list[str]:
        """Return the addresses of a route with its parameters filled; refuses a parameter without a value.

        At most three values of a parameter, and five tasks: also a link of a chain and a gated task.
        """
        if "{" not in route:
            return [route]
        head, _, rest = route.partition("{")
        _, _, tail = rest.partition("}")
        segment = head.rstrip("/").rpartition("/")[2]
        if segment not in self.ids:
            raise LookupError(f"{route}: the seeded store has no id for '{segment}'; add it in tests/console/seeded.py")
        return [
            path
            for value in self.ids[segment][: 5 if segment == "tasks" else 3]
            for path in self.paths(f"{head}{value}{tail}")
        ]


class Seeder:
    """Creates the past of an API's store. `clock` is the virtual time of the past."""

    def __init__(self, api: Api) -> None:
        self.seed = Seed()
        self.api = api
        self.now = api.app.context.clock.now()
        self.clock = VirtualClock(self.now - 2 * DAY)
        self.store = api.service.store
        self.past = self._service(self.clock)
        self.present = api.service
        self.ada = Principal("ada")
        self.robot = Principal("ada")

    def _service(self, clock: VirtualClock) -> Service:
        return make_service("memory://", self.store, clock, "Asia/Shanghai", TargetKinds(read_settings({})))

    async def run(self) -> Seed:
        await self._sign_in_accounts()
        await self._create_lanes()
        await self._write_past()
        await self._write_outage()
        await self._join_nodes()
        await self._write_history()
        await self._start_runs()
        await self._run_chain()
        await self._skip_runs()
        await self._pause_tasks()
        await self._request_approvals()
        await self._create_webhooks()
        await self._send_messages()
        await self._create_accounts()
        await self._add_plain_tasks()
        await self._add_plans()
        await self._begin_operation()
        # Members of another system see the same tasks in the simple view.
        self.seed.ids["simple"] = self.seed.ids["tasks"]
        return self.seed

    # --- steps of a task -----------------------------------------------------------------------------------------------

    async def add(self, name: str, when: Any = "every 1h", *, service: Service | None = None, **fields: Any) -> Task:
        who = fields.pop("who", self.ada)
        request = TaskRequest(name, when, fields.pop("target", FUNCTION), zone=fields.pop("zone", "UTC"))
        return await (service or self.present).tasks.create(who, request._replace(**fields))

    async def claim(self, now: datetime, routes: frozenset[str] | None = None) -> dict[str, Run]:
        """Claim everything that is due, on the node of the seed; returns the runs by task."""
        await self.store.join(Node(NODE, "machine/1", "1.0", now, now))
        claimant = ClaimContext(NODE, now, timedelta(seconds=10), routes)

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            return fire(facts, entry, token, claimant)

        return {each.run.task_id: each.run for each in (await self.store.claim_due(now, NODE, 1_000, decide)).runs}

    async def settle(self, run: Run, outcome: Outcome, ended: datetime) -> None:
        await self.store.settle([Settlement(run.id, run.token, outcome, run.started, ended)], settle)

    # --- the past --------------------------------------------------------------------------------------------------------

    async def _sign_in_accounts(self) -> None:
        tokens = self.present.tokens
        self.ada = await tokens.authenticate(self.api.tokens["ada"], via="http", request="req_seed")
        self.robot = await tokens.authenticate(self.api.tokens["robot"], via="mcp", request="req_seed_agent")
        await self.present.sessions.open_with_token(self.api.tokens["ada"], client=f"Firefox {SCRIPT}")

    async def _create_lanes(self) -> None:
        for name, limit in (("press", 1), ("stopped", 0), ("mail", 20), (LONG_CHINESE[:80], 1)):
            lane = await self.present.lanes.limit(LOCAL, name, limit)
            self.seed.add("lanes", lane.name)
        await self.present.lanes.limit(self.ada, "garden", 2)

    async def _write_past(self) -> None:
        """Let tasks run hour by hour with every outcome, and stop for six hours, so that occurrences are missed."""
        outcomes: Mapping[str, Outcome] = {
            "morning report": Succeeded(json.dumps({"rows": 1_204, "note": QUOTES})),
            "nightly backup": Failed("disk full: /var/backups has 0 bytes left", permanent=True),
            "weather": TimedOut("no word for 300 s"),
            "failing feed": Failed("503 Service Unavailable", permanent=True),
        }
        plain = [name for name in outcomes if name != "failing feed"]
        tasks = {name: await self.add(name, service=self.past) for name in plain}
        policies = {
            "skip missed": Options(missed="skip"),
            "all missed": Options(missed="all"),
            "merged": Options(missed="merge"),
            "failing feed": Options(missed="skip", give_up_after=NEVER),
        }
        for name, options in policies.items():
            tasks[name] = await self.add(name, service=self.past, options=options)
        names = {task.id: name for name, task in tasks.items()}
        for hour in range(40):
            self.clock.advance(3_600)
            if hour in range(28, 34):
                continue
            at = self.clock.now() + timedelta(milliseconds=4 + hour)
            for task_id, run in (await self.claim(at)).items():
                await self.settle(run, outcomes.get(names[task_id], Succeeded('"ok"')), at + 3 * SECOND)
        self.seed.add("tasks", tasks["nightly backup"].id)
        await self.store.leave(NODE)

    async def _write_outage(self) -> None:
        """Record an outage from the end of the past until now."""
        await self.past.outages.record_stop()
        await self.present.outages.record_start()

    async def _join_nodes(self) -> None:
        for number, (load, draining) in enumerate(((3, False), (0, True)), start=1):
            host = f"worker-{number}.{'very-long-data-centre-name-' * 4}example"
            node = Node(
                f"nod_seed_{number}", f"machine/{number}", "1.0.0", self.now - DAY, self.now, 900, host, load, 16,
                timedelta(milliseconds=12 * number), draining,
            )  # fmt: skip
            await self.store.join(node)
            self.seed.add("nodes", node.id)

    async def _write_history(self) -> None:
        """Import a run of every ended state and every reason, with hostile results and errors."""
        task = await self.add(
            SCRIPT,
            "every day at 09:00",
            zone="Asia/Shanghai",
            payload=json.dumps(list(HOSTILE_TEXTS)),
            labels={"team": IMAGE, "source": "seed", "空": "中文标签"},
        )
        ended = [state for state in RunState if state not in (RunState.CLAIMED, RunState.RUNNING, RunState.WAITING)]
        rows = [self._ended_run(task, number, state) for number, state in enumerate(ended)]
        rows += [self._ended_run(task, 10 + number, _state_of(reason), reason) for number, reason in enumerate(Reason)]
        await self.present.tasks.import_history(self.ada, task.id, rows)
        self.seed.ids.setdefault("tasks", []).insert(0, task.id)
        page = await self.present.runs.page(self.ada, limit=100)
        for run in page.items:
            if run.task_id == task.id and run.state is RunState.FAILED:
                self.seed.add("runs", run.id)
                await self.store.write_lines(
                    [
                        Line(run.id, self.now - HOUR, level, text)
                        for level in ("info", "warning", "error", "output")
                        for text in HOSTILE_TEXTS
                    ]
                )
                break

    def _ended_run(self, task: Task, number: int, state: RunState, reason: Reason | None = None) -> Run:
        planned = self.now - DAY + number * 30 * MINUTE
        text = HOSTILE_TEXTS[number % len(HOSTILE_TEXTS)]
        has_result, is_skipped = state is RunState.SUCCEEDED, state is RunState.SKIPPED
        run = Run("", task.id, task.owner, Origin.SCHEDULED, planned, planned, 1, state, reason, node=NODE)
        if is_skipped:
            return run._replace(
                node=None, ended=planned, span=Span(planned, planned + 5 * MINUTE, 1 + number), error=text
            )
        return run._replace(
            claimed=planned, started=planned + 7 * timedelta(milliseconds=1 + number), ended=planned + 4 * SECOND,
            result_json=json.dumps({"text": text, "list": [1, 2, 3]}) if has_result else None,
            error=None if has_result else text,
        )  # fmt: skip

    # --- the present -----------------------------------------------------------------------------------------------------

    async def _start_runs(self) -> None:
        """Start runs in every live state, give up on one task, complete another, and let two wait for a lane."""
        running = await self.add("embed documents", "now")
        waiting = await self.add("ask the station", "now", target=HTTP)
        claimed = await self.add("pay the invoice once", "now", options=Options(guarantee="at_most_once"))
        failed = await self.add("gave up", "now", options=Options(retries=0, give_up_after=1))
        done = await self.add("done", "now")
        pages = [await self.add(f"print page {number}", "now", who=LOCAL, lane="press") for number in range(3)]
        now = self.api.app.context.clock.now()
        runs = await self.claim(now)
        # The run in the lane is idle, and asked to yield to a page of another owner.
        printing = next(runs[page.id] for page in pages if page.id in runs)
        await self.store.declare_idle(printing.id, printing.token, now)
        self.seed.add("runs", printing.id)
        await self.add("print a letter", "now", who=LOCAL, owner="ada", lane="press")
        await self.claim(self.api.app.context.clock.now())
        await self.settle(runs[waiting.id], Waiting(now + HOUR), now)
        await self.settle(runs[failed.id], Failed(QUOTES, permanent=True), now)
        await self.settle(runs[done.id], Succeeded('"fine"'), now)
        run = runs[running.id]
        lines = [Line(run.id, now, "info", f"batch {number} {ANSI}") for number in range(200)]
        await self.store.write_lines([*lines, Line(run.id, now, "progress", "0.6200 page 62 of 100")])
        self.seed.add("runs", run.id)
        self.seed.add("runs", runs[claimed.id].id)
        self.seed.add("tasks", failed.id)
        await self.add("runs on another machine", "now", target=Target("function", '{"name":"gone.elsewhere"}'))
        await self.claim(self.api.app.context.clock.now(), routes=frozenset())

    async def _run_chain(self) -> None:
        """Run a chain: one link fires, one does not, and a join is skipped because a link failed."""
        extract = await self.add("extract orders", "now")
        load = await self.add(f"load {SCRIPT}", self._after(extract.id))
        alarm = await self.add("tell that extraction failed", self._after(f"{extract.id}:failed"))
        join = await self.add("publish figures", self._after(f"{extract.id}:ended", load.id, mode="all"))
        for outcome in (Succeeded('{"orders": 12}'), Failed("disk full", permanent=True)):
            now = self.api.app.context.clock.now()
            for run in (await self.claim(now)).values():
                if run.task_id in (extract.id, load.id):
                    await self.settle(run, outcome, now)
        self.seed.add("tasks", join.id)
        for task in (join, load, alarm):
            self.seed.add("chain", task.id)

    def _after(self, *links: str, mode: str = "any") -> dict[str, Any]:
        return after_when([parse_link(each) for each in links], mode)

    async def _skip_runs(self) -> None:
        """Skip runs by a closed gate and by a start deadline; let one wait for labels and one for the first of two lanes."""
        gate = Gate("http", '{"url":"https://example.org/mail?new=1"}')
        gated = await self.add("answer the mail", "now", options=Options(gate=gate))
        now = self.api.app.context.clock.now()
        run = (await self.claim(now))[gated.id]
        await self.settle(run, Skipped(f"no new mail {QUOTES}", Reason.GATE_CLOSED), now)
        late = await self.add(
            "in time or not at all", "in 10m", service=self.past, options=Options(start_within=MINUTE)
        )
        placed = await self.add("train the model", "now", options=Options(where={"gpu": "a100", "zone": "eu"}))
        lanes = await self.add("print and mail", "now", who=LOCAL, lane="press", options=Options(lanes=("mail",)))
        await self.claim(self.api.app.context.clock.now())
        self.seed.add("tasks", gated.id)
        for task in (gated, late, placed, lanes):
            self.seed.add("skips", task.id)
        await self.past.tasks.create(self.ada, TaskRequest("overdue for two days", "in 10m", FUNCTION, zone="UTC"))
        await self.present.system_tasks.create("ada", TaskRequest("turn of a group", "every 1h", FUNCTION, zone="UTC"))

    async def _pause_tasks(self) -> None:
        tasks = self.present.tasks
        note = f"on holiday {SCRIPT}"
        await tasks.pause(self.ada, (await self.add("paused with a note", zone="Europe/Berlin")).id, note=note)
        until = (await self.add("paused until tomorrow")).id
        await tasks.pause(self.ada, until, until=self.now + DAY)
        orphan = await self.add("function that is gone")
        await tasks.pause(self.ada, orphan.id, cause=PauseCause.ORPHANED, note="its code is gone")
        for cause in (PauseCause.GATE_FAILED, PauseCause.PREDECESSOR_DELETED):
            await tasks.pause(self.ada, (await self.add(f"paused: {cause.value}")).id, cause=cause)
        await tasks.cancel(self.ada, (await self.add("cancelled")).id)
        await tasks.skip_next(self.ada, (await self.add("skips three")).id, 3)
        edited = await self.add("edited twice", labels={"team": "garden"})
        await tasks.edit(self.ada, edited.id, Edits(when="every day at 08:30"))
        await tasks.edit(self.ada, edited.id, Edits(labels={"team": "press"}))
        await tasks.run_now(self.ada, edited.id)

    async def _request_approvals(self) -> None:
        wish = TaskRequest(
            f"{IMAGE} {LONG_CHINESE[:120]}",
            "every 1h 10 times",
            HTTP,
            zone="UTC",
            payload=json.dumps({"prompt": QUOTES}),
        )
        waiting = await self.present.tasks.create(self.robot, wish)
        approved = await self.present.tasks.create(self.robot, wish._replace(name="approved by ada"))
        await self.present.approvals.approve(self.ada, approved.id, digest_of(approved))
        self.seed.add("approvals", waiting.id)
        _, text = await self.present.tokens.make(LOCAL, owner="bob", name="second agent", agent="researcher")
        researcher = await self.present.tokens.authenticate(text, via="mcp")
        await self.present.tasks.create(researcher, wish._replace(name="stopped with its agent"))
        await self.present.approvals.stop_agent(LOCAL, "researcher", owner="bob")
        self.seed.add("agents", "robot")

    async def _send_messages(self) -> None:
        """Two streams: one with hostile texts, a reader and a gap, and one without messages."""
        streams = self.present.streams
        texts = [*(text.replace("\0", "") for text in HOSTILE_TEXTS), ANSI, "x" * 3_000]
        drafts = [MessageDraft(text, id=str(place), references=[SCRIPT]) for place, text in enumerate(texts)]
        await streams.send(self.ada, "chat:12", drafts)
        await streams.register(self.ada, "chat:12", "handled", after=0)
        await streams.register(self.ada, "chat:12", "summary", after=len(texts) - 1)
        await self.store.trim_messages(self.now, KeepRules(keep=len(texts) - 1), 1)
        await streams.put(self.ada, "empty:1", keep=5, keep_for=DAY)
        await self.present.groups.add(LOCAL, "work", f"web:{'x' * 100}", is_main=True, is_stopped=True)
        await self._fill_chat(texts)

    async def _fill_chat(self, texts: list[str]) -> None:
        """A chat with hostile texts of a person, and an answer that was not sent."""
        group = await self.present.groups.add(
            LOCAL, "family", "web:family", name=LONG_CHINESE[:100], mounts=[("/srv/photos", "photos", True)]
        )
        for text in texts:
            if text.strip():
                await self.present.chats.send(LOCAL, group.chat, text, sender_name="Ann")
        delivery = ChatDelivery(
            f"dlv_{'0' * 31}1", group.owner, group.chat, SCRIPT, self.now, "run_1", attempts=3, parts=("1",)
        )
        failed = as_failed(delivery, self.now, ANSI)
        await self.present.budgets.put(LOCAL, group.folder, {"tokens": 200_000, "cost": 2.5})
        chats = [KnownChat(f"telegram:-{place}", text, self.now) for place, text in enumerate((SCRIPT, LONG_CHINESE))]
        await self.store.write_records([RecordWrite(known_chat_record(each)) for each in chats])
        answer = assistant_message(group.stream, SCRIPT, "Andy", "run_1/0", self.now)
        await self.store.append_messages(group.owner, [answer], attached_records=[RecordWrite(delivery_record(failed))])

    async def _create_webhooks(self) -> None:
        webhook, _ = await self.present.webhooks.create(self.ada, "https://example.org/hook", ["run.*"], note=QUOTES)
        off, _ = await self.present.webhooks.create(
            self.ada, f"https://example.org/{'path/' * 40}", [], note=LONG_CHINESE[:200]
        )
        await self.present.webhooks.edit(self.ada, off.id, enabled=False)
        for number, state in enumerate(DeliveryState):
            attempt = Attempt(self.now - HOUR, 200 if state is DeliveryState.DELIVERED else 503, SCRIPT)
            delivery = Delivery(
                delivery_id(self.now - HOUR, number + 1), webhook.id, "ada", f"evt_{number}", "run.failed", self.seed.ids["tasks"][0],
                json.dumps({"type": "run.failed", "data": {"name": SCRIPT}}), self.now - HOUR, state,
                self.now + HOUR if state is DeliveryState.PENDING else None, (attempt,), 1,
            )  # fmt: skip
            await self.store.write_records(list(new_delivery_writes(delivery)))
            self.seed.add("deliveries", delivery.id)
        self.seed.add("webhooks", webhook.id)
        self.seed.add("webhooks", off.id)

    async def _create_accounts(self) -> None:
        """Add secrets, a revoked owner with an active task, and a token that has expired scopes."""
        for name in ("WEATHER_KEY", "k" * 100):
            await self.present.secrets.set(self.ada, name, "not shown anywhere")
        await self.present.tokens.make(LOCAL, owner="ada", name=LONG_CHINESE[:180])
        await self.present.accounts.put(LOCAL, "carl", role=Role.MEMBER, quotas={"active_tasks": 3})
        carl = Principal("carl")
        await self.add("task of a revoked owner", "every 10m", who=carl)
        await self.present.accounts.revoke(LOCAL, "carl")
        token, _ = await self.present.tokens.make(LOCAL, owner="ada", name=f"laptop {SCRIPT}", expires=self.now + DAY)
        await self.present.tokens.revoke(
            LOCAL, (await self.present.tokens.make(LOCAL, owner="ada", name="revoked"))[0].id
        )
        self.seed.add("tokens", token.id)
        self.seed.add("owners", "ada")
        self.seed.add("owners", "carl")

    async def _add_plain_tasks(self) -> None:
        """Add names that are hard to show, and enough tasks for a second page."""
        for number, name in enumerate(NAMES):
            zone = ("Asia/Shanghai", "America/New_York", "Australia/Lord_Howe")[number % 3]
            await self.add(name, "every weekday at 9am", zone=zone, target=(HTTP, EVENT, FUNCTION)[number % 3])
        for number in range(60):
            await self.add(f"heartbeat {number:02d}", f"every {3 + number % 9}h", labels={"kind": "heartbeat"})

    async def _add_plans(self) -> None:
        """Add a plan that skips its next occurrences, and one that is paused."""
        await self.present.stations.allow(LOCAL, "board", "v" * 40, kind="vote", worker="ann", owner="ada")
        fields = {"station": "board", "command": "decide", "plan_type": "day", "plan_value": 1, "plan_repet": -1}
        skipping = await self.present.plans.add(self.ada, {**fields, "description": SCRIPT, "argument": SCRIPT})
        await self.present.plans.skip(self.ada, skipping.plan.hex_id, 2)
        paused = await self.present.plans.add(self.ada, {**fields, "description": "budget", "plan_id": 255})
        await self.present.plans.pause(self.ada, paused.plan.hex_id)
        self.seed.add("plans", skipping.task_id)
        self.seed.add("plans", paused.task_id)

    async def _begin_operation(self) -> None:
        """Start a bulk action in the background."""
        body = {"action": "pause", "filter": {"label": ["kind=heartbeat"]}, "arguments": {"note": SCRIPT}}
        reply = await self.api.post("/v1/tasks/actions", body, headers={"Prefer": "respond-async"})
        assert reply.status == 202, reply.text
        self.seed.add("operations", reply.json["id"])


def _state_of(reason: Reason) -> RunState:
    states = {
        Reason.DEADLINE: RunState.TIMED_OUT,
        Reason.LEASE_LOST: RunState.LOST,
        Reason.RELEASED: RunState.LOST,
        Reason.CANCELLED: RunState.CANCELLED,
        Reason.REPLACED: RunState.CANCELLED,
    }
    failures = {
        Reason.TARGET_UNKNOWN,
        Reason.TARGET_NOT_ALLOWED,
        Reason.NOT_CALLED,
        Reason.TARGET_FAILED,
        Reason.NO_ANSWER,
        Reason.NO_WORKER,
        Reason.WORKER_LOST,
        Reason.QUARANTINED,
    }
    return states.get(reason, RunState.FAILED if reason in failures else RunState.SKIPPED)


async def seed_store(api: Api) -> Seed:
    """Fill the store of a served API; returns the ids to open pages with."""
    return await Seeder(api).run()
