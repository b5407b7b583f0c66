"""Scores any cron library on the kit: `python conformance/score.py --adapter "python conformance/adapters/croniter_adapter.py"`."""

from __future__ import annotations

import sys
from pathlib import Path

# Whichever folder this is started from, the kit imports itself by its own name.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from conformance.scoring.command import main

if __name__ == "__main__":
    sys.exit(main())
