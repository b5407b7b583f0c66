"""The `after` schedule: no instants of its own; an occurrence begins when an occurrence of another task has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, NamedTuple, TypeAlias

from .once import FixedInstantsRule
from .refusals import refuse
from .rules import Rule
from .value import Past, Schedule, Setting, check_type

On: TypeAlias = Literal["succeeded", "failed", "ended"]
Mode: TypeAlias = Literal["any", "all"]

ON_CHOICES: Final = ("succeeded", "failed", "ended")
MODE_CHOICES: Final = ("any", "all")
MAX_PREDECESSORS: Final = 64
_NO_INSTANTS: Final = FixedInstantsRule(())
_UNUSED_MODIFIERS: Final = ("start", "end", "repeat", "jitter")


class Link(NamedTuple):
    """A predecessor, by its task id, and the end of its occurrence that fires the link: `failed` is failed, timed out or
    lost, `ended` is any of these and succeeded."""

    task: str
    on: On = "succeeded"


@dataclass(frozen=True, slots=True)
class After(Schedule):
    """`any`: each link fires by itself, once for each root occurrence. `all`: every link must have fired."""

    kind: ClassVar[str] = "after"
    links: tuple[Link, ...]
    mode: Mode = "any"

    def __post_init__(self) -> None:
        check_type("links", self.links, (tuple, list), "a list of predecessors")
        object.__setattr__(self, "links", tuple(map(_check_link, self.links)))
        if not 1 <= len(self.links) <= MAX_PREDECESSORS:
            raise refuse("after_count", most=MAX_PREDECESSORS, count=len(self.links))
        if len(self.predecessors) < len(self.links):
            raise refuse("after_twice")
        if self.mode not in MODE_CHOICES:
            raise refuse("bad_choice", name="mode", value=self.mode, allowed=", ".join(MODE_CHOICES))
        for name in _UNUSED_MODIFIERS:
            if getattr(self, name) is not None:
                raise refuse("after_modifier", key=name)
        Schedule.__post_init__(self)

    @property
    def predecessors(self) -> frozenset[str]:
        """Ids of the tasks that it names."""
        return frozenset(link.task for link in self.links)

    def rule(self, setting: Setting, past: Past) -> Rule:  # noqa: ARG002 - it has no instants in any zone
        return _NO_INSTANTS


def after(*tasks: object, on: On = "succeeded", mode: Mode = "any") -> After:
    """Return the schedule of a task that runs after others: each by name, key or id, as a handle or as a `Link`."""
    return After(tuple(each if isinstance(each, Link) else Link(_name_of(each), on) for each in tasks), mode)


def _name_of(task: object) -> str:
    """Return the text, or the id of a task handle, or the name of a declared function."""
    found = task if isinstance(task, str) else getattr(task, "id", None) or getattr(task, "name", None)
    check_type("task", found, str, "the id or the name of a task")
    return str(found)


def with_names(schedule: Schedule, names: Mapping[str, str]) -> Schedule:
    """Return an `after` schedule with names in place of ids, to be shown; any other schedule as it is."""
    if not isinstance(schedule, After):
        return schedule
    shown = (link._replace(task=names.get(link.task, link.task)) for link in schedule.links)
    named = tuple({link.task: link for link in shown}.values())
    return replace(schedule, links=named)


def _check_link(link: Link) -> Link:
    check_type("after", link, Link, "a list of predecessors")
    check_type("task", link.task, str, "the id or the name of a task")
    if link.on not in ON_CHOICES:
        raise refuse("bad_choice", name="on", value=link.on, allowed=", ".join(ON_CHOICES))
    return link
