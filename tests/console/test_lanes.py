"""Lanes and nodes: limits with undo, what waits, drain with undo, and what other roles see."""

from __future__ import annotations

from datetime import timedelta

from playwright.async_api import expect

from horae.console.pages.lanes import make_lane_row
from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL
from horae.model.lanes.lane import MAX_LANE_LIMIT, LaneQueue, LaneUse
from horae.ports.store import Node
from tests.console.accessibility import violations_of
from tests.console.admin_steps import post, take_refusals
from tests.console.console_server import Console

HOSTILE = "<script>alert(1)</script> 非常长的通道名称" + "很" * 60


async def fill_lane(console: Console, lane: str, tasks: int = 3) -> None:
    """Make due tasks of ada in a lane with one slot, and let a node claim: the first runs, the others wait."""
    for number in range(tasks):
        await console.api.create_task(who="admin", name=f"report {number}", when="now", lane=lane)
    now, store = console.api.app.context.clock.now(), console.service.store
    node = Node("nod_1", "here/1", "9.9.9", now, now, host="build-7", load=1, capacity=8, offset=timedelta(seconds=2))
    await store.join(node)
    claimant = ClaimContext(node.id, now, timedelta(seconds=10))
    await store.claim_due(now, node.id, 100, lambda facts, entry, token: fire(facts, entry, token, claimant))


async def limit_of(console: Console, lane: str) -> int:
    return next(each.limit for each in await console.service.lanes.all(LOCAL) if each.name == lane)


