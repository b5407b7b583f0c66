"""Requests about groups: for the agent of the main group only, and never the main flag."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from .request_harness import CHATS, FAMILY, MAIN, RequestHarness

SPORT: dict[str, Any] = {
    "type": "register_group",
    "jid": "telegram:-300",
    "name": "Sport",
    "folder": "sport",
    "trigger": "@Coach",
}


async def test_main_group_registers_a_chat(requests: RequestHarness) -> None:
    answer = await requests.accepted(MAIN, **SPORT, requiresTrigger=False, timestamp="now")
    assert answer["message"] == "Group registered"
    group = await requests.service.groups.find("sport")
    assert group is not None
    assert (group.chat, group.name, group.trigger) == ("telegram:-300", "Sport", "@Coach")
    assert not group.is_main
    assert not group.requires_trigger


async def test_repeated_registration_changes_name_and_trigger(requests: RequestHarness) -> None:
    await requests.accepted(MAIN, **SPORT)
    await requests.accepted(MAIN, **{**SPORT, "name": "Football"})
    group = await requests.service.groups.find("sport")
    assert group is not None
    assert group.name == "Football"
    assert await requests.code(MAIN, **{**SPORT, "jid": "telegram:-400"}) == "group_exists"
    assert await requests.code(MAIN, **{**SPORT, "folder": "other"}) == "chat_taken"


async def test_main_flag_stays_as_it_is(requests: RequestHarness) -> None:
    assert await requests.code(MAIN, **SPORT, isMain=True) == "request_main_flag"
    assert await requests.code(MAIN, **SPORT, is_main=True) == "unknown_field"
    await requests.accepted(
        MAIN, type="register_group", jid=CHATS[MAIN], name="Control", folder=MAIN, trigger="@Andy", isMain=False
    )
    group = await requests.service.groups.find(MAIN)
    assert group is not None
    assert group.is_main


async def test_other_agents_register_nothing(requests: RequestHarness) -> None:
    assert await requests.code(FAMILY, **SPORT) == "request_of_main_only"
    assert await requests.code(FAMILY, **SPORT, isMain=True, groupFolder=MAIN) == "request_of_main_only"
    assert await requests.code(FAMILY, type="refresh_groups") == "request_of_main_only"
    assert await requests.service.groups.find("sport") is None


async def test_folders_that_lead_elsewhere_are_refused(requests: RequestHarness) -> None:
    for folder in ("../x", "a/b", "global", "Global", ".", "x" * 65, "-x", "a\0b"):
        assert await requests.code(MAIN, **{**SPORT, "folder": folder}) == "bad_folder"
    for chat in ("nonsense", "tele gram:1", "telegram:" + "x" * 200):
        assert await requests.code(MAIN, **{**SPORT, "jid": chat}) == "bad_chat_address"


async def test_container_config_of_nanoclaw_is_read(requests: RequestHarness) -> None:
    mounts = [{"hostPath": "/srv/photos", "readonly": False}, {"hostPath": "/srv/docs/", "containerPath": "papers"}]
    await requests.accepted(MAIN, **SPORT, containerConfig={"timeout": 60_000, "additionalMounts": mounts})
    group = await requests.service.groups.find("sport")
    assert group is not None
    assert group.limits.timeout == timedelta(minutes=1)
    assert [tuple(each) for each in group.mounts] == [("/srv/photos", "photos", True), ("/srv/docs/", "papers", False)]
    for config, code in (
        ({"timeout": "60"}, "bad_number"),
        ({"additionalMounts": "x"}, "bad_policy"),
        ({"additionalMounts": ["x"]}, "bad_policy"),
        ({"additionalMounts": [{"hostPath": "/x", "readonly": "no"}]}, "bad_choice"),
        ({"privileged": True}, "unknown_field"),
        ("x", "bad_policy"),
    ):
        assert await requests.code(MAIN, **SPORT, containerConfig=config) == code


async def test_refresh_groups_is_answered_with_the_number_of_chats(requests: RequestHarness) -> None:
    assert (await requests.accepted(MAIN, type="refresh_groups"))["groups"] == 3
