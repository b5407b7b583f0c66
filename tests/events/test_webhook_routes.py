"""Webhooks over HTTP: create, edit, rotate, test, redeliver, delete; secrets are shown once."""

from __future__ import annotations

import asyncio

from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL, Scope
from horae.outgoing.signatures import verify
from horae.service.events.background_work import WatchSettings, run_background_work
from tests.api.api_server import Api

from .event_server import SECONDS, add_task, serve_api, webhook_receiver


async def test_webhook_is_created_tested_edited_rotated_and_deleted() -> None:
    async with serve_api() as api, webhook_receiver() as receiver:
        made = await api.post("/v1/webhooks", {"url": f"{receiver.base}/a", "types": ["task.*"], "note": "pager"})
        assert made.status == 201, made.text
        webhook = made.json
        secret = webhook.pop("secret")
        assert made.headers["location"] == f"/v1/webhooks/{webhook['id']}"
        assert (webhook["owner"], webhook["types"], webhook["enabled"]) == ("ada", ["task.*"], True)
        path = f"/v1/webhooks/{webhook['id']}"
        seen = await api.get(path)
        assert seen.json == webhook
        assert (await api.get("/v1/webhooks")).json["items"] == [webhook]

        tested = (await api.post(f"{path}/test")).json
        assert (tested["state"], tested["attempts"][0]["status"]) == ("delivered", 200)
        assert verify([secret], receiver.requests[0].headers, receiver.requests[0].body, SystemClock().now())

        changed = await api.patch(path, {"note": "other"}, headers={"If-Match": seen.headers["etag"]})
        assert changed.json["note"] == "other"
        stale = await api.patch(path, {"note": "late"}, headers={"If-Match": seen.headers["etag"]})
        assert stale.status == 412
        rotated = (await api.post(f"{path}/rotate")).json
        assert rotated["secret"].startswith("whsec_")
        assert rotated["secret"] != secret
        assert rotated["both_until"] is not None

        assert (await api.delete(f"{path}?dry_run=true")).status == 204
        assert (await api.delete(path)).status == 204
        gone = await api.get(path)
        assert (gone.status, gone.code) == (404, "no_such_webhook")
        rows = [row["action"] for row in (await api.get("/v1/audit")).json["items"]]
        assert rows == [f"webhook.{each}" for each in ("remove", "rotate", "edit", "test", "create")]
        assert secret not in (await api.get("/v1/audit")).text


async def test_dry_run_of_rotate_and_delete_checks_rights_and_changes_nothing() -> None:
    async with serve_api() as api, webhook_receiver() as receiver:
        made = (await api.post("/v1/webhooks", {"url": f"{receiver.base}/a"})).json
        path = f"/v1/webhooks/{made['id']}"
        _, api.tokens["reader"] = await api.service.tokens.make(LOCAL, owner="ada", name="r", scopes=[Scope.READ])
        dry_run = await api.post(f"{path}/rotate?dry_run=true")
        assert (dry_run.status, dry_run.json["secret"]) == (200, None)
        assert (await api.delete(f"{path}?dry_run=true")).status == 204
        for method, address in ((api.post, f"{path}/rotate"), (api.delete, path)):
            assert (await method(f"{address}?dry_run=true", who="reader")).status == 403
        assert (await api.get(path)).json["both_until"] is None
        await api.post(f"{path}/test")
        assert verify([made["secret"]], receiver.requests[0].headers, receiver.requests[0].body, SystemClock().now())


async def test_background_work_delivers_events_and_deliveries_can_be_read() -> None:
    async with serve_api() as api, webhook_receiver() as receiver:
        background = asyncio.ensure_future(run_background_work(api.service, SystemClock(), WatchSettings()))
        webhook = (await api.post("/v1/webhooks", {"url": f"{receiver.base}/a"})).json
        task = await add_task(api.service.store)
        await receiver.wait_for(1)
        await _wait_until_delivered(api, webhook["id"])
        (delivery,) = (await api.get(f"/v1/webhooks/{webhook['id']}/deliveries")).json["items"]
        assert (delivery["message"], delivery["task_id"]) == (receiver.requests[0].json["id"], task.id)
        path = f"/v1/webhooks/{webhook['id']}/deliveries/{delivery['id']}"
        assert (await api.get(path)).json == delivery
        again = (await api.post(f"{path}/redeliver")).json
        assert len(again["attempts"]) == 2
        assert receiver.requests[-1].headers["webhook-id"] == delivery["message"]
        background.cancel()
        await asyncio.gather(background, return_exceptions=True)


async def _wait_until_delivered(api: Api, name: str) -> None:
    """Wait for the stored state: the request arrives before the delivery is recorded."""
    async with asyncio.timeout(SECONDS):
        while True:
            page = (await api.get(f"/v1/webhooks/{name}/deliveries")).json
            if [each["state"] for each in page["items"]] == ["delivered"]:
                return


async def test_invalid_webhooks_and_callers_without_rights_are_refused() -> None:
    async with serve_api() as api, webhook_receiver() as receiver:
        good = {"url": f"{receiver.base}/a"}
        webhook = (await api.post("/v1/webhooks", good)).json
        path = f"/v1/webhooks/{webhook['id']}"
        for body, status in (
            ({}, 422),
            ({"url": "http://10.0.0.1/"}, 422),
            ({"url": "http://169.254.169.254/"}, 422),
            ({"url": 7}, 422),
            ({**good, "types": "run.*"}, 422),
            ({**good, "types": ["run.exploded"]}, 422),
            ({**good, "kinds": []}, 422),
            ({**good, "note": "x" * 501}, 422),
            ({**good, "owner": "bob"}, 404),
            ([], 422),
        ):
            assert (await api.post("/v1/webhooks", body)).status == status, body
        for who, status in (("bob", 404), ("vic", 404), ("admin", 200), ("robot", 403), (None, 401)):
            assert (await api.get(path, who=who)).status == status
        assert (await api.post("/v1/webhooks", good, who="vic")).status == 403
        assert (await api.post("/v1/webhooks", good, who="robot")).status == 403
        assert (await api.post("/v1/webhooks", {**good, "owner": "bob"}, who="admin")).json["owner"] == "bob"
        assert (await api.patch(path, {"enabled": "no"})).status == 422
        off = (await api.patch(path, {"enabled": False})).json
        assert (off["enabled"], off["disabled"]) == (False, "requested")
        for _ in range(19):
            assert (await api.post("/v1/webhooks", good)).status == 201
        full = await api.post("/v1/webhooks", good)
        assert (full.status, full.code) == (429, "too_many_webhooks")
        assert receiver.requests == []


async def test_repeated_create_makes_one_webhook_and_shows_its_secret_once() -> None:
    async with serve_api() as api, webhook_receiver() as receiver:
        key = {"Idempotency-Key": "once"}
        first = await api.post("/v1/webhooks", {"url": f"{receiver.base}/a"}, headers=key)
        second = await api.post("/v1/webhooks", {"url": f"{receiver.base}/a"}, headers=key)
        assert second.headers["idempotent-replayed"] == "true"
        assert second.json == {**first.json, "secret": None}
        assert len((await api.get("/v1/webhooks")).json["items"]) == 1
        dry_run = await api.post("/v1/webhooks?dry_run=true", {"url": f"{receiver.base}/b"})
        assert (dry_run.status, dry_run.json["secret"]) == (200, None)
        assert len((await api.get("/v1/webhooks")).json["items"]) == 1
