"""Calendar feed: `/calendar.ics` for calendar programs, and the forms that make and revoke its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import blake2b
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...choices import Language
from ...errors import HoraeError, NotAuthenticated, NotFound
from ...model.accounts.principal import Principal
from ...model.ids import to_microseconds
from ...model.run import Origin, Run
from ...model.task import Task
from ...ports.store import RunFilter
from ...schedule.describe import describe_core
from ...service.runs.planned import PlannedRun
from ...service.service import Service
from ...version import __version__
from ...web.authentication import count_failure, take_from_quota
from ...web.problems import problem_response
from ...web.request_context import app_context, request_id
from ...wire.icalendar import MEDIA_TYPE, CalendarEvent, render_calendar
from ...wire.problems import problem_json
from ..formats import format_duration
from ..messages import TEXTS
from ..outcomes import run_sign
from ..page import PageRequest, form, page
from ..viewer import viewer_language
from .calendar import PATH, load, show

FEED_PATH: Final = "/calendar.ics"
TOKEN_PARAMETER: Final = "token"  # noqa: S105 - the name of a parameter
MAX_EVENTS: Final = 1_000
MAX_PAST: Final = 300
PAST: Final = timedelta(days=7)
AHEAD: Final = timedelta(days=30)
_MAX_NAMES: Final = 100
"""Tasks of past runs whose names are read; further ones are named by their id."""
_MAX_TEXT: Final = 200


# --- feed ------------------------------------------------------------------------------------------------------------


async def serve(request: Request) -> Response:
    """Respond with the calendar of a token's owner. The token is in the URL, because calendar programs send no headers;
    requests are logged by path, without the query."""
    service, text = app_context(request).service, request.query_params.get(TOKEN_PARAMETER, "")[:_MAX_TEXT]
    try:
        try:
            principal = await service.calendar_tokens.authenticate(text, request=request_id(request))
        except NotAuthenticated:
            count_failure(request)
            raise
        take_from_quota(request, app_context(request).rate_limits, principal)
        events, changed = await build_events(request, principal)
    except HoraeError as error:
        return problem_response(request, error)
    name = TEXTS["feed_calendar_name"].in_language(viewer_language(request, principal), owner=principal.owner)
    return _respond_unless_cached(request, render_calendar(name, f"Horae {__version__}", events), changed)


async def build_events(request: Request, principal: Principal) -> tuple[list[CalendarEvent], datetime]:
    """Return the events of the past week and the next 30 days, one for each occurrence, and when the last one changed."""
    service, language = app_context(request).service, viewer_language(request, principal)
    # By the hour, so that the content stays the same between two reads.
    hour = app_context(request).clock.now().replace(minute=0, second=0, microsecond=0)
    base = f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}"
    runs = (await service.runs.page(principal, RunFilter(since=hour - PAST), limit=MAX_PAST)).items
    planned = await service.planned.list(principal, hour, hour + AHEAD, MAX_EVENTS)
    names = await _load_names(service, principal, runs, planned.items)
    events: dict[str, CalendarEvent] = {}
    # Newest attempt last; what is still planned, such as a retry, counts more than an attempt that has ended.
    for event in (
        *_past_events(reversed(runs), names, base, language),
        *_planned_events(planned.items, base, language),
    ):
        events[event.uid] = event
    changed = max([hour, *(run.ended for run in runs if run.ended is not None)])
    kept = sorted(events.values(), key=lambda event: (event.start, event.uid))
    return kept[:MAX_EVENTS], changed


async def _load_names(
    service: Service, principal: Principal, runs: Sequence[Run], planned: Sequence[PlannedRun]
) -> dict[str, str]:
    names = {run.task.id: run.task.name for run in planned}
    missing = [task_id for task_id in dict.fromkeys(run.task_id for run in runs) if task_id not in names]
    for task_id in missing[:_MAX_NAMES]:
        try:
            names[task_id] = (await service.tasks.get(principal, task_id)).task.name
        except NotFound:
            continue
    return names


def _past_events(
    runs: Iterator[Run], names: Mapping[str, str], base: str, language: Language
) -> Iterator[CalendarEvent]:
    for run in runs:
        sign = run_sign(run, language)
        times = f" ×{run.span.count}" if run.span is not None else ""
        late = "" if run.lateness is None else f", +{format_duration(run.lateness, language)}"
        yield CalendarEvent(
            event_uid(run.task_id, run.origin, run.planned),
            run.ended or run.started or run.due,
            run.started or run.due,
            f"{sign.shape} {names.get(run.task_id, run.task_id)}{times}",
            f"{sign.word}{late}",
            f"{base}/runs/{run.id}",
            run.ended if run.started is not None else None,
        )


def _planned_events(planned: Sequence[PlannedRun], base: str, language: Language) -> Iterator[CalendarEvent]:
    for task, occurrence in planned:
        yield CalendarEvent(
            event_uid(task.id, occurrence.origin, occurrence.planned),
            task.created,
            occurrence.due,
            task.name,
            _describe(task, language),
            f"{base}/tasks/{task.id}",
            is_tentative=occurrence.is_estimate,
        )


def _describe(task: Task, language: Language) -> str:
    zone = f" ({task.schedule.zone})" if task.schedule.zone else ""
    return f"{describe_core(task.schedule, language)}{zone}"


def event_uid(task_id: str, origin: Origin, planned: datetime) -> str:
    """Return the id of an occurrence, the same before and after it has run."""
    return f"{task_id}-{origin.value}-{to_microseconds(planned)}@horae"


def _respond_unless_cached(request: Request, body: bytes, changed: datetime) -> Response:
    """Respond with the calendar, or 304 if the client has it already."""
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = {
        "ETag": tag,
        "Last-Modified": format_datetime(changed.replace(microsecond=0), usegmt=True),
        "Cache-Control": "private, no-cache",
        "Content-Disposition": 'inline; filename="horae.ics"',
    }
    if_none_match = request.headers.get("if-none-match")
    is_known = (
        _is_not_newer(request.headers.get("if-modified-since"), changed)
        if if_none_match is None
        else tag in [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    )
    if is_known:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=MEDIA_TYPE)


def _is_not_newer(text: str | None, changed: datetime) -> bool:
    try:
        known = None if text is None else parsedate_to_datetime(text)
        return known is not None and known >= changed.replace(microsecond=0)
    except (ValueError, TypeError, OverflowError):
        return False


# --- tokens ----------------------------------------------------------------------------------------------------------


async def make(request: PageRequest) -> Response:
    """Make a token, and show the address of its feed once."""
    try:
        _, text = await request.service.calendar_tokens.make(request.viewer.principal, request.form.text("name"))
    except HoraeError as error:
        problem = problem_json(error, request.viewer.language)
        given = request.form.text("name")
        return request.render(
            "calendar.html", {**await load(request), "feed_problem": problem, "feed_name": given}, 422
        )
    url = request.request.url
    address = f"{url.scheme}://{url.netloc}{request.viewer.url(FEED_PATH, token=text)}"
    return request.render("calendar.html", {**await load(request), "feed_address": address}, 201)


async def revoke(request: PageRequest) -> Response:
    token_id = request.request.path_params["id"]
    token = await request.service.calendar_tokens.revoke(request.viewer.principal, token_id)
    return request.redirect(PATH, request.notice("feed_revoked", feed=token.name))


# The page after the form refreshes its live part from its own address.
ROUTES: Final = (
    page("/calendar/feeds", show),
    form("/calendar/feeds", make),
    form("/calendar/feeds/{id}/revoke", revoke),
)
