"""Fixtures of request tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agents.requests.request_harness import RequestHarness, open_requests


@pytest.fixture
async def requests(tmp_path: Path) -> AsyncIterator[RequestHarness]:
    async with open_requests(tmp_path) as harness:
        yield harness
