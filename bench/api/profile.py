"""`python -m bench.api.profile [KIND] [CONNECTIONS] [SECONDS]`: CPU profile of the API process by function, and by the parts of a
request.

Times are processor time of the event loop's thread, so that other load on the machine does not count. The profiler makes
many short calls look more expensive than they are: the shares say where to look, not what a part costs.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Final

from bench.api.deployment import Deployment
from bench.api.load import KINDS, prepare, press
from bench.api.parts import divide_by_part
from bench.events.server import serve
from horae.node.event_loop import run_fast

_HOME: Final = Path(__file__).resolve().parents[2]
_LINES: Final = 45
_SERVE: Final = "serve"
_KNOWN: Final = 500


def profile(kind: str, connections: int, seconds: int) -> None:
    """The API alone, without an engine beside it; what its writing thread does is not seen. The profile begins when the tasks
    to request exist."""
    with TemporaryDirectory() as folder:
        found = Path(folder) / "profile"
        command = [sys.executable, "-m", "bench.api.profile", _SERVE, f"sqlite:///{folder}/horae.db", str(found)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_HOME) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            there = json.loads(process.stdout.readline())
            deployment = Deployment(Path(folder), there["base"], there["token"], process.pid)
            prepare(deployment, deployment.member("ada", requests_per_minute=None), _KNOWN)
            os.kill(process.pid, signal.SIGUSR1)
            print(press(deployment, kind, connections, seconds, 1))
            process.stdin.close()
            process.wait()
        stats = pstats.Stats(str(found))
        stats.sort_stats("tottime").print_stats(_LINES)
        parts = divide_by_part(stats)
        for part, spent in parts.items():
            print(f"| {part} | {100 * spent / sum(parts.values()):.0f} % |")


def serve_profiled(url: str, found: str) -> None:
    profiler = cProfile.Profile(thread_time)
    signal.signal(signal.SIGUSR1, lambda *_: profiler.enable())
    try:
        run_fast(serve(url))
    finally:
        profiler.disable()
        profiler.dump_stats(found)


if __name__ == "__main__":
    said = sys.argv[1:]
    if said[:1] == [_SERVE]:
        serve_profiled(*said[1:])
    else:
        usual = [KINDS[0], "32", "5"]
        chosen = [*said, *usual[len(said) :]]
        profile(chosen[0], int(chosen[1]), int(chosen[2]))
