"""Horae: a durable, precise scheduler for AI agents and services."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .errors import Conflict, HoraeError, InvalidSchedule, InvalidTask, NotFound, Refusal, StoreError
from .version import __version__ as __version__

if TYPE_CHECKING:
    # At run time this is the package `horae.console`, which can be called.
    from .app import Event, Horae, RunHandle, TaskFunction, TaskHandle
    from .app.mounted_console import console as console
    from .model.gate import Gate as Gate
    from .model.policy import Missed
    from .model.policy import Notify as Notify
    from .model.policy import RetryPolicy as RetryPolicy
    from .model.run import Run, RunState
    from .model.task import TaskPast as TaskPast
    from .priority_queue import PriorityQueue
    from .public import describe, parse, preview
    from .schedule.after import Link as Link
    from .schedule.after import after as after
    from .targets.function.context import Context
    from .targets.function.signals import Fail, Retry, Skip

__all__ = [
    "Conflict",
    "Context",
    "Event",
    "Fail",
    "Horae",
    "HoraeError",
    "InvalidSchedule",
    "InvalidTask",
    "Link",
    "Missed",
    "NotFound",
    "PriorityQueue",
    "Refusal",
    "Retry",
    "RetryPolicy",
    "Run",
    "RunHandle",
    "RunState",
    "Skip",
    "StoreError",
    "TaskFunction",
    "TaskHandle",
    "TaskPast",
    "after",
    "console",
    "describe",
    "parse",
    "preview",
]

_LAZY_EXPORTS: Final = {
    "Event": "app",
    "Gate": "model.gate",
    "Horae": "app",
    "Missed": "model.policy",
    "PriorityQueue": "priority_queue",
    "Notify": "model.policy",
    "RetryPolicy": "model.policy",
    "Run": "model.run",
    "RunHandle": "app",
    "RunState": "model.run",
    "TaskFunction": "app",
    "TaskHandle": "app",
    "TaskPast": "model.task",
    "Context": "targets.function.context",
    "Fail": "targets.function.signals",
    "Retry": "targets.function.signals",
    "Skip": "targets.function.signals",
    "Link": "schedule.after",
    "after": "schedule.after",
    "console": "console",
    "describe": "public",
    "parse": "public",
    "preview": "public",
}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use, so that `import horae` alone stays cheap."""
    if name not in _LAZY_EXPORTS:
        raise AttributeError(f"module 'horae' has no attribute {name!r}")
    module, _, other = _LAZY_EXPORTS[name].partition(":")
    if module == name:
        return import_module(f".{module}", __name__)
    value = globals()[name] = getattr(import_module(f".{module}", __name__), other or name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
