"""How often somebody may ask, and how that is told."""

from __future__ import annotations

from datetime import UTC, datetime

from horae.model.accounts.principal import LOCAL
from horae.web.rate_limit import TokenBuckets
from tests.api.api_server import served


class StandingClock:
    """Time goes on when the test says so."""

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


def test_a_bucket_empties_with_each_and_fills_again_within_a_minute() -> None:
    clock = StandingClock()
    buckets = TokenBuckets(60, clock)
    assert [buckets.take("ada").remaining for _ in range(60)] == list(range(59, -1, -1))
    assert buckets.take("ada").retry_after == 1
    assert buckets.take("bob").remaining == 59
    clock.at += 1
    assert buckets.take("ada").retry_after == 0
    assert buckets.take("ada").retry_after == 1
    clock.at += 3_600
    assert buckets.take("ada") == (60, 59, 1, 0)


def test_no_number_of_callers_fills_the_memory() -> None:
    buckets = TokenBuckets(10, StandingClock())
    for number in range(25_000):
        buckets.take(f"caller {number}")
    assert len(buckets._buckets) == 10_000


async def test_every_answer_says_what_is_left_and_too_many_requests_wait() -> None:
    async with served() as api:
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


async def test_guessing_tokens_is_stopped_and_neighbours_do_not_suffer() -> None:
    async with served() as api:
        assert (await api.get("/v1/whoami")).status == 200
        statuses = []
        for number in range(70):
            wrong = {"Authorization": f"Bearer horae_{number:032x}_{number:064x}"}
            statuses.append((await api.get("/v1/whoami", who=None, headers=wrong)).status)
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert (await api.get("/v1/whoami")).status == 200
        assert (await api.get("/v1/whoami", who="bob")).status == 200, "nor does who comes for the first time"
