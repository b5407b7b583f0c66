"""Settings of hosts by runtime, for parameters of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.servers.programs import program


def runtime_settings(runtime: str, request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Settings of a host with this runtime; a missing one is an error."""
    if runtime == "podman":
        found: Mapping[str, Any] = request.getfixturevalue("podman_settings")
        return found
    if runtime == "bubblewrap":
        program("bwrap", package="bubblewrap")
    return {"runtime": runtime}
