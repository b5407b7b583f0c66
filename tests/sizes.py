"""Sizes of tests that search by chance: small in `make test`, large with SOAK_TESTS=1 (`make soak-tests`)."""

from __future__ import annotations

import os
from typing import Final

SOAK: Final = os.environ.get("SOAK_TESTS", "") not in ("", "0")


def sized(ordinary: int, *, soak: int) -> int:
    """Return `ordinary`, or `soak` in a soak run."""
    return soak if SOAK else ordinary
