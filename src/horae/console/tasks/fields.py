"""Fields of the task form for its template: the declared shapes with labels, problems, defaults and suggested values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...choices import Language
from ...model.policy import policies_for
from ...model.task import Task
from ...service.tasks.functions.functions import KnownFunction
from ...wire.shapes.notation import TEXT, Schema
from ...wire.tasks.policies import policies_json
from ..messages.edit_fields import CHOICES, HELP, LABELS
from ..page import PageRequest
from ..shape_form import FieldWords, FormContext, FormField, Texts, make_field, make_fields
from ..viewer import Viewer
from .form import (
    AFTER,
    FORM_SPECS,
    MODE,
    NAME,
    OMITTED,
    OTHER,
    OTHER_KIND,
    OTHER_SPEC,
    PAYLOAD,
    POLICIES,
    TARGET_KINDS,
    further_shape,
)
from .schedule_fields import KINDS, PREFIX, WEEKDAYS
from .schedule_preview import SchedulePreview


class TaskWords(FieldWords):
    """A field without words of its own is shown by its name, with the description of its shape."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def label(self, name: str) -> str:
        message = LABELS.get(name)
        return super().label(name) if message is None else message.in_language(self._language)

    def help(self, name: str, schema: Schema) -> str:
        message = HELP.get(name)
        return super().help(name, schema) if message is None else message.in_language(self._language).replace("`", "")

    def choice(self, name: str, value: str) -> str:
        message = CHOICES.get(f"{name}.{value}", CHOICES.get(value))
        return value if message is None else message.in_language(self._language)


_MAX_NAMES: Final = 200
_FUNCTION: Final = "target.function.name"
_ZONES: Final = (
    "Asia/Shanghai",
    "Asia/Hong_Kong",
    "Asia/Tokyo",
    "Asia/Singapore",
    "Asia/Kolkata",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Paris",
    "America/New_York",
    "America/Chicago",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "Australia/Sydney",
)
"""Zones that the field suggests; every other one can be typed, also as a city."""


class TaskChoices(NamedTuple):
    """Names that the viewer may use in a task."""

    secrets: tuple[str, ...]
    functions: tuple[KnownFunction, ...]
    lanes: tuple[str, ...]


async def load_choices(request: PageRequest, task: Task | None) -> TaskChoices:
    """Load the names of secrets (those of the owner of the task), functions and lanes."""
    service, principal = request.service, request.viewer.principal
    owner = principal.owner if task is None else task.owner
    secrets = await service.secrets.names(principal, owner, limit=_MAX_NAMES)
    functions = await service.functions.all(principal)
    lanes = await service.lanes.all(principal)
    names = tuple(each.name for each in secrets.items)
    return TaskChoices(names, functions, tuple(each.name for each in lanes)[:_MAX_NAMES])


def form_data(  # noqa: PLR0913 - parts of one page, each by its name
    viewer: Viewer,
    texts: Texts,
    choices: TaskChoices,
    preview: SchedulePreview,
    problems: Mapping[str, str],
    days: list[str],
    *,
    is_new: bool,
) -> dict[str, Any]:
    """Return the fields. `days` are the weekdays that were sent with the structured fields."""
    suggestions = {
        _FUNCTION: tuple(each.registration.name for each in choices.functions)[:_MAX_NAMES],
        "lane": choices.lanes,
    }
    context = FormContext(texts, TaskWords(viewer.language), problems, suggestions, choices.secrets)
    usual = {} if preview.schedule is None else policies_json(policies_for(preview.schedule))
    further = further_shape(is_new=is_new, is_admin=viewer.is_admin)
    schedule_texts, schedule_days = preview.fields, preview.fields.get(f"{PREFIX}.days", "").split(",")
    if not schedule_texts or any(name.startswith(f"{PREFIX}.") for name in problems):
        # The text counts. Where it is not understood, or the fields are refused, they keep what was typed.
        schedule_texts = {name: text for name, text in texts.items() if name.startswith(f"{PREFIX}.")}
        schedule_days = days
    return {
        "after_fields": (make_field(AFTER, context, "after"), make_field(MODE, context, "mode")),
        "name_field": make_field(NAME, context, "name", is_required=True),
        "targets": [(kind, _target_fields(kind, context)) for kind in TARGET_KINDS],
        "payload_field": make_field(PAYLOAD, context, "payload"),
        "policy_fields": make_fields(POLICIES, context, "policies", omitted=OMITTED, defaults=usual),
        "further_fields": make_fields(further, context, omitted=OMITTED),
        "secrets": choices.secrets,
        "arguments": _arguments(texts.get(_FUNCTION, ""), choices.functions),
        "zones": tuple(dict.fromkeys((viewer.zone, "UTC", *_ZONES))),
        "schedule_kinds": KINDS,
        "weekdays": WEEKDAYS,
        "schedule_texts": schedule_texts,
        "schedule_days": schedule_days,
    }


def _target_fields(kind: str, context: FormContext) -> tuple[FormField, ...]:
    if kind == OTHER:
        return make_field(TEXT, context, OTHER_KIND), make_field({}, context, OTHER_SPEC)
    return make_fields(FORM_SPECS[kind], context, f"target.{kind}")


def _arguments(name: str, functions: tuple[KnownFunction, ...]) -> tuple[str, str] | None:
    """Return the name of the chosen function and its arguments in words; None where it is not known."""
    for known in functions:
        if known.registration.name == name.strip():
            arguments = known.registration.signature.arguments
            words = (
                f"{each.name} ({each.wanted})" if each.required else f"[{each.name}] ({each.wanted})"
                for each in arguments
            )
            return name.strip(), ", ".join(words)
    return None
