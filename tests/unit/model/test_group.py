"""Group as a value: folder, chat, limits and its record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.agents.agent_task import owner_of_prompt
from horae.model.agents.group import (
    AgentLimits,
    Group,
    GroupMount,
    chat_record,
    check_group,
    folder_of_owner,
    group_from,
    group_record,
    is_folder,
)
from horae.model.task import Target

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_group(**fields: Any) -> Group:
    return Group("family", "telegram:-100", "Family", NOW)._replace(**fields)


@pytest.mark.parametrize("name", ["family", "a", "A-1_b", "x" * 64])
def test_folders(name: str) -> None:
    assert is_folder(name)


@pytest.mark.parametrize("name", ["", "-a", "_a", "a b", "a/b", "..", "家", "x" * 65, "global", "Global", None])
def test_refused_folders(name: object) -> None:
    assert not is_folder(name)


def test_record_keeps_every_field() -> None:
    group = a_group(
        zone="Asia/Shanghai",
        node="north",
        is_main=True,
        requires_trigger=False,
        limits=AgentLimits(timedelta(minutes=5), timedelta(seconds=90), 256, 64, 0.5, timedelta(hours=1)),
        mounts=(GroupMount("/srv/photos", "photos", is_writable=True),),
        is_stopped=True,
        version=3,
    )
    assert group_from(group_record(group)) == group


def test_a_record_of_an_earlier_version_has_the_usual_longest_time_of_a_run() -> None:
    record = group_record(a_group(limits=AgentLimits(max_run=timedelta(hours=1))))
    earlier = record._replace(body=record.body.replace(',"max_run":3600.0', ""))
    assert earlier != record
    assert group_from(earlier).limits.max_run == timedelta(hours=4)


def test_derived_names() -> None:
    group = a_group()
    assert (group.owner, group.channel, group.stream) == ("group:family", "telegram", "chat:telegram:-100")
    assert folder_of_owner(group.owner) == "family"
    assert [a_group(trigger=each).assistant_name for each in ("@Andy", "＠小安", "@")] == ["Andy", "小安", "@"]
    assert folder_of_owner("family") is None
    assert folder_of_owner("group:..") is None


def test_main_group_needs_no_trigger() -> None:
    assert a_group().needs_trigger
    assert not a_group(is_main=True).needs_trigger
    assert not a_group(requires_trigger=False).needs_trigger


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"chat": "family"}, "bad_chat_address"),
        ({"chat": "telegram:"}, "bad_chat_address"),
        ({"chat": "telegram:a b"}, "bad_chat_address"),
        ({"chat": "web:a/b"}, "bad_chat_address"),
        ({"chat": "x:" + "1" * 150}, "bad_chat_address"),
        ({"chat": None}, "bad_chat_address"),
        ({"chat": "web:a\u200bb"}, "bad_chat_address"),
        ({"name": ""}, "bad_text"),
        ({"trigger": " "}, "bad_text"),
        ({"is_main": 1}, "bad_choice"),
        ({"zone": "Mars/Base"}, "unknown_zone"),
        ({"node": ""}, "bad_text"),
        ({"node": "my desk"}, "bad_node_name"),
        ({"limits": AgentLimits(timeout=timedelta(0))}, "bad_duration"),
        ({"limits": AgentLimits(idle=timedelta(days=2))}, "bad_duration"),
        ({"limits": AgentLimits(max_run=timedelta(days=8))}, "bad_duration"),
        ({"limits": AgentLimits(memory_megabytes=1)}, "bad_number"),
        ({"limits": AgentLimits(processes=1)}, "bad_number"),
        ({"limits": AgentLimits(processors=0.0)}, "bad_number"),
        ({"limits": AgentLimits(processors=True)}, "bad_number"),
        ({"limits": AgentLimits(processors="1")}, "bad_number"),  # type: ignore[arg-type]
        ({"mounts": (GroupMount("/a", "a"),) * 17}, "bad_number"),
        ({"mounts": (GroupMount("a", "a"),)}, "bad_mount"),
        ({"mounts": (GroupMount("/a/../b", "b"),)}, "bad_mount"),
        ({"mounts": (GroupMount("/a", "a/b"),)}, "bad_mount"),
        ({"mounts": (GroupMount("/a", ".."),)}, "bad_mount"),
        ({"mounts": (GroupMount("", "a"),)}, "bad_text"),
        ({"mounts": (GroupMount("/a", "a", is_writable=1),)}, "bad_choice"),  # type: ignore[arg-type]
        ({"mounts": (GroupMount("/a", "a"), GroupMount("/b", "a"))}, "mount_name_twice"),
    ],
)
def test_refused_fields(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_group(a_group(**fields))
    assert refused.value.code == code


def test_complete_group_is_accepted() -> None:
    check_group(a_group(zone="Europe/Berlin", node="north", mounts=(GroupMount("/a", "a"),)))


def test_chat_is_reserved_for_its_group() -> None:
    record = chat_record(a_group())
    assert (record.key, record.owner, record.body) == ("telegram:-100", "group:family", '"family"')


def test_owner_of_a_prompt_is_its_group() -> None:
    assert owner_of_prompt(Target("agent", '{"group":"family"}')) == "group:family"
    assert owner_of_prompt(Target("agent", '{"group":"../x"}')) is None
    assert owner_of_prompt(Target("agent", "[]")) is None
    assert owner_of_prompt(Target("event", '{"group":"family"}')) is None
