"""The library's front door: one object, no global state, and importing it starts nothing."""

from __future__ import annotations

from .declared_function import TaskFunction
from .handles import RunHandle, TaskHandle
from .horae import Horae
from .listeners import Happening
from .sync_app import BlockingHorae, BlockingTask

__all__ = ["BlockingHorae", "BlockingTask", "Happening", "Horae", "RunHandle", "TaskFunction", "TaskHandle"]
