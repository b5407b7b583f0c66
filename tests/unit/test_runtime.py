"""The composition root and the settings that it reads: which store, which ring, which way of waking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from horae.errors import UnknownStore
from horae.runtime import NoRing, make_store, make_wakeup, sqlite_path
from horae.settings import precise_wake
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.ring import SocketRing


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///horae.db", "horae.db"),
        ("sqlite:////var/lib/horae.db", "/var/lib/horae.db"),
        ("sqlite:///with%20space.db", "with space.db"),
        ("sqlite:///", None),
        ("sqlite://horae.db", None),
        ("memory://", None),
        ("postgres:///horae", None),
        ("", None),
    ],
)
def test_the_path_in_an_address(url: str, path: str | None) -> None:
    assert sqlite_path(url) == path


def test_each_address_has_its_store(tmp_path: Path) -> None:
    assert isinstance(make_store("memory://"), MemoryStore)
    store = make_store(f"sqlite:///{tmp_path}/horae.db")
    assert isinstance(store, SQLiteStore)
    assert store.path == f"{tmp_path}/horae.db"
    assert not (tmp_path / "horae.db").exists(), "nothing is made before it is opened"


@pytest.mark.parametrize("url", ["", "horae.db", "mongodb://x", "sqlite://", "memory:///"])
def test_an_address_of_nothing_is_refused_with_a_hint(url: str) -> None:
    with pytest.raises(UnknownStore) as refusal:
        make_store(url)
    assert refusal.value.code == "unknown_store"
    assert "sqlite:///" in refusal.value.hint


@pytest.mark.skipif(os.name != "posix", reason="there is no ring there")
def test_who_shares_a_file_rings_unless_polling_was_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    assert isinstance(make_wakeup(url, precise=True), SocketRing)
    assert isinstance(make_wakeup(url, precise=False), NoRing)
    assert isinstance(make_wakeup("memory://", precise=True), NoRing)


@pytest.mark.skipif(os.name != "posix", reason="there is no ring there")
def test_two_ways_to_one_file_lead_to_one_ring(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path)
    one = make_wakeup(f"sqlite:///{tmp_path}/horae.db", precise=True)
    other = make_wakeup(f"sqlite:///{tmp_path}/alias/horae.db", precise=True)
    assert isinstance(one, SocketRing)
    assert isinstance(other, SocketRing)
    assert one._folder == other._folder


def test_a_ring_that_is_none_does_nothing() -> None:
    ring = NoRing()
    ring.listen(lambda: None)
    ring.ring()
    ring.close()


@pytest.mark.parametrize(
    ("environment", "precise"),
    [
        ({}, True),
        ({"HORAE_WAKE": "precise"}, True),
        ({"HORAE_WAKE": "poll"}, False),
        ({"HORAE_WAKE": " POLL "}, False),
        ({"HORAE_WAKE": ""}, True),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "false"}, False),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "0"}, False),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "true"}, True),
        ({"HORAE_WAKE": "precise", "USE_PRIORITY_QUEUE_SCHEDULER": "false"}, True),
        ({"HORAE_WAKE": "poll", "USE_PRIORITY_QUEUE_SCHEDULER": "true"}, False),
    ],
)
def test_the_way_of_waking_is_chosen_by_either_name(environment: dict[str, str], precise: bool) -> None:  # noqa: FBT001 - the answer
    assert precise_wake(environment) is precise
