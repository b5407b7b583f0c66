"""English parser for one moment in a question: `today at 9am`, `last Monday 18:00`, `9am yesterday`, `this morning`."""

from __future__ import annotations

from .english_days import Days
from .moment import MomentWords


def read_english_moment(text: str) -> MomentWords | None:
    return _EnglishMoment(text, 0).read()


class _EnglishMoment(Days):
    accepts_past = True

    def read(self) -> MomentWords | None:
        """Parse the whole text as one moment; None if it is not one."""
        while self.take("at", "on") is not None:
            pass
        found = self.moment()
        zone = None if found is None or self.is_done else self.zone()
        if found is None or not self.is_done:
            return None
        return MomentWords(found.day, found.at, self._part, found.offset, zone)
