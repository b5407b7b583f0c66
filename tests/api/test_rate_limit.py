"""Rate limit of requests per minute: token buckets, `RateLimit` headers, and wrong tokens per address."""

from __future__ import annotations

from datetime import UTC, datetime

from horae.model.accounts.principal import LOCAL
from horae.web.rate_limit import TokenBuckets
from tests.api.api_server import StoppedClock, serve_api


class ManualClock:
    """Clock that moves only when a test sets it."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def steady(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds

    async def pause(self, seconds: float) -> None:
        self.at += seconds


def test_bucket_empties_with_each_request_and_refills_within_a_minute() -> None:
    clock = ManualClock()
    buckets = TokenBuckets(60, clock)
    assert [buckets.take("ada").remaining for _ in range(60)] == list(range(59, -1, -1))
    assert buckets.take("ada").retry_after == 1
    assert buckets.take("bob").remaining == 59
    clock.at += 1
    assert buckets.take("ada").retry_after == 0
    assert buckets.take("ada").retry_after == 1
    clock.at += 3_600
    assert buckets.take("ada") == (60, 59, 1, 0)


def test_number_of_buckets_is_bounded() -> None:
    buckets = TokenBuckets(10, ManualClock())
    for number in range(25_000):
        buckets.take(f"caller {number}")
    assert len(buckets._buckets) == 10_000


async def test_rate_limit_headers_and_429_with_retry_after() -> None:
    async with serve_api() as api:
        for name in ("ada", "bob"):
            await api.service.accounts.put(LOCAL, name, quotas={"requests_per_minute": 5})
        first = await api.get("/v1/whoami")
        assert first.headers["ratelimit-policy"] == '"default";q=5;w=60'
        assert first.headers["ratelimit"].startswith('"default";r=4;t=')
        replies = [await api.get("/v1/whoami") for _ in range(5)]
        refused = replies[-1]
        assert (refused.status, refused.code) == (429, "too_many_requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit"].startswith('"default";r=0;t=')
        assert (await api.get("/v1/whoami", who="bob")).status == 200
        admins = [await api.get("/v1/whoami", who="admin") for _ in range(8)]
        assert {each.status for each in admins} == {200}
        assert "ratelimit" not in admins[0].headers


async def test_wrong_tokens_are_limited_and_valid_tokens_of_the_address_are_not() -> None:
    async with serve_api() as api:
        api.app.context.rate_limits.failures._clock = StoppedClock()
        assert (await api.get("/v1/whoami")).status == 200
        statuses = []
        for number in range(70):
            wrong = {"Authorization": f"Bearer horae_{number:032x}_{number:064x}"}
            statuses.append((await api.get("/v1/whoami", who=None, headers=wrong)).status)
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert (await api.get("/v1/whoami")).status == 200
        assert (await api.get("/v1/whoami", who="bob")).status == 200, "a token that is new to the server works as well"
