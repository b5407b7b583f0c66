"""Query instants: random, distinct, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from horae.schedule.zones import find_zone

ZONE: Final = "America/New_York"
_FIRST: Final = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp())
_LAST: Final = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp())
_HOUR: Final = 3600


def random_instants(count: int) -> list[datetime]:
    """Whole seconds from 2020 to 2030, in no order."""
    return _as_datetimes(random.Random(20_260_301).sample(range(_FIRST, _LAST), count))


def instants_near_changes(count: int) -> list[datetime]:
    """From twenty hours before a clock change until three hours after it."""
    draw = random.Random(20_260_308)
    changes = [change.start for change in find_zone(ZONE).changes(_FIRST, _LAST)]
    return _as_datetimes([draw.choice(changes) + draw.randrange(-20 * _HOUR, 3 * _HOUR) for _ in range(count)])


def _as_datetimes(seconds: Sequence[int]) -> list[datetime]:
    return [datetime.fromtimestamp(each, UTC) for each in seconds]
