"""Checks of gates over HTTP: the body of a request for a run, and what is refused of it."""

from __future__ import annotations

from typing import Final

from tests.api.api_server import serve_api

SAY: Final = {"say": "x", "zone": "UTC", "when": "every 1h"}
GATE: Final = {"policies": {"gate": {"http": "https://example.com/check"}}}


async def test_gate_is_checked_on_request() -> None:
    async with serve_api() as api:
        gated = (await api.post("/v1/tasks", {**SAY, **GATE, "name": "gated"})).json
        plain = (await api.post("/v1/tasks", {**SAY, "name": "plain"})).json
        path = f"/v1/tasks/{gated['id']}/run"
        assert (await api.post(f"{path}?dry_run=true", {"gate_only": True})).status == 202
        assert (await api.post(path, {"gate_only": True, "input": {"merge": {"a": 1}}})).status == 202
        again = await api.post(path, {"gate_only": True})
        assert (again.status, again.json["code"]) == (409, "gate_check_requested")
        assert "overlap" not in again.json["hint"]
        assert (await api.post(path, {})).status == 202
        refused = await api.post(path, {"gate_only": "yes"})
        assert refused.status == 422
        assert "/gate_only" in str(refused.json)
        absent = await api.post(f"/v1/tasks/{plain['id']}/run", {"gate_only": True})
        assert (absent.status, absent.json["code"]) == (422, "no_gate")
