"""`GET /v1/planned`: items and numbers per hour of a period."""

from __future__ import annotations

from tests.api.api_server import serve_api


async def test_planned_runs_over_http() -> None:
    async with serve_api() as api:
        made = await api.create_task(when="every day at 09:00", name="morning report")
        reply = await api.get("/v1/planned?since=2099-01-05T00:00Z&until=2099-01-07T00:00Z")
        assert reply.status == 200
        assert [(item["task_id"], item["due"]) for item in reply.json["items"]] == [
            (made["id"], "2099-01-05T09:00:00.000Z"),
            (made["id"], "2099-01-06T09:00:00.000Z"),
        ]
        numbers = {hour["at"]: hour["number"] for hour in reply.json["hours"]}
        assert len(numbers) == 48
        assert numbers["2099-01-06T09:00:00.000Z"] == 1
        assert (reply.json["has_more"], reply.json["partial"]) == (False, False)
        assert len((await api.get("/v1/planned")).json["items"]) == 1
        assert (await api.get("/v1/planned?since=2099-01-05T00:00Z&until=2099-03-05T00:00Z")).code == "bad_period"
        for far in (
            "since=9999-12-31T23:59Z",
            "since=0001-01-02",
            "since=1965-01-01&until=1965-01-02",
            "until=9999-12-31",
        ):
            assert (await api.get(f"/v1/planned?{far}")).code in ("bad_period", "unclear_moment"), far
        assert (await api.get("/v1/planned?since=soonish")).code == "unclear_moment"
        assert (await api.get("/v1/planned", who="bob")).json["items"] == []
