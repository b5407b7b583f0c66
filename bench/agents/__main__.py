"""One part of the benchmark of agents, in another runtime: `python -m bench.agents [RUNTIME [PART …]]`.

RUNTIME is `bubblewrap` (default) or `process`; PART is `idle`, `turns` or `fairness`, all by default.
"""

from __future__ import annotations

import sys

from bench.agents.family import PARTS, measure
from bench.agents.scale import FULL
from bench.table import as_text


def main() -> None:
    runtime, *parts = sys.argv[1:] or ["bubblewrap"]
    for part in parts or PARTS:
        print(as_text(measure(part, FULL, runtime)))


if __name__ == "__main__":
    main()
