"""The page about http targets: its examples work and its tables are complete."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from horae.clock import SystemClock
from horae.outgoing.signatures import sign_message
from horae.targets import setting_names
from horae.targets.http import spec
from horae.targets.http.target import HTTP

PAGE = (Path(__file__).parents[4] / "docs" / "targets" / "http.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_of_a_spec_is_accepted() -> None:
    assert HTTP.check(json.loads(block("json")), {}, {})["method"] == "POST"


def test_the_example_of_a_receiver_accepts_what_is_signed_and_nothing_else() -> None:
    scope: dict[str, Any] = {}
    exec(block("python"), scope)  # noqa: S102 - it is our own page
    now = SystemClock().now()
    headers = dict(sign_message(scope["SECRETS"], "occ_1", now, b"{}"))
    assert scope["accept"](headers, b"{}")
    assert not scope["accept"](headers, b"{ }")
    assert not scope["accept"](dict(sign_message(scope["SECRETS"], "occ_1", now - timedelta(hours=1), b"{}")), b"{}")


def test_every_key_and_every_setting_is_in_a_table() -> None:
    for name in (*spec._KEYS, *setting_names.HTTP):
        assert re.search(rf"^\|[^|]*`{name}`", PAGE, re.MULTILINE), name
