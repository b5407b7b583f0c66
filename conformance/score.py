"""Scores any cron library on the kit: `python conformance/score.py --adapter "python conformance/adapters/croniter_adapter.py"`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from conformance.scoring.command import main  # noqa: E402 - the line above makes the kit importable from anywhere

if __name__ == "__main__":
    sys.exit(main())
