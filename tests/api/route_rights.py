"""Table of the rights that each route needs; the route tests are generated from it, and a route without a row fails them."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tests.api.api_server import TASK

Subject: TypeAlias = Literal[
    "task", "run", "owner", "token", "session", "secret", "key", "webhook", "delivery", "schedule", "operation"
]
Needs: TypeAlias = Literal["public", "read", "write", "run", "admin", "callback"]


class Row(NamedTuple):
    """`subject`: the kind of resource that the path names, which belongs to one owner. `agents`: whether agents may call
    the route at all. `admin_sees_all`: whether an admin reaches resources of other owners."""

    needs: Needs
    subject: Subject | None = None
    body: Any = None
    agents: bool = True
    admin_sees_all: bool = True
    query: str = ""


_REMINDER: Final = {"title": "tea", "scheduledTime": "2099-03-02T01:00:00Z"}
_EDIT: Final = {"name": "other"}

RIGHTS: Final[dict[str, Row]] = {
    "GET /": Row("public"),
    "GET /healthz": Row("public"),
    "GET /readyz": Row("public"),
    "GET /docs": Row("public"),
    "GET /docs/docs.js": Row("public"),
    "GET /docs/docs.css": Row("public"),
    "GET /llms.txt": Row("public"),
    "GET /openapi.json": Row("public"),
    "GET /metrics": Row("public"),
    "GET /scheduled-tasks/console": Row("public"),
    "GET /api/health/scheduler": Row("public"),
    "GET /v1/whoami": Row("read"),
    "GET /v1/tasks": Row("read"),
    "POST /v1/tasks": Row("write", body={**TASK, "when": "every 1h, 3 times"}),
    "POST /v1/tasks/bulk": Row("write", body={"tasks": [{**TASK, "when": "every 1h, 3 times"}]}),
    "POST /v1/tasks/actions": Row("write", body={"action": "pause", "filter": {"name": "nothing"}}),
    "GET /v1/operations": Row("read"),
    "GET /v1/operations/{operation_id}": Row("read", "operation"),
    "POST /v1/operations/{operation_id}/cancel": Row("write", "operation"),
    "GET /v1/tasks/{task_id}": Row("read", "task"),
    "PUT /v1/tasks/{task_id}": Row("write", "task", TASK),
    "PATCH /v1/tasks/{task_id}": Row("write", "task", _EDIT),
    "DELETE /v1/tasks/{task_id}": Row("write", "task"),
    "POST /v1/tasks/{task_id}/pause": Row("write", "task"),
    "POST /v1/tasks/{task_id}/resume": Row("write", "task"),
    "POST /v1/tasks/{task_id}/run": Row("run", "task"),
    "POST /v1/tasks/{task_id}/skip": Row("run", "task"),
    "POST /v1/tasks/{task_id}/backfill": Row("run", "task", {"from": "2026-01-01", "to": "2026-01-02"}),
    "POST /v1/tasks/{task_id}/cancel": Row("write", "task"),
    "POST /v1/tasks/{task_id}/approve": Row("write", "task", {"digest": "0" * 64}, agents=False),
    "GET /v1/tasks/{task_id}/why": Row("read", "task"),
    "GET /v1/tasks/{task_id}/explain": Row("read", "task"),
    "GET /v1/tasks/{task_id}/review": Row("read", "task"),
    "GET /v1/tasks/{task_id}/runs": Row("read", "task"),
    "GET /v1/tasks/by-key/{key:path}": Row("read", "key", admin_sees_all=False),
    "PUT /v1/tasks/by-key/{key:path}": Row("write", body={**TASK, "when": "every 1h, 3 times"}),
    "GET /v1/tasks/named/{name:path}": Row("read", "task"),
    "GET /v1/runs": Row("read"),
    "GET /v1/runs/{run_id}": Row("read", "run"),
    "GET /v1/runs/{run_id}/attempts": Row("read", "run"),
    "GET /v1/runs/{run_id}/logs": Row("read", "run"),
    "POST /v1/runs/{run_id}/cancel": Row("run", "run"),
    "POST /v1/runs/{run_id}/retry": Row("run", "run"),
    "POST /v1/runs/{run_id}/callback": Row("callback", "run", {}),
    "POST /v1/schedules/preview": Row("read", body={"when": "every 5m"}),
    "GET /v1/overview": Row("read", agents=False),
    "GET /v1/planned": Row("read", agents=False),
    "GET /v1/nodes": Row("admin"),
    "POST /v1/nodes/{node}/drain": Row("admin"),
    "GET /v1/functions": Row("read"),
    "GET /v1/functions/{name:path}": Row("read"),
    "GET /v1/lanes": Row("read", agents=False),
    "PUT /v1/lanes/{lane:path}": Row("write", body={"limit": 2}, agents=False),
    "GET /v1/owners": Row("read", agents=False),
    "GET /v1/owners/{name}": Row("read", "owner", agents=False),
    "PUT /v1/owners/{name}": Row("write", "owner", {"zone": "UTC"}, agents=False),
    "POST /v1/owners/{name}/revoke": Row("admin"),
    "POST /v1/owners/{name}/restore": Row("admin"),
    "GET /v1/tokens": Row("read", agents=False),
    "POST /v1/tokens": Row("write", body={"name": "x"}, agents=False),
    "GET /v1/tokens/{token_id}": Row("read", "token", agents=False),
    "DELETE /v1/tokens/{token_id}": Row("write", "token", agents=False),
    "GET /v1/sessions": Row("read", agents=False),
    "DELETE /v1/sessions/{session_id}": Row("read", "session", agents=False),
    "POST /v1/sign-in-links": Row("read", agents=False),
    "GET /v1/agents/{agent}": Row("read", agents=False),
    "PUT /v1/agents/{agent}": Row("admin", body={"quotas": {"active_tasks": 5}}),
    "POST /v1/agents/{agent}/stop": Row("write", agents=False),
    "POST /v1/agents/{agent}/restart": Row("write", agents=False),
    "GET /v1/secrets": Row("read", agents=False),
    "PUT /v1/secrets/{name}": Row("write", body={"value": "x"}, agents=False),
    "DELETE /v1/secrets/{name}": Row("write", "secret", agents=False, admin_sees_all=False),
    "PUT /v1/secrets/{name}/agents/{agent}": Row("write", "secret", agents=False, admin_sees_all=False),
    "DELETE /v1/secrets/{name}/agents/{agent}": Row("write", "secret", agents=False, admin_sees_all=False),
    "GET /v1/audit": Row("read", agents=False),
    "GET /v1/audit/verify": Row("admin"),
    "GET /v1/events": Row("read", agents=False),
    "GET /v1/webhooks": Row("read", agents=False),
    "POST /v1/webhooks": Row("write", body={"url": "https://example.org/hook"}, agents=False),
    "GET /v1/webhooks/{webhook_id}": Row("read", "webhook", agents=False),
    "PATCH /v1/webhooks/{webhook_id}": Row("write", "webhook", {"enabled": False}, agents=False),
    "DELETE /v1/webhooks/{webhook_id}": Row("write", "webhook", agents=False),
    "POST /v1/webhooks/{webhook_id}/rotate": Row("write", "webhook", agents=False),
    "POST /v1/webhooks/{webhook_id}/test": Row("write", "webhook", agents=False),
    "GET /v1/webhooks/{webhook_id}/deliveries": Row("read", "webhook", agents=False),
    "GET /v1/webhooks/{webhook_id}/deliveries/{delivery_id}": Row("read", "delivery", agents=False),
    "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": Row("write", "delivery", agents=False),
    "GET /scheduled-tasks": Row("read"),
    "POST /scheduled-tasks": Row("write", body={"name": "x"}),
    "GET /scheduled-tasks/{task_id}": Row("read", "schedule", admin_sees_all=False),
    "PUT /scheduled-tasks/{task_id}": Row("write", "schedule", {"name": "y"}, admin_sees_all=False),
    "DELETE /scheduled-tasks/{task_id}": Row("write", "schedule", admin_sees_all=False),
    "GET /scheduled-tasks/{task_id}/runs": Row("read", "schedule", admin_sees_all=False),
    "GET /schedules": Row("read"),
    "POST /schedules": Row("write", body=_REMINDER),
    "DELETE /schedules": Row("write", query="?sourceModule=a&sourceEntityId=b"),
    "POST /schedules/batch": Row("write", body={"operation": "pause", "uuids": ["x"]}),
    "POST /schedules/quick-reminder": Row("write", body={"title": "tea", "minutes": 5}),
    "GET /schedules/execution-history": Row("read"),
    "GET /schedules/statistics": Row("read", agents=False),
    "GET /schedules/upcoming": Row("read"),
    "GET /schedules/{uuid}": Row("read", "schedule", admin_sees_all=False),
    "PUT /schedules/{uuid}": Row("write", "schedule", {"title": "y"}, admin_sees_all=False),
    "DELETE /schedules/{uuid}": Row("write", "schedule", admin_sees_all=False),
    "GET /schedules/{uuid}/history": Row("read", "schedule", admin_sees_all=False),
    "POST /schedules/{uuid}/execute": Row("run", "schedule", admin_sees_all=False),
    "POST /schedules/{uuid}/enable": Row("write", "schedule", admin_sees_all=False),
    "POST /schedules/{uuid}/disable": Row("write", "schedule", admin_sees_all=False),
    "POST /schedules/{uuid}/pause": Row("write", "schedule", admin_sees_all=False),
    "POST /schedules/{uuid}/resume": Row("write", "schedule", admin_sees_all=False),
    "POST /schedules/{uuid}/snooze": Row("write", "schedule", {"minutes": 5}, admin_sees_all=False),
}
