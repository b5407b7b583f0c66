"""Messages to people: one per incident, digests, quiet hours, retries, reminders, and secrets that never leak."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from horae import Event, Horae
from horae.clock import SystemClock
from horae.errors import Refusal
from horae.model.accounts.principal import LOCAL, Principal, Scope
from horae.model.change import Change
from horae.model.events.destination import GATHER_TIME, MAX_DESTINATIONS, MESSAGE_INTERVAL, Destination
from horae.model.events.event import EventKind
from horae.model.events.webhook import RETRY_WAITS, DeliveryState
from horae.model.inputs.placeholders import recognise_template
from horae.model.policy import DEFAULT_POLICIES, Notify, Policies, RetryPolicy
from horae.model.run import Span
from horae.model.task import Target, Task
from horae.ports.notifier import MessageKind, SendFailure, SendResult
from horae.service.events.message_client import MessageClient
from horae.service.events.notice_text import MAX_LINES, fill_notice_text
from horae.service.events.webhook_dispatcher import WebhookDispatcher
from horae.service.service import Service
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import Options, TaskRequest
from horae.testing.factories import NOON, a_new_task, a_run, a_task, an_ended_run, an_event
from tests.unit.notifiers.message_servers import http_receiver
from tests.unit.notifiers.recording_notifier import RecordingNotifier

from .event_server import ManualClock, add_task, open_service, record_event

ADA, BOB = Principal("ada"), Principal("bob")
SECRET_URL = "json://host/SecretToken"  # noqa: S105 - a secret of these tests
MINUTE = timedelta(minutes=1)
SAY = Target("event", json.dumps({"say": "stand up", "topic": "task.triggered"}))
FAILED = Notify(("ops",), ("failed", "recovered"))


class NoticeSetup(NamedTuple):
    service: Service
    clock: ManualClock
    notifier: RecordingNotifier
    dispatcher: WebhookDispatcher

    async def add_destination(self, name: str = "ops", who: Principal = ADA, **fields: Any) -> Destination:
        return await self.service.destinations.put(who, name, **{"url": SECRET_URL, **fields})

    async def add_task(self, name: str = "backup", notify: Notify | None = FAILED, **fields: Any) -> Task:
        policies = Policies(notify=notify, notify_after=1) if notify is not None else DEFAULT_POLICIES
        return await add_task(self.service.store, name=name, **{"policies": policies, **fields})

    async def tell(self, task: Task, *kinds: EventKind) -> None:
        for kind in kinds:
            await record_event(self.service.store, task, kind, "detail")

    async def pass_time(self, time: timedelta = GATHER_TIME) -> None:
        """Dispatch, let the time pass, and dispatch again."""
        await self.dispatcher.step()
        self.clock.move(time)
        await self.dispatcher.step()


@asynccontextmanager
async def notice_setup(url: str = "memory://") -> AsyncIterator[NoticeSetup]:
    clock, notifier = ManualClock(NOON), RecordingNotifier()
    async with open_service(url, clock) as service:
        client = service.destinations.client = MessageClient(service.secrets, notifier, clock)
        dispatcher = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock, client)
        yield NoticeSetup(service, clock, notifier, dispatcher)


async def test_incident_is_one_message_and_its_end_another() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        task = await setup.add_task()
        await setup.tell(task, EventKind.RUN_FAILED, EventKind.TASK_FAILING, EventKind.RUN_FAILED)
        await setup.pass_time()
        assert setup.notifier.titles == ["backup failed"]
        assert setup.notifier.sent[0][1].kind is MessageKind.FAILURE
        await setup.tell(task, EventKind.RUN_FAILED, EventKind.RUN_SUCCEEDED, EventKind.TASK_RECOVERED)
        await setup.pass_time(MESSAGE_INTERVAL)
        await setup.pass_time(timedelta(days=1))
        assert setup.notifier.titles == ["backup failed", "backup has recovered"]


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        (("failed",), ["backup failed"]),
        (("recovered",), ["backup has recovered"]),
        (("overdue",), ["backup is overdue"]),
        (("succeeded",), ["backup succeeded"]),
    ],
)
async def test_only_the_chosen_occasions_are_sent(on: Any, expected: list[str]) -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        task = await setup.add_task(notify=Notify(("ops",), on))
        kinds = EventKind.TASK_FAILING, EventKind.RUN_SUCCEEDED, EventKind.TASK_RECOVERED, EventKind.TASK_OVERDUE
        await setup.tell(task, *kinds, EventKind.TASK_EDITED)
        await setup.pass_time()
        assert setup.notifier.titles == expected


async def test_text_of_the_task_replaces_the_result() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        task = await setup.add_task(notify=Notify(("ops",), ("overdue",), "look: {horae.result}{horae.count} {x}"))
        await setup.tell(task, EventKind.TASK_OVERDUE)
        await setup.pass_time()
        assert setup.notifier.sent[0][1].body.startswith("look: detail {x}\n")


def test_placeholders_of_a_text_are_filled_once_from_the_run() -> None:
    run = a_run(a_task(), span=Span(NOON, NOON + MINUTE, 2))
    text = "{horae.result} {horae.attempt} {horae.count} {horae.last} {horae.planned_local}"
    filled = fill_notice_text(text, "Asia/Shanghai", run, "{horae.count}")
    assert filled == "{horae.count} 1 2 2026-03-01T12:01:00+00:00 2026-03-01T20:00:00+08:00"


async def test_digest_after_an_outage_instead_of_one_message_per_task() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        for number in range(MAX_LINES + 5):
            task = await setup.add_task(f"task {number}", Notify(("ops",), ("overdue",)))
            await setup.tell(task, EventKind.TASK_OVERDUE)
        await setup.pass_time()
        ((_, message),) = setup.notifier.sent
        assert message.title == "25 notices: 25 overdue"
        assert message.kind is MessageKind.WARNING
        assert len(message.body.splitlines()) == MAX_LINES + 1
        assert message.body.splitlines()[-1] == "… and 5 more"


async def test_notices_soon_after_a_message_wait_and_are_one_digest() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        first, second, third = [await setup.add_task(name) for name in ("a", "b", "c")]
        await setup.tell(first, EventKind.TASK_FAILING)
        await setup.pass_time()
        for task in (second, third):
            await setup.tell(task, EventKind.TASK_FAILING)
            await setup.pass_time()
        assert setup.notifier.titles == ["a failed"]
        await setup.pass_time(MESSAGE_INTERVAL)
        assert setup.notifier.titles == ["a failed", "2 notices: 2 failed"]


async def test_failure_that_recovered_before_the_digest_is_one_line() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        first, second = await setup.add_task("a"), await setup.add_task("b")
        await setup.tell(first, EventKind.TASK_FAILING, EventKind.TASK_RECOVERED)
        await setup.tell(second, EventKind.TASK_FAILING)
        await setup.pass_time()
        ((_, message),) = setup.notifier.sent
        assert [line.partition(" UTC ")[2] for line in message.body.splitlines()] == [
            "a failed and has recovered",
            "b failed: detail",
        ]


async def test_notices_of_quiet_hours_arrive_as_one_digest_when_they_end() -> None:
    async with notice_setup() as setup:
        # NOON is 12:00 UTC, 20:00 in Shanghai.
        await setup.add_destination(quiet="19:30-07:00", zone="Asia/Shanghai")
        first, second = await setup.add_task("a"), await setup.add_task("b")
        await setup.tell(first, EventKind.TASK_FAILING)
        await setup.pass_time(timedelta(hours=4))
        await setup.tell(second, EventKind.TASK_FAILING)
        await setup.pass_time(timedelta(hours=6, minutes=59))
        assert setup.notifier.sent == []
        await setup.pass_time(MINUTE)
        assert setup.notifier.titles == ["2 notices: 2 failed"]
        assert "20:00 Asia/Shanghai" in setup.notifier.sent[0][1].body


async def test_retry_that_comes_due_in_quiet_hours_is_held() -> None:
    async with notice_setup() as setup:
        await setup.add_destination(quiet="12:03-13:00")
        setup.notifier.result = lambda: SendResult(SendFailure.STATUS, 503)
        await setup.tell(await setup.add_task(), EventKind.TASK_FAILING)
        await setup.pass_time()
        await setup.pass_time(timedelta(seconds=6))
        assert len(setup.notifier.sent) == 1
        await setup.pass_time(MESSAGE_INTERVAL)
        assert len(setup.notifier.sent) == 2
        setup.notifier.result = SendResult
        await setup.pass_time(10 * MINUTE)
        assert len(setup.notifier.sent) == 2
        await setup.pass_time(50 * MINUTE)
        assert len(setup.notifier.sent) == 3


async def test_message_is_retried_and_its_status_is_apart_from_the_run() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.STATUS, 503)
        await setup.tell(await setup.add_task(), EventKind.TASK_FAILING)
        await setup.pass_time()
        (delivery,) = (await setup.service.destinations.deliveries(ADA, "ops")).items
        assert (delivery.state, delivery.kind) == (DeliveryState.PENDING, "notice.failed")
        assert [(each.status, each.ok) for each in delivery.attempts] == [(503, False)]
        shown = await setup.service.destinations.get(ADA, "ops")
        assert (shown.last_ok, shown.failing_since) == (False, setup.clock.now())
        setup.notifier.result = SendResult
        await setup.pass_time(MESSAGE_INTERVAL)
        (delivery,) = (await setup.service.destinations.deliveries(ADA, "ops")).items
        assert delivery.state is DeliveryState.DELIVERED
        assert (await setup.service.destinations.get(ADA, "ops")).failing_since is None


async def test_message_that_never_arrives_is_given_up_after_days() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.UNREACHABLE)
        await setup.tell(await setup.add_task(), EventKind.TASK_FAILING)
        await setup.pass_time()
        for wait in RETRY_WAITS:
            await setup.pass_time(max(wait * 1.1, MESSAGE_INTERVAL))
        await setup.pass_time(timedelta(days=2))
        (delivery,) = (await setup.service.destinations.deliveries(ADA, "ops")).items
        assert (delivery.state, len(setup.notifier.sent)) == (DeliveryState.FAILED, 1 + len(RETRY_WAITS))


async def test_what_waits_for_a_dead_service_is_one_digest_when_it_returns() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.UNREACHABLE)
        for name in ("a", "b", "c"):
            await setup.tell(await setup.add_task(name), EventKind.TASK_FAILING)
            await setup.pass_time(3 * MINUTE)
        setup.notifier.result = SendResult
        setup.notifier.sent.clear()
        await setup.pass_time(timedelta(hours=1))
        assert setup.notifier.titles == ["3 notices: 3 failed"]


async def test_new_notices_use_up_no_attempts_of_those_that_wait() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.UNREACHABLE)
        for number in range(2 * len(RETRY_WAITS)):
            await setup.tell(await setup.add_task(f"task {number}"), EventKind.TASK_FAILING)
            await setup.pass_time(2 * MINUTE)
        found = (await setup.service.destinations.deliveries(ADA, "ops")).items
        assert {each.state for each in found} == {DeliveryState.PENDING}
        setup.notifier.result = SendResult
        setup.notifier.sent.clear()
        await setup.pass_time(timedelta(hours=1))
        assert setup.notifier.titles == ["18 notices: 18 failed"]


async def test_failing_service_is_called_at_most_once_a_minute() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.UNREACHABLE)
        for number in range(12):
            await setup.tell(await setup.add_task(f"task {number}"), EventKind.TASK_FAILING)
            await setup.pass_time(timedelta(seconds=10))
        assert len(setup.notifier.sent) == 2


async def test_blocked_address_is_tried_at_once_by_a_node_that_may_call_it() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.FORBIDDEN, networks=("10.0.0.1/32",))
        await setup.tell(await setup.add_task(), EventKind.TASK_FAILING)
        for _ in range(3):
            await setup.pass_time(MESSAGE_INTERVAL)
        assert (await setup.service.destinations.get(ADA, "ops")).blocked == ("10.0.0.1/32",)
        setup.notifier.result = SendResult
        number = len(setup.notifier.sent)
        service = setup.service
        restarted = WebhookDispatcher(
            service.store, service.webhooks.client, service.event_encoder, setup.clock, service.destinations.client
        )
        setup.clock.move(MINUTE)
        await restarted.step()
        assert len(setup.notifier.sent) == number + 1


async def test_notice_has_the_error_of_the_run(tmp_path: Path) -> None:
    notifier = RecordingNotifier()
    app = Horae(f"sqlite:///{tmp_path}/horae.db")

    @app.task
    def backup() -> None:
        raise RuntimeError("disk is full")

    async with app:
        service, clock = app.service, ManualClock(SystemClock().now())
        client = service.destinations.client = MessageClient(service.secrets, notifier, clock)
        await service.destinations.put(LOCAL, "ops", url=SECRET_URL)
        task = await app.schedule(backup, "now", name="backup", retries=0, notify=Notify(("ops",)))
        await task.wait()
        dispatcher = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock, client)
        for _ in range(2):
            await dispatcher.step()
            clock.move(GATHER_TIME)
    ((_, message),) = notifier.sent
    assert message.title == "backup failed"
    assert "disk is full" in message.body
    assert "run_" in message.body


@pytest.mark.parametrize(
    ("options", "failures", "expected"),
    [
        ({"retries": 0}, 0, ["backup failed"]),
        ({"retry": RetryPolicy(2, timedelta(hours=1), jitter="none")}, 0, []),
        ({"retries": 0, "notify_after": 1}, 1, []),
    ],
    ids=["ended", "is tried again", "during an incident"],
)
async def test_requested_run_that_fails_sends_one_message_and_begins_no_incident(
    tmp_path: Path, options: Any, failures: int, expected: list[str]
) -> None:
    notifier = RecordingNotifier()
    app = Horae(f"sqlite:///{tmp_path}/horae.db")

    @app.task
    def backup() -> None:
        raise RuntimeError("disk is full")

    ended = asyncio.Event()

    @app.on("run.failed")
    def note(event: Event) -> None:
        assert event.run_id is not None
        ended.set()

    async with app:
        service, clock = app.service, ManualClock(SystemClock().now())
        client = service.destinations.client = MessageClient(service.secrets, notifier, clock)
        await service.destinations.put(LOCAL, "ops", url=SECRET_URL)
        task = await app.schedule(backup, "every 1d", name="backup", notify=Notify(("ops",)), **options)
        if failures:
            await service.store.change(
                task.id, None, lambda facts: Change(status=facts.status._replace(failures=failures))
            )
        await task.run_now()
        await ended.wait()
        dispatcher = WebhookDispatcher(service.store, service.webhooks.client, service.event_encoder, clock, client)
        for _ in range(3):
            await dispatcher.step()
            clock.move(GATHER_TIME)
        assert (await task.standing()).failures == failures
    assert notifier.titles == expected


async def test_owners_are_apart() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        await setup.add_destination(who=BOB, url="json://bob/")
        await setup.tell(await setup.add_task(owner="bob"), EventKind.TASK_FAILING)
        await setup.pass_time()
        assert [url for url, _ in setup.notifier.sent] == ["json://bob/"]
        destinations = setup.service.destinations
        assert [each.owner for each in (await destinations.page(ADA)).items] == ["ada"]
        for attempt in (
            destinations.get(ADA, "ops", "bob"),
            destinations.remove(ADA, "ops", "bob"),
            destinations.test(ADA, "ops", "bob"),
            destinations.deliveries(ADA, "ops", "bob"),
            destinations.get(ADA, "none"),
        ):
            with pytest.raises(Refusal) as refused:
                await attempt
            assert refused.value.code == "no_such_destination"
        with pytest.raises(Refusal) as refused:
            await destinations.put(ADA, "ops", "bob", url=SECRET_URL)
        assert refused.value.code == "foreign_owner"


async def test_revoked_owner_gets_no_messages() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        await setup.service.accounts.put(LOCAL, "ada")
        await setup.tell(await setup.add_task(), EventKind.TASK_FAILING)
        await setup.service.accounts.revoke(LOCAL, "ada")
        await setup.pass_time()
        assert setup.notifier.sent == []


async def test_reminder_arrives_at_once_also_in_quiet_hours() -> None:
    async with notice_setup() as setup:
        await setup.add_destination("me", quiet="00:00-23:59")
        await setup.add_destination("ops")
        task = await setup.add_task("stand up", None, target=SAY)
        await setup.tell(task, EventKind.TASK_TRIGGERED)
        await setup.dispatcher.step()
        assert [(message.title, message.body) for _, message in setup.notifier.sent] == [("Reminder", "stand up")]


async def test_reminder_has_the_placeholders_of_its_run() -> None:
    async with notice_setup() as setup:
        await setup.add_destination("me")
        target = Target("event", json.dumps({"say": "due {horae.planned_local}", "topic": "task.triggered"}))
        task = recognise_template(a_task(owner="ada", name="stand up", target=target))
        run = an_ended_run(task)
        event = an_event(task, run_id=run.id, kind=EventKind.TASK_TRIGGERED)
        await setup.service.store.add([a_new_task(task)])
        await setup.service.store.change(task.id, None, lambda _: Change(new_runs=(run,), events=(event,)))
        await setup.dispatcher.step()
        assert [message.body for _, message in setup.notifier.sent] == ["due 2026-03-01T12:00:00+00:00"]


async def test_reminder_goes_to_the_destinations_of_its_task() -> None:
    async with notice_setup() as setup:
        await setup.add_destination("me", url="json://me/")
        await setup.add_destination("ops", url="json://ops/")
        await setup.tell(await setup.add_task("meeting", FAILED, target=SAY), EventKind.TASK_TRIGGERED)
        await setup.dispatcher.step()
        assert [(url, message.title) for url, message in setup.notifier.sent] == [("json://ops/", "meeting")]


async def test_event_without_words_is_no_reminder() -> None:
    async with notice_setup() as setup:
        await setup.add_destination("me")
        silent = Target("event", json.dumps({"topic": "task.triggered"}))
        await setup.tell(await setup.add_task("event", None, target=silent), EventKind.TASK_TRIGGERED)
        await setup.dispatcher.step()
        assert setup.notifier.sent == []


@pytest.mark.parametrize(("methods", "expected"), [(["EMAIL"], "json://email/"), (["POPUP"], "json://me/")])
async def test_alert_of_a_schedule_goes_to_the_destination_of_its_method(methods: list[str], expected: str) -> None:
    async with notice_setup() as setup:
        await setup.add_destination("me", url="json://me/")
        await setup.add_destination("email", url="json://email/")
        payload = json.dumps({"compat": {"alertConfig": {"methods": methods}, "description": "call Bob"}})
        plain = Target("event", json.dumps({"topic": "task.triggered"}))
        task = await setup.add_task("Bob", None, target=plain, payload=payload)
        await setup.tell(task, EventKind.TASK_TRIGGERED)
        await setup.dispatcher.step()
        ((url, message),) = setup.notifier.sent
        assert (url, message.title, message.body) == (expected, "Bob", "call Bob")


async def test_tasks_without_the_policy_are_read_once() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        task = await setup.add_task(notify=None)
        reads: list[str] = []
        store_facts = setup.service.store.facts

        async def facts(task_id: str, owner: str | None) -> Any:
            reads.append(task_id)
            return await store_facts(task_id, owner)

        setup.dispatcher._notices._book.facts = facts  # type: ignore[method-assign]
        for _ in range(3):
            await setup.tell(task, EventKind.RUN_SUCCEEDED)
            await setup.dispatcher.step()
        assert reads == [task.id]
        await setup.tell(task, EventKind.TASK_EDITED, EventKind.RUN_SUCCEEDED)
        await setup.dispatcher.step()
        assert reads == [task.id] * 2


async def test_policy_that_was_set_while_another_process_dispatched_is_seen() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        service, task = setup.service, await setup.add_task(notify=None)
        other = WebhookDispatcher(
            service.store, service.webhooks.client, service.event_encoder, setup.clock, service.destinations.client
        )
        await setup.tell(task, EventKind.RUN_SUCCEEDED)
        await setup.dispatcher.step()
        await setup.dispatcher._release()
        options = Options(notify=Notify(("ops",), ("succeeded",)))
        await service.tasks.edit(ADA, task.id, Edits(options=options))
        await other.step()
        await other._release()
        await setup.tell(task, EventKind.RUN_SUCCEEDED)
        await setup.pass_time()
        assert len(setup.notifier.sent) == 1


async def test_url_is_sealed_and_appears_in_no_record_error_or_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with notice_setup() as setup:
        destination = await setup.add_destination()
        setup.notifier.result = lambda: SendResult(SendFailure.UNREACHABLE)
        delivery = await setup.service.destinations.test(ADA, "ops")
        await setup.tell(await setup.add_task(), EventKind.TASK_FAILING)
        await setup.pass_time()
        kinds = ("destination", "delivery", "secret", "audit", "audit.row", "audit.pending")
        records = [each async for each in _all_records(setup.service, kinds)]
        assert records
        shown = [repr(destination), repr(delivery), caplog.text, *(each.body for each in records)]
        assert not any("SecretToken" in text for text in shown)


async def _all_records(service: Service, kinds: tuple[str, ...]) -> AsyncIterator[Any]:
    for kind in kinds:
        for record in (await service.store.records(kind)).items:
            yield record


async def test_quota_of_destinations() -> None:
    async with notice_setup() as setup:
        for number in range(MAX_DESTINATIONS):
            await setup.add_destination(f"n{number}")
        await setup.add_destination("n0", zone="Europe/Berlin")
        with pytest.raises(Refusal) as refused:
            await setup.add_destination("one-more")
        assert refused.value.code == "too_many_destinations"


@pytest.mark.parametrize(
    ("name", "fields", "code"),
    [
        ("a b", {}, "bad_destination_name"),
        ("a/b", {}, "bad_destination_name"),
        ("never", {}, "bad_destination_name"),
        ("ops", {"url": None}, "destination_url_missing"),
        ("ops", {"zone": "Mars/Olympus"}, "unknown_zone"),
        ("ops", {"quiet": "25:00-26:00"}, "bad_quiet_hours"),
        ("ops", {"quiet": "07:00-07:00"}, "bad_quiet_hours"),
        ("ops", {"reminders": "yes"}, "bad_policy"),
        ("ops", {"language": "fr"}, "bad_choice"),
    ],
)
async def test_bad_destination_is_refused(name: str, fields: dict[str, Any], code: str) -> None:
    async with notice_setup() as setup:
        with pytest.raises(Refusal) as refused:
            await setup.add_destination(name, **fields)
        assert refused.value.code == code


async def test_agents_cannot_manage_destinations() -> None:
    async with notice_setup() as setup:
        agent = ADA._replace(agent="bot")
        for attempt in (setup.add_destination(who=agent), setup.service.destinations.page(agent)):
            with pytest.raises(Refusal) as refused:
                await attempt
            assert refused.value.code == "not_for_agents"


async def test_first_destination_takes_reminders_and_fields_are_kept() -> None:
    async with notice_setup() as setup:
        first, second = await setup.add_destination("me", quiet="22:00-07:00"), await setup.add_destination("ops")
        assert (first.reminders, second.reminders) == (True, False)
        changed = await setup.service.destinations.put(ADA, "me", language="zh")
        assert changed.quiet == first.quiet
        assert (changed.id, changed.language, changed.version) == (first.id, "zh", 2)
        assert (await setup.service.destinations.put(ADA, "me", quiet=None)).quiet is None


async def test_task_that_names_an_unknown_destination_is_refused() -> None:
    async with notice_setup() as setup:
        tasks, options = setup.service.tasks, Options(notify=FAILED)
        request = TaskRequest("backup", "every 1h", SAY, options=options)
        for attempt in (request, request._replace(key="k")):
            with pytest.raises(Refusal) as refused:
                await tasks.create(ADA, attempt)
            assert refused.value.code == "unknown_destination"
        task = await tasks.create(ADA, request._replace(options=Options()))
        with pytest.raises(Refusal, match="horae notify add ops"):
            await tasks.edit(ADA, task.id, Edits(options=options))
        await setup.add_destination()
        edited = (await tasks.edit(ADA, task.id, Edits(options=options))).after
        assert (edited.policies.notify, edited.policies.notify_after) == (FAILED, 1)
        cleared = (await tasks.edit(ADA, task.id, Edits(options=Options(notify="never")))).after
        assert cleared.policies.notify is None


async def test_messages_of_an_agents_task_need_approval() -> None:
    async with notice_setup() as setup:
        await setup.add_destination()
        agent = ADA._replace(agent="bot", scopes=frozenset(Scope))
        request = TaskRequest("remind", "every 1h", SAY)
        free = await setup.service.tasks.create(agent, request)
        bound = await setup.service.tasks.create(agent, request._replace(name="b", options=Options(notify=FAILED)))
        states = [(await setup.service.tasks.get(ADA, each.id)).status.state.value for each in (free, bound)]
        assert states == ["active", "paused"]


async def test_removed_destination_gets_nothing_and_its_url_is_gone() -> None:
    async with notice_setup() as setup:
        destination = await setup.add_destination()
        task = await setup.add_task()
        await setup.service.destinations.remove(ADA, "ops")
        await setup.tell(task, EventKind.TASK_FAILING)
        await setup.pass_time()
        assert setup.notifier.sent == []
        assert await setup.service.secrets.reveal(f"horae:destination:{destination.id}", "url") is None


async def test_message_reaches_a_real_server_after_its_error() -> None:
    clock = ManualClock(NOON)
    async with open_service("memory://", clock) as service, http_receiver() as receiver:
        dispatcher = WebhookDispatcher(
            service.store, service.webhooks.client, service.event_encoder, clock, service.destinations.client
        )
        await service.destinations.put(ADA, "ops", url=receiver.url("/hook"), language="zh")
        task = await add_task(service.store, name="备份", policies=Policies(notify=FAILED, notify_after=1))
        event = an_event(task, kind=EventKind.TASK_FAILING, detail="deadline")
        await service.store.change(task.id, None, lambda _: Change(events=(event,)))
        receiver.statuses = [503]
        for wait in (GATHER_TIME, MESSAGE_INTERVAL, timedelta()):
            await dispatcher.step()
            clock.move(wait)
        assert [each["title"] for each in receiver.messages] == ["备份 失败"] * 2
        (delivery,) = (await service.destinations.deliveries(ADA, "ops")).items
        assert [(each.status, each.ok) for each in delivery.attempts] == [(503, False), (None, True)]
