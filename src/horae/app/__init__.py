"""The library's front door: one object, no global state, and importing it starts nothing."""

from __future__ import annotations

from .blocking import BlockingHorae, BlockingTask
from .declared import TaskFunction
from .handle import RunHandle, TaskHandle
from .horae import Horae
from .listeners import Happening

__all__ = ["BlockingHorae", "BlockingTask", "Happening", "Horae", "RunHandle", "TaskFunction", "TaskHandle"]
