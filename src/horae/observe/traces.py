"""OpenTelemetry tracing: a span for each request and each run, where an exporter is configured by `OTEL_…` variables.

The trace and span ids of a run are derived from the run (`model/ids.py`), so that every process knows
them: the API returns and links them before the run starts, and the node passes them to the target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ..model.ids import traceparent
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanContext

LINKS_KEY: Final = "trace_links"
"""Key of the request state under which a route stores the trace contexts of the runs it queued."""
_TRACEPARENT: Final = re.compile(
    r"(?:00|(?!ff|00)(?P<later>[0-9a-f]{2}))-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?(later)(?:-.*)?)"
)
"""W3C Trace Context: version 00 ends with the flags, later versions may have more fields."""
_EXPORTER_VARIABLES: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_TRACES_EXPORTER",
)
_EXPORTER_GROUP: Final = "opentelemetry_traces_exporter"
_PROTOCOLS: Final = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
_NEXT_IDS: Final[ContextVar[tuple[int, int] | None]] = ContextVar("horae_wanted_ids", default=None)


def read_traceparent(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the `traceparent` of a request; empty, for a new trace, where it is missing, repeated or malformed."""
    values = [value for name, value in headers if name == b"traceparent"]
    if len(values) != 1:
        return ""
    text = values[0][:200].decode("latin-1").strip()
    return text[:55] if _TRACEPARENT.fullmatch(text) else ""


def tracing_from_environment(environment: Mapping[str, str], process: str) -> Tracing | None:
    """Set up tracing; None, without importing anything, where no exporter is configured or the SDK is missing."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if not any(environment.get(name, "").strip() for name in _EXPORTER_VARIABLES) or find_spec("opentelemetry") is None:
        return None
    if find_spec("opentelemetry.sdk") is None:
        return None
    exporters = [each for name in _exporter_names(environment) if (each := _load_exporter(name)) is not None]
    return make_tracing(exporters, process, environment) if exporters else None


def _exporter_names(environment: Mapping[str, str]) -> list[str]:
    setting = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    protocol = environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    otlp = _PROTOCOLS.get((protocol or "http/protobuf").strip().lower(), "otlp_proto_http")
    names = [otlp if name.strip() == "otlp" else name.strip() for name in setting.split(",")]
    return [name for name in names if name not in ("", "none")]


def _load_exporter(name: str) -> SpanExporter | None:
    """Create the exporter from its package's entry point; None where that is not installed."""
    for each in entry_points(group=_EXPORTER_GROUP, name=name):
        exporter: SpanExporter = each.load()()
        return exporter
    return None


def make_tracing(
    exporters: Iterable[SpanExporter], process: str, environment: Mapping[str, str], *, synchronous: bool = False
) -> Tracing:
    """Create the tracer provider. With `synchronous`, each span is exported synchronously when it ends (for tests)."""
    from opentelemetry import trace  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor  # noqa: PLC0415

    attributes = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "horae"}
    resource = Resource.create({**attributes, "horae.process": process})
    provider = TracerProvider(id_generator=_make_id_generator(), resource=resource)
    for exporter in exporters:
        provider.add_span_processor(SimpleSpanProcessor(exporter) if synchronous else BatchSpanProcessor(exporter))
    if not synchronous:
        # Spans that user functions create go to the same exporters.
        trace.set_tracer_provider(provider)
    return Tracing(provider)


def _make_id_generator() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415 - an extra

    class RunIdGenerator(RandomIdGenerator):
        """Random ids, except for the span of a run, whose ids are derived from the run."""

        def generate_trace_id(self) -> int:
            ids = _NEXT_IDS.get()
            return super().generate_trace_id() if ids is None else ids[0]

        def generate_span_id(self) -> int:
            ids = _NEXT_IDS.get()
            return super().generate_span_id() if ids is None else ids[1]

    return RunIdGenerator()


class Tracing:
    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("horae")

    def close(self) -> None:
        """Export the pending spans and shut down."""
        self._provider.shutdown()

    def request(self, parent_header: str, method: str) -> RequestSpan:
        """Start the span of a request, as a child of the caller's trace where it sent one."""
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.context import Context  # noqa: PLC0415

        parent = Context()
        if parent_header:
            parent = trace.set_span_in_context(trace.NonRecordingSpan(_context_of(parent_header)), parent)
        return RequestSpan(self._tracer.start_span(method, parent, trace.SpanKind.SERVER))

    @contextmanager
    def run(self, task: Task, run: Run) -> Iterator[Span]:
        """Open the span of a run, with the ids derived from it; spans created within are its children."""
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.context import Context  # noqa: PLC0415

        context = _context_of(traceparent(run))
        reset_token = _NEXT_IDS.set((context.trace_id, context.span_id))
        try:
            span = self._tracer.start_span(
                f"run {task.target.kind}", Context(), trace.SpanKind.CONSUMER, attributes=_run_attributes(task, run)
            )
        finally:
            _NEXT_IDS.reset(reset_token)
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            yield span


def end_run(span: Span, outcome: object) -> None:
    """Record the outcome and reason on the run's span."""
    from opentelemetry.trace import StatusCode  # noqa: PLC0415 - an extra

    span.set_attribute("horae.outcome", type(outcome).__name__.lower())
    reason = getattr(outcome, "reason", None)
    if isinstance(reason, Reason):
        span.set_attribute("horae.reason", reason.value)
    if hasattr(outcome, "error"):
        # The error text may hold anything, so it stays in the ledger, where access is checked.
        span.set_status(StatusCode.ERROR)


class RequestSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"

    def record_response(self, scope: MutableMapping[str, Any], message: MutableMapping[str, Any]) -> None:
        route = getattr(scope.get("route"), "path", None)
        span, status, state = self._span, message["status"], scope["state"]
        if route:
            span.update_name(f"{scope['method']} {route}")
            span.set_attribute("http.route", route)
        span.set_attribute("http.request.method", scope["method"])
        span.set_attribute("http.response.status_code", status)
        span.set_attribute("horae.request", state.get("request_id", ""))
        for each in state.get(LINKS_KEY, ()):
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


def _run_attributes(task: Task, run: Run) -> dict[str, str | int]:
    return {
        "horae.task": task.id,
        "horae.run": run.id,
        "horae.owner": run.owner,
        "horae.origin": run.origin.value,
        "horae.target": task.target.kind,
        "horae.attempt": run.attempt,
        "horae.planned": run.planned.isoformat(),
    }
