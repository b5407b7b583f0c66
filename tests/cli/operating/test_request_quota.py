"""Request quota of a running `horae up`: all tokens of an owner share one bucket."""

from __future__ import annotations

import re
from http.client import HTTPConnection
from typing import NamedTuple

from horae.clock import SystemClock
from tests.cli.operating.deployment import Deployment

CLOCK = SystemClock()


class Bucket(NamedTuple):
    """Rate limit headers of an answer."""

    left: int
    most: int


def ask(connection: HTTPConnection, token: str) -> Bucket:
    connection.request("GET", "/v1/whoami", headers={"Authorization": f"Bearer {token}"})
    with connection.getresponse() as answer:
        answer.read()
        assert answer.status == 200
        left = re.search(r"r=(\d+)", answer.headers["RateLimit"])
        most = re.search(r"q=(\d+)", answer.headers["RateLimit-Policy"])
    assert left is not None
    assert most is not None
    return Bucket(int(left[1]), int(most[1]))


def make_tokens(deployment: Deployment, *owners: str) -> list[str]:
    for owner in set(owners):
        deployment.ok("owner", "set", owner, "--role", "member")
    return [
        deployment.ok("token", "make", f"laptop-{number}", "--owner", owner, "--quiet").strip()
        for number, owner in enumerate(owners)
    ]


def test_tokens_of_one_owner_share_one_bucket_and_other_owners_have_their_own(deployment: Deployment) -> None:
    up = deployment.up(environment={"HORAE_API": "on", "HORAE_PORT": "0"})
    line = up.expect("  API ")
    first, second, other = make_tokens(deployment, "ada", "ada", "bob")
    address = re.search(r"http://([\d.]+):(\d+)", line)
    assert address is not None, line
    connection = HTTPConnection(address[1], int(address[2]), timeout=60)
    begun = CLOCK.steady()
    sent = 150
    for _ in range(sent):
        ask(connection, first)
    by_second, by_other = ask(connection, second), ask(connection, other)
    refilled = (CLOCK.steady() - begun) * by_second.most / 60
    connection.close()
    assert by_second.left <= by_second.most - sent + refilled
    assert by_other.left == by_other.most - 1
