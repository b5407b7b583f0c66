"""Description of the machine of a run."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib.metadata import version

import apsw

from horae import __version__
from horae.schedule import TZDATA_VERSION


def machine() -> dict[str, str]:
    return {
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "horae": __version__,
        "tzdata": TZDATA_VERSION,
        "cronsim": version("cronsim"),
        "croniter": version("croniter"),
        "apscheduler": version("apscheduler"),
        "huey": version("huey"),
        "SQLite": f"{apsw.sqlite_lib_version()}, the peers' {sqlite3.sqlite_version}",
    }


def load() -> float:
    """How many programs wanted a processor in the last minute; a quiet machine is well below its cores."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