async def test_limit_waiters_and_drain_are_changed_and_undone(console: Console) -> None:
    await fill_lane(console, HOSTILE)
    (queue,) = await console.service.lanes.queues(LOCAL)
    assert queue == LaneQueue(HOSTILE, 2, queue.oldest)
    page = await console.open("/lanes", "admin")
    row = page.get_by_role("row").filter(has_text=HOSTILE[:20])
    await expect(row).to_contain_text("1 / 1")
    await row.get_by_role("link", name="2 wait").click()
    await expect(page.locator("#waiting")).to_contain_text("report 1")
    await expect(page.locator("#waiting")).to_contain_text("report 2")
    row = page.get_by_role("row").filter(has_text=HOSTILE[:20]).first
    await row.get_by_role("spinbutton").fill("5")
    await row.get_by_role("button", name="Save").click()
    await expect(page.locator("#notice")).to_contain_text("At most 5 runs")
    assert await limit_of(console, HOSTILE) == 5
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("At most 1 run")
    assert await limit_of(console, HOSTILE) == 1

    node = page.locator("#node-nod_1")
    for text in ("running", "build-7", "9.9.9", "1 / 8", "off by 2 s"):
        await expect(node).to_contain_text(text)
    await node.get_by_role("button", name="Drain").click()
    await expect(page.locator("#node-nod_1")).to_contain_text("draining")
    assert (await console.service.store.nodes())[0].draining
    await expect(page.get_by_text("No node claims due tasks.")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#node-nod_1")).to_contain_text("running")
    assert not (await console.service.store.nodes())[0].draining
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_lane_shows_its_idle_run_and_its_queue_in_turns(console: Console) -> None:
    for name, owner in (("first", "bob"), ("second", "bob"), ("third", "ada")):
        await console.api.create_task(who="admin", name=name, owner=owner, when="now", lane="press")
    store, now = console.service.store, console.api.app.context.clock.now()
    await store.join(Node("nod_1", "here/1", "9.9.9", now, now))
    claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
    claim = await store.claim_due(now, "nod_1", 100, lambda facts, entry, token: fire(facts, entry, token, claimant))
    ((_, run),) = claim.runs
    await store.declare_idle(run.id, run.token, now)
    page = await console.open("/lanes", "admin")
    row = page.get_by_role("row").filter(has_text="press")
    await expect(row).to_contain_text("1 idle")
    await row.get_by_role("link", name="press").click()
    await expect(page.locator(f"#holds-{run.id}")).to_contain_text("asked to yield: an entry of another owner waits")
    await expect(page.locator("#waits-1")).to_contain_text("third")
    await expect(page.locator("#waits-2")).to_contain_text("second")
    assert await violations_of(page) == []
    await page.locator(f"#holds-{run.id}").get_by_role("link").last.click()
    await expect(page.get_by_text("Idle since")).to_be_visible()
    asked = page.get_by_text("asked to yield: an entry of another owner waits in the lane 'press'")
    await expect(asked).to_be_visible()
    for width in (360, 768, 1024):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


async def test_page_without_lanes_is_accessible(console: Console) -> None:
    page = await console.open("/lanes", "bob")
    assert await violations_of(page) == []


async def test_lane_with_only_a_rate_shows_no_limit_and_is_changed_and_undone(console: Console) -> None:
    await console.service.lanes.limit(LOCAL, "api", None, rate="5/1m")
    page = await console.open("/lanes", "admin")
    row = page.get_by_role("row").filter(has_text="api")
    await expect(row.get_by_role("spinbutton")).to_have_value("")
    assert "1000000" not in await row.inner_text()
    await row.get_by_label("Limit of api").fill("4")
    await row.get_by_role("button", name="Save").click()
    await expect(page.locator("#notice")).to_contain_text("At most 4 runs of api go on at once, and 5/1m start.")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("Runs of api start at 5/1m at most")
    assert await limit_of(console, "api") == MAX_LANE_LIMIT
    form = page.locator("section", has=page.get_by_role("heading", name="Limit another lane"))
    await form.get_by_label("Name").fill("mail")
    await form.get_by_label("Limit").fill("")
    await form.get_by_label("Rate").fill("3/1h")
    await form.get_by_role("button").click()
    await expect(page.locator("#notice")).to_contain_text("Runs of mail start at 3/1h at most")
    await form.get_by_label("Name").fill("neither")
    await form.get_by_label("Limit").fill("")
    await form.get_by_role("button").click()
    await expect(page.get_by_role("alert")).to_contain_text("bad_number")
    take_refusals(console, 1)
    reader = await console.open("/lanes", "vic")
    assert "1000000" not in await reader.inner_text("body")


async def test_limits_work_without_scripts_and_a_refused_form_is_shown_again(console: Console) -> None:
    page = await console.open("/lanes", "admin", scripts=False)
    form = page.locator("section", has=page.get_by_role("heading", name="Limit another lane"))
    await form.get_by_label("Name").fill("function:press")
    await form.get_by_label("Limit").fill("3")
    await form.get_by_role("button").click()
    await expect(page.get_by_role("alert")).to_contain_text("bad_choice")
    await expect(form.get_by_label("Name")).to_have_value("function:press")
    await expect(form.get_by_label("Limit")).to_have_value("3")
    await form.get_by_label("Name").fill("press")
    await form.get_by_role("button").click()
    await expect(page.locator("#notice")).to_contain_text("At most 3 runs of press")
    assert await limit_of(console, "press") == 3
    take_refusals(console, 1)


async def test_live_parts_of_a_refused_form_are_those_of_the_page(console: Console) -> None:
    page = await console.open("/lanes", "admin")
    form = page.locator("section", has=page.get_by_role("heading", name="Limit another lane"))
    await form.get_by_label("Name").fill("function:press")
    await form.get_by_label("Limit").fill("3")
    await form.get_by_role("button").click()
    await expect(page.get_by_role("alert")).to_contain_text("bad_choice")
    await expect(page).to_have_url(f"{console.url}/lanes")
    async with page.expect_response(lambda response: "part=lanes_body" in response.url) as answer:
        await fill_lane(console, "press")
    assert (await answer.value).status == 200
    await expect(page.get_by_role("link", name="press", exact=True)).to_be_visible()
    await expect(form.get_by_label("Name")).to_have_value("function:press")
    await expect(page.get_by_role("alert")).to_contain_text("bad_choice")
    take_refusals(console, 1)


async def test_members_see_their_own_lanes_and_viewers_no_buttons(console: Console) -> None:
    await console.service.lanes.limit(LOCAL, "shared", 2)
    await console.service.lanes.limit(LOCAL, "ada/press", 2)
    page = await console.open("/lanes", "ada")
    await expect(page.get_by_text("ada/press").first).to_be_visible()
    assert await page.get_by_text("shared").count() == 0
    assert await page.locator("#nodes-title").count() == 0
    page = await console.open("/lanes", "vic")
    assert await page.locator("main form[method=post] button:visible").count() == 0
    page = await console.open("/lanes", "ada")
    for path, fields in (("/lanes/drain", {"node": "nod_1"}), ("/lanes/limit", {"lane": "owner:bob", "limit": "1"})):
        assert (await post(console, page, path, fields))[0] == 403


def test_lane_rows_query_the_tasks_that_use_them() -> None:
    rows = [make_lane_row(LaneUse(name, 1, 0), None) for name in ('a "b" c', "owner:ada", "ada/agent:robot")]
    assert [(row.query, row.is_quota) for row in rows] == [
        (r'lane:"a \"b\" c"', False),
        ('owner:"ada"', True),
        ('agent:"robot"', True),
    ]
    assert make_lane_row(LaneUse("x", 1_000_000, 0), None).is_unlimited


async def test_rate_of_a_lane_is_set_and_removed(console: Console) -> None:
    await console.service.lanes.limit(LOCAL, "api", 5)
    page = await console.open("/lanes", "admin")
    rate = page.get_by_label("Rate of api, such as 100/1s")
    await rate.fill("100/1s")
    await rate.press("Enter")
    await expect(page.get_by_text("At most 5 runs of api go on at once, and 100/1s start.")).to_be_visible()
    await expect(rate).to_have_value("100/1s")
    await rate.fill("")
    await rate.press("Enter")
    await expect(page.get_by_text("At most 5 runs of api go on at once.")).to_be_visible()
    (lane,) = [each for each in await console.service.lanes.all(LOCAL) if each.name == "api"]
    assert (lane.limit, lane.rate) == (5, None)
