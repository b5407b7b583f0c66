"""Importers: parse crontabs, NanoClaw databases and OpenClaw job files into task requests, without writing anything."""

from __future__ import annotations

from . import crontab, nanoclaw, openclaw
from .import_result import Found, Group, Harvest, Past, Unclear

__all__ = ["Found", "Group", "Harvest", "Past", "Unclear", "crontab", "nanoclaw", "openclaw"]
