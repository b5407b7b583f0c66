"""The default zone of a request without one: the owner's, else the server's, named in a warning."""

from __future__ import annotations

from typing import Any

from tests.api.api_server import serve_api

NINE: dict[str, Any] = {"name": "x", "when": "every day at 9am", "say": "x"}


def zone_warning(body: dict[str, Any]) -> str:
    (warning,) = [each["message"] for each in body["warnings"] if each["code"] == "no_zone"]
    return str(warning)


async def _check_owner_without_a_zone() -> None:
    async with serve_api() as api:
        made = (await api.post("/v1/tasks", NINE)).json
        assert zone_warning(made) == "No zone was given: UTC is used, because ada has none and it is this server's."
        seen = (await api.post("/v1/schedules/preview", {"when": "every day at 9am"})).json
        assert "ada has none and it is this server's" in zone_warning(seen)
        chinese = await api.post("/v1/tasks", NINE, headers={"Accept-Language": "zh"})
        assert "这是服务器的时区" in zone_warning(chinese.json)
        own = (await api.post("/v1/tasks", NINE, who="admin")).json
        assert "it is yours" not in zone_warning(own)


async def test_zone_of_the_server_is_not_attributed_to_the_owner() -> None:
    await _check_owner_without_a_zone()


async def _check_early_hour() -> None:
    async with serve_api() as api:
        seen = (await api.post("/v1/schedules/preview", {"when": "明天3点"}, headers={"Accept-Language": "zh"})).json
        made = (await api.post("/v1/tasks", {**NINE, "when": "明天3点"})).json
        clear = (await api.post("/v1/tasks", {**NINE, "when": "明天下午3点"})).json
        assert "按 03:00 理解；下午请写“下午3点”。" in [each["message"] for each in seen["warnings"]]
        assert "early_hour" in [each["code"] for each in made["warnings"]]
        assert "early_hour" not in [each["code"] for each in clear["warnings"]]


async def test_early_hour_without_a_part_of_the_day_is_a_warning() -> None:
    await _check_early_hour()


async def _check_task_for_another_owner() -> None:
    async with serve_api() as api:
        assert (await api.put("/v1/owners/bob", {"zone": "Europe/Berlin"}, who="admin")).status == 200
        made = (await api.post("/v1/tasks", {**NINE, "owner": "bob"}, who="admin")).json
        assert made["zone"] == "Europe/Berlin"
        assert "it is the default zone of bob" in zone_warning(made)
        replaced = await api.put(f"/v1/tasks/{made['id']}", {**NINE, "when": "every day at 10am"}, who="admin")
        assert replaced.json["zone"] == "Europe/Berlin"


async def test_task_that_an_admin_creates_for_an_owner_has_the_owners_zone() -> None:
    await _check_task_for_another_owner()
