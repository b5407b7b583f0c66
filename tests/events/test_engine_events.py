"""What the engine tells, from the log: an event target's word with the fields that listeners know, and failure notices."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from horae import Horae
from horae.model.accounts.principal import LOCAL
from horae.model.events.event import EventKind
from horae.model.task import Target
from horae.service.events.event_bodies import EventEncoder
from horae.service.events.owner_sequence import OwnerEvents
from horae.service.tasks.task_request import TaskRequest
from horae.testing import TimeTravel

PAYLOAD = {"sourceType": "reminder", "sourceId": "r-7", "text": "water"}
WISH = TaskRequest(
    "water the plants",
    "every 1h",
    Target("event", '{"topic":"garden.thirsty","say":"time to water"}'),
    payload=json.dumps(PAYLOAD),
    labels={"source": "garden"},
)


async def told(app: Horae, *kinds: EventKind) -> list[dict[str, Any]]:
    events = await OwnerEvents(app.store).after(None, 0, 1_000)
    told = await EventEncoder(app.store).encode([each for each in events if each.event.kind in kinds])
    return [json.loads(each.body) for each in told]


def test_what_an_event_target_tells_is_in_the_log_with_all_its_fields() -> None:
    app = Horae("memory://", zone="UTC")
    heard: list[Any] = []
    app.on("garden.*")(heard.append)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.service.tasks.create(LOCAL, WISH))
        time.travel("2h")
        first, second = time.run(told(app, EventKind.TASK_TRIGGERED))
        assert len(heard) == 2, "those in the process hear it from the target itself, and not from the log again"
        published = dict(heard[0].data)
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


def test_of_a_task_that_is_gone_the_log_still_tells_what_it_knows() -> None:
    app = Horae("memory://", zone="UTC")
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.service.tasks.create(LOCAL, WISH))
        time.travel("1h")
        time.run(app.service.tasks.delete(LOCAL, task.id))
        (event,) = time.run(told(app, EventKind.TASK_TRIGGERED))
    assert (event["data"]["task_id"], event["data"]["detail"]) == (task.id, "garden.thirsty")
    assert "payload" not in event["data"]


def test_what_would_be_too_large_to_send_is_left_out_by_name() -> None:
    app = Horae("memory://", zone="UTC")
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.run(app.service.tasks.create(LOCAL, WISH._replace(payload=json.dumps({"text": "x" * 30_000}))))
        time.travel("1h")
        (event,) = time.run(told(app, EventKind.TASK_TRIGGERED))
    assert event["data"]["left_out"] == ["payload"]
    assert event["data"]["title"] == "water the plants"
    assert len(json.dumps(event)) < 20 * 1024


class Fragile:
    def __init__(self) -> None:
        self.failing = True

    async def work(self) -> None:
        if self.failing:
            raise RuntimeError("no")


def test_notices_of_a_real_engine_come_once_per_incident() -> None:
    app = Horae("memory://", zone="UTC")
    fragile = Fragile()
    app.task("every 1h", retries=0, give_up_after=100)(fragile.work)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.travel("6h")
        fragile.failing = False
        time.travel("3h")
        fragile.failing = True
        time.travel("3h")
        notices = time.run(told(app, EventKind.TASK_FAILING, EventKind.TASK_RECOVERED))
    assert [event["data"]["kind"] for event in notices] == ["task.failing", "task.recovered", "task.failing"]
    assert notices[0]["data"]["detail"] == "target_failed"
