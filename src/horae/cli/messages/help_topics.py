"""Texts of `horae help TOPIC`: one screen per topic, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

TOPICS: Final[dict[str, Message]] = {
    "schedules": Message(
        """\
now             now
once            in 20m · tomorrow at 9am · 2026-12-24 18:00
every           every 90s · every 1h30m after end · every 2 hours from 08:00
calendar        every weekday at 9am · every 2 weeks on Mon,Thu at 18:30 · last friday of the month 17:00
window          every 10m between 9:00 and 18:00 on weekdays
cron            0 9 * * 1-5 · */10 * * * * * (seconds first) · @daily · 0 0 LW * *
rrule           RRULE:FREQ=MONTHLY;BYDAY=-1FR
at the end      Europe/Berlin · until 2027-01-01 · 10 times · except 2026-12-25 · gap shift · fold both

See what a text means before anything is made: horae next "every weekday at 9am"
""",
        """\
now             现在
once            20分钟后 · 明天早上9点 · 2026-12-24 18:00
every           每30分钟 · 从8点起每2小时
calendar        每周一早上9点 · 每月最后一天18点 · 每月最后一个周五17点
cron            0 9 * * 1-5 · */10 * * * * *(秒在最前) · @daily · 0 0 LW * *
rrule           RRULE:FREQ=MONTHLY;BYDAY=-1FR
结尾可加        北京时间 · Europe/Berlin · 直到2027-01-01 · 共10次

先看含义,不创建任何任务:horae next "每周一早上9点"
""",
    ),
    "zones": Message(
        """\
A schedule keeps the zone that it names: "every day at 9am Europe/Berlin", or --zone (--tz).
If a new task names no zone, the first of these applies, and the receipt names it: the zone of its owner
(horae owner set local --zone Europe/Berlin), HORAE_ZONE, TIMEZONE, TZ, the machine, UTC.
A time that the clock skips runs at the end of the gap (gap next, shift, skip);
a time that occurs twice runs the first time (fold first, last, both).
Zone data comes from the tzdata package alone: horae doctor shows its version.
""",
        """\
计划保留其自带的时区:"每天9点 北京时间",或使用 --zone(--tz)。
新任务没有指明时,依次取:所有者的默认时区(horae owner set local --zone Asia/Shanghai)、HORAE_ZONE、TIMEZONE、TZ、
本机时区、UTC;回执会说明用了哪一个。
被时钟跳过的时刻在跳变结束时运行(gap next、shift、skip);出现两次的时刻在第一次运行(fold first、last、both)。
时区数据只来自 tzdata 包:horae doctor 会显示其版本。
""",
    ),
    "queries": Message(
        """\
key:value; a comma says or, a space and, a minus before the key not; quotes hold what has spaces, commas or colons.

horae ls --query 'state:failed,paused label:team=ops "morning report"'
horae runs --query 'state:failed,lost due:2026-11-01..2026-11-02'

The same works at a server: GET /v1/tasks?q=…
""",
        """\
写作 key:value;逗号表示“或”,空格表示“且”,键前的减号表示“非”;含空格、逗号或冒号的内容用引号括起。

horae ls --query 'state:failed,paused label:team=ops "morning report"'
horae runs --query 'state:failed,lost due:2026-11-01..2026-11-02'

服务器上同样可用:GET /v1/tasks?q=…
""",
    ),
    "json": Message(
        """\
--json on every command, or HORAE_OUTPUT=json: an object for one thing, a list for many ([] for none),
a line for each in a stream. --fields a,b selects. Instants are RFC 3339 in UTC, with …_local in the task's zone.
A failure is a problem on standard error, with its exit code: horae help exit-codes.
Data goes to standard output; notes, progress and questions go to standard error.
""",
        """\
每个命令都有 --json,或设置 HORAE_OUTPUT=json:单个为对象,多个为列表(没有则为 []),流则每行一个。
--fields a,b 选择字段。时刻为 UTC 的 RFC 3339,旁边的 …_local 为任务所在时区。
失败时在标准错误输出一个 problem,含退出码:horae help exit-codes。
数据写到标准输出;提示、进度和提问写到标准错误。
""",
    ),
    "exit-codes": Message(
        """\
0    done
1    an error, or doctor found something wrong
2    wrong usage, or a confirmation is missing
3    not found
4    not allowed
5    conflict: its state does not allow this now
6    invalid: a schedule, an option or a value was refused
7    the server or the store cannot be reached, or is damaged
8    a wait took too long
9    the run that was waited for did not succeed
130  interrupted
141  the reader of the output has closed it
""",
        """\
0    完成
1    出错,或 doctor 发现问题
2    写法有误,或需要确认
3    未找到
4    不允许
5    冲突:当前状态不允许
6    无效:计划、选项或值被拒绝
7    服务器或存储无法访问,或已损坏
8    等待超时
9    所等待的运行没有成功
130  被中断
141  读取输出的一方已关闭管道
""",
    ),
}
