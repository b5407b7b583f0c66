"""Doctor and about: checks of the deployment that this process can make, and what it consists of."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

import tzdata
from starlette.responses import Response

from ....model.accounts.account import TOKEN_RETENTION
from ....model.accounts.principal import Scope
from ....model.accounts.session import ABSOLUTE_LIMIT, IDLE_LIMIT
from ....model.events.webhook import DELIVERY_RETENTION, Webhook
from ....model.page import MAX_PAGE_SIZE
from ....observe.health import HealthReport, check_health
from ....observe.metrics_server import Observability
from ....service.runs.nodes import NodeState, NodeStatus
from ....service.runs.overview import Overview
from ....version import __version__
from ....wire.problems import sentence_of
from ...formats import format_duration, format_share
from ...outcomes import Sign
from ...page import PageRequest, page
from .tabs import render_tab

Grade: TypeAlias = Literal["ok", "warning", "error"]
_SIGNS: Final = {"ok": ("✓", "good"), "warning": ("△", "warn"), "error": ("✕", "bad")}
_ON_TIME_SHARE: Final = 0.95


class Check(NamedTuple):
    """One check: its sign, a sentence, and where it is not fine, a command or a page that helps."""

    name: str
    sign: Sign
    text: str
    command: str | None = None
    path: str | None = None


async def show_doctor(request: PageRequest) -> Response:
    """Run the checks that need no access to the machine of a node; `horae doctor` has the others."""
    request.viewer.principal.require_scope(Scope.ADMIN)
    principal, service = request.viewer.principal, request.service
    health = await _check_health(request)
    overview = await service.overview.now(principal)
    nodes = await service.nodes.all(principal)
    webhooks = (await service.webhooks.page(principal, None, MAX_PAGE_SIZE)).items
    make = _CheckFactory(request)
    checks = [
        *_store_checks(make, health, request),
        *_node_checks(make, nodes),
        *_time_checks(make, health, overview, request),
        *_waiting_checks(make, overview),
        *_account_checks(make, request, webhooks),
    ]
    return render_tab(request, "doctor", {"checks": checks})


async def show_about(request: PageRequest) -> Response:
    data = {
        "facts": [
            ("settings_about_version", __version__),
            ("settings_about_python", platform.python_version()),
            ("settings_about_store", request.service.store.kind),
            ("settings_about_zone", request.service.zone or "–"),
            ("settings_about_tzdata", tzdata.IANA_VERSION),
        ],
        "retention": [
            ("settings_keep_tokens", TOKEN_RETENTION),
            ("settings_keep_deliveries", DELIVERY_RETENTION),
            ("settings_session_idle", IDLE_LIMIT),
            ("settings_session_absolute", ABSOLUTE_LIMIT),
        ],
    }
    return render_tab(request, "about", data)


async def _check_health(request: PageRequest) -> HealthReport:
    context = request.context
    observability: Observability = context.observability
    probe = observability.observer.write_probe
    return await check_health(
        context.service.store,
        context.clock,
        probe,
        tolerance=observability.tolerance,
        grace=observability.grace,
    )


class _CheckFactory:
    def __init__(self, request: PageRequest) -> None:
        self._request = request

    def __call__(
        self, name: str, grade: Grade, *, command: str | None = None, path: str | None = None, **facts: object
    ) -> Check:
        text = self._request.text(f"doctor_{name}", **facts)
        sign = Sign(*_SIGNS[grade], self._request.text(f"doctor_grade_{grade}"))
        return Check(name, sign, text, command, path)


def _store_checks(make: _CheckFactory, health: HealthReport, request: PageRequest) -> Iterator[Check]:
    if not health.readiness.store:
        yield make("store_away", "error", command="horae doctor")
    elif health.problem is not None:
        problem = sentence_of(health.problem, request.viewer.language).message
        yield make("store_read_only", "error", command="horae doctor", problem=problem)
    else:
        yield make("store_fine", "ok")


def _node_checks(make: _CheckFactory, nodes: tuple[NodeStatus, ...]) -> Iterator[Check]:
    live = sum(each.state is NodeState.LIVE for each in nodes)
    silent = sum(each.state is NodeState.SILENT for each in nodes)
    yield make("nodes", "ok", number=live) if live else make("no_nodes", "error", command="horae up")
    if silent:
        yield make("silent_nodes", "warning", path="/lanes", number=silent)


def _time_checks(
    make: _CheckFactory, health: HealthReport, overview: Overview, request: PageRequest
) -> Iterator[Check]:
    yield make("clock", "ok") if health.readiness.clock else make("clock_off", "error", path="/lanes")
    for step in health.clock_steps:
        yield make("clock_step", "warning", length=format_duration(abs(step.by), request.viewer.language))
    share = overview.on_time
    if share is None:
        yield make("no_runs", "ok")
    else:
        late = format_duration(overview.lateness.p99, request.viewer.language)
        yield make("lateness", "ok" if share >= _ON_TIME_SHARE else "warning", share=format_share(share), p99=late)


def _waiting_checks(make: _CheckFactory, overview: Overview) -> Iterator[Check]:
    waiting = overview.waiting
    if waiting.overdue:
        yield make("overdue", "error", command="horae up", number=waiting.overdue)
    if waiting.parked:
        yield make("parked", "warning", path="/lanes", number=waiting.parked)
    if waiting.stranded:
        yield make("stranded", "error", command="horae up app.py", number=waiting.stranded)
    if not any(waiting):
        yield make("nothing_waits", "ok")
    closed = [lane.name for lane in overview.lanes if lane.limit == 0]
    if closed:
        yield make("closed_lanes", "warning", path="/lanes", names=", ".join(closed[:3]))
    if overview.needs:
        yield make("needs", "warning", path="/", number=sum(overview.needs_counts.values()))


def _account_checks(make: _CheckFactory, request: PageRequest, webhooks: tuple[Webhook, ...]) -> Iterator[Check]:
    yield make("key", "ok") if request.service.secrets.has_key else make("no_key", "warning", command="horae doctor")
    broken = [each for each in webhooks if each.blocked or each.failing_since is not None]
    if broken:
        yield make("webhooks", "warning", path="/settings/webhooks", number=len(broken))


ROUTES: Final = (page("/settings/doctor", show_doctor), page("/settings/about", show_about))
