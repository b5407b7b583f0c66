"""Entry point of `python -m horae`: runs the `horae` command."""

from __future__ import annotations

from .cli.main import main

main()
