"""The libraries that the kit has adapters for, and how each adapter is started."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """An adapter in this repository, and where its library comes from."""

    name: str
    registry: str
    file: str

    @property
    def command(self) -> list[str]:
        program = "node" if self.registry == "npm" else sys.executable
        return [program, f"conformance/adapters/{self.file}"]


KNOWN = (
    Known("horae", "this repository", "horae_adapter.py"),
    Known("croniter", "PyPI", "croniter_adapter.py"),
    Known("cronsim", "PyPI", "cronsim_adapter.py"),
    Known("APScheduler", "PyPI", "apscheduler_adapter.py"),
    Known("celery", "PyPI", "celery_adapter.py"),
    Known("crontab", "PyPI", "crontab_adapter.py"),
    Known("cron-converter", "PyPI", "cron_converter_adapter.py"),
    Known("cronexpr", "PyPI", "cronexpr_adapter.py"),
    Known("cron-parser", "npm", "cron_parser_adapter.cjs"),
    Known("croner", "npm", "croner_adapter.cjs"),
    Known("cronosjs", "npm", "cronosjs_adapter.cjs"),
    Known("cron", "npm", "cron_adapter.cjs"),
    Known("cron-schedule", "npm", "cron_schedule_adapter.cjs"),
)
