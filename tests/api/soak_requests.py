"""Requests by chance, of two owners: as they should be, nearly so, and as somebody sends them who means mischief."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from bench.api.line import Reply

OWNERS: Final = ("ada", "bob")
_KEPT_IDS: Final = 200
_DEEP: Final = b'{"payload": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
_LARGE: Final = b'{"name": "' + b"x" * 1_100_000 + b'"}'
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
    _DEEP,
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
_SELDOM: Final = ("/v1/tasks/actions", "/metrics")
_SELDOM_SHARE: Final = 0.1
_TEAMS: Final = 100
_NEVER_TOLD: Final = "https://127.0.0.1/hook"
"""Webhooks of this are refused: a soak must not send anything to anybody."""


class Operation(NamedTuple):
    method: str
    path: str
    queries: tuple[str, ...]
    example: Any


class Asked(NamedTuple):
    """`who` None: nobody that the server knows."""

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
    """All by one seed; only the ids that it has learnt from answers come from elsewhere."""

    def __init__(self, seed: int, tokens: Mapping[str, str], document: Mapping[str, Any]) -> None:
        self._chance = random.Random(seed)
        self._tokens = tokens
        self._operations = operations(document)
        self._often = [each for each in self._operations if each.path.startswith(("/v1/tasks", "/v1/runs"))]
        self._ids: dict[str, list[str]] = {who: [] for who in OWNERS}
        self._sent = 0

    def draw(self) -> Asked:
        self._sent += 1
        chance = self._chance
        operation = self._operation()
        who = chance.choice(OWNERS)
        head = {"Authorization": f"Bearer {self._tokens[who]}"}
        asked = Asked(who, operation.method, self._path(operation, who), head, self._body(operation, who))
        return self._spoilt(asked) if chance.random() < 0.25 else self._with_a_key(asked)

    def learn(self, asked: Asked, reply: Reply) -> None:
        """Of what was made, or listed: its id can be asked for from now on, by its owner and by the other."""
        if asked.who is None or not 200 <= reply.status < 300 or asked.method not in ("GET", "POST"):
            return
        if not asked.path.startswith(("/v1/tasks", "/v1/runs", "/schedules")):
            return
        at = reply.body.find(b'"id":"')
        if at >= 0:
            ids = self._ids[asked.who]
            found = reply.body[at + 6 : reply.body.index(b'"', at + 6)].decode()
            if len(ids) < _KEPT_IDS:
                ids.append(found)
            else:
                ids[self._chance.randrange(_KEPT_IDS)] = found

    def _operation(self) -> Operation:
        """What works on very many tasks at once is asked for seldom: it takes as long as all else together."""
        while True:
            found = self._chance.choice(self._often if self._chance.random() < 0.6 else self._operations)
            if found.path not in _SELDOM or self._chance.random() < _SELDOM_SHARE:
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
        chance = self._chance
        if chance.random() < 0.1:
            return _LARGE if chance.random() < _LARGE_SHARE * 10 else chance.choice(_BODIES)
        body = json.loads(json.dumps(operation.example))
        for task in body.get("tasks", [body]):
            for group in (task, task.get("filter")):
                self._put_in_a_team(group)
            if "when" in task:
                task["when"] = chance.choice(_WHENS)
            for name in ("name", "title"):
                if name in task:
                    task[name] = f"{mark(who)} {self._sent}"
        if "webhooks" in operation.path:
            body["url"] = _NEVER_TOLD
        if chance.random() < 0.3:
            self._bend(body)
        return json.dumps(body).encode()

    def _put_in_a_team(self, labelled: Any) -> None:
        """Of many, so that what is done with all of one team is not done with all there is."""
        team = f"ops{self._chance.randrange(_TEAMS)}"
        if isinstance(labelled, dict) and "labels" in labelled:
            labelled["labels"] = {"team": team}
        elif isinstance(labelled, dict) and "label" in labelled:
            labelled["label"] = [f"team={team}"]

    def _bend(self, body: dict[str, Any]) -> None:
        """One field is gone, or something else, or one that nobody knows is there."""
        chance = self._chance
        name = chance.choice([*body, "nonsense"])
        if chance.random() < 0.3 and name != "url":
            body.pop(name, None)
        else:
            body[name] = chance.choice(_VALUES)

    def _with_a_key(self, asked: Asked) -> Asked:
        if asked.method != "POST" or self._chance.random() < 0.7:
            return asked
        # Some come twice, with the same request or with another.
        key = f"soak-{self._sent - self._chance.choice((0, 0, 0, 10, 50))}"
        return asked._replace(head={**asked.head, "Idempotency-Key": key})

    def _spoilt(self, asked: Asked) -> Asked:
        """A header more, another method, a wrong token, a path that is not there."""
        chance = self._chance
        kind = chance.randrange(4)
        if kind == 0:
            name, value = chance.choice(_HEADERS)
            return asked._replace(head={**asked.head, name: value})
        if kind == 1:
            return asked._replace(method=chance.choice(_METHODS))
        if kind == 2:
            said = chance.choice(
                ("", "Bearer", "Basic YTpi", "Bearer horae_0_0", f"Bearer horae_{chance.getrandbits(384):096x}")
            )
            return asked._replace(who=None, head={"Authorization": said})
        return asked._replace(
            path=asked.path + chance.choice(("/", "/x", "?nonsense=1", "%2f", "?limit=1&limit=2", ";a=b"))
        )


def mark(who: str) -> str:
    """What stands in all that is somebody's, and nowhere in what the other sends."""
    return f"only-{who}-sees-this"


def operations(document: Mapping[str, Any]) -> list[Operation]:
    return [
        Operation(
            method.upper(),
            path,
            tuple(each["name"] for each in said.get("parameters", ()) if each["in"] == "query"),
            said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example"),
        )
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    ]
