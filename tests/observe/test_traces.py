"""One trace from the answer over HTTP to what the target received: the same id in all of them, and in the span that went out."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from horae.observe.traces import make_tracing, read_traceparent, tracing_from_environment
from tests.observe.observed_app import Stage, staged

CAME = f"00-{'ab' * 16}-{'cd' * 8}-01"


@asynccontextmanager
async def traced() -> AsyncIterator[tuple[Stage, InMemorySpanExporter]]:
    exporter = InMemorySpanExporter()
    async with staged(tracing=make_tracing([exporter], "both", {}, synchronous=True)) as stage:
        yield stage, exporter


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def whole(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"00-{trace_of(span)}-{span.context.span_id:016x}-01"


def spans(exporter: InMemorySpanExporter, kind: SpanKind, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is kind and span.name == name]


async def test_one_trace_from_the_answer_to_the_target() -> None:
    async with traced() as (stage, exporter):
        reply, run = await stage.ran("fine", headers={"traceparent": CAME})
        (span,) = spans(exporter, SpanKind.CONSUMER, "run function")
        received = run["result"]
        assert reply.headers["traceresponse"] == received == whole(span)
        assert run["trace_id"] == trace_of(span) == received[3:35]
        assert span.parent is None
        assert span.attributes is not None
        assert (span.attributes["horae.run"], span.attributes["horae.origin"]) == (run["id"], "manual")

        (asked,) = spans(exporter, SpanKind.SERVER, "POST /v1/tasks/{task_id}/run")
        assert trace_of(asked) == "ab" * 16
        assert asked.parent is not None
        assert f"{asked.parent.span_id:016x}" == "cd" * 8
        assert [f"{link.context.trace_id:032x}-{link.context.span_id:016x}" for link in asked.links] == [received[3:52]]
        assert asked.attributes is not None
        assert asked.attributes["horae.request"] == reply.headers["X-Request-Id"]


async def _refused_contexts_start_new_traces() -> None:
    async with traced() as (stage, exporter):
        url, bearer = f"{stage.api.base}/v1/whoami", f"Bearer {stage.api.tokens['ada']}"
        for sent in ([CAME, CAME], [f"{CAME}-more"], [CAME]):
            headers = [("Authorization", bearer), *(("traceparent", each) for each in sent)]
            async with stage.api.session.get(url, headers=headers) as answer:
                trace = answer.headers["traceresponse"][3:35]
            assert (trace == "ab" * 16) is (sent == [CAME]), sent
        assert [each.parent is None for each in spans(exporter, SpanKind.SERVER, "GET /v1/whoami")] == [
            True,
            True,
            False,
        ]


async def test_trace_contexts_that_are_refused_start_new_traces() -> None:
    await _refused_contexts_start_new_traces()


async def test_the_same_without_any_tracing() -> None:
    async with staged() as stage:
        reply, run = await stage.ran("fine", headers={"traceparent": CAME})
        assert reply.headers["traceresponse"] == run["result"]
        assert run["trace_id"] == run["result"][3:35]
        other = await stage.api.get("/v1/tasks")
        assert "traceresponse" not in other.headers


async def test_who_makes_a_task_is_led_to_its_first_run() -> None:
    async with traced() as (stage, exporter):
        made = await stage.api.post("/v1/tasks", {"name": "x", "when": "now", "say": "hi"}, who="admin")
        assert made.status == 201
        assert made.headers["traceresponse"][3:35] == trace_of(spans(exporter, SpanKind.SERVER, "POST /v1/tasks")[0])
        task = await stage.app.get(made.json["id"])
        await task.wait()
        (asked,) = spans(exporter, SpanKind.SERVER, "POST /v1/tasks")
        (ran,) = spans(exporter, SpanKind.CONSUMER, "run event")
        assert [f"{link.context.trace_id:032x}" for link in asked.links] == [trace_of(ran)]


async def test_a_run_that_fails_is_a_span_that_failed_and_tells_no_secret() -> None:
    async with traced() as (stage, exporter):
        await stage.ran("broken")
        (span,) = spans(exporter, SpanKind.CONSUMER, "run function")
        assert span.status.status_code is StatusCode.ERROR
        assert "hunter2" not in span.to_json()
        for token in stage.api.tokens.values():
            assert all(token not in each.to_json() for each in exporter.get_finished_spans())


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (CAME, CAME),
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
def test_only_what_is_a_trace_context_is_taken_for_one(sent: str, kept: str) -> None:
    assert read_traceparent([(b"host", b"x"), (b"traceparent", sent.encode())]) == kept


def test_two_trace_contexts_start_a_new_trace() -> None:
    other = f"00-{'ef' * 16}-{'cd' * 8}-01"
    for both in ((CAME, other), (CAME, CAME), (CAME, "")):
        assert read_traceparent([(b"traceparent", each.encode()) for each in both]) == ""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "nobody_has_this"},
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_where_nobody_asks_for_traces_there_are_none(environment: dict[str, str]) -> None:
    assert tracing_from_environment(environment, "api") is None


def test_traces_go_where_the_environment_says(capfd: pytest.CaptureFixture[str]) -> None:
    """In a process of its own: what is set up for a process stays so."""
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
