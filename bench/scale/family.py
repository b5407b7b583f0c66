"""`python -m bench --only scale`: growth of cost on PostgreSQL. Takes most of an hour, hence on request only."""

from __future__ import annotations

from typing import Final

from bench.scale.disk import disk
from bench.scale.growing import growing
from bench.scale.ladder import ladder
from bench.scale.nodes import nodes
from bench.scale.owners import owners

SCALE: Final = (disk, ladder, owners, nodes, growing)
"""Each on a server of its own; what takes longest comes last."""
