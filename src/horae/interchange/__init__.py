"""Importers: parse crontabs, NanoClaw databases and OpenClaw job files into task requests, without writing anything."""

from __future__ import annotations

from . import crontab, nanoclaw, openclaw
from .import_result import AgentGroup, ImportedTask, ImportResult, PastRun, RejectedItem

__all__ = ["AgentGroup", "ImportResult", "ImportedTask", "PastRun", "RejectedItem", "crontab", "nanoclaw", "openclaw"]
