"""Form of the simple view: shown from a task and read back to the same task, and its edits, pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from horae.choices import Language
from horae.console.request import Form
from horae.console.simple_form import (
    SimpleForm,
    form_of,
    preview_of,
    read_edits,
    read_form,
    read_new,
    suggested_zones,
)
from horae.console.viewer import Viewer
from horae.errors import Refusal
from horae.model.accounts.principal import Principal
from horae.model.change import Facts
from horae.model.task import NEW_TASK_STATUS, Target, Task, TaskState
from horae.schedule import Cron, Every, Now, Once, Schedule
from horae.schedule.text import parse_text
from horae.service.tasks.edits import KEEP, Edits, apply_edits
from horae.testing.factories import NOON, a_task

SHANGHAI: Final = "Asia/Shanghai"


def viewer_in(language: Language = "zh") -> Viewer:
    return Viewer(Principal("ada"), language, "Europe/Berlin", "auto", "", "", NOON)


def facts_of(schedule: Schedule, state: TaskState = TaskState.ACTIVE) -> Facts:
    task = a_task(schedule=schedule, target=Target("event", json.dumps({"say": "打卡"})), payload="{}")
    return Facts(task=task, status=NEW_TASK_STATUS._replace(state=state))


def parse_schedule(text: str, zone: str = SHANGHAI) -> Schedule:
    return parse_text(text, zone=zone, now=NOON).schedule


SCHEDULES: Final = [
    Cron("0 9 * * 1-5", zone=SHANGHAI),
    Cron("0 9 * * *", zone=SHANGHAI, end=datetime(2027, 1, 1, 9, 0)),
    Every(timedelta(minutes=90), "end", zone=SHANGHAI),
    Every(timedelta(seconds=45), zone=SHANGHAI),
    Every(timedelta(milliseconds=1_500), zone=SHANGHAI),
    Once(datetime(2099, 1, 2, 8, 30), zone=SHANGHAI),
    Once(datetime(2099, 1, 2, 8, 30, 15, tzinfo=UTC), zone=SHANGHAI),
    Now(),
    parse_schedule("每天早上9点"),
    parse_schedule("每月最后一个周五17点"),
    parse_schedule("每天9点和17点,共10次"),
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_unchanged_form_is_no_edit(schedule: Schedule, language: Language) -> None:
    facts, viewer = facts_of(schedule), viewer_in(language)
    shown = form_of(facts, viewer)
    sent = read_form(Form(list(shown.to_fields().items())))
    assert sent == shown._replace(version="")
    assert read_edits(shown, sent, facts.task, NOON) == Edits()


@pytest.mark.parametrize("schedule", [each for each in SCHEDULES if not isinstance(each, Now | Every)], ids=str)
def test_shown_time_parses_back_to_the_same_schedule(schedule: Schedule) -> None:
    shown = form_of(facts_of(schedule), viewer_in())
    request = read_new(shown, None, NOON)
    assert isinstance(request.when, str)
    read_back = parse_text(request.when, zone=shown.zone, now=NOON).schedule
    if isinstance(schedule, Once) and schedule.at.tzinfo is not None:
        schedule = Once(datetime(2099, 1, 2, 16, 30, 15), zone=SHANGHAI)
    assert read_back == schedule


def apply_edit(task: Task, shown: SimpleForm, **changes: Any) -> Task:
    after = shown._replace(**changes)
    return apply_edits(task, read_edits(shown, after, task, NOON), "UTC", NOON)


def test_edits_of_the_time_keep_what_was_not_changed() -> None:
    daily = facts_of(parse_schedule("每天早上9点"))
    shown = form_of(daily, viewer_in())
    assert apply_edit(daily.task, shown, zone="Europe/Berlin").schedule == parse_schedule(
        "每天早上9点", "Europe/Berlin"
    )
    assert apply_edit(daily.task, shown, rule="0 9 * * 1-5").schedule == Cron("0 9 * * 1-5", zone=SHANGHAI)
    grid = facts_of(Every(timedelta(minutes=5), zone="UTC", start=NOON))
    shown = form_of(grid, viewer_in())
    assert apply_edit(grid.task, shown, amount="7").schedule == Every(timedelta(minutes=7), zone="UTC", start=NOON)
    once = facts_of(Once(datetime(2099, 1, 2, 8, 30), zone=SHANGHAI))
    shown = form_of(once, viewer_in())
    moved = apply_edit(once.task, shown, zone="Europe/Berlin").schedule
    assert moved == Once(datetime(2099, 1, 2, 8, 30), zone="Europe/Berlin")


def test_task_without_a_text_keeps_its_target() -> None:
    task = a_task(schedule=Cron("0 9 * * *", zone="UTC"), target=Target("function", '{"name": "a.b"}'))
    shown = form_of(Facts(task=task, status=NEW_TASK_STATUS), viewer_in())
    assert shown.text is None
    edits = read_edits(shown, shown._replace(name="n", text="ignored"), task, NOON)
    assert (edits.name, edits.target, edits.payload) == ("n", KEEP, KEEP)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"kind": "every", "amount": ""}, "simple_bad_interval"),
        ({"kind": "every", "amount": "1.5"}, "simple_bad_interval"),
        ({"kind": "every", "amount": "9" * 30}, "simple_bad_interval"),
        ({"kind": "every", "amount": "0"}, "bad_interval"),
        ({"kind": "once", "at": ""}, "simple_no_time"),
        ({"kind": "once", "at": "2099-01-02"}, "simple_no_time"),
        ({"kind": "once", "at": "2099-01-02T08:30Z"}, "simple_no_time"),
        ({"kind": "rule", "rule": "0 9 * * *", "zone": "Nowhere/Else"}, "unknown_zone"),
        ({"kind": "rule", "rule": "0 9 * * *", "text": ""}, "missing_field"),
    ],
)
def test_unreadable_forms_are_refused(fields: dict[str, str], code: str) -> None:
    filled = {"name": "n", "zone": "UTC", "text": "t", "unit": "m", **fields}
    with pytest.raises(Refusal) as refusal:
        read_new(read_form(Form(list(filled.items()))), None, NOON)
    assert refusal.value.code == code


def test_zone_may_be_a_chinese_place() -> None:
    for text, zone in (("北京时间", SHANGHAI), ("上海", SHANGHAI), ("UTC", "UTC"), ("Mars/Base", "Mars/Base")):
        assert read_form(Form([("zone", text)])).zone == zone
    assert suggested_zones("UTC", "zh")[SHANGHAI] == "北京时间"
    assert next(iter(suggested_zones("Asia/Urumqi", "en"))) == "Asia/Urumqi"


def test_past_date_is_previewed_with_a_warning() -> None:
    past = preview_of(SimpleForm(kind="once", at="2020-01-01T09:00", zone=SHANGHAI), viewer_in())
    assert past is not None
    assert (past.fires, len(past.warnings)) == ((), 1)


def test_preview_shows_the_next_times_or_the_problem() -> None:
    shown = preview_of(SimpleForm(rule="每天早上9点", zone=SHANGHAI), viewer_in())
    assert shown is not None
    assert (shown.means, len(shown.fires), shown.problem) == ("每天 09:00", 3, None)
    assert shown.fires[0].text == "3月2日 09:00"
    wrong = preview_of(SimpleForm(rule="每天早上99点", zone=SHANGHAI), viewer_in())
    assert wrong is not None
    assert wrong.problem is not None
    assert preview_of(SimpleForm(), viewer_in()) is None
    assert preview_of(SimpleForm(kind="every", unit="h"), viewer_in()) is None
    hourly = preview_of(SimpleForm(kind="every", amount="2", unit="h"), viewer_in("en"))
    assert hourly is not None
    assert hourly.fires[0].at == NOON + timedelta(hours=2)
