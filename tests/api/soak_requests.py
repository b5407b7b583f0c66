"""Random requests of two owners for the soak: valid, slightly wrong, and hostile."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from bench.api.line import Reply

OWNERS: Final = ("ada", "bob")
_MAX_IDS: Final = 200
DEEP_BODY: Final = b'{"payload": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
LARGE_BODY: Final = b'{"name": "' + b"x" * 1_100_000 + b'"}'
_LARGE_SHARE: Final = 1 / 5_000
_BODIES: Final = (
    b"{",
    b"nonsense",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b'{"name": "a", "name": "b"}',
    b'{"payload": NaN}',
    b'{"payload": 1e999}',
    b'{"payload": ' + b"9" * 5_000 + b"}",
    b'{"name": "\\ud800", "when": "every 1h", "say": "x"}',
    DEEP_BODY,
)
_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    2**63,
    1e308,
    "",
    " ",
    "\u0000",
    "\ud800",
    "x" * 3_000,
    "💥",
    "../../etc/passwd",
    "{{7*7}}",
    "'; drop table tasks; --",
    "every 0s",
    "0 0 30 2 *",
    "* " * 500,
    "10000-01-01T00:00:00Z",
    "http://169.254.169.254/",
    "file:///etc/passwd",
    [],
    {},
    [[[[]]]],
    {"kind": "nothing"},
    {"kind": "rrule", "rule": "FREQ=DAILY;COUNT=1000000000", "zone": "UTC"},
)
_WHENS: Final = ("every 10m", "every weekday at 9am", "0 9 * * 1-5", "in 2h", "last day of month at 17:00")
_PARTS: Final = ("'", "%00", "%ff", "..%2f..", "*", "%25", "a" * 190, "%F0%9F%92%A5", "tsk_" + "0" * 32)
_QUERIES: Final = (
    "1",
    "0",
    "-1",
    "50",
    "1000000",
    "true",
    "x" * 600,
    "%00",
    "%ff",
    "active",
    "last",
    "''",
    "2026-01-01",
)
_HEADERS: Final = (
    ("If-Match", '"1"'),
    ("If-Match", "nonsense"),
    ("If-None-Match", "*"),
    ("Accept-Language", "zh-CN,zh;q=0.9"),
    ("Accept-Language", ";;;q=x"),
    ("X-Request-Id", "x" * 300),
    ("traceparent", "00-" + "a" * 32 + "-" + "b" * 16 + "-01"),
    ("traceparent", "99-nonsense"),
    ("Accept", "application/xml"),
    ("Content-Type", "text/plain"),
    ("Expect", "nothing"),
    ("Cookie", "a=b"),
    ("Last-Event-ID", "999999999999"),
)
_METHODS: Final = ("OPTIONS", "HEAD", "TRACE", "PROPFIND", "POST", "PUT", "PATCH", "DELETE", "GET")
_RARE_PATHS: Final = ("/v1/tasks/actions", "/metrics")
_RARE_SHARE: Final = 0.1
_TEAMS: Final = 100
_REFUSED_WEBHOOK: Final = "https://127.0.0.1/hook"
"""Webhooks to this address are refused: a soak must not send anything outside."""


class Operation(NamedTuple):
    method: str
    path: str
    queries: tuple[str, ...]
    example: Any


class FuzzedRequest(NamedTuple):
    """`who` is None for a request with an invalid token."""

    who: str | None
    method: str
    path: str
    head: Mapping[str, str]
    body: bytes = b""

    @property
    def text(self) -> bytes:
        sent = {"Host": "localhost", **self.head}
        if self.body:
            sent = {"Content-Type": "application/json", "Content-Length": str(len(self.body)), **sent}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return f"{self.method} {self.path} HTTP/1.1\r\n{lines}\r\n".encode() + self.body


class Fuzz:
    """Generates requests from one seed; only the ids come from earlier responses."""

    def __init__(self, seed: int, tokens: Mapping[str, str], document: Mapping[str, Any]) -> None:
        self._chance = random.Random(seed)
        self._tokens = tokens
        self._operations = read_operations(document)
        self._frequent = [each for each in self._operations if each.path.startswith(("/v1/tasks", "/v1/runs"))]
        self._ids: dict[str, list[str]] = {who: [] for who in OWNERS}
        self._sent = 0

    def draw(self) -> FuzzedRequest:
        self._sent += 1
        chance = self._chance
        operation = self._operation()
        who = chance.choice(OWNERS)
        head = {"Authorization": f"Bearer {self._tokens[who]}"}
        request = FuzzedRequest(who, operation.method, self._path(operation, who), head, self._body(operation, who))
        return self._spoil(request) if chance.random() < 0.25 else self._add_key(request)

    def learn(self, request: FuzzedRequest, reply: Reply) -> None:
        """Keep an id of the response, so that later requests of both owners use it."""
        if request.who is None or not 200 <= reply.status < 300 or request.method not in ("GET", "POST"):
            return
        if not request.path.startswith(("/v1/tasks", "/v1/runs", "/schedules")):
            return
        at = reply.body.find(b'"id":"')
        if at >= 0:
            ids = self._ids[request.who]
            found = reply.body[at + 6 : reply.body.index(b'"', at + 6)].decode()
            if len(ids) < _MAX_IDS:
                ids.append(found)
            else:
                ids[self._chance.randrange(_MAX_IDS)] = found

    def _operation(self) -> Operation:
        """Choose an operation; bulk operations are rare, because they take as long as all others together."""
        while True:
            found = self._chance.choice(self._frequent if self._chance.random() < 0.6 else self._operations)
            if found.path not in _RARE_PATHS or self._chance.random() < _RARE_SHARE:
                return found

    # --- the parts of a request ------------------------------------------------------------------------------------

    def _path(self, operation: Operation, who: str) -> str:
        chance = self._chance
        path = operation.path
        while "{" in path:
            before, _, rest = path.partition("{")
            path = before + self._part(who) + rest.partition("}")[2]
        if operation.queries and chance.random() < 0.4:
            named = chance.sample(operation.queries, min(len(operation.queries), chance.randint(1, 3)))
            path += "?" + "&".join(f"{name}={chance.choice(_QUERIES)}" for name in named)
        return path

    def _part(self, who: str) -> str:
        chance = self._chance
        pool = self._ids[who if chance.random() < 0.8 else chance.choice(OWNERS)]
        return quote(chance.choice(pool)) if pool and chance.random() < 0.8 else chance.choice(_PARTS)

    def _body(self, operation: Operation, who: str) -> bytes:
        if operation.example is None:
            return b""
        if isinstance(operation.example, list):
            return json.dumps(operation.example).encode()
        chance = self._chance
        if chance.random() < 0.1:
            return LARGE_BODY if chance.random() < _LARGE_SHARE * 10 else chance.choice(_BODIES)
        body = json.loads(json.dumps(operation.example))
        for task in body.get("tasks", [body]):
            self._vary(task, who)
        if "webhooks" in operation.path:
            body["url"] = _REFUSED_WEBHOOK
        if chance.random() < 0.3:
            self._mutate(body)
        return json.dumps(body).encode()

    def _vary(self, task: dict[str, Any], who: str) -> None:
        for group in (task, task.get("filter")):
            self._set_team(group)
        if "when" in task:
            task["when"] = self._chance.choice(_WHENS)
        for name in ("name", "title"):
            if name in task:
                task[name] = f"{owner_mark(who)} {self._sent}"

    def _set_team(self, labelled: Any) -> None:
        """Set a random team, so that a bulk action on one team changes only a few tasks."""
        team = f"ops{self._chance.randrange(_TEAMS)}"
        if isinstance(labelled, dict) and "labels" in labelled:
            labelled["labels"] = {"team": team}
        elif isinstance(labelled, dict) and "label" in labelled:
            labelled["label"] = [f"team={team}"]

    def _mutate(self, body: dict[str, Any]) -> None:
        """Remove a field, replace its value, or add an unknown field."""
        chance = self._chance
        name = chance.choice([*body, "nonsense"])
        if chance.random() < 0.3 and name != "url":
            body.pop(name, None)
        else:
            body[name] = chance.choice(_VALUES)

    def _add_key(self, request: FuzzedRequest) -> FuzzedRequest:
        if request.method != "POST" or self._chance.random() < 0.7:
            return request
        # Some keys are used twice, with the same request or with another one.
        key = f"soak-{self._sent - self._chance.choice((0, 0, 0, 10, 50))}"
        return request._replace(head={**request.head, "Idempotency-Key": key})

    def _spoil(self, request: FuzzedRequest) -> FuzzedRequest:
        """Add a header, change the method, use a wrong token, or change the path."""
        chance = self._chance
        kind = chance.randrange(4)
        if kind == 0:
            name, value = chance.choice(_HEADERS)
            return request._replace(head={**request.head, name: value})
        if kind == 1:
            return request._replace(method=chance.choice(_METHODS))
        if kind == 2:
            authorization = chance.choice(
                ("", "Bearer", "Basic YTpi", "Bearer horae_0_0", f"Bearer horae_{chance.getrandbits(384):096x}")
            )
            return request._replace(who=None, head={"Authorization": authorization})
        return request._replace(
            path=request.path + chance.choice(("/", "/x", "?nonsense=1", "%2f", "?limit=1&limit=2", ";a=b"))
        )


def owner_mark(who: str) -> str:
    """Return the text that is in all tasks of this owner and in no request of the other."""
    return f"only-{who}-sees-this"


def read_operations(document: Mapping[str, Any]) -> list[Operation]:
    return [
        Operation(
            method.upper(),
            path,
            tuple(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"),
            operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example"),
        )
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
