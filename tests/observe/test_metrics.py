"""`/metrics`: values after real runs, requests and streams; labels, access and documentation."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from horae.clock import SystemClock
from horae.observe.counters import MetricSet
from horae.observe.metric_definitions import METRICS
from horae.observe.observer import Observer
from horae.observe.scrape_access import Policy
from horae.observe.store import OPERATIONS
from horae.runtime.stores import make_store
from tests.observe.observed_app import parse_samples, run_observed_app, total

PAGE = Path(__file__).parents[2] / "docs" / "observability.md"


async def test_metrics_count_runs_requests_and_tasks() -> None:
    async with run_observed_app() as observed:
        before = await observed.samples()
        await observed.run_once("fine")
        await observed.run_once("broken")
        after = await observed.samples()
        assert total(before, "horae_starts_total") == 0
        assert total(after, "horae_starts_total", origin="manual") == 2
        assert total(after, "horae_outcomes_total", state="succeeded", reason="") == 1
        assert total(after, "horae_outcomes_total", state="failed", reason="target_failed") == 1
        assert total(after, "horae_lateness_seconds_count") == 2
        assert total(after, "horae_run_seconds_count") == 2
        assert total(after, "horae_settlement_delay_seconds_count") == 2
        assert total(after, "horae_settlements_waiting") == 0
        assert total(after, "horae_store_call_seconds_count", operation="claim_due") >= 2
        assert total(after, "horae_http_requests_total", route="/v1/tasks/{task_id}/run", status="202") == 2
        assert total(after, "horae_http_request_seconds_count", route="/v1/runs/{run_id}") == 2
        assert total(after, "horae_tasks", state="active") == 2
        assert total(after, "horae_nodes", state="live") == 1
        assert total(after, "horae_store_up") == 1
        assert total(after, "horae_capacity") == observed.app.settings.capacity
        assert 0 < total(after, "horae_lease_left_seconds") <= observed.app.settings.terms.lease.total_seconds()


async def test_histogram_buckets_are_cumulative() -> None:
    async with run_observed_app() as observed:
        await observed.run_once("fine")
        samples = await observed.samples()
    for metric in METRICS:
        if metric.kind != "histogram":
            continue
        series: dict[frozenset[tuple[str, str]], list[tuple[float, float]]] = {}
        for (name, labels), value in samples.items():
            if name == f"{metric.name}_bucket":
                edge = float(dict(labels)["le"])
                rest = frozenset(pair for pair in labels if pair[0] != "le")
                series.setdefault(rest, []).append((edge, value))
        for labels, buckets in series.items():
            counts = [count for _, count in sorted(buckets)]
            assert len(counts) == len(metric.edges) + 1
            assert counts == sorted(counts), (metric.name, labels)
            assert counts[-1] == samples[f"{metric.name}_count", labels]


async def test_unknown_paths_share_one_series() -> None:
    async with run_observed_app() as observed:
        await observed.samples()
        before = await observed.samples()
        for number in range(1_000):
            path = (f"/x{number}", f"/v1/tasks/tsk_{number}", f"/v1/nothing/{number}?a={number}")[number % 3]
            method = ("PROPFIND", "MKCOL")[number % 2] if number % 50 < 2 else ("GET", "POST")[number % 2]
            await observed.api.request(method, path, who="admin")
        after = await observed.samples()
        grown = {name for name, _ in after.keys() - before.keys()}
        assert grown <= {
            "horae_http_requests_total",
            "horae_http_request_seconds_bucket",
            "horae_http_request_seconds_count",
            "horae_http_request_seconds_sum",
            "horae_store_call_seconds_bucket",
            "horae_store_call_seconds_count",
            "horae_store_call_seconds_sum",
        }
        routes = {dict(labels)["route"] for name, labels in after if name == "horae_http_requests_total"}
        methods = {dict(labels)["method"] for name, labels in after if name == "horae_http_requests_total"}
        assert routes == {"/metrics", "(none)", "/v1/tasks/{task_id}"}
        assert methods == {"GET", "POST", "other"}
        assert len(after) - len(before) < 100


async def test_labels_hold_no_names_or_ids_of_users() -> None:
    async with run_observed_app() as observed:
        await observed.api.create_task("ada", name="quarterly-secret-plan", lane="ada-lane", labels={"team": "sails"})
        await observed.run_once("fine")
        text = (await observed.api.get("/metrics", who=None)).text
    for word in ("quarterly-secret-plan", "ada", "sails", "tsk_0", "run_0", "admin", "fine"):
        assert not re.search(rf'="(?:[^"]*[^"a-z])?{word}(?:[^"a-z][^"]*)?"', text), word


async def test_rate_limited_requests_and_event_readers_are_counted() -> None:
    async with run_observed_app(rate=5) as observed:
        api = observed.api
        statuses = [(await api.get("/v1/tasks")).status for _ in range(8)]
        assert statuses.count(429) == 3
        headers = {"Authorization": f"Bearer {api.tokens['admin']}", "Accept": "text/event-stream"}
        async with api.session.get(f"{api.base}/v1/events", headers=headers) as stream:
            await stream.content.readuntil(b"\n\n")
            samples = await observed.samples()
        assert total(samples, "horae_rate_limited_total", by="owner") == 3
        assert total(samples, "horae_event_readers") == 1
        assert total(samples, "horae_http_requests_total", route="/v1/events", status="200") == 1


async def test_unavailable_store_is_reported_and_other_metrics_are_served(tmp_path: Path) -> None:
    closed = make_store(f"sqlite:///{tmp_path}/never-opened.db")
    samples = parse_samples(await Observer("api", SystemClock()).text(closed))
    assert total(samples, "horae_store_up") == 0
    assert total(samples, "horae_build_info") == 1


@pytest.mark.parametrize(
    ("policy", "who", "headers", "status"),
    [
        ("local", None, {}, 200),
        ("local", None, {"X-Forwarded-For": "203.0.113.9"}, 401),
        ("local", None, {"Forwarded": "for=203.0.113.9"}, 401),
        ("local", None, {"Host": "rebound.example.org"}, 401),
        ("local", None, {"Origin": "http://127.0.0.1:1"}, 401),
        ("local", "admin", {"X-Forwarded-For": "203.0.113.9"}, 200),
        ("local", "ada", {"X-Forwarded-For": "203.0.113.9"}, 403),
        ("token", None, {}, 401),
        ("token", "ada", {}, 403),
        ("token", "vic", {}, 403),
        ("token", "robot", {}, 403),
        ("token", "admin", {}, 200),
        ("open", None, {"X-Forwarded-For": "203.0.113.9"}, 200),
        ("off", "admin", {}, 404),
    ],
)
async def test_access_to_metrics_by_policy(
    policy: Policy, who: str | None, headers: dict[str, str], status: int
) -> None:
    async with run_observed_app(policy=policy) as observed:
        reply = await observed.api.get("/metrics", who=who, headers=headers)
        assert reply.status == status, reply.text
        if status == 200:
            assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        else:
            assert reply.code in ("metrics_need_token", "not_allowed", "metrics_off")


async def test_page_lists_the_metrics_of_the_code() -> None:
    documented = set(re.findall(r"^\| `((?:horae|process)_\w+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {name for name in documented if name.startswith("horae_")} == {metric.name for metric in METRICS}
    for metric in METRICS:
        (row,) = re.findall(rf"^\| `{metric.name}` \|(.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        kind, labels, _ = (cell.strip() for cell in row.strip(" |").split("|", 2))
        named = [] if labels == "–" else re.findall(r"`(\w+)`", labels)
        process = [] if metric.is_deployment_wide else ["process"]
        assert (kind, named) == (metric.kind, [*metric.labels, *process]), metric.name
    async with run_observed_app() as observed:
        outcome = await observed.samples()
    shown = {re.sub(r"_(bucket|count|sum)$", "", name) for name, _ in outcome}
    assert {name for name in shown if not name.startswith("horae_")} <= documented
    # Metrics with labels have no series before the first event; all others exist from the start.
    without_series = {"horae_outcomes_total", "horae_skipped_total", "horae_store_errors_total", "horae_engine_scraped"}
    assert {metric.name for metric in METRICS} - shown <= without_series | {
        "horae_http_requests_total",
        "horae_http_request_seconds",
    }


async def test_documented_example_works() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - the example of the page
    async with names["app"]:
        samples = parse_samples(await names["metrics"]())
    assert total(samples, "horae_nodes", state="live") == 1
    assert total(samples, "horae_store_call_seconds_count", operation="join", process="engine") == 1


def test_store_operations_have_names() -> None:
    assert {"claim_due", "settle", "renew_lease", "records", "write_lines", "counts"} <= OPERATIONS


async def test_counters_are_read_by_threads_while_they_change() -> None:
    figures = MetricSet()
    counter = figures.counter(next(metric for metric in METRICS if metric.name == "horae_store_errors_total"))

    def read() -> int:
        return max(len(counter.values.copy()) for _ in range(2_000))

    reading = asyncio.get_running_loop().run_in_executor(None, read)
    for number in range(20_000):
        counter.add((str(number),))
    await reading
    assert sum(counter.values.values()) == 20_000
