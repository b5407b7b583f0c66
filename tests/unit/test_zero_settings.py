"""Settings under the names of Zero: redis_addr, redis_defdb and plan_exec_timeout."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from horae.errors import Refusal
from horae.runtime.process_settings import store_url
from horae.runtime.zero_settings import plan_exec_timeout, redis_url
from horae.settings import read_settings


@pytest.mark.parametrize(
    ("address", "database", "url"),
    [
        ("127.0.0.1:6379", "3", "redis://127.0.0.1:6379/3"),
        ("redis.internal", None, "redis://redis.internal:6379/17"),
        ("tcp://10.0.0.1:7000", "0", "redis://10.0.0.1:7000/0"),
        ("[::1]:6380", "1", "redis://[::1]:6380/1"),
    ],
)
def test_address_of_redis_is_the_store(address: str, database: str | None, url: str, tmp_path: Path) -> None:
    """「redis_addr : Redis地址」; 「redis_defdb : Redis存储DB」."""
    environment = {"HORAE_REDIS_ADDR": address, **({} if database is None else {"HORAE_REDIS_DEFDB": database})}
    assert store_url(read_settings(environment), tmp_path) == url
    assert store_url(read_settings(environment | {"HORAE_STORE": "sqlite:///x.db"}), tmp_path) == "sqlite:///x.db"


def test_names_are_accepted_in_the_file(tmp_path: Path) -> None:
    """「对应配置」: the three names as they are."""
    file = tmp_path / "horae.toml"
    file.write_text('redis_addr = "localhost"\nredis_defdb = "5"\nplan_exec_timeout = "60"\n')
    settings = read_settings({}, (file,))
    assert redis_url(settings) == "redis://localhost:6379/5"
    assert plan_exec_timeout(settings) == timedelta(minutes=1)


@pytest.mark.parametrize(
    ("address", "database"), [("a b", "1"), ("x:99999", "1"), ("x", "-1"), ("x", "２"), ("x", "y")]
)
def test_bad_addresses_are_refused(address: str, database: str) -> None:
    with pytest.raises(Refusal):
        redis_url(read_settings({"HORAE_REDIS_ADDR": address, "HORAE_REDIS_DEFDB": database}))


@pytest.mark.parametrize(("text", "seconds"), [("300", 300), ("5m", 300), ("0.5s", 0.5)])
def test_timeout(text: str, seconds: float) -> None:
    """「plan_exec_timeout : 任务执行超时(秒)」."""
    assert plan_exec_timeout(read_settings({"PLAN_EXEC_TIMEOUT": text})) == timedelta(seconds=seconds)
    assert plan_exec_timeout(read_settings({})) == timedelta(seconds=300)


@pytest.mark.parametrize("text", ["0", "soon", "-5", "99999999999"])
def test_bad_timeouts_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        plan_exec_timeout(read_settings({"HORAE_PLAN_EXEC_TIMEOUT": text}))


def test_without_an_address_there_is_no_redis() -> None:
    assert redis_url(read_settings({"HORAE_REDIS_DEFDB": "3"})) is None
