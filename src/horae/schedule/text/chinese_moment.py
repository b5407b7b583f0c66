"""Chinese parser for one moment in a question: 今天早上9点, 昨天18:00, 上周一早上9点, 昨晚."""

from __future__ import annotations

import re
from typing import Final

from .chinese_cursor import any_word
from .chinese_days import Days
from .chinese_words import DAY_PARTS
from .moment import MomentWords

_DAY_PART: Final = re.compile(any_word(DAY_PARTS))


def read_chinese_moment(text: str) -> MomentWords | None:
    return _ChineseMoment(text, 0).read()


class _ChineseMoment(Days):
    accepts_past = True

    def read(self) -> MomentWords | None:
        """Parse the whole text as one moment, with the zone at either end; None if it is not one."""
        self.take("在", "于")
        zone = self.zone()
        day = self.day() or self._coming_weekday()
        if day is not None:
            self.take("的", "T")
        at = self.time_of_day()
        offset = None if at is None else self.offset()
        part = self._part
        if at is None and (said := self.match(_DAY_PART)) is not None:
            part = DAY_PARTS[said.group()]
        zone = zone or self.zone()
        if not self.is_done or (day is None and at is None and part is None):
            return None
        return MomentWords(day, at, part, offset, zone)
