"""Oracle of plans, written from the document (sections 3.3 and 3.4) alone: it shares no code with the product.

Where the document says nothing: an instant is executed at once when it is due; a retry comes a second after the failure,
with the next round of the queue; after the retries `skip_set` and `skip_num` are what they were before.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


class Shown(NamedTuple):
    state: str
    real_repet: int
    skip_set: int
    skip_num: int
    plan_time: int


class Oracle:
    def __init__(self, plan: dict[str, Any], now: float, station: Callable[[int, int], tuple[bool, float]]) -> None:
        self.plan = plan
        self.now = now
        self.station = station
        self.skip_set = plan.get("skip_set", 0)
        self.skip_num = 0
        self.retries = 0
        self.real_repet = 0
        self.state = "queued"
        self.executions: list[tuple[int, float]] = []
        self.trace: list[Shown] = []
        # 「如为0,起始时间为服务器接收任务的当前时间」
        self.plan_time = plan.get("plan_time", 0) or int(now)
        if plan["plan_type"] == "none":
            # 「无计划，立即发送」
            self.plan_time = int(now)
        self.first()

    @property
    def repeats(self) -> int:
        # 「重复次数,0不重复 >0重复次数,-1永久重复」; 「plan_repet 无效,只执行一次」
        return 1 if self.plan["plan_type"] in ("none", "time") else self.plan["plan_repet"] or 1

    @property
    def shown(self) -> Shown:
        if self.retries:
            return Shown(self.state, self.real_repet, -2, self.retries, self.plan_time)
        number = min(self.skip_num, self.skip_set) if self.skip_set > 0 else self.skip_num
        return Shown(self.state, self.real_repet, self.skip_set, number, self.plan_time)

    def first(self) -> None:
        kind = self.plan["plan_type"]
        if kind == "time" and self.plan.get("plan_time") and self.plan_time < self.now and not self.plan["no_keep"]:
            # 「如过时 : 且设置no_keep则计划会执行,否则直接跳过」
            self.skip_num, self.state = 1, "closed"
        elif kind not in ("none", "time"):
            self.advance()

    def advance(self) -> None:
        """「正常计算下一次执行计划」"""
        kind = self.plan["plan_type"]
        if self.ended():
            return
        if kind in SECONDS:
            self.plan_time += SECONDS[kind] * self.plan["plan_value"]
            # 「所有小于计算时当前时间的都会跳过(包括因执行时间过长而耽误的时间)」
            while not self.plan["no_keep"] and self.plan_time < self.now:
                self.skip_num += 1
                self.real_repet += 1
                if self.ended():
                    # 「如到最后一次执行时间也小于当前时间,则任务自动删除,可能一次也未执行过」
                    return
                self.plan_time += SECONDS[kind] * self.plan["plan_value"]
        else:
            self.plan_time = self.next_day()

    def ended(self) -> bool:
        if self.repeats > 0 and self.real_repet >= self.repeats:
            self.state = "closed"
        return self.state == "closed"

    def next_day(self) -> int:
        """「所计划时间均为未来时间」"""
        clock = datetime.fromtimestamp(self.plan_time, UTC).time()
        day = datetime.fromtimestamp(self.now, UTC).date()
        while True:
            at = datetime.combine(day, clock, UTC).timestamp()
            if at > self.now and self.matches(day):
                return int(at)
            day += timedelta(days=1)

    def matches(self, day: Any) -> bool:
        value = self.plan["plan_value"]
        if self.plan["plan_type"] == "week":
            # 「0-6,周日为0」
            return bool((day.weekday() + 1) % 7 == value)
        last = calendar.monthrange(day.year, day.month)[1]
        if value > 0:
            # 「指定号数,如当月无此号,则为当月最后一天」
            return bool(day.day == min(value, last))
        # 「当月最后一天」; 「当月最后一天加此数字…得出的号数,如小于1,则为当月1号」
        return bool(day.day == max(1, last + value))

    def run_until(self, end: float) -> None:
        occurrence = 0
        while self.state == "queued" and max(self.plan_time, self.now) <= end:
            self.now = max(self.now, self.plan_time)
            # 「skip_set =-1 : skip_num增加一次计数,不执行任务,直接计算下一次执行时间」
            if self.skip_set == -1 or (self.skip_set > 0 and self.skip_num < self.skip_set):
                self.skip_num += 1
                self.real_repet += 1
                self.advance()
                continue
            occurrence += 1
            self.execute(occurrence)

    def execute(self, occurrence: int) -> None:
        for attempt in (1, 2, 3, 4):
            self.executions.append((self.plan_time, self.now))
            is_ok, takes = self.station(occurrence, attempt)
            self.now += takes
            if is_ok:
                self.retries = 0
                self.real_repet += 1
                self.advance()
                self.trace.append(self.shown)
                return
            if attempt == 4:
                # 「skip_num >= 3 : 设置状态为ZERO_STATUS_FRAME_PLAN_ERROR_ID,不再执行」
                self.state = "error"
            else:
                # 「skip_set = 0 : 设置 skip_set = -2 skip_num = 1 ,即重试三次」; 「skip_num < 3 : 增加计数」
                self.retries = attempt
            self.trace.append(self.shown)
            self.now += 1
