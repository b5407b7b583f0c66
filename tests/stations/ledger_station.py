"""A station for tests with real processes: writes each execution to a ledger before and after its effect.

Arguments: name, worker, address, key of the node, key file, ledger.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from horae.clock import SystemClock
from horae.stations import Context, Station


def main() -> None:
    name, worker, address, server_key, key_file, ledger = sys.argv[1:]
    station = Station(name, servers=address, server_key=server_key, key_file=key_file, worker=worker, slots=4)

    def write(what: str, context: Context) -> None:
        line = {"what": what, "key": context.key, "attempt": context.plan["attempt"], "worker": worker}
        descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.close(descriptor)

    async def work(context: Context, **_payload: Any) -> str:
        write("begin", context)
        await SystemClock().pause(0.05)
        write("end", context)
        return worker

    station.api("work")(work)
    asyncio.run(station.run(on_joined=lambda: print("joined", flush=True)))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main()
