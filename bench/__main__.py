"""`python -m bench` measures everything and prints a table."""

from __future__ import annotations

import sys

from bench.command import main

sys.exit(main())
