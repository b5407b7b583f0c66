"""Refusals of a node's processes: a port that cannot be bound, and a child without a supervisor."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "port_taken": RefusalEntry(
            Conflict,
            "Nothing can listen on {host} port {port}: {problem}.",
            "Choose another one with --port, or --no-api to run the engine alone.",
            "无法监听 {host} 的端口 {port}:{problem}。",
            "请用 --port 选择其他端口,或用 --no-api 只运行节点。",
        ),
        "not_supervised_here": RefusalEntry(
            InvalidTask,
            "'{value}' is no order for a worker.",
            "Workers are started by 'horae up'.",
            "“{value}”不是工作进程的启动参数。",
            "工作进程由“horae up”启动。",
        ),
    }
)

refuse: Final = CATALOGUE.refuse
