"""The peers on Redis, each installed into its own folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from bench.postgres.contender import Contender
from bench.postgres.peers import node_peer, python_peer

BULLMQ: Final = "BullMQ"
TASKIQ: Final = "taskiq"
RECIPES: Final[Mapping[str, Callable[[str], Contender]]] = {
    BULLMQ: partial(node_peer, script=Path(__file__).parent / "bullmq.cjs", packages=("bullmq", "ioredis")),
    TASKIQ: partial(
        python_peer, module="bench.redis.peer_taskiq", packages=("taskiq", "taskiq-redis", "hiredis"), slow=True
    ),
}
