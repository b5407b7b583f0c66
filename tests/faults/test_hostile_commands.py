"""Hostile commands (endless, daemons, floods, memory, kills): the command target ends all of their processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from tests.faults.hostile_harness import GROWTH_MEGABYTES, Case, HostileHarness, Window, find_differences, harness
from tests.faults.scenario import Measure

MEMORY_LIMIT: Final = 256 * 1024**2

STAYS: Final = "while True: pass"
DEAF: Final = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{STAYS}"
DAEMON: Final = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)
    os._exit(0)
os.wait()
print("it is on its own now")
"""
CROWD: Final = f"""
import os, signal
for _ in range(5):
    if os.fork() == 0:
        os.setpgid(0, 0)
        break
{DEAF}
"""
FLOOD: Final = "import sys\nfor _ in range(10_000): sys.stdout.write('x' * 9_999 + '\\n')"
ONE_LINE: Final = "import sys\nfor _ in range(10_000): sys.stderr.write('x' * 10_000)"
GREEDY: Final = "held = []\nwhile True: held.append(bytearray(16_000_000))"
KILLS_ABOVE: Final = f"import os, signal; os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)\n{STAYS}"
KILLS_OWN: Final = "import os, signal; os.killpg(0, signal.SIGKILL)"
LITTER: Final = "import os\nfor number in range(100): os.makedirs(f'{number}/deep')\nos.chmod('1', 0)\nos.chmod('.', 0)"


def python(name: str, code: str, state: str, reason: str | None, contains: str = "", **spec: Any) -> Case:
    target = {"kind": "command", "argv": [sys.executable, "-I", "-S", "-c", code], **spec}
    return Case(name, target, state, reason, contains, timeout=1.0 if state == "timed_out" else 30.0)


CASES: Final = (
    python("stays", STAYS, "timed_out", "deadline"),
    python("ignores the signal", DEAF, "timed_out", "deadline"),
    python("stays with a crowd in other groups", CROWD, "timed_out", "deadline"),
    python("has a daemon", DAEMON, "succeeded", None, "on its own"),
    python("prints 100 MB", FLOOD, "succeeded", None, "xxx"),
    python("prints one line of 100 MB", ONE_LINE, "succeeded", None),
    python("eats memory", GREEDY, "failed", "target_failed", "MemoryError", limits={"memory": MEMORY_LIMIT}),
    python("eats processor time", STAYS, "failed", "target_failed", "processor time", limits={"cpu": 1}),
    python("kills its own group", KILLS_OWN, "failed", "target_failed", "SIGKILL"),
    python("kills its parent's group", KILLS_ABOVE, "failed", "target_failed", "launcher process was killed"),
    python("leaves litter", LITTER, "succeeded", None),
)


class Results(NamedTuple):
    harness: HostileHarness
    window: Window


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    with harness(tmp_path_factory.mktemp("commands")) as made:
        yield Results(made, made.run_cases(CASES))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_ends_in_expected_state(results: Results, case: Case) -> None:
    assert find_differences(case, results.harness.ends()[case.name]) == []


def test_neighbour_tasks_run_once_and_on_time(results: Results, measured: Measure) -> None:
    measured("hostile commands, neighbours' worst lateness", results.harness.latest_start(results.window))
    assert results.harness.find_disturbances(results.window) == []


def test_no_process_or_folder_is_left(results: Results) -> None:
    assert results.harness.find_leftovers() == []


def test_node_memory_stays_bounded_and_node_stops_cleanly(results: Results, measured: Measure) -> None:
    memory_growth = results.harness.memory_growth()
    measured("hostile commands, node grown by MB", memory_growth.resident)
    measured("hostile commands, node grown at most by MB", memory_growth.peak)
    assert memory_growth.peak <= GROWTH_MEGABYTES
    results.harness.node.stop()
