"""A move and a dead deployment behind the router: clients go on, and other owners notice nothing."""

from __future__ import annotations

import asyncio
import signal
from typing import Final

from tests.router.deployments import TASK, Cluster, RouterProcess, move_owner, write_map

MOVE_REFUSALS: Final = frozenset({"owner_moving", "owner_arriving"})
CREATES_AROUND: Final = 25


class Writer:
    """Creates tasks one after the other through the router, each with its key, until it is stopped."""

    def __init__(self, cluster: Cluster, owner: str) -> None:
        self._cluster = cluster
        self._owner = owner
        self._is_stopped = False
        self._progress = asyncio.Condition()
        self.created: dict[str, str] = {}
        self.refusals: list[tuple[int, str]] = []

    async def run(self) -> None:
        number = 0
        while not self._is_stopped:
            name = f"task {number}"
            reply = await self._cluster.send(
                "POST", "/v1/tasks", self._owner, json={**TASK, "name": name}, headers={"Idempotency-Key": name}
            )
            if reply.status == 201:
                self.created[name] = reply.json["id"]
                number += 1
            else:
                self.refusals.append((reply.status, reply.code))
            async with self._progress:
                self._progress.notify_all()

    async def wait_for_more(self, number: int) -> None:
        wanted = len(self.created) + number
        async with self._progress:
            await self._progress.wait_for(lambda: len(self.created) >= wanted)

    def stop(self) -> None:
        self._is_stopped = True


async def tasks_of(cluster: Cluster, who: str, to: str | None = None) -> dict[str, str]:
    """Return the ids of all tasks by name, each of which must be there once."""
    found: list[tuple[str, str]] = []
    path: str | None = "/v1/tasks?limit=100"
    while path is not None:
        reply = await cluster.send("GET", path, who, to=to)
        assert reply.status == 200, reply.body
        found += [(task["name"], task["id"]) for task in reply.json["items"]]
        cursor = reply.json["next_cursor"]
        path = None if cursor is None else f"/v1/tasks?limit=100&cursor={cursor}"
    assert len(found) == len(dict(found))
    return dict(found)


async def test_client_goes_on_while_its_owner_is_moved(cluster: Cluster) -> None:
    ada, bob = Writer(cluster, "user:ada"), Writer(cluster, "user:bob")
    async with asyncio.TaskGroup() as group:
        for writer in (ada, bob):
            group.create_task(writer.run())
        await ada.wait_for_more(CREATES_AROUND)
        moved = await asyncio.to_thread(move_owner, cluster, "user:ada", "north", "south")
        assert moved.returncode == 0, moved.stderr
        await ada.wait_for_more(CREATES_AROUND)
        for writer in (ada, bob):
            writer.stop()

    assert '"user:ada" = "south"' in moved.stderr
    assert {status for status, _ in ada.refusals} <= {409}
    assert {code for _, code in ada.refusals} <= MOVE_REFUSALS
    assert ada.refusals
    assert bob.refusals == []
    assert await tasks_of(cluster, "user:ada") == ada.created
    assert await tasks_of(cluster, "user:bob") == bob.created
    gone = await cluster.send("GET", "/v1/tasks", "user:ada", to=cluster.urls["north"])
    assert (gone.status, gone.code) == (409, "owner_moved")
    assert await tasks_of(cluster, "user:ada", to=cluster.urls["south"]) == ada.created
    assert (await cluster.send("GET", "/readyz", None)).json["misplaced_owners"] == 1

    # A router that starts with the changed line finds the owner where the map says.
    cluster.router.clean_up()
    write_map(cluster.folder / "router", cluster, {"user:ada": "south", "user:bob": "south"})
    cluster.router = RouterProcess(cluster.folder / "router")
    try:
        assert await tasks_of(cluster, "user:ada") == ada.created
        assert (await cluster.send("GET", "/readyz", None)).json["misplaced_owners"] == 0
        again = await asyncio.to_thread(move_owner, cluster, "user:ada", "north", "south")
        assert (again.returncode, '"user:ada" = "south"' in again.stderr) == (0, False), again.stderr
        assert cluster.router.stop() == 0
    finally:
        cluster.router.clean_up()


async def test_dead_deployment_is_missing_for_its_owners_only(cluster: Cluster) -> None:
    for owner in ("user:ada", "user:bob"):
        assert (await cluster.send("GET", "/v1/whoami", owner)).status == 200
    kill_deployment(cluster, "south")
    for method in ("GET", "POST"):
        refused = await cluster.send(method, "/v1/tasks", "user:bob", json=TASK)
        assert (refused.status, refused.code) == (503, "deployment_unavailable")
        assert int(refused.headers["Retry-After"]) >= 1
    assert (await cluster.send("POST", "/v1/tasks", "user:ada", json=TASK)).status == 201
    ready = await cluster.send("GET", "/readyz", None)
    assert (ready.status, [each["reachable"] for each in ready.json["deployments"]]) == (200, [True, False])
    # A router that has never seen the owners finds the reachable ones, and says that it cannot find the others now.
    cluster.router.clean_up()
    cluster.start_router()
    try:
        assert (await cluster.send("GET", "/v1/whoami", "user:ada")).status == 200
        assert (await cluster.send("GET", "/v1/whoami", "user:bob")).code == "deployment_unavailable"
        kill_deployment(cluster, "north")
        assert (await cluster.send("GET", "/readyz", None)).status == 503
        assert (await cluster.send("GET", "/healthz", None)).status == 200
    finally:
        cluster.router.clean_up()


def kill_deployment(cluster: Cluster, name: str) -> None:
    """Kill the supervisor first, so that it starts no child again."""
    up = cluster.ups[name]
    children = (up.child("horae.cli.api_process"), up.child("horae.cli.worker_process"))
    up.process.send_signal(signal.SIGKILL)
    up.process.wait()
    wait_until_ended(children)


def wait_until_ended(pids: tuple[int, ...]) -> None:
    """Wait for processes that end by themselves when their supervisor is gone."""
    from tests.faults.processes import is_alive  # noqa: PLC0415
    from tests.faults.testbed import wait_until  # noqa: PLC0415

    wait_until(lambda: not any(map(is_alive, pids)), 30.0, "the end of the deployment")
