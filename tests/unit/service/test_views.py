"""Saved views: stored per owner and list, bounded, and replaced by name."""

from __future__ import annotations

import pytest

from horae.model.accounts.principal import SCOPES_OF, Principal, Role
from horae.service.accounts.views import MAX_VIEWS
from tests.unit.service.service_harness import ADA, BOB, ROOT, ServiceHarness, open_harness, refusal_of

ROBOT = Principal("ada", agent="robot")


async def test_views_are_listed_by_name_and_replaced() -> None:
    async with open_harness() as harness:
        views = harness.service.views
        for name in ("zebra", "失败的", "alpha"):
            await views.save(ADA, "tasks", name, "state:failed")
        await views.save(ADA, "runs", "alpha", "state:lost")
        await views.save(ADA, "tasks", "alpha", "state:paused")
        found = await views.all(ADA, "tasks")
        assert [(view.name, view.query) for view in found] == [
            ("alpha", "state:paused"),
            ("zebra", "state:failed"),
            ("失败的", "state:failed"),
        ]
        await views.remove(ADA, "tasks", "alpha")
        assert [view.name for view in await views.all(ADA, "tasks")] == ["zebra", "失败的"]
        assert [view.query for view in await views.all(ADA, "runs")] == ["state:lost"]
        assert [(view.name, view.list_name) for view in await views.all(ADA)] == [
            ("alpha", "runs"),
            ("zebra", "tasks"),
            ("失败的", "tasks"),
        ]
        assert (await views.get(ADA, "runs", " alpha ")).query == "state:lost"
        assert (await refusal_of(views.get(ADA, "tasks", "alpha"))).code == "no_such_view"
        assert (await refusal_of(views.all(ADA, "lanes"))).code == "bad_choice"
        assert (await refusal_of(views.remove(ADA, "tasks", "alpha"))).code == "no_such_view"


async def test_views_of_another_owner_are_absent() -> None:
    async with open_harness() as harness:
        views = harness.service.views
        await views.save(ADA, "tasks", "mine", "state:failed")
        for who in (BOB, ROOT):
            assert await views.all(who, "tasks") == ()
            assert (await refusal_of(views.remove(who, "tasks", "mine"))).code == "no_such_view"
        await views.save(BOB, "tasks", "mine", "")
        assert [view.query for view in await views.all(ADA, "tasks")] == ["state:failed"]


async def test_agents_have_no_views_and_viewers_have() -> None:
    async with open_harness() as harness:
        views = harness.service.views
        for call in (views.all(ROBOT, "tasks"), views.save(ROBOT, "tasks", "x", ""), views.remove(ROBOT, "tasks", "x")):
            assert (await refusal_of(call)).code == "not_for_agents"
        viewer = Principal("vic", scopes=SCOPES_OF[Role.VIEWER])
        await views.save(viewer, "tasks", "x", "")
        assert len(await views.all(viewer, "tasks")) == 1


async def test_number_of_views_is_bounded() -> None:
    async with open_harness() as harness:
        views = harness.service.views
        for number in range(MAX_VIEWS):
            await views.save(ADA, "tasks", f"view {number}", "")
        assert (await refusal_of(views.save(ADA, "tasks", "one more", ""))).code == "too_many_views"
        await views.save(ADA, "tasks", "view 1", "state:failed")


@pytest.mark.parametrize(
    ("name", "query", "list_name", "code"),
    [
        ("", "", "tasks", "bad_text"),
        ("x" * 61, "", "tasks", "bad_text"),
        ("x\ny", "", "tasks", "bad_text"),
        ("x", "y" * 1_001, "tasks", "bad_text"),
        ("x", 'state:"failed', "tasks", "query_unreadable"),
        ("x", "", "lanes", "bad_choice"),
    ],
)
async def test_bad_views_are_refused(name: str, query: str, list_name: str, code: str) -> None:
    views = ServiceHarness().service.views
    assert (await refusal_of(views.save(ADA, list_name, name, query))).code == code
