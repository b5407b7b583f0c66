"""Elapsed time of the real commands, as whole processes, on files of three sizes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Final

COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "horae --help": ("--help",),
    "horae ls": ("ls",),
    "horae overview": ("overview",),
    "horae runs": ("runs",),
}


def start_all(paths: Sequence[str], environment: Mapping[str, str], times: int) -> dict[str, list[list[float]]]:
    """Seconds of each command for each file; files take turns, and the first start of each does not count."""
    seen: dict[str, list[list[float]]] = {name: [[] for _ in paths] for name in COMMANDS}
    for number in range(times + 1):
        for name, arguments in COMMANDS.items():
            for place, path in enumerate(paths):
                seconds = _start(arguments, dict(environment) | {"HORAE_STORE": f"sqlite:///{path}"})
                if number:
                    seen[name][place].append(seconds)
    return seen


def _start(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    started = perf_counter()
    subprocess.run([sys.executable, "-m", "horae", *arguments], env=environment, check=True, capture_output=True)
    return perf_counter() - started
