"""Public Python API: the `Horae` app and its handles; importing it starts nothing and keeps no global state."""

from __future__ import annotations

from .declared_function import TaskFunction
from .handles import RunHandle, TaskHandle
from .horae import Horae
from .listeners import Event
from .sync_app import BlockingHorae, BlockingTask

__all__ = ["BlockingHorae", "BlockingTask", "Event", "Horae", "RunHandle", "TaskFunction", "TaskHandle"]
