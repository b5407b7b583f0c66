"""Other schedulers' files, read into wishes: crontabs, NanoClaw databases, OpenClaw job files. Nothing is written."""

from __future__ import annotations

from . import crontab, nanoclaw, openclaw
from .import_result import Found, Group, Harvest, Past, Unclear

__all__ = ["Found", "Group", "Harvest", "Past", "Unclear", "crontab", "nanoclaw", "openclaw"]
