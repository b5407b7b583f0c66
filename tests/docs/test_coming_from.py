"""Every schedule and policy in the tables of coming-from.md is understood."""

from __future__ import annotations

import re
from typing import Any

import pytest

import horae
from horae.app.declared_function import to_options
from tests.docs.pages import text_of

PAGE = text_of("coming-from.md")
SCHEDULES = re.findall(r'(?:`|horae next |app\.schedule\(f, |later\(|@app\.task\()"([^"`]+)"', PAGE)
POLICIES = re.findall(r'`((?:missed|overlap|guarantee)="[^"…]+")`', PAGE)


def test_the_tables_are_found() -> None:
    assert len(set(SCHEDULES)) > 12
    assert len(set(POLICIES)) > 5


@pytest.mark.parametrize("text", sorted(set(SCHEDULES)))
def test_schedule_is_understood(text: str) -> None:
    assert horae.describe(text, zone="UTC")


@pytest.mark.parametrize("policy", sorted(set(POLICIES)))
def test_policy_is_understood(policy: str) -> None:
    name, _, value = policy.partition("=")
    options: Any = {name: value.strip('"')}
    assert to_options(options)
