"""Traces as OpenTelemetry has them: a span for each request and for each run, where somebody has set up where they go.

The trace and the span of a run follow from the run itself (`model/events/trace_context.py`), so that every process knows them: the one
that queues it says them in its answer and links to them, and the one that carries it gives them to its target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..model.events.trace_context import traceparent
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanContext

LINKS: Final = "trace_links"
"""Where in the state of a request its route says which runs will come of it."""
_TRACEPARENT: Final = re.compile(
    r"(?:00|(?!ff|00)(?P<later>[0-9a-f]{2}))-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?(later)(?:-.*)?)"
)
"""Of W3C Trace Context: version 00 ends with the flags, later versions may go on."""
_SWITCHES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
_EXPORTERS: Final = "opentelemetry_traces_exporter"
_PROTOCOLS: Final = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
_WANTED: Final[ContextVar[tuple[int, int] | None]] = ContextVar("horae_wanted_ids", default=None)


class Outcome(Protocol):
    """As much of an outcome as a span tells."""


def incoming(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The trace context that came with a request; empty, for a new trace, where none came, several, or a malformed one."""
    found = [value for name, value in headers if name == b"traceparent"]
    if len(found) != 1:
        return ""
    text = found[0][:200].decode("latin-1").strip()
    return text[:55] if _TRACEPARENT.fullmatch(text) else ""


def tracing_of(environment: Mapping[str, str], process: str) -> Tracing | None:
    """None, and nothing is loaded, where nobody has said by `OTEL_…` where spans are to go, or the SDK is not there."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if not any(environment.get(name, "").strip() for name in _SWITCHES) or find_spec("opentelemetry") is None:
        return None
    if find_spec("opentelemetry.sdk") is None:
        return None
    exporters = [each for name in _wanted(environment) if (each := _exporter(name)) is not None]
    return make_tracing(exporters, process, environment) if exporters else None


def _wanted(environment: Mapping[str, str]) -> list[str]:
    said = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    protocol = environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    otlp = _PROTOCOLS.get((protocol or "http/protobuf").strip().lower(), "otlp_proto_http")
    names = [otlp if name.strip() == "otlp" else name.strip() for name in said.split(",")]
    return [name for name in names if name not in ("", "none")]


def _exporter(name: str) -> SpanExporter | None:
    """As its package offers it; None where that is not installed."""
    for each in entry_points(group=_EXPORTERS, name=name):
        made: SpanExporter = each.load()()
        return made
    return None


def make_tracing(
    exporters: Iterable[SpanExporter], process: str, environment: Mapping[str, str], *, at_once: bool = False
) -> Tracing:
    """`at_once`: each span goes out when it ends, for whoever waits for it."""
    from opentelemetry import trace  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor  # noqa: PLC0415

    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "horae"}
    provider = TracerProvider(id_generator=_ids(), resource=Resource.create({**named, "horae.process": process}))
    for exporter in exporters:
        provider.add_span_processor(SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(exporter))
    if not at_once:
        # What functions trace by themselves belongs there too.
        trace.set_tracer_provider(provider)
    return Tracing(provider)


def _ids() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415 - an extra

    class WantedIds(RandomIdGenerator):
        """Chance, but for a run: its ids were known before it began."""

        def generate_trace_id(self) -> int:
            wanted = _WANTED.get()
            return super().generate_trace_id() if wanted is None else wanted[0]

        def generate_span_id(self) -> int:
            wanted = _WANTED.get()
            return super().generate_span_id() if wanted is None else wanted[1]

    return WantedIds()


class Tracing:
    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("horae")

    def close(self) -> None:
        """What is still to go out goes."""
        self._provider.shutdown()

    def request(self, came: str, method: str) -> RequestSpan:
        """Part of the trace of whoever asks, where they have one."""
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.context import Context  # noqa: PLC0415

        parent = Context()
        if came:
            parent = trace.set_span_in_context(trace.NonRecordingSpan(_context_of(came)), parent)
        return RequestSpan(self._tracer.start_span(method, parent, trace.SpanKind.SERVER))

    @contextmanager
    def run(self, task: Task, run: Run) -> Iterator[Span]:
        """Around the work of a run: the first span of its trace that has these very ids, and what is traced within is below
        it."""
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.context import Context  # noqa: PLC0415

        context = _context_of(traceparent(run))
        wanted = _WANTED.set((context.trace_id, context.span_id))
        try:
            span = self._tracer.start_span(
                f"run {task.target.kind}", Context(), trace.SpanKind.CONSUMER, attributes=_told_of(task, run)
            )
        finally:
            _WANTED.reset(wanted)
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            yield span


def end_run(span: Span, outcome: object) -> None:
    """How it ended, in the words of its outcome."""
    from opentelemetry.trace import StatusCode  # noqa: PLC0415 - an extra

    span.set_attribute("horae.outcome", type(outcome).__name__.lower())
    reason = getattr(outcome, "reason", None)
    if isinstance(reason, Reason):
        span.set_attribute("horae.reason", reason.value)
    if hasattr(outcome, "error"):
        # What it said may hold anything; whoever may see it reads it in the ledger.
        span.set_status(StatusCode.ERROR)


class RequestSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"

    def answered(self, scope: MutableMapping[str, Any], message: MutableMapping[str, Any]) -> None:
        route = getattr(scope.get("route"), "path", None)
        span, status, state = self._span, message["status"], scope["state"]
        if route:
            span.update_name(f"{scope['method']} {route}")
            span.set_attribute("http.route", route)
        span.set_attribute("http.request.method", scope["method"])
        span.set_attribute("http.response.status_code", status)
        span.set_attribute("horae.request", state.get("request_id", ""))
        for each in state.get(LINKS, ()):
            span.add_link(_context_of(each), {"horae.link": "run"})
        headers = message.setdefault("headers", [])
        if not any(name == b"traceresponse" for name, _ in headers):
            headers.append((b"traceresponse", self.traceparent.encode()))

    def end(self) -> None:
        self._span.end()


def _context_of(text: str) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags  # noqa: PLC0415 - an extra

    return SpanContext(
        int(text[3:35], 16), int(text[36:52], 16), is_remote=True, trace_flags=TraceFlags(int(text[53:55], 16))
    )


def _told_of(task: Task, run: Run) -> dict[str, str | int]:
    return {
        "horae.task": task.id,
        "horae.run": run.id,
        "horae.owner": run.owner,
        "horae.origin": run.origin.value,
        "horae.target": task.target.kind,
        "horae.attempt": run.attempt,
        "horae.planned": run.planned.isoformat(),
    }
