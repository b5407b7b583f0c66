"""Sizes of one run of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench.agents import scale as agents_scale
from bench.agents.scale import Sizes as AgentSizes
from bench.api import scale as api_scale
from bench.api.scale import Sizes as ApiSizes
from bench.console import scale as console_scale
from bench.console.scale import Sizes as ConsoleSizes
from bench.engine import scale
from bench.engine.scale import Scale
from bench.lists import scale as lists_scale
from bench.lists.scale import Sizes
from bench.postgres import scale as postgres_scale
from bench.postgres.scale import Sizes as PostgresSizes
from bench.scale import sizes as scale_sizes
from bench.scale.sizes import Sizes as ScaleSizes
from bench.takeover import scale as takeover_scale
from bench.takeover.scale import Tries


@dataclass(frozen=True, slots=True)
class Counts:
    instants: int  # questions to each contender, where a parsed value is asked
    texts: int  # the same, where each question starts from text
    rounds: int  # rounds per contender
    singles: int  # how often something is timed alone
    processes: int  # how many fresh interpreters are started
    values: int  # how many values are held to weigh one
    zones: int | None = None  # how many of the zones are loaded; all by default
    engine: Scale = scale.TINY  # the same for the engine
    lists: Sizes = lists_scale.TINY  # and for lists
    postgres: PostgresSizes = postgres_scale.TINY  # and for PostgreSQL
    takeover: Tries = takeover_scale.TINY  # and for takeovers
    scale: ScaleSizes = scale_sizes.TINY  # and for how all of it grows
    api: ApiSizes = api_scale.TINY  # and for the HTTP API
    console: ConsoleSizes = console_scale.TINY  # and for the console
    agents: AgentSizes = agents_scale.TINY  # and for agents


FULL: Final = Counts(
    instants=10_000,
    texts=2_000,
    rounds=5,
    singles=300,
    processes=15,
    values=1_000,
    engine=scale.FULL,
    lists=lists_scale.FULL,
    postgres=postgres_scale.FULL,
    takeover=takeover_scale.FULL,
    scale=scale_sizes.FULL,
    api=api_scale.FULL,
    console=console_scale.FULL,
    agents=agents_scale.FULL,
)
QUICK: Final = Counts(
    instants=1_000,
    texts=200,
    rounds=3,
    singles=30,
    processes=5,
    values=200,
    engine=scale.QUICK,
    lists=lists_scale.QUICK,
    postgres=postgres_scale.QUICK,
    takeover=takeover_scale.QUICK,
    scale=scale_sizes.QUICK,
    api=api_scale.QUICK,
    console=console_scale.QUICK,
    agents=agents_scale.QUICK,
)
