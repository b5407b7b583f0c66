"""Settings of stations: defaults, checks, and encryption that is off on loopback only."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.stations.settings import StationSettings, is_loopback, read_settings


def test_defaults_are_off_encrypted_and_on_loopback() -> None:
    settings = read_settings({})
    assert settings == StationSettings()
    assert not settings.enabled
    assert not settings.plain
    assert is_loopback(settings.listen)


@pytest.mark.parametrize(
    "given",
    [
        {"listen": "http://127.0.0.1"},
        {"listen": "tcp://127.0.0.1:99999"},
        {"listen": ""},
        {"listen": 1},
        {"plain": "perhaps"},
        {"heartbeat": 0},
        {"heartbeat": True},
        {"heartbeat": "x"},
        {"heartbeat": 5, "liveness": 6},
        {"unknown": 1},
    ],
)
def test_wrong_settings_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        read_settings(given)
    assert refused.value.code == "station_setting"


@pytest.mark.parametrize("address", ["tcp://0.0.0.0:1", "tcp://*:1", "tcp://[::]:1", "tcp://10.0.0.1:1", "tcp://a.b:1"])
def test_plain_is_refused_beyond_loopback(address: str) -> None:
    assert read_settings({"listen": address}).listen == address
    for name in ("listen", "publish"):
        with pytest.raises(Refusal) as refused:
            read_settings({"plain": "on", name: address})
        assert refused.value.code == "station_plain"


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:*", "tcp://[::1]:1"])
def test_plain_is_allowed_on_loopback(address: str) -> None:
    assert read_settings({"plain": True, "listen": address}).plain
