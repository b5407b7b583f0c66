"""`python -m bench --only scale`: how cost grows on PostgreSQL. It takes most of an hour, so it runs only when asked for."""

from __future__ import annotations

from typing import Final

from bench.scale.disk import disk
from bench.scale.growing import growing
from bench.scale.ladder import ladder
from bench.scale.nodes import nodes
from bench.scale.owners import owners

SCALE: Final = (disk, ladder, owners, nodes, growing)
"""Each on a server of its own; what takes longest comes last."""
