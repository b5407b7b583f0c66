"""Placeholders in payloads and texts are filled when a run starts; the stored task keeps them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae import Horae, InvalidTask
from horae.model.accounts.principal import LOCAL
from horae.model.inputs.placeholders import TemplateTask
from horae.model.task import Target
from horae.service.tasks.edits import Edits
from horae.testing import TimeTravel


class Reports:
    """Keeps the arguments of each call; the first ones fail."""

    def __init__(self, failing: int = 0) -> None:
        self.seen: list[dict[str, Any]] = []
        self._failing = failing

    async def report(self, **values: str) -> None:
        self.seen.append(values)
        if len(self.seen) <= self._failing:
            raise RuntimeError


def test_payload_is_filled_for_each_run_and_the_task_keeps_the_template() -> None:
    app, reports = Horae("memory://", zone="UTC"), Reports()
    report = app.task(name="report")(reports.report)
    with TimeTravel(app, "2026-03-01 12:00", zone="Europe/Berlin") as time:
        when = "every day at 09:00"
        payload = {"day": "{horae.planned_local}", "number": "{horae.count} of {x}"}
        task = time.run(app.schedule(report, when, payload, zone="Europe/Berlin"))
        time.travel("2d")
        assert reports.seen == [
            {"day": "2026-03-02T09:00:00+01:00", "number": "1 of {x}"},
            {"day": "2026-03-03T09:00:00+01:00", "number": "1 of {x}"},
        ]
        assert json.loads(time.run(task.facts()).task.payload) == payload


def test_merged_run_and_retry_have_their_own_values() -> None:
    app, reports = Horae("memory://", zone="UTC"), Reports(failing=1)
    report = app.task(name="report", retries=1, missed="merge")(reports.report)
    with TimeTravel(app, "2026-03-01 12:30", zone="UTC") as time:
        payload = {name: f"{{horae.{name}}}" for name in ("first", "last", "count", "attempt", "key")}
        time.run(app.schedule(report, "0 * * * *", payload))
        time.crash()
        time.travel("2h40m")
        time.restart()
        time.travel("10m")
        first, second = reports.seen
        assert (first["first"][11:16], first["last"][11:16], first["count"]) == ("13:00", "15:00", "3")
        assert (first["attempt"], second["attempt"]) == ("1", "2")
        assert first["key"] == second["key"]


def test_text_of_a_reminder_is_filled() -> None:
    app = Horae("memory://", zone="UTC")
    with TimeTravel(app, "2026-03-01 12:00", zone="UTC") as time:
        task = time.run(app.schedule({"kind": "event", "say": "it is {horae.planned}"}, "at 13:00"))
        time.travel("2h")
        (run,) = time.runs(task)
        lines = time.run(time.run(app.get_run(run.id)).lines())
        assert [line.text for line in lines] == ["it is 2026-03-01T13:00:00+00:00"]


async def test_unknown_placeholder_is_refused_when_the_task_is_made_or_edited() -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        with pytest.raises(InvalidTask) as refusal:
            await app.schedule({"kind": "event"}, "every 1h", {"text": "{horae.now}"})
        assert refusal.value.code == "unknown_placeholder"
        task = await app.schedule({"kind": "event"}, "every 1h", {"text": "{now}"})
        with pytest.raises(InvalidTask):
            await task.edit(payload={"text": "{horae.now}"})


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.org/{horae.key}", "placeholder_place"),
        ("https://example.org/?key={horae.kez}", "unknown_placeholder"),
    ],
)
async def test_placeholder_in_a_url_is_refused_although_its_braces_are_quoted(url: str, code: str) -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        with pytest.raises(InvalidTask) as refusal:
            await app.schedule({"kind": "http", "url": url}, "every 1h")
        assert refusal.value.code == code
        task = await app.schedule({"kind": "http", "url": "https://example.org/{x}"}, "every 1h")
        edits = Edits(target=Target("http", json.dumps({"url": url})))
        with pytest.raises(InvalidTask, match="placeholder"):
            await app.service.tasks.edit(LOCAL, task.id, edits)


async def test_store_recognises_a_template_when_it_reads_the_task(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    async with Horae(url, zone="UTC", engine=False) as app:
        template = await app.schedule({"kind": "event"}, "every 1h", {"at": "{horae.planned}"})
        plain = await app.schedule({"kind": "event"}, "every 1h", {"at": "{planned}"})
    async with Horae(url, zone="UTC", engine=False) as app:
        assert (await (await app.get(template.id)).facts()).task.__class__ is TemplateTask
        assert (await (await app.get(plain.id)).facts()).task.__class__ is not TemplateTask
