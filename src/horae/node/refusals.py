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
        "processes_in_memory": RefusalEntry(
            InvalidTask,
            "{number} processes cannot share a store in memory: each would have its own.",
            "Leave out --processes, or choose a store with --store.",
            "{number} 个进程无法共享内存存储：每个进程都会有自己的一份。",
            "请去掉 --processes，或用 --store 选择存储。",
        ),
        "processes_not_here": RefusalEntry(
            InvalidTask,
            "This system cannot run {number} processes under one supervisor.",
            "Leave out --processes, and start 'horae worker' several times.",
            "此系统无法在一个监督进程下运行 {number} 个进程。",
            "请去掉 --processes，并多次启动“horae worker”。",
        ),
        "not_supervised_here": RefusalEntry(
            InvalidTask,
            "'{value}' is not a command for a worker.",
            "Workers are started by 'horae up'.",
            "“{value}”不是工作进程的启动参数。",
            "工作进程由“horae up”启动。",
        ),
    }
)

refuse: Final = CATALOGUE.refuse
