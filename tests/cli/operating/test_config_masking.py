"""`horae config` masks credentials."""

from __future__ import annotations

from typing import Any

import pytest

from horae.cli.commands.operate.config import MASK, mask_value


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("targets.x.signing_key", "k", MASK),
        ("targets.x.KEY", "k", MASK),
        ("targets.x.webhook_secret", "k", MASK),
        ("targets.x.bot_token", ["a", "b"], MASK),
        ("targets.x.password", 5, MASK),
        ("key_file", "/etc/horae/key", "/etc/horae/key"),
        ("targets.x.keyboard", "qwerty", "qwerty"),
        ("targets.x.password", None, None),
        ("targets.x.auth", {"user": "ada", "password": "p", "more": [{"key": "k"}]},
         {"user": "ada", "password": MASK, "more": [{"key": MASK}]}),
        ("targets.event.webhook", "https://hooks.example/services/T0/B0/xyz", "https://hooks.example/…"),
        ("targets.event.webhook", "https://hooks.example", "https://hooks.example"),
        ("targets.event.redis", "redis://:pw@cache:6379/0", "redis://cache:6379/…"),
        ("store", "postgres://ada:pw@db/horae?schema=x", "postgres://***@db/horae?schema=x"),
        ("store", "sqlite:////var/lib/horae.db", "sqlite:////var/lib/horae.db"),
        ("targets.x.places", ["https://a.example/x?sig=1", "plain"], ["https://a.example/…", "plain"]),
        ("targets.x.place", "https://a.example/x", "https://a.example/x"),
        ("targets.x.place", {"deep": "https://u:p@[::1]:8/"}, {"deep": "https://[::1]:8/…"}),
        ("targets.x.place", "https://[broken/x?sig=1", MASK),
    ],
)  # fmt: skip
def test_config_masks_credentials(path: str, value: Any, shown: Any) -> None:
    assert mask_value(path, value) == shown
