"""`python -m bench.api.instructions BEFORE AFTER`: instructions of one API request in two checkouts, counted by valgrind.

The application answers in one process on a SQLite file, without a socket, 32 requests at once: everything but the HTTP
protocol, with the writing thread. The difference of two counts leaves out the start of the process. On a busy machine times
vary by a tenth, instructions by a hundredth; those of `create` a little more, because chance divides the groups.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench.api.load import BULK_SIZE
from bench.compare import Checkout
from bench.instructions import count_instructions

_PROGRAM: Final = f"""
import asyncio, json, sys
from horae.api.app import make_app
from horae.clock import SystemClock
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings
from horae.web.request_context import WebSettings
KIND, COUNT, KNOWN, BULK, CONNECTIONS = sys.argv[2], int(sys.argv[3]), 500, {BULK_SIZE}, 32
WIDE = dict.fromkeys(("active_tasks", "runs_per_day", "requests_per_minute")) | dict.fromkeys(
    ("stored_tasks", "idempotency_keys"), 1_000_000
)
async def call(app, token, method, path, query=b"", body=None, *headers):
    async def receive():
        return {{"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}}
    answer = []
    async def send(message):
        answer.append(message)
    head = [(b"host", b"x"), (b"authorization", b"Bearer " + token.encode()), (b"content-type", b"application/json")]
    await app({{
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": path, "query_string": query,
        "root_path": "", "headers": [*head, *headers], "client": ("127.0.0.1", 1), "server": ("x", 80), "state": {{}},
    }}, receive, send)
    assert answer[0]["status"] < 300, answer
    return json.loads(answer[1]["body"]) if KIND == "setup" else None
def task(number):
    return {{
        "name": f"report {{number}}", "when": f"{{number % 60}} {{number % 24}} * * 1-5", "zone": "Europe/Berlin",
        "http": f"https://hooks.example.org/{{number}}", "payload": {{"number": number}},
    }}
async def main():
    global KIND
    kind, KIND = KIND, "setup"
    store, clock = make_store(sys.argv[1]), SystemClock()
    await store.open()
    service = make_service(sys.argv[1], store, clock, "UTC", TargetKinds(read_settings({{}})))
    first = await service.tokens.make_first()
    app = make_app(service, clock, WebSettings(expects_engine=False, secret="s" * 32))
    await call(app, first, "PUT", "/v1/owners/ada", b"", {{"role": "member", "quotas": WIDE}})
    token = (await call(app, first, "POST", "/v1/tokens", b"", {{"owner": "ada", "name": "bench"}}))["text"]
    known = [{{"name": f"known {{n}}", "when": f"{{n % 60}} 9 * * *", "zone": "UTC", "say": "x"}} for n in range(KNOWN)]
    ids = [each["id"] for each in (await call(app, token, "POST", "/v1/tasks/bulk", b"", {{"tasks": known}}))["items"]]
    KIND, numbers = kind, iter(range(COUNT))
    async def connection():
        for number in numbers:
            if kind == "get":
                await call(app, token, "GET", "/v1/tasks/" + ids[number * 7 % KNOWN])
            elif kind == "list":
                await call(app, token, "GET", "/v1/tasks", b"limit=50")
            elif kind == "bulk":
                tasks = [task(number * BULK + each) for each in range(BULK)]
                await call(app, token, "POST", "/v1/tasks/bulk", b"", {{"tasks": tasks}})
            else:
                key = [] if number % 2 else [(b"idempotency-key", f"key-{{number}}".encode())]
                await call(app, token, "POST", "/v1/tasks", b"", task(number), *key)
    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    await store.close()
asyncio.run(main())
"""


class _Kind(NamedTuple):
    title: str
    few: int
    many: int


_KINDS: Final = {
    "create": _Kind("create", 64, 320),
    "get": _Kind("get", 1_000, 2_000),
    "list": _Kind("list of 50", 64, 256),
    "bulk": _Kind(f"bulk of {BULK_SIZE}", 1, 4),
}


def count_per_request(checkout: Checkout, name: str) -> float:
    """Return the instructions of one more request."""
    kind = _KINDS[name]
    with TemporaryDirectory() as folder:
        # Uncounted: the first run of a checkout compiles its modules.
        checkout.run("-c", _PROGRAM, f"sqlite:///{folder}/first.db", name, "1", folder=Path(folder))
    few, many = (_count(checkout, name, number) for number in (kind.few, kind.many))
    return (many - few) / (kind.many - kind.few)


def _count(checkout: Checkout, name: str, number: int) -> int:
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/counted.db"
        return count_instructions(checkout, _PROGRAM, url, name, str(number), folder=Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.api.instructions", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--kinds", nargs="*", default=list(_KINDS), choices=list(_KINDS))
    chosen = parser.parse_args()
    before, after = (Checkout(each.resolve()) for each in (chosen.before, chosen.after))
    print("| instructions per request | before | after | after / before |\n|---|--:|--:|--:|")
    for name in chosen.kinds:
        old, new = count_per_request(before, name), count_per_request(after, name)
        print(f"| {_KINDS[name].title} | {old:,.0f} | {new:,.0f} | {new / old:.3f} |", flush=True)


if __name__ == "__main__":
    main()
