"""Commands that stay, hide, flood, grow and kill: what watches over them ends all of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from tests.faults.hostile_scene import GROWTH_MEGABYTES, Case, Stage, Window, differs, stage
from tests.faults.scene import Measure

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


def python(name: str, code: str, state: str, reason: str | None, says: str = "", **spec: Any) -> Case:
    target = {"kind": "command", "argv": [sys.executable, "-I", "-S", "-c", code], **spec}
    return Case(name, target, state, reason, says, timeout=1.0 if state == "timed_out" else 30.0)


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


class Played(NamedTuple):
    stage: Stage
    window: Window


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with stage(tmp_path_factory.mktemp("commands")) as made:
        yield Played(made, made.play(CASES))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_ends_as_it_should(played: Played, case: Case) -> None:
    assert differs(case, played.stage.ends()[case.name]) == []


def test_neighbours_run_on_time_each_once(played: Played, measured: Measure) -> None:
    measured("hostile commands, neighbours' worst lateness", played.stage.latest_start(played.window))
    assert played.stage.disturbed(played.window) == []


def test_neither_process_nor_folder_is_left(played: Played) -> None:
    assert played.stage.left_behind() == []


def test_the_node_never_holds_what_they_print_and_ends_in_good_order(played: Played, measured: Measure) -> None:
    grown = played.stage.grown()
    measured("hostile commands, node grown by MB", grown.resident)
    measured("hostile commands, node grown at most by MB", grown.peak)
    assert grown.peak <= GROWTH_MEGABYTES
    played.stage.node.end()
