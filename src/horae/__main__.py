"""`python -m horae` is the `horae` command."""

from __future__ import annotations

from .cli.main import main

main()
