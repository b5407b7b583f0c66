"""Example request bodies of the OpenAPI document; each is valid as it is."""

from __future__ import annotations

from typing import Any, Final

NEW_TASK: Final[dict[str, Any]] = {
    "name": "morning report",
    "when": "every weekday at 9am",
    "zone": "Asia/Shanghai",
    "say": "good morning",
    "policies": {"missed": "latest within 1h", "retries": 3, "timeout": "2m"},
    "labels": {"team": "ops"},
}
EDIT: Final[dict[str, Any]] = {"when": "every weekday at 8:30am", "zone": "Asia/Shanghai"}
PAUSE: Final[dict[str, Any]] = {"note": "on holiday", "until": "2099-01-07"}
RESUME: Final[dict[str, Any]] = {"missed": "latest"}
SKIP: Final[dict[str, Any]] = {"number": 1}
BACKFILL: Final[dict[str, Any]] = {"from": "2026-11-01", "to": "2026-11-02"}
APPROVE: Final[dict[str, Any]] = {"digest": "0" * 64}
BULK: Final[dict[str, Any]] = {"tasks": [NEW_TASK, {"name": "tick", "when": "every 10m", "say": "tick"}]}
ACTIONS: Final[dict[str, Any]] = {"action": "pause", "filter": {"label": ["team=ops"]}, "arguments": {"note": "moving"}}
PREVIEW: Final[dict[str, Any]] = {"when": "last day of month at 17:00", "zone": "Europe/Berlin", "number": 3}
LANE: Final[dict[str, Any]] = {"limit": 4}
OWNER: Final[dict[str, Any]] = {"role": "member", "zone": "Asia/Shanghai", "quotas": {"active_tasks": 100}}
TOKEN: Final[dict[str, Any]] = {
    "name": "deploy",
    "scopes": ["tasks:read", "tasks:write"],
    "expires": "2099-01-01T00:00:00Z",
}
AGENT: Final[dict[str, Any]] = {"quotas": {"active_tasks": 50, "shortest_interval": "PT1M", "longest_life": None}}
SECRET: Final[dict[str, Any]] = {"value": "s3cret"}
CALLBACK: Final[dict[str, Any]] = {"result": {"rows": 42}}
DRAIN: Final[dict[str, Any]] = {"draining": True}
