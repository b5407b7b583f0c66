"""The few tests that failed beside others, once more and alone: `python -m tests.second_look`, after a run of all of them.

Thousands of tests with real processes, servers and kill -9 share two processors here. What fails only in that crowd says
something about the machine; what fails alone too says something about the code. More than a few are never looked at again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

FEW: Final = 5
FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    try:
        failed = sorted(json.loads(FAILED.read_text()))
    except (OSError, ValueError):
        print("== no second look: it is not known what failed", flush=True)  # noqa: T201
        return 1
    if not 0 < len(failed) <= FEW:
        print(f"== no second look: {len(failed)} failed, and {FEW} are the most that chance explains", flush=True)  # noqa: T201
        return 1
    print("== a second look, alone, at what failed beside others:", *failed, sep="\n   ", flush=True)  # noqa: T201
    return int(pytest.main(["-p", "no:xdist", "-p", "no:cacheprovider", *failed]))


if __name__ == "__main__":
    sys.exit(main())
