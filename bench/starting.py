"""Start-up time of Horae in a fresh interpreter, and the modules that it loads."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.counts import Counts
from bench.measure import Timing
from bench.results import Bar, Section, counted, timed

UNWANTED: Final = (
    "click", "rich", "asyncio", "sqlite3", "apsw", "aiohttp", "fastapi", "pydantic",
    "cronsim", "croniter", "dateutil",
)  # fmt: skip
_FIRST_USE: Final = "import horae; horae.preview('0 9 * * 1-5', zone='America/New_York', limit=1)"
_LIST_MODULES: Final = f"{_FIRST_USE}; import json, sys; print(json.dumps([*sys.modules]))"
_COMMANDS: Final = {
    "bare interpreter": ("-c", "pass"),
    "import horae": ("-c", "import horae"),
    "import horae, first preview": ("-c", _FIRST_USE),
    "horae --help": ("-m", "horae", "--help"),
}
_BARS: Final = {"import horae": Bar("under", 60), "horae --help": Bar("under", 300)}


def starting(counts: Counts) -> list[Section]:
    with tempfile.TemporaryDirectory() as folder:
        environment = interpreter_environment(Path(folder))
        elapsed, busy = _take_turns(environment, counts.processes)
        loaded = _loaded_modules(environment)
    rows = [timed(name, timing, "ms", _BARS.get(name)) for name, timing in elapsed.items()]
    rows += [timed(f"{name}, processor time", timing, "ms") for name, timing in busy.items()]
    unwanted = sorted(set(UNWANTED) & loaded)
    rows.append(counted("unwanted modules after the first preview", len(unwanted), bar=Bar("at most", 0)))
    return [Section("Start of a fresh interpreter, whole process", tuple(rows), tuple(_notes(unwanted, loaded)))]


def interpreter_environment(folder: Path) -> Mapping[str, str]:
    """With compiled modules, as an installed package has them, whether or not this environment lets Python keep any."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


def _take_turns(environment: Mapping[str, str], processes: int) -> tuple[dict[str, Timing], dict[str, Timing]]:
    """Elapsed time, which a user waits for, and CPU time, which a busy machine disturbs less."""
    elapsed: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    busy: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for arguments in _COMMANDS.values():
        _run(arguments, environment)
    for _ in range(processes):
        for name, arguments in _COMMANDS.items():
            started, busy_before = perf_counter(), _busy()
            _run(arguments, environment)
            elapsed[name].append(perf_counter() - started)
            busy[name].append(_busy() - busy_before)
    return _timings(elapsed), _timings(busy)


def _timings(seen: Mapping[str, Sequence[float]]) -> dict[str, Timing]:
    return {name: Timing(tuple(seconds)) for name, seconds in seen.items()}


def _busy() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    return subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True
    ).stdout


def _loaded_modules(environment: Mapping[str, str]) -> set[str]:
    return set(json.loads(_run(("-c", _LIST_MODULES), environment)))


def _notes(unwanted: Sequence[str], loaded: set[str]) -> list[str]:
    own = sum(name.split(".")[0] == "horae" for name in loaded)
    zoneinfo = "zoneinfo too" if "zoneinfo" in loaded else "not zoneinfo"
    looked_for = f"Looked for: {', '.join(UNWANTED)}; found: {', '.join(unwanted) or 'none'}."
    return [looked_for, f"After it {len(loaded)} modules are loaded, {own} of them Horae's own, {zoneinfo}."]
