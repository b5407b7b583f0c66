"""Events that the engine writes to the log: events of an event target with their fields, and failure notices."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from horae import Horae
from horae.model.accounts.principal import LOCAL
from horae.model.events.event import EventKind
from horae.model.inputs.run_input import RunInput
from horae.model.task import Target
from horae.schedule import After, Link
from horae.service.events.event_bodies import EventEncoder
from horae.service.events.owner_sequence import OwnerEvents
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.testing import TimeTravel

PAYLOAD = {"sourceType": "reminder", "sourceId": "r-7", "text": "water"}
TASK_REQUEST = TaskRequest(
    "water the plants",
    "every 1h",
    Target("event", '{"topic":"garden.thirsty","say":"time to water"}'),
    payload=json.dumps(PAYLOAD),
    labels={"source": "garden"},
)


async def read_events(app: Horae, *kinds: EventKind) -> list[dict[str, Any]]:
    events = await OwnerEvents(app.store).after(None, 0, 1_000)
    encoded = await EventEncoder(app.store).encode([each for each in events if each.event.kind in kinds])
    return [json.loads(each.body) for each in encoded]


def test_event_of_an_event_target_is_logged_with_all_its_fields() -> None:
    app = Horae("memory://", zone="UTC")
    received: list[Any] = []
    app.on("garden.*")(received.append)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.service.tasks.create(LOCAL, TASK_REQUEST))
        time.travel("2h")
        first, second = time.run(read_events(app, EventKind.TASK_TRIGGERED))
        assert len(received) == 2, "handlers of the process are called by the target, and not again from the log"
        published = dict(received[0].data)
        runs = time.runs()
    assert first["type"] == "dev.horae.task.triggered.v1"
    assert first["subject"] == f"{task.id}/{runs[0].id}"
    data = first["data"]
    assert UUID(data["eventId"]) != UUID(second["data"]["eventId"])
    for name in published.keys() - {"occurredOn", "trace"}:
        assert data[name] == published[name], name
    assert (data["type"], data["text"], data["detail"]) == ("garden.thirsty", "time to water", "garden.thirsty")
    assert (data["taskUuid"], data["sourceType"], data["sourceId"]) == (task.id, "reminder", "r-7")
    assert (data["accountUuid"], data["payload"], data["title"]) == ("local", PAYLOAD, "water the plants")
    assert datetime.fromisoformat(data["occurredOn"]) == datetime.fromisoformat(first["time"])


def test_event_of_a_deleted_task_has_the_fields_that_are_known() -> None:
    app = Horae("memory://", zone="UTC")
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.service.tasks.create(LOCAL, TASK_REQUEST))
        time.travel("1h")
        time.run(app.service.tasks.delete(LOCAL, task.id))
        (event,) = time.run(read_events(app, EventKind.TASK_TRIGGERED))
    assert (event["data"]["task_id"], event["data"]["detail"]) == (task.id, "garden.thirsty")
    assert "payload" not in event["data"]


def test_oversized_fields_are_left_out_and_named() -> None:
    app = Horae("memory://", zone="UTC")
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.run(app.service.tasks.create(LOCAL, TASK_REQUEST._replace(payload=json.dumps({"text": "x" * 30_000}))))
        time.travel("1h")
        (event,) = time.run(read_events(app, EventKind.TASK_TRIGGERED))
    assert event["data"]["left_out"] == ["payload"]
    assert event["data"]["title"] == "water the plants"
    assert len(json.dumps(event)) < 20 * 1024


def test_event_has_the_input_and_the_placeholders_of_its_run() -> None:
    app = Horae("memory://", zone="UTC")
    received: list[Any] = []
    app.on("garden.*")(received.append)
    target = Target("event", '{"topic":"garden.thirsty","say":"due {horae.planned}"}')
    request = TASK_REQUEST._replace(target=target, payload='{"text":"water","at":"{horae.planned}"}')
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.service.tasks.create(LOCAL, request))
        time.travel("1h")
        time.run(app.service.tasks.run_now(LOCAL, task.id, RunInput("merge", '{"text":"fertilise"}')))
        time.travel("1s")
        scheduled, requested = (event["data"] for event in time.run(read_events(app, EventKind.TASK_TRIGGERED)))
    assert scheduled["text"] == "due 2026-03-01T13:00:00+00:00"
    assert scheduled["payload"] == {"text": "water", "at": "2026-03-01T13:00:00+00:00"}
    assert requested["payload"]["text"] == "fertilise"
    assert [event.data["payload"] for event in received] == [scheduled["payload"], requested["payload"]]


def test_event_of_a_chained_task_has_the_results_of_its_predecessors() -> None:
    app = Horae("memory://", zone="UTC")
    target = Target("event", '{"topic":"garden.done","say":"after {horae.previous}"}')
    with TimeTravel(app, "2026-03-01 12:00") as time:
        first = time.run(app.service.tasks.create(LOCAL, TASK_REQUEST))
        request = TaskRequest("tell", After((Link(first.id),)), target, payload="{}")
        time.run(app.service.tasks.create(LOCAL, request))
        time.travel("1h")
        events = time.run(read_events(app, EventKind.TASK_TRIGGERED))
    text = events[-1]["data"]["text"]
    assert json.loads(text.removeprefix("after "))[0]["name"] == "water the plants"


def test_event_of_a_task_that_no_longer_fits_its_input_is_that_of_the_task() -> None:
    app = Horae("memory://", zone="UTC")
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.service.tasks.create(LOCAL, TASK_REQUEST))
        given = RunInput("merge", json.dumps({"more": "x" * 200_000}))
        time.run(app.service.tasks.run_now(LOCAL, task.id, given))
        time.travel("1s")
        edits = Edits(payload=json.dumps({"text": "y" * 200_000}))
        time.run(app.service.tasks.edit(LOCAL, task.id, edits))
        (event,) = time.run(read_events(app, EventKind.TASK_TRIGGERED))
    assert event["data"]["left_out"] == ["payload"]
    assert event["data"]["title"] == "water the plants"


class FailingJob:
    def __init__(self) -> None:
        self.failing = True

    async def work(self) -> None:
        if self.failing:
            raise RuntimeError("no")


def test_failure_notices_come_once_per_incident() -> None:
    app = Horae("memory://", zone="UTC")
    job = FailingJob()
    app.task("every 1h", retries=0, give_up_after=100)(job.work)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.travel("6h")
        job.failing = False
        time.travel("3h")
        job.failing = True
        time.travel("3h")
        notices = time.run(read_events(app, EventKind.TASK_FAILING, EventKind.TASK_RECOVERED))
    assert [event["data"]["kind"] for event in notices] == ["task.failing", "task.recovered", "task.failing"]
    assert notices[0]["data"]["detail"] == "target_failed"
