"""Plausible mistakes in the evaluator, each of which the comparison with the oracle must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """A replacement of text that occurs once in a file of the schedule room; `zones` narrows the search for it."""

    name: str
    reason: str
    file: str
    old: str
    new: str
    zones: tuple[str, ...] = ()


ORDINARY = ("America/New_York", "Europe/Berlin", "Australia/Sydney", "Africa/Casablanca", "Asia/Gaza")
NEW_YORK = ("America/New_York",)
UTC = ("UTC",)

READING = (
    Defect(
        "day_fields_need_both_stars",
        "two restricted day fields mean either; one that starts with a star means both",
        "cron_fields.py",
        "return self.day.starred or self.weekday.starred",
        "return self.day.starred and self.weekday.starred",
        UTC,
    ),
    Defect(
        "day_fields_always_both",
        "13th or Friday becomes Friday the 13th",
        "cron_fields.py",
        "return self.day.starred or self.weekday.starred",
        "return True",
        UTC,
    ),
    Defect(
        "stepped_star_is_restricted",
        "*/2 starts with a star too",
        "cron_fields.py",
        'return self.text.startswith("*")',
        'return self.text == "*"',
        UTC,
    ),
    Defect(
        "flowing_needs_both_stars",
        "one star, in the minute or in the hour, makes a schedule follow real time",
        "cron_fields.py",
        "return self.minute.starred or self.hour.starred",
        "return self.minute.starred and self.hour.starred",
        ORDINARY,
    ),
    Defect(
        "starred_seconds_flow",
        "seconds do not decide whether a schedule is pinned",
        "cron_fields.py",
        "return self.minute.starred or self.hour.starred",
        "return self.second.starred or self.minute.starred or self.hour.starred",
        ORDINARY,
    ),
    Defect(
        "range_without_its_end",
        "ranges include their last value, also with a step",
        "cron_fields.py",
        "return range(first, last + 1, step)",
        "return range(first, last, step)",
        UTC,
    ),
    Defect(
        "open_step_is_one_value",
        "a/n runs to the highest value of the field",
        "cron_fields.py",
        "return first, kind.highest if stepped else first",
        "return first, first + 1 if stepped else first",
        UTC,
    ),
    Defect(
        "sunday_ends_no_range",
        "SUN at the end of a range is 7",
        "cron_fields.py",
        'last = 7 if kind is WEEKDAY and last_text == "SUN" else _number(',
        "last = _number(",
        UTC,
    ),
    Defect(
        "largest_step_refused",
        "a step as large as its range still fits",
        "cron_fields.py",
        "if step > last - first:",
        "if step >= last - first:",
        UTC,
    ),
    Defect(
        "star_counts_sunday_twice",
        "a star in the weekday field ends at 6, so a step of 7 is too large",
        "cron_fields.py",
        'return 6 if self.name == "weekday" else self.highest',
        "return self.highest",
        UTC,
    ),
)

DAYS = (
    Defect(
        "sunday_becomes_monday",
        "cron counts from Sunday, the masks from Monday",
        "cron.py",
        "1 << (weekday - 1) % 7 for weekday in cron_weekdays",
        "1 << max(weekday - 1, 0) for weekday in cron_weekdays",
        UTC,
    ),
    Defect(
        "week_starts_on_wednesday",
        "1970 began on a Thursday",
        "wall.py",
        "if weekdays >> (day + 3) % 7 & 1",
        "if weekdays >> (day + 2) % 7 & 1",
        UTC,
    ),
    Defect(
        "months_shifted_by_one",
        "the bit of January is bit 1",
        "days.py",
        "months >> month & 1",
        "months >> month - 1 & 1",
        UTC,
    ),
    Defect(
        "masks_of_another_month_length",
        "a month's shape is its length and the weekday of its first day",
        "days.py",
        "(days_in_month(year, month) - 28) * 7",
        "(days_in_month(2001, month) - 28) * 7",
        UTC,
    ),
    Defect(
        "last_working_day_on_a_weekend",
        "LW is not L",
        "cron.py",
        "mask |= nearest_working_day(weekday_of_first, length, length)",
        "mask |= 1 << length",
        UTC,
    ),
    Defect(
        "first_working_day_in_the_month_before",
        "1W on a Saturday is Monday the 3rd",
        "days.py",
        "day += -1 if day > 1 else 2",
        "day += -1",
        UTC,
    ),
    Defect(
        "working_day_in_the_next_month",
        "31W on a Sunday is Friday the 29th",
        "days.py",
        "day += 1 if day < length else -2",
        "day += 1",
        UTC,
    ),
    Defect(
        "working_day_of_a_missing_day",
        "31W has no meaning in a month of thirty days",
        "days.py",
        "    if day > length:\n        return 0\n",
        "    day = min(day, length)\n",
        UTC,
    ),
    Defect(
        "fifth_weekday_falls_back",
        "a month without a fifth Friday has no 5#5",
        "days.py",
        "index = nth - 1 if nth > 0 else nth",
        "index = min(nth, len(days)) - 1 if nth > 0 else nth",
        UTC,
    ),
    Defect(
        "leap_year_every_four",
        "2100 is no leap year",
        "gregorian.py",
        "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
        "return year % 4 == 0",
        UTC,
    ),
)

TIMES = (
    Defect(
        "after_includes_itself",
        "next is strictly later",
        "rules.py",
        "self._offsets[bisect_right(self._offsets, phase)]",
        "self._offsets[bisect_right(self._offsets, phase - 1)]",
        UTC,
    ),
    Defect(
        "seconds_include_themselves",
        "next is strictly later, also within a minute of a rare day",
        "wall.py",
        "within = bisect_right(self.seconds, rest)",
        "within = bisect_right(self.seconds, rest - 1)",
        UTC,
    ),
    Defect(
        "current_minute_forgotten",
        "the minute of the question may have seconds left",
        "wall.py",
        "        minute, rest = divmod(second, 60)\n        index = bisect_left(self.minutes, minute)\n        if index",
        "        minute, rest = divmod(second, 60)\n        index = bisect_right(self.minutes, minute)\n        if index",
        UTC,
    ),
    Defect(
        "fraction_rounded_up",
        "half a second before an occurrence is before it",
        "evaluate.py",
        "rule.next_second(passed.days * DAY + passed.seconds)",
        "rule.next_second(passed.days * DAY + passed.seconds + (passed.microseconds > 0))",
        UTC,
    ),
    Defect(
        "period_without_its_sentinel",
        "after the last offset comes the first of the next period",
        "wall.py",
        "return period, (*offsets, offsets[0] + period)",
        "return period, (*offsets, offsets[-1] + period)",
        UTC,
    ),
)

CHANGES = (
    Defect(
        "segment_of_the_wrong_side",
        "at the instant of a change the new offset holds",
        "rules.py",
        "        index = bisect_right(table.starts, after) - 1\n",
        "        index = bisect_right(table.starts, after - 1) - 1\n",
        ORDINARY,
    ),
    Defect(
        "fire_on_the_end_of_a_segment",
        "the end of a segment belongs to the next one",
        "rules.py",
        "if found < clear_until and",
        "if found <= clear_until and",
        ORDINARY,
    ),
    Defect(
        "rare_fire_on_the_end_of_a_segment",
        "the same for days that a table cannot hold",
        "rules.py",
        "local - offset < clear_until",
        "local - offset <= clear_until",
        ORDINARY,
    ),
    Defect(
        "safe_too_early",
        "for the length of a jump after a change, replacements are still to come",
        "zones.py",
        "each.start + abs(each.jump), each.end",
        "each.start, each.end",
        ORDINARY,
    ),
    Defect(
        "safe_too_long",
        "before a fold the first of two readings must be told from the last",
        "zones.py",
        "each.end + min(each.next_jump, 0)",
        "each.end",
        ORDINARY,
    ),
    Defect(
        "flowing_replaced_in_the_gap",
        "what follows real time has no replacement",
        "rules.py",
        'self._gap: Gap = "skip" if flowing else gap',
        "self._gap: Gap = gap",
        ORDINARY,
    ),
    Defect(
        "flowing_once_in_the_fold",
        "what follows real time repeats",
        "rules.py",
        'self._fold: Fold = "both" if flowing else fold',
        "self._fold: Fold = fold",
        ORDINARY,
    ),
    Defect(
        "fold_first_fires_twice",
        "the second reading is spent",
        "zones.py",
        'return self.local_start - min(self.jump, 0) if fold == "first" else self.local_start',
        "return self.local_start",
        NEW_YORK,
    ),
    Defect(
        "fold_last_is_first",
        "the two choices are not the same",
        "zones.py",
        'if fold == "last" else self.local_end',
        'if fold == "first" else self.local_end',
        NEW_YORK,
    ),
    Defect(
        "gap_one_second_long",
        "the first reading after a gap exists",
        "zones.py",
        "return range(self.local_start - max(self.jump, 0), self.local_start)",
        "return range(self.local_start - max(self.jump, 0), self.local_start + 1)",
        NEW_YORK,
    ),
    Defect(
        "gap_one_second_short",
        "the first missing reading is missing",
        "zones.py",
        "return range(self.local_start - max(self.jump, 0), self.local_start)",
        "return range(self.local_start - max(self.jump, 0) + 1, self.local_start)",
        NEW_YORK,
    ),
    Defect(
        "gap_shifted_by_the_new_offset",
        "shift keeps the offset from before",
        "zones.py",
        "former_offset = segment.offset - segment.jump",
        "former_offset = segment.offset",
        NEW_YORK,
    ),
    Defect(
        "replacement_repeats",
        "the instant after a gap is one occurrence, not one for each question",
        "zones.py",
        "return segment.start if segment.start > after and",
        "return segment.start if segment.start >= after and",
        NEW_YORK,
    ),
    Defect(
        "replacement_hides_the_ordinary",
        "of a shifted and an ordinary reading the earlier comes first",
        "zones.py",
        "return min(ordinary, replaced)",
        "return replaced",
        NEW_YORK,
    ),
    Defect(
        "three_hours_replaced",
        "a jump of exactly three hours is treated as skip",
        "zones.py",
        "segment.jump >= DATE_LINE_JUMP",
        "segment.jump > DATE_LINE_JUMP",
        ("Antarctica/Casey",),
    ),
    Defect(
        "two_hours_skipped",
        "a jump of two hours is an ordinary gap",
        "zones.py",
        "DATE_LINE_JUMP: Final = 3 * 3600",
        "DATE_LINE_JUMP: Final = 2 * 3600",
        ("Antarctica/Troll",),
    ),
    Defect(
        "fold_passed_over",
        "before a rare day the next segment may repeat what the present one showed",
        "zones.py",
        "segment.end <= quiet_until and number > 1",
        "segment.end <= quiet_until and number > 0",
        ORDINARY,
    ),
    Defect(
        "horizon_taken_for_the_end",
        "the last segment that was worked out is followed by another change",
        "zones.py",
        "settled = segments if history.footer.saving is None else segments[:-1]",
        "settled = segments",
        NEW_YORK,
    ),
)

ZONE_RULES = (
    Defect(
        "fifth_week_in_the_next_month",
        "week 5 is the last one of the month",
        "tzif.py",
        "else day - 7",
        "else day",
        ("Europe/Berlin", "Europe/Dublin"),
    ),
    Defect(
        "saving_is_always_an_hour",
        "a footer may name its own offset: half an hour, two hours, or one below standard time",
        "tzif.py",
        "saving = -_seconds(saving_text) if saving_text else standard + 3600",
        "saving = standard + 3600",
        ("Europe/Dublin", "Australia/Lord_Howe", "Antarctica/Troll"),
    ),
    Defect(
        "changes_of_a_year_unsorted",
        "in the south, and in Dublin, saving ends before it begins",
        "tzif.py",
        "return sorted(\n",
        "return list(\n",
        ("Australia/Sydney", "Europe/Dublin"),
    ),
    Defect(
        "change_told_by_the_wrong_offset",
        "a change is written in the time that holds before it",
        "tzif.py",
        "self.ends.local_second(year) - self.saving",
        "self.ends.local_second(year) - self.standard",
        NEW_YORK,
    ),
    Defect(
        "hour_before_midnight_lost",
        "a change may be written as an hour below zero",
        "tzif.py",
        "second = _seconds(time) if time else 7200",
        "second = abs(_seconds(time)) if time else 7200",
        ("America/Nuuk",),
    ),
    Defect(
        "footer_hides_the_written",
        "the rule holds after the last written change only",
        "tzif.py",
        "if change[0] > last)",
        "if change[0] > 0)",
        ORDINARY,
    ),
)

COUNTING = (
    Defect(
        "count_ends_one_early",
        "until is included",
        "rules.py",
        "stop + segment.offset)",
        "stop + segment.offset - 1)",
        UTC,
    ),
    Defect(
        "count_without_the_change",
        "around a change occurrences are walked through, not computed",
        "rules.py",
        "return segment.start + abs(segment.jump), segment.end + min(segment.next_jump, 0)",
        "return segment.start, segment.end",
        NEW_YORK,
    ),
)

DEFECTS = (*READING, *DAYS, *TIMES, *CHANGES, *ZONE_RULES, *COUNTING)
