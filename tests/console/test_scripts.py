"""Scripts of every page: live parts, held rows, the pause, morphing, countdowns, keys, palette and copying."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from playwright.async_api import Page, expect

from horae.clock import SystemClock
from horae.console.renderer import static_version
from horae.model.accounts.principal import LOCAL
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

_MORPH: Final = """async ([address, before, after, act]) => {
  const { morph } = await import(address);
  const host = document.createElement("div");
  const parse = (text) => new DOMParser().parseFromString(`<div id="host">${text}</div>`, "text/html").getElementById("host");
  const current = document.importNode(parse(before), true);
  document.body.append(current);
  const kept = new Map([...current.querySelectorAll("[id]")].map((element) => [element.id, element]));
  if (act.focus) document.getElementById(act.focus).focus();
  if (act.type) document.getElementById(act.type[0]).value = act.type[1];
  if (act.check) document.getElementById(act.check).checked = true;
  if (act.open) document.getElementById(act.open).open = true;
  const result = morph(current, parse(after), (list) => act.held === list.id);
  const found = {
    html: current.innerHTML,
    added: result.added.length,
    held: result.held,
    focus: document.activeElement.id,
    same: [...current.querySelectorAll("[id]")].filter((element) => kept.get(element.id) === element).map((element) => element.id),
    values: Object.fromEntries([...current.querySelectorAll("input, textarea, select")].map((field) => [field.id, field.type === "checkbox" ? field.checked : field.value])),
    open: [...current.querySelectorAll("details")].filter((each) => each.open).map((each) => each.id),
  };
  current.remove();
  return found;
}"""


async def _morph(console: Console, page: Page, before: str, after: str, **act: Any) -> Any:
    address = f"{console.url}/static/{static_version()}/morph.js"
    return await page.evaluate(_MORPH, [address, before, after, act])


async def test_morph_keeps_elements_focus_input_and_open_panels(console: Console) -> None:
    page = await console.open()
    rows = '<ul id="l"><li id="a">1</li><li id="b"><button id="k">x</button></li><li id="c">3</li></ul>'
    found = await _morph(console, page, rows, rows.replace("3", "4").replace('<li id="a">1</li>', ""), focus="k")
    assert found["html"] == rows.replace("3", "4").replace('<li id="a">1</li>', "")
    assert (found["focus"], found["same"]) == ("k", ["l", "b", "k", "c"])
    turned = (
        '<ul id="l"><li id="c">3</li><li id="n">new</li><li id="b"><button id="k">x</button></li><li id="a">1</li></ul>'
    )
    found = await _morph(console, page, rows, turned, focus="k")
    assert (found["html"], found["focus"], found["added"]) == (turned, "k", 1)
    held = await _morph(console, page, rows, turned.replace("3", "9"), held="l")
    assert (held["held"], held["added"]) == (1, 0)
    assert held["html"] == rows.replace("3", "9"), "rows stay where they are, and change"
    fields = '<input id="i" value="x"><input id="o" value="x"><input id="c" type="checkbox"><textarea id="t">a</textarea><details id="d"><summary>s</summary>a</details>'
    newer = fields.replace('"x"', '"y"').replace(">a<", ">b<")
    found = await _morph(console, page, fields, newer, type=["i", "mine"], check="c", open="d")
    assert found["values"] == {"i": "mine", "o": "y", "c": True, "t": "b"}
    assert found["open"] == ["d"]
    assert found["html"].endswith("</summary>b</details>")
    found = await _morph(
        console,
        page,
        '<p id="p">a</p><svg id="s"><rect width="1"></rect></svg>',
        '<div id="p">b</div><svg id="s"><rect width="2"></rect></svg>',
    )
    assert found["html"] == '<div id="p">b</div><svg id="s"><rect width="2"></rect></svg>'


async def test_live_part_shows_a_new_task_and_pauses_and_closes_when_hidden(console: Console) -> None:
    page = await console.open()
    streams = console.api.app.context.tail
    await expect(page.locator("#live")).to_have_attribute("data-state", "open")
    assert streams.listening == 1
    await console.api.create_task(name="first of all", when="every 10m")
    await expect(page.get_by_role("link", name="first of all")).to_be_visible()
    await page.keyboard.press(".")
    await expect(page.locator("#live")).to_have_attribute("aria-pressed", "true")
    await _until(lambda: streams.listening == 0)
    await console.api.create_task(name="made while paused", when="every 10m")
    await page.locator("#live").click()
    await expect(page.get_by_role("link", name="made while paused")).to_be_visible()
    assert streams.listening == 1
    await page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await _until(lambda: streams.listening == 0)


async def test_several_parts_of_a_page_come_in_one_answer(console: Console) -> None:
    task = await console.api.create_task(name="parts", when="every 10m")
    page = await console.open(f"/tasks/{task['id']}")
    await expect(page.locator("#live")).to_have_attribute("data-state", "open")
    ask = "async (url) => (await fetch(url)).text()"
    both = await page.evaluate(ask, f"{console.url}/tasks/{task['id']}?part=head,runs")
    assert 'id="head"' in both
    assert 'id="runs"' in both
    assert "<html" not in both
    unknown = await page.evaluate(ask, f"{console.url}/tasks/{task['id']}?part=head,nothing")
    assert "<html" in unknown, "a part that is not there gives the page"
    async with page.expect_response(lambda answer: "part=" in answer.url) as refreshed:
        await console.service.tasks.pause(LOCAL, task["id"], note="for a test")
    assert "part=head%2Cchain%2Ccharts%2Cruns" in (await refreshed.value).url
    await expect(page.locator("#head")).to_contain_text("for a test")


async def test_new_rows_wait_while_the_list_has_the_focus_or_the_pointer(console: Console) -> None:
    await console.api.create_task(name="row 0", when="every 10m")
    page = await console.open()
    await expect(page.locator("#live")).to_have_attribute("data-state", "open")
    await page.keyboard.press("j")
    await expect(page.get_by_role("link", name="row 0")).to_be_focused()
    await console.api.create_task(name="row 1", when="every 10m")
    await expect(page.locator("#new-rows")).to_have_text("1 new")
    assert await page.get_by_role("link", name="row 1").count() == 0
    await expect(page.get_by_role("link", name="row 0")).to_be_focused()
    assert await violations_of(page) == []
    await page.evaluate("document.activeElement.blur()")
    await expect(page.get_by_role("link", name="row 1")).to_be_visible()
    await expect(page.locator("#new-rows")).to_be_hidden()
    await page.get_by_role("link", name="row 1").hover()
    await console.api.create_task(name="row 2", when="every 10m")
    await expect(page.locator("#new-rows")).to_have_text("1 new")
    # The pointer leaves the list on its way to the button, which is enough.
    await page.mouse.move(5, 5)
    await expect(page.get_by_role("link", name="row 2")).to_be_visible()


async def test_ended_session_leads_to_the_sign_in_page(console: Console) -> None:
    page = await console.open("/?tz=Asia/Tokyo")
    await expect(page.locator("#live")).to_have_attribute("data-state", "open")
    for session in (await console.service.sessions.page(LOCAL)).items:
        await console.service.sessions.revoke(LOCAL, session.id)
    await page.wait_for_url(re.compile(r"/sign-in\?next="))
    assert "tz%3DAsia" in page.url
    # The stream of a session that has ended may be refused before the page is left.
    console.problems.clear()


async def test_countdowns_follow_the_server_and_a_wrong_clock_is_noted(console: Console) -> None:
    await console.api.create_task(name="soon", when="in 90m")
    context = await console.open_context()
    await context.add_init_script("{ const now = Date.now; Date.now = () => now() + 43000; }")
    page = await context.new_page()
    await page.goto(console.url + "/")
    await expect(page.locator("#clock-note")).to_have_text(re.compile(r"Your clock is 4\d s off\."))
    await expect(page.locator("time[data-ticks]").first).to_have_text(re.compile(r"in 1 h (29|30) m"))


async def test_keys_palette_and_help(console: Console) -> None:
    task = await console.api.create_task(name="天气 <b>report</b>", when="every 10m")
    page = await console.open()
    await page.keyboard.press("?")
    await expect(page.locator("#help")).to_be_visible()
    assert await violations_of(page) == []
    await page.keyboard.press("Escape")
    await expect(page.locator("#help")).to_be_hidden()
    before = await page.locator("html").get_attribute("data-theme")
    async with page.expect_response("**/preferences") as answer:
        await page.keyboard.press("d")
    assert (await answer.value).status == 303
    assert (before, await page.locator("html").get_attribute("data-theme")) == ("light", "dark")
    await page.reload()
    assert await page.locator("html").get_attribute("data-theme") == "dark"
    await page.keyboard.press("z")
    await expect(page.locator("#preferences input[name=tz]")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator("#preferences")).to_be_hidden()
    await page.keyboard.press("Control+k")
    await expect(page.locator("#palette-input")).to_be_focused()
    await page.locator("#palette-input").fill("天气")
    await expect(page.locator("#palette-list [role=option]")).to_have_text(["天气 <b>report</b> task"])
    assert await violations_of(page) == []
    await _answer(page, "/tasks/")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{console.url}/tasks/{task['id']}")


async def test_palette_runs_actions_and_pages_and_keys_can_be_switched_off(console: Console) -> None:
    page = await console.open()
    await page.keyboard.press("Control+k")
    await page.locator("#palette-input").fill("live updates")
    await page.keyboard.press("Enter")
    await expect(page.locator("#live")).to_have_attribute("data-state", "paused")
    await page.locator("details.menu summary").click()
    await page.locator("#preferences select[name=keys]").select_option("off")
    await page.locator("#preferences button").click()
    await expect(page.locator("body")).to_have_attribute("data-keys", "off")
    await page.keyboard.press("?")
    await page.keyboard.press(".")
    await expect(page.locator("#help")).to_be_hidden()
    await expect(page.locator("#live")).to_have_attribute("data-state", "paused")
    await page.keyboard.press("Control+k")
    await expect(page.locator("#palette")).to_be_visible()
    options = page.locator("#palette-list [role=option]")
    await page.locator("#palette-input").fill("Sett")
    await expect(options).to_have_count(1)
    await _answer(page, "/settings")
    await options.first.click()
    await page.wait_for_url(f"{console.url}/settings")


async def test_palette_finds_only_tasks_that_the_viewer_may_see(console: Console) -> None:
    await console.api.create_task("bob", name="secret of bob", when="every 10m")
    await console.api.create_task("ada", name="secret of ada", when="every 10m")
    page = await console.open()
    found = await page.evaluate("async (url) => (await fetch(url)).json()", f"{console.url}/palette?q=secret")
    assert [each["name"] for each in found["tasks"]] == ["secret of ada"]
    for text in ("", "%00", "x" * 500):
        found = await page.evaluate("async (url) => (await fetch(url)).json()", f"{console.url}/palette?q={text}")
        assert found == {"tasks": []}


async def test_copy_button_copies_and_a_form_is_sent_once(console: Console) -> None:
    context = await console.open_context(permissions=["clipboard-read", "clipboard-write"])
    page = await context.new_page()
    await page.goto(console.url + "/")
    await page.evaluate(
        """() => { const button = document.createElement("button"); button.dataset.copy = "horae up"; button.id = "c";
        button.textContent = "Copy"; document.querySelector("main").append(button); }"""
    )
    await page.locator("#c").click()
    await expect(page.locator("#c")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "horae up"
    await expect(page.locator("#status")).to_have_text("Copied")
    sent = await page.evaluate(
        """() => { let sent = 0; const form = document.createElement("form"); form.method = "post"; form.target = "_blank";
        document.body.append(form); document.addEventListener("submit", (event) => { if (!event.defaultPrevented) sent += 1; event.preventDefault(); });
        form.requestSubmit(); form.requestSubmit(); return sent; }"""
    )
    assert sent == 1


async def _answer(page: Page, path: str) -> None:
    """Answer requests of a page that has tests of its own."""
    await page.route(
        re.compile(re.escape(path)), lambda route: route.fulfill(body="<title>there</title>", content_type="text/html")
    )


async def _until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await SystemClock().pause(0.02)
