"""Time slice of the worker process: shorter where the kernel allows it, with the nice value and policy that it was given."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

_READ = """
import ctypes, os, struct, sys
from horae.node.worker import request_short_slice
os.nice(int(sys.argv[1]))
os.sched_setscheduler(0, int(sys.argv[2]), os.sched_param(0))
accepted = request_short_slice()
attributes = ctypes.create_string_buffer(64)
number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
assert ctypes.CDLL(None).syscall(number, 0, attributes, 64, 0) == 0
_, policy, _, nice, _, runtime = struct.unpack_from("=IIQiIQ", attributes.raw)
print(int(accepted), policy, nice, runtime)
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"},
    reason="the kernel of this machine has no slice that a process can choose",
)


def read_attributes(nice: int, policy: int) -> tuple[int, ...]:
    """Return in a process of its own: whether the request was accepted, policy, nice value, slice in nanoseconds."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(nice), str(policy)], capture_output=True, text=True, check=True
    )
    return tuple(map(int, done.stdout.split()))


def test_slice_is_short_and_nice_value_is_kept() -> None:
    accepted, policy, nice, runtime = read_attributes(5, os.SCHED_OTHER)
    assert (accepted, policy, nice) == (1, os.SCHED_OTHER, 5)
    has_slices = tuple(map(int, platform.release().split(".")[:2])) >= (6, 12)
    assert runtime == (200_000 if has_slices else 0)


def test_another_scheduling_policy_is_kept() -> None:
    accepted, policy, nice, _ = read_attributes(0, os.SCHED_BATCH)
    assert (accepted, policy, nice) == (0, os.SCHED_BATCH, 0)
