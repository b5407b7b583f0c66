"""Traces: one trace id in the HTTP response, the request span, the run, its span and the target."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from horae.observe.traces import make_tracing, read_traceparent, tracing_from_environment
from tests.observe.observed_app import ObservedApp, run_observed_app

TRACEPARENT = f"00-{'ab' * 16}-{'cd' * 8}-01"


@asynccontextmanager
async def run_traced_app() -> AsyncIterator[tuple[ObservedApp, InMemorySpanExporter]]:
    exporter = InMemorySpanExporter()
    async with run_observed_app(tracing=make_tracing([exporter], "both", {}, synchronous=True)) as observed:
        yield observed, exporter


def trace_id_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def traceparent_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"00-{trace_id_of(span)}-{span.context.span_id:016x}-01"


def find_spans(exporter: InMemorySpanExporter, kind: SpanKind, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is kind and span.name == name]


async def test_response_run_and_target_share_one_trace() -> None:
    async with run_traced_app() as (observed, exporter):
        reply, run = await observed.run_once("fine", headers={"traceparent": TRACEPARENT})
        (span,) = find_spans(exporter, SpanKind.CONSUMER, "run function")
        received = run["result"]
        assert reply.headers["traceresponse"] == received == traceparent_of(span)
        assert run["trace_id"] == trace_id_of(span) == received[3:35]
        assert span.parent is None
        assert span.attributes is not None
        assert (span.attributes["horae.run"], span.attributes["horae.origin"]) == (run["id"], "manual")

        (request_span,) = find_spans(exporter, SpanKind.SERVER, "POST /v1/tasks/{task_id}/run")
        assert trace_id_of(request_span) == "ab" * 16
        assert request_span.parent is not None
        assert f"{request_span.parent.span_id:016x}" == "cd" * 8
        assert [f"{link.context.trace_id:032x}-{link.context.span_id:016x}" for link in request_span.links] == [
            received[3:52]
        ]
        assert request_span.attributes is not None
        assert request_span.attributes["horae.request"] == reply.headers["X-Request-Id"]


async def _check_refused_contexts() -> None:
    async with run_traced_app() as (observed, exporter):
        url, bearer = f"{observed.api.base}/v1/whoami", f"Bearer {observed.api.tokens['ada']}"
        for sent in ([TRACEPARENT, TRACEPARENT], [f"{TRACEPARENT}-more"], [TRACEPARENT]):
            headers = [("Authorization", bearer), *(("traceparent", each) for each in sent)]
            async with observed.api.session.get(url, headers=headers) as answer:
                trace = answer.headers["traceresponse"][3:35]
            assert (trace == "ab" * 16) is (sent == [TRACEPARENT]), sent
        assert [each.parent is None for each in find_spans(exporter, SpanKind.SERVER, "GET /v1/whoami")] == [
            True,
            True,
            False,
        ]


async def test_trace_contexts_that_are_refused_start_new_traces() -> None:
    await _check_refused_contexts()


async def test_trace_ids_are_the_same_without_an_exporter() -> None:
    async with run_observed_app() as observed:
        reply, run = await observed.run_once("fine", headers={"traceparent": TRACEPARENT})
        assert reply.headers["traceresponse"] == run["result"]
        assert run["trace_id"] == run["result"][3:35]
        other = await observed.api.get("/v1/tasks")
        assert "traceresponse" not in other.headers


async def test_request_that_creates_a_task_is_linked_to_its_first_run() -> None:
    async with run_traced_app() as (observed, exporter):
        made = await observed.api.post("/v1/tasks", {"name": "x", "when": "now", "say": "hi"}, who="admin")
        assert made.status == 201
        assert made.headers["traceresponse"][3:35] == trace_id_of(
            find_spans(exporter, SpanKind.SERVER, "POST /v1/tasks")[0]
        )
        task = await observed.app.get(made.json["id"])
        await task.wait()
        (request_span,) = find_spans(exporter, SpanKind.SERVER, "POST /v1/tasks")
        (run_span,) = find_spans(exporter, SpanKind.CONSUMER, "run event")
        assert [f"{link.context.trace_id:032x}" for link in request_span.links] == [trace_id_of(run_span)]


async def test_failed_run_has_an_error_span_without_secrets() -> None:
    async with run_traced_app() as (observed, exporter):
        await observed.run_once("broken")
        (span,) = find_spans(exporter, SpanKind.CONSUMER, "run function")
        assert span.status.status_code is StatusCode.ERROR
        assert "hunter2" not in span.to_json()
        for token in observed.api.tokens.values():
            assert all(token not in each.to_json() for each in exporter.get_finished_spans())


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (TRACEPARENT, TRACEPARENT),
        (f"01-{'ab' * 16}-{'cd' * 8}-01-more", f"01-{'ab' * 16}-{'cd' * 8}-01"),
        (f"00-{'ab' * 16}-{'cd' * 8}-01-more", ""),
        (f"00-{'ab' * 16}-{'cd' * 8}-01-", ""),
        (f"00-{'ab' * 16}-{'cd' * 8}-0", ""),
        (f"01-{'ab' * 16}-{'cd' * 8}-01more", ""),
        (f"ff-{'ab' * 16}-{'cd' * 8}-01", ""),
        (f"00-{'00' * 16}-{'cd' * 8}-01", ""),
        (f"00-{'ab' * 16}-{'00' * 8}-01", ""),
        (f"00-{'AB' * 16}-{'cd' * 8}-01", ""),
        ("", ""),
        ("x" * 100_000, ""),
        ("00-é", ""),
    ],
)
def test_only_valid_traceparents_are_accepted(sent: str, expected: str) -> None:
    assert read_traceparent([(b"host", b"x"), (b"traceparent", sent.encode())]) == expected


def test_two_trace_contexts_start_a_new_trace() -> None:
    other = f"00-{'ef' * 16}-{'cd' * 8}-01"
    for both in ((TRACEPARENT, other), (TRACEPARENT, TRACEPARENT), (TRACEPARENT, "")):
        assert read_traceparent([(b"traceparent", each.encode()) for each in both]) == ""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "unknown_exporter"},
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_tracing_is_off_without_an_exporter(environment: dict[str, str]) -> None:
    assert tracing_from_environment(environment, "api") is None


def test_exporter_of_the_environment_gets_the_spans(capfd: pytest.CaptureFixture[str]) -> None:
    """Runs in its own process, because the tracing setup is global."""
    import subprocess  # noqa: PLC0415 - only here

    program = (
        "from horae.observe.traces import tracing_from_environment; import os\n"
        "found = tracing_from_environment(os.environ, 'api'); found.request('', 'GET').end(); found.close()\n"
    )
    environment = {"OTEL_TRACES_EXPORTER": "console", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert '"name": "GET"' in done.stdout
    assert '"service.name": "horae"' in done.stdout
    assert capfd.readouterr().err == ""
