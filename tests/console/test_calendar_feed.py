"""Calendar feed: an address is made and shown once, read by a program, found unchanged, and revoked by its owner only."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from playwright.async_api import expect

from horae.model.accounts.principal import Principal
from horae.model.change import Change
from horae.model.run import RunState
from horae.ports.store import TaskFilter
from horae.testing.decisions import always
from horae.testing.factories import an_ended_run
from tests.api.api_server import Reply
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.icalendar_parser import parse_calendar, parse_instant

HOSTILE = "END:VEVENT\\n; <b>备份</b>, " + "很长的名称" * 20
ADA = Principal("ada")


async def fetch(console: Console, address: str, **headers: str) -> Reply:
    """Read the feed like a calendar program: without a cookie or a token header."""
    return await console.api.get(address.removeprefix(console.api.base), who=None, headers=headers)


def daily(console: Console) -> str:
    """Return a schedule that has 30 occurrences in the next 30 days, whatever the time of the test."""
    later = console.api.app.context.clock.now() + timedelta(hours=6)
    return f"every day at {later:%H}:00"


async def make_address(console: Console, name: str = "phone") -> str:
    _, text = await console.service.calendar_tokens.make(ADA, name)
    return f"{console.url}/calendar.ics?token={text}"


async def test_address_is_made_read_and_revoked(console: Console, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await console.api.create_task(name="morning report", when=daily(console), zone="UTC")
    page = await console.open("/calendar")
    await page.get_by_label("Name").fill("my phone")
    await page.get_by_role("button", name="Make an address").click()
    address = await page.locator("#feeds .command code").inner_text()
    assert await violations_of(page) == []
    assert (await page.request.get(f"{console.url}/calendar/feeds?part=calendar")).ok, "its live part"
    (token,) = await console.service.calendar_tokens.all(ADA)
    assert (token.name, token.id in address) == ("my phone", True)
    await page.goto(f"{console.url}/calendar")
    await expect(page.locator(f"#{token.id}")).to_contain_text("my phone")
    assert address not in await page.content(), "it is shown once"
    reply = await fetch(console, address)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    assert [event["SUMMARY"] for event in parse_calendar(reply.text.encode()).events] == ["morning report"] * 30
    await page.get_by_role("button", name="Revoke").click()
    await expect(page.locator("#notice")).to_contain_text("my phone")
    assert await console.service.calendar_tokens.all(ADA) == ()
    assert (await fetch(console, address)).code == "bad_calendar_token"
    assert address.partition("token=")[2] not in caplog.text


async def test_forms_work_without_scripts_and_refusals_keep_the_input(console: Console) -> None:
    page = await console.open("/calendar", scripts=False)
    name = "a\u202eb"
    await page.get_by_label("Name").fill(name)
    await page.get_by_role("button", name="Make an address").click()
    await expect(page.locator("#feeds [role=alert]")).to_be_visible()
    await expect(page.get_by_label("Name")).to_have_value(name)
    assert await console.service.calendar_tokens.all(ADA) == ()
    await page.get_by_label("Name").fill("laptop")
    await page.get_by_role("button", name="Make an address").click()
    await expect(page.locator("#feeds .command code")).to_contain_text("/calendar.ics?token=cal_")
    await page.get_by_role("button", name="Revoke").click()
    assert await console.service.calendar_tokens.all(ADA) == ()
    console.problems.clear()  # the browser reports the refused form


async def test_viewers_and_other_owners_can_neither_make_nor_revoke(console: Console) -> None:
    token, _ = await console.service.calendar_tokens.make(ADA, "phone")
    page = await console.open("/calendar", "vic")
    await expect(page.locator("#feeds")).to_have_count(0)
    csrf = await page.locator("input[name=csrf]").first.get_attribute("value") or ""
    answer = await page.request.post(
        f"{console.url}/calendar/feeds", form={"csrf": csrf, "name": "x"}, headers={"Origin": console.api.base}
    )
    assert answer.status in (403, 422)
    assert await console.service.calendar_tokens.all(Principal("vic")) == ()
    page = await console.open("/calendar", "bob")
    assert "phone" not in await page.locator("#feeds").inner_text()
    csrf = await page.locator("input[name=csrf]").first.get_attribute("value") or ""
    answer = await page.request.post(
        f"{console.url}/calendar/feeds/{token.id}/revoke", form={"csrf": csrf}, headers={"Origin": console.api.base}
    )
    assert answer.status == 404
    assert await console.service.calendar_tokens.all(ADA) == (token,)


async def test_feed_has_outcomes_with_signs_and_is_conditional(console: Console) -> None:
    made = await console.api.create_task(name=HOSTILE, when=daily(console), zone="UTC")
    await console.api.create_task(who="bob", name="secret of bob", when=daily(console), zone="UTC")
    store, now = console.service.store, console.api.app.context.clock.now()
    task = (await store.tasks(TaskFilter(owner="ada"))).items[0].task
    planned = now - timedelta(days=1)
    runs = (
        an_ended_run(task, planned=planned, state=RunState.FAILED),
        an_ended_run(task, planned=planned, attempt=2),
        an_ended_run(task, planned=now - timedelta(days=2), state=RunState.FAILED),
        an_ended_run(task, planned=now - timedelta(days=8)),
    )
    await store.change(task.id, None, always(Change(new_runs=runs)))
    address = await make_address(console)
    first = await fetch(console, address)
    events = parse_calendar(first.text.encode()).events
    assert [event["SUMMARY"] for event in events[:3]] == [f"✕ {HOSTILE}", f"✓ {HOSTILE}", HOSTILE]
    assert [parse_instant(event["DTSTART"]) for event in events] == sorted(
        parse_instant(event["DTSTART"]) for event in events
    )
    assert len(events) == 32
    assert events[-1]["URL"] == f"{console.url}/tasks/{made['id']}"
    again = await fetch(console, address)
    assert (again.text, again.headers["etag"]) == (first.text, first.headers["etag"])
    unchanged = {"If-None-Match": first.headers["etag"]}, {"If-Modified-Since": first.headers["last-modified"]}
    assert [(await fetch(console, address, **headers)).status for headers in unchanged] == [304, 304]
    assert (await fetch(console, address, **{"If-None-Match": '"other"'})).status == 200
    assert (
        await console.api.get("/v1/tasks", who=None, headers={"Authorization": f"Bearer {address[-101:]}"})
    ).status == 401
    assert (await fetch(console, f"{console.url}/calendar.ics")).code == "bad_calendar_token"


async def test_feed_is_limited_to_a_thousand_occurrences(console: Console) -> None:
    await console.api.create_task(name="often", when=["every 10m", "every 5m"], zone="UTC")
    reply = await fetch(console, await make_address(console))
    events = parse_calendar(reply.text.encode()).events
    assert len(events) == 1_000
    assert len({event["DTSTART"] for event in events}) == 1_000, "equal instants of two schedules are one event"
    assert events[0]["DESCRIPTION"] == "every 10 minutes and every 5 minutes (UTC)"
