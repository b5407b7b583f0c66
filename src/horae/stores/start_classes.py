"""Classes of due entries within one claim: entries that differ in ids and instants alone are decided once, as one class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..lifecycle.batch import ClaimDecision
from ..lifecycle.fast_path import StartClass
from ..model.change import Start
from ..model.policy import Policies
from ..model.task import Target, Task
from .codec.columns import entry_instants, entry_shared_columns
from .codec.json_codecs import instant_of
from .codec.rows import Row, decode_entry
from .task_cache import CachedTask

_Key: TypeAlias = tuple[Row, str, int, int]
"""All columns of an entry but its task and instants; owner of its task, and the identities of target and policies."""


class StartClasses:
    """The classes of one claim. The identity of a target or of policies is that of their text: tasks share the objects, and a
    class keeps those that it was decided by."""

    def __init__(
        self, decision: ClaimDecision, token: int, is_owner_unrestricted: Callable[[str], bool] = lambda _owner: True
    ) -> None:
        self._decision = decision
        self._is_owner_unrestricted = is_owner_unrestricted
        self._token = token
        self._classes: dict[_Key, tuple[StartClass | None, Task]] = {}
        self._last: tuple[Row, str, Target | None, Policies | None, StartClass | None] = ((), "", None, None, None)
        """Columns of the last entry, owner, target and policies of its task, and its class: nearly always that of the next
        one, which needs no key."""

    def decide(self, row: Row, known: CachedTask) -> Start | None:
        """Return the start of the only entry of a task; None where it must be decided by itself, with all facts."""
        _, _, task, status, live = known
        if live or task.lane is not None:
            return None
        start_class = self._class_of(row, task)
        if start_class is None:
            return None
        planned, due = entry_instants(row)
        if planned < 0:
            # The id of the run cannot begin with an instant before 1970.
            return None
        return self._decision.start_member(start_class, task, status, instant_of[planned], instant_of[due])

    def _class_of(self, row: Row, task: Task) -> StartClass | None:
        columns = entry_shared_columns(row)
        owner, target, policies = task.owner, task.target, task.policies
        last_columns, last_owner, last_target, last_policies, start_class = self._last
        if policies is last_policies and target is last_target and columns == last_columns and owner == last_owner:
            return start_class
        key = (columns, owner, id(target), id(policies))
        found = self._classes.get(key)
        if found is None:
            start_class = None
            if self._is_owner_unrestricted(owner):
                entry = decode_entry(row, task.id)
                start_class = self._decision.start_class(owner, target, policies, entry, self._token)
            found = self._classes[key] = (start_class, task)
        start_class, _ = found
        self._last = (columns, owner, target, policies, start_class)
        return start_class
