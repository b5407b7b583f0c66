"""Messages of the commands that run and operate a deployment, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...choices import Language
from ...message import Message

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

# --- up ------------------------------------------------------------------------------------------------------------

READY: Final = Message("ready in {seconds} s", "就绪,用时 {seconds} 秒")
AGAIN: Final = Message("running again after {seconds} s", "{seconds} 秒后恢复运行")
DATA: Final = Message("Data", "数据")
STORE: Final = Message("Store", "存储")
TASKS: Final = Message("Tasks", "任务")
SCHEDULER: Final = Message("Scheduler", "调度")
OUTAGE: Final = Message("Outage", "中断")
TRY: Final = Message("Try", "试试")
DEMO: Final = Message("Demo", "演示")
ENDS: Final = Message("Ends", "结束")
NO_TASKS: Final = Message("none yet", "还没有")
COUNTED: Final = Message("{total}: {states}", "{total} 个:{states}")
PRECISE: Final = Message("priority queue · wakes by timer, precise (<100 ms)", "优先队列 · 定时器唤醒,精确(<100 毫秒)")
POLLING: Final = Message(
    "polling every {seconds} s ({said}), not recommended · up to {seconds} s late",
    "每 {seconds} 秒轮询一次({said}),不推荐 · 最多迟 {seconds} 秒",
)
QUEUED: Final = Message("{number} queued", "{number} 个排队")
NEXT: Final = Message("next {at} ({ahead}) {name}", "下一个 {at}({ahead}){name}")
NOTHING_NEXT: Final = Message("nothing to come", "没有待执行的任务")
IN_MEMORY: Final = Message("in memory; gone when this process ends", "仅在内存中;进程结束后消失")
ON_SERVER: Final = Message(
    "{kind} {version} at {place}, database {database}, {kept}", "{kind} {version},{place},数据库 {database},{kept}"
)
KEPT_IN: Final = {
    "schema": Message("schema {named}", "模式 {named}"),
    "prefix": Message("tables {named}…", "表 {named}…"),
}
CLOCK_OFF: Final = {
    True: Message("this machine's clock is {by} behind it", "本机时钟比它慢 {by}"),
    False: Message("this machine's clock is {by} ahead of it", "本机时钟比它快 {by}"),
}
NAME_THE_STORE: Final = Message(
    "the commands below leave its password out: set PGPASSWORD, PGPASSFILE or MYSQL_PWD, or put its address into HORAE_STORE",
    "下面的命令不含它的密码:请设置 PGPASSWORD、PGPASSFILE 或 MYSQL_PWD,或把它的地址放入 HORAE_STORE",
)
SQLITE: Final = Message("{path}  (SQLite, WAL)", "{path}(SQLite、WAL)")
NOTHING_RAN: Final = Message("Nothing ran {since}–{until} ({how}).", "{since}–{until} 期间没有运行({how})。")
STOPPED_CLEANLY: Final = Message("stopped gracefully", "正常停止")
KILLED: Final = Message("killed", "被终止")
NOTHING_DUE: Final = Message("Nothing was due meanwhile.", "期间没有到期的任务。")
ONE_DUE_MEANWHILE: Final = Message("1 instant was due: {parts}.", "期间有 1 次到期:{parts}。")
DUE_MEANWHILE: Final = Message("{due} instants were due: {parts}.", "期间有 {due} 次到期:{parts}。")
MADE_UP: Final = Message("{number} made up for", "{number} 次已补跑")
MERGED: Final = Message("{number} merged into a later run", "{number} 次并入之后的一次")
SKIPPED: Final = Message("{number} skipped", "{number} 次跳过")
STILL_WAITING: Final = Message("{number} still waiting", "{number} 次仍在等待")
REMOVE_DEMO: Final = Message("remove the demo tasks with: {command}", "删除演示任务:{command}")
DEMO_HERE: Final = Message("{number} tasks, labelled demo=yes", "{number} 个任务,标签 demo=yes")
ENDS_ALONE: Final = Message("by itself after {seconds:g} s, or on Ctrl-C", "{seconds:g} 秒后自动结束,或按 Ctrl-C")
API: Final = Message("API", "接口")
TOKEN: Final = Message("Token", "令牌")
METRICS: Final = Message("Metrics", "指标")
API_AT: Final = Message("{url}  (docs: {url}/docs)", "{url}(文档:{url}/docs)")
FIRST_TOKEN: Final = Message("an admin's; shown this once, kept in {path}", "管理员令牌;仅显示一次,保存在 {path}")
TOKEN_FILE: Final = Message("an admin's, kept in {path}", "管理员令牌,保存在 {path}")
TOKENS_THERE: Final = Message("as given out; another one: {command}", "使用已发放的令牌;新建:{command}")
CONSOLE: Final = Message("Console", "控制台")
ONE_TIME_LINK: Final = Message("one-time link", "一次性链接")
CONSOLE_AT: Final = Message("{url}  (sign in: {command})", "{url}(登录:{command})")
NO_TLS: Final = Message(
    "every machine that can reach {host} can try tokens here, and read the traffic: put a proxy with TLS in front",
    "任何能访问 {host} 的人都可以尝试令牌并看到传输内容:请在前面放置带 TLS 的代理",
)
NO_API: Final = Message("not served: {because}", "未提供:{because}")
PORT_TAKEN: Final = Message("port {port} is taken (--port chooses another)", "端口 {port} 已被占用(可用 --port 另选)")
NOT_INSTALLED: Final = Message(
    "pip install 'horae[server]' brings what it needs", "请先安装:pip install 'horae[server]'"
)
SERVER_DIED: Final = Message(
    "the API's process {pid} died ({how}); it begins again in {pause:g} s",
    "接口进程 {pid} 已死亡({how});{pause:g} 秒后重新启动",
)
ON_SIGNAL: Final = Message("on Ctrl-C", "按 Ctrl-C")
STOPPING: Final = Message("stopping: what runs may end, the rest is handed back", "正在停止:等待运行结束,其余交还")
STOPPED: Final = Message("stopped", "已停止")
DRAINED: Final = Message("drained: no run is left", "已排空:没有正在进行的运行")
WORKER_DIED: Final = Message(
    "the worker process {pid} died ({how}); it begins again in {pause:g} s",
    "工作进程 {pid} 已死亡({how});{pause:g} 秒后重新启动",
)
BY_SIGNAL: Final = Message("signal {number}", "信号 {number}")
BY_EXIT: Final = Message("exit code {number}", "退出码 {number}")
RUN_FAILED: Final = Message("failed (attempt {attempt}): {error}", "失败(第 {attempt} 次):{error}")
RUN_TIMED_OUT: Final = Message("timed out (attempt {attempt})", "超时(第 {attempt} 次)")
RUN_LOST: Final = Message("lost: {because}", "丢失:{because}")
RUN_SUCCEEDED: Final = Message("succeeded{again}", "成功{again}")
ON_ATTEMPT: Final = Message(" (attempt {attempt})", "（第 {attempt} 次）")
TRIED_AGAIN: Final = Message(" · tried again at {at}", " · 将在 {at} 重试")
GIVEN_UP: Final = Message(" · has given up{because}; see: horae why {id}", " · 已放弃{because}；查看：horae why {id}")
RUN_SKIPPED: Final = Message("skipped: {because}", "跳过:{because}")
RETRYING: Final = Message("will be tried again {at}", "将在 {at} 重试")
GAVE_UP: Final = Message("has given up: {because} Look: horae why {id}", "已放弃:{because}查看:horae why {id}")
TWO_OWNERS: Final = Message(
    "Tasks made here belong to local, the first token to admin: webhooks and lists of the one leave out the other.",
    "在本机创建的任务属于 local，首个令牌属于 admin：一方的 webhook 和列表不包括另一方。",
)
TWO_OWNERS_FIX: Final = Message(
    "horae token make NAME   makes a token of local; use it instead",
    "horae token make NAME   创建属于 local 的令牌，改用它",
)
STRANDED: Final = Message(
    "{number} due entries wait for a node that can run them. Look: horae ls, then horae why TASK",
    "{number} 个到期条目在等待能执行它们的节点。查看:horae ls,再用 horae why 任务",
)
LONG_OVERDUE: Final = Message(
    "{number} entries are overdue by more than 30 s: nodes are busy, or the store is slow. Look: horae doctor",
    "{number} 个条目已逾期超过 30 秒:节点繁忙,或存储缓慢。查看:horae doctor",
)
STORE_LOST: Final = Message(
    "the file {path} is gone or was replaced; what was written since is not in it",
    "文件 {path} 已不存在或被替换;此后写入的内容不在其中",
)
STATES: Final = {
    "active": Message("{number} active", "{number} 个活动"),
    "paused": Message("{number} paused", "{number} 个暂停"),
    "completed": Message("{number} completed", "{number} 个完成"),
    "failed": Message("{number} failed", "{number} 个失败"),
    "cancelled": Message("{number} cancelled", "{number} 个取消"),
}

# --- db ------------------------------------------------------------------------------------------------------------

BACKING_UP: Final = Message("backing up", "正在备份")
BACKED_UP: Final = Message("{path}  {size}, {tasks} tasks", "{path}  {size},{tasks} 个任务")
REPLACE_FILE: Final = Message("Replace {path}", "覆盖 {path}")
RESTORE_OVER: Final = Message(
    "Put {backup} in the place of {path}; what is there now is kept as {kept}",
    "用 {backup} 替换 {path};现有文件保留为 {kept}",
)
RESTORED: Final = Message(
    "{path} is what {backup} was; the file before is {kept}", "{path} 已恢复为 {backup};原文件为 {kept}"
)
RESTORED_NEW: Final = Message("{path} is what {backup} was", "{path} 已恢复为 {backup}")
ALL_IS_WELL: Final = Message("{path}: nothing is wrong with it", "{path}:没有发现问题")
UPGRADED: Final = Message("{path}: schema {before} → {after}", "{path}:架构版本 {before} → {after}")
UP_TO_DATE: Final = Message("{path}: schema {after}, as it should be", "{path}:架构版本 {after},已是最新")

# --- secret --------------------------------------------------------------------------------------------------------

VALUE_OF: Final = Message("Value of {name} (not shown): ", "{name} 的值(不显示):")
SECRET_SET: Final = Message(
    '{name} is kept; tasks use it as {{"secret": "{name}"}}', '{name} 已保存;任务中写作 {{"secret": "{name}"}}'
)
SECRET_GONE: Final = Message("{name} is removed", "{name} 已删除")
NO_SECRETS: Final = Message(
    "no secrets yet; try: horae secret set NAME{owner_option}",
    "还没有机密;可以试试:horae secret set 名称{owner_option}",
)
REMOVE_SECRET: Final = Message(
    "Remove the secret {name}; tasks that use it will fail", "删除机密 {name};使用它的任务会失败"
)
ROTATED: Final = Message(
    "{number} values are sealed with a new key in {path}", "{number} 个值已用新密钥重新加密,密钥位于 {path}"
)
SHARE_THE_KEY: Final = Message(
    "Copy {path} to every machine with a node now: until then, the nodes there cannot open a secret.",
    "请立即把 {path} 复制到每台有节点的机器:在此之前,那里的节点无法打开机密。",
)
SECRET_GRANTED: Final = Message("tasks of the agent {agent} may use {name}", "智能体 {agent} 的任务可以使用 {name}")
SECRET_GRANT_REVOKED: Final = Message(
    "tasks of the agent {agent} may no longer use {name}", "智能体 {agent} 的任务不能再使用 {name}"
)
SECRET_TITLES: Final = (
    Message("NAME", "名称"),
    Message("OWNER", "所有者"),
    Message("UPDATED", "更新时间"),
    Message("GRANTED TO", "已授权智能体"),
)

# --- config --------------------------------------------------------------------------------------------------------

CONFIG_TITLES: Final = (
    Message("SETTING", "设置"),
    Message("VALUE", "值"),
    Message("FROM", "来源"),
    Message("MEANING", "含义"),
)
SERVER_MEANING: Final = Message("The server that commands go to, instead of a store", "命令发往的服务器,代替存储")
TOKEN_MEANING: Final = Message("The file with the token for it", "存放其令牌的文件")
FROM_DEFAULT: Final = Message("default", "默认")

# --- doctor --------------------------------------------------------------------------------------------------------

PYTHON: Final = Message(
    "Python {python}, SQLite {sqlite} (apsw {apsw})", "Python {python},SQLite {sqlite}(apsw {apsw})"
)
PYTHON_AND_DRIVER: Final = Message("Python {python}, {driver}", "Python {python},{driver}")
SETTINGS_FINE: Final = Message("Settings: {number} chosen, the rest as usual", "设置:已指定 {number} 项,其余为默认")
UNUSED_VARIABLE: Final = Message(
    "The variable {name} is set, but nothing here reads it", "已设置变量 {name},但这里没有任何程序读取它"
)
UNUSED_KEY: Final = Message(
    "{place} says {name}, but nothing here reads it", "{place} 中有 {name},但这里没有任何程序读取它"
)
UNUSED_NEAREST: Final = Message("did you mean {name}?", "是不是 {name}?")
UNUSED_FIX: Final = Message("horae config shows every setting", "horae config 会列出所有设置")
NO_STORE: Final = Message("No store yet: {path}", "还没有存储:{path}")
NO_STORE_FIX: Final = Message('horae add "every 10s" --say tick', 'horae add "every 10s" --say tick')
NOT_A_STORE: Final = Message("{path}: {problem}", "{path}:{problem}")
NOT_A_STORE_FIX: Final = Message(
    "horae db restore BACKUP, or choose another --store", "horae db restore 备份,或换一个 --store"
)
STORE_FINE: Final = Message(
    "Store: schema {schema}, journal {journal}, synchronous FULL, {size}, {path}",
    "存储:架构版本 {schema},日志 {journal},synchronous FULL,{size},{path}",
)
SERVER_FINE: Final = Message("Store: {where}; schema version {schema}, {size}", "存储:{where};架构版本 {schema},{size}")
NO_TABLES: Final = Message("No tables yet: {where}", "还没有表:{where}")
SERVER_FIX: Final = Message("look at the server's log", "查看服务器的日志")
DURABLE: Final = Message("Durable: {settings}", "持久:{settings}")
NOT_DURABLE: Final = Message(
    "When the power fails, the server may lose what it has acknowledged: {settings}",
    "断电时,服务器可能丢失已确认的数据:{settings}",
)
DURABLE_FIX: Final = Message("turn on or set to 1: {names}", "打开,或设为 1:{names}")
PLAIN_CONNECTION: Final = Message(
    "The connection to {host} is not encrypted: passwords and payloads can be read on the way",
    "与 {host} 的连接未加密:密码和数据可能在传输途中被读取",
)
PLAIN_FIX: Final = Message("add {option} to the address of the store", "在存储地址中加上 {option}")
DUMPED: Final = Message(
    "Backups are made with the server's own tools: {dump}; horae move FROM_URL sqlite:///FILE copies everything into a file",
    "备份使用服务器自带的工具:{dump};horae move 来源 sqlite:///文件 可把全部数据复制到文件",
)
CLOCKS_AGREE: Final = Message(
    "This machine's clock and the server's agree within {by}", "本机时钟与服务器时钟相差 {by}"
)
CLOCK_IS_OFF: Final = Message("Against the server's, {off}; nodes correct for it", "与服务器相比,{off};节点会自行校正")
CLOCK_TOO_FAR_OFF: Final = Message(
    "Against the server's, {off}: more than {tolerance}, so no node starts here",
    "与服务器相比,{off}:超过 {tolerance},此处不会启动节点",
)
NODE_CLOCKS: Final = Message(
    "Clocks are off by up to {by} on {names}; nodes correct for it", "{names} 的时钟偏差最多 {by};节点会自行校正"
)
WRONG_JOURNAL: Final = Message("The journal mode is {journal}, not WAL", "日志模式为 {journal},而不是 WAL")
INTACT: Final = Message("Database intact", "数据库完好")
DAMAGED: Final = Message(
    "{number} things are wrong in the database; the first: {doubt}", "数据库有 {number} 处问题;第一处:{doubt}"
)
DAMAGED_FIX: Final = Message("horae db check, then horae db restore BACKUP", "horae db check,再 horae db restore 备份")
BACKED_UP_AT: Final = Message("Last backup {ago}", "上次备份:{ago}")
NO_BACKUP: Final = Message("No backup was ever made", "从未备份")
OLD_BACKUP: Final = Message("The last backup is old: {ago}", "上次备份较旧:{ago}")
BACKUP_FIX: Final = Message("horae db backup PATH", "horae db backup 路径")
CLOCK_FINE: Final = Message("Clock: wall and monotonic clock agree; {ntp}", "时钟:系统时间与单调时钟一致;{ntp}")
CLOCK_DRIFTS: Final = Message(
    "The wall clock moved by {drift} ms against the monotonic one during the check; {ntp}",
    "检查期间系统时间相对单调时钟移动了 {drift} 毫秒;{ntp}",
)
CLOCK_BEHIND: Final = Message(
    "The clock is behind the last thing that happened, by {behind}", "时钟比最近一次事件落后 {behind}"
)
CLOCK_STEP: Final = Message(
    "The clock of {host} was set back by {by} at {at}: interval tasks were planned again, all others waited",
    "{host} 的时钟在 {at} 被调慢 {by}:间隔任务已重新计划,其他任务等待其时刻",
)
CLOCK_FIX: Final = Message("let NTP keep the clock: timedatectl set-ntp true", "用 NTP 校时:timedatectl set-ntp true")
NTP_SYNCED: Final = Message("NTP is synchronised", "NTP 已同步")
NTP_UNKNOWN: Final = Message("whether NTP keeps it is not known here", "无法得知是否由 NTP 校时")
ZONES: Final = Message(
    "Zone data {version}; default zone {zone} (from {source})", "时区数据 {version};默认时区 {zone}(来自 {source})"
)
ZONE_NOWHERE: Final = Message(
    "Zone data {version}; no default zone is set, so {zone} counts", "时区数据 {version};未设置默认时区,按 {zone} 计算"
)
ZONE_FIX: Final = Message(
    "set HORAE_ZONE, for example HORAE_ZONE=Europe/Berlin", "设置 HORAE_ZONE,例如 HORAE_ZONE=Asia/Shanghai"
)
BAD_ZONE: Final = Message("{source} names an unknown zone: {zone}", "{source} 指定了未知的时区:{zone}")
ZONES_OLDER: Final = Message(
    "Zone data {version} is older than {seen}, which this store has seen", "时区数据 {version} 比此存储见过的 {seen} 旧"
)
ZONES_FIX: Final = Message("pip install --upgrade tzdata", "pip install --upgrade tzdata")
LATENESS: Final = Message(
    "Lateness last day: p50 {p50} ms, p99 {p99} ms, {share} % of {number} runs on time",
    "最近一天延迟:p50 {p50} 毫秒,p99 {p99} 毫秒,{number} 次运行中 {share} % 准时",
)
NO_LATENESS: Final = Message("Nothing ran within the last day", "最近一天没有运行")
LATENESS_FIX: Final = Message(
    "horae overview; look for long blocking functions and full lanes", "horae overview;检查阻塞的函数与占满的通道"
)
NOTHING_WAITS: Final = Message("Nothing due is left waiting", "没有滞留的到期任务")
OVERDUE: Final = Message("{number} are due, and not claimed by any node", "{number} 个已到期,但没有节点领取")
OVERDUE_FIX: Final = Message("horae up", "horae up")
PARKED: Final = Message("{number} wait for a slot in a full lane", "{number} 个在等待通道空位")
PARKED_FIX: Final = Message("horae lanes, then horae lane NAME LIMIT", "horae lanes,再 horae lane 名称 上限")
WAITS_FOR_NODE: Final = Message(
    "{number} are due and no running node can run them", "{number} 个已到期,但没有节点能执行"
)
WAITS_FOR_NODE_FIX: Final = Message(
    "horae up FILE.py, with the file that has their functions", "horae up 文件.py,使用包含其函数的文件"
)
NODES: Final = Message("Nodes that are running: {number}", "{number} 个节点正在运行")
NO_NODES: Final = Message("No engine is running, so nothing fires", "没有节点在运行,任何任务都不会触发")
STALE_NODES: Final = Message("{number} nodes died without leaving: {names}", "{number} 个节点异常退出:{names}")
STALE_FIX: Final = Message(
    "the next engine that starts recovers their runs: horae up", "下一个启动的节点会接手:horae up"
)
FUNCTIONS_FINE: Final = Message("{number} functions registered", "已注册 {number} 个函数")
FUNCTIONS_DIFFER: Final = Message(
    "{number} functions are declared differently by running nodes: {names}",
    "{number} 个函数在正在运行的节点上声明不一致:{names}",
)
FUNCTIONS_DIFFER_FIX: Final = Message(
    "the newest registration counts; bring every node to the same code", "以最新注册为准;请让所有节点运行相同的代码"
)
NO_LISTENER: Final = Message(
    "{number} tasks publish events that no listener receives: {names}", "{number} 个任务的消息没有监听者接收:{names}"
)
NO_LISTENER_FIX: Final = Message(
    "horae events --follow, an event stream, a webhook (horae webhook add URL), or targets.event.webhook",
    "可用 horae events --follow、事件流、webhook（horae webhook add URL）或 targets.event.webhook",
)
WEBHOOKS_BLOCKED: Final = Message(
    "{number} webhooks are not delivered, because the node does not allow the network: {names}",
    "{number} 个 webhook 未送达,因为节点不允许该网络:{names}",
)
WEBHOOKS_WITHOUT_KEY: Final = Message(
    "{number} webhooks are not delivered, because the node does not have the key of the secrets: {names}",
    "{number} 个 webhook 未送达,因为节点没有机密所用的密钥:{names}",
)
TARGETS_REFUSED: Final = Message(
    "{number} tasks have a target that the node does not allow: {names}",
    "{number} 个任务的目标不被节点允许:{names}",
)
TARGETS_REFUSED_FIX: Final = Message(
    "horae why TASK says what to set where the node runs; then restart the node",
    "horae why 任务 说明要在节点处设置什么;然后重新启动节点",
)
LANES_FINE: Final = Message("Lanes: {number}, none closed", "{number} 个通道,均未关闭")
LANES_CLOSED: Final = Message("Lanes with limit 0 start nothing: {names}", "上限为 0 的通道不会启动任何任务:{names}")
TASKS_FINE: Final = Message("{number} tasks, none needs you", "{number} 个任务,均无需处理")
TASKS_FAILED: Final = Message("{number} tasks have given up: {names}", "{number} 个任务已放弃:{names}")
ONCE_FAILED_FIX: Final = Message("horae why TASK, then horae retry TASK", "horae why 任务,再 horae retry 任务")
MIXED_FAILED_FIX: Final = Message(
    "horae why TASK, then horae resume TASK; a task that runs once: horae retry TASK",
    "horae why 任务,再 horae resume 任务;只运行一次的任务:horae retry 任务",
)
TASKS_FAILED_FIX: Final = Message("horae why TASK, then horae resume TASK", "horae why 任务,再 horae resume 任务")
TASKS_ORPHANED: Final = Message(
    "{number} tasks lost the code that declared them: {names}", "{number} 个任务失去了声明它们的代码:{names}"
)
OWNERS_BLOCKED: Final = Message(
    "{number} owners have active tasks that do not fire, because they are revoked or viewers: {names}",
    "{number} 个所有者已停用或为查看者,其活动任务不会触发:{names}",
)
OWNERS_BLOCKED_FIX: Final = Message(
    "horae owner restore NAME, or horae owner set NAME --role member",
    "horae owner restore 名称,或 horae owner set 名称 --role member",
)
TASKS_ORPHANED_FIX: Final = Message("horae up FILE.py, or horae rm TASK", "horae up 文件.py,或 horae rm 任务")
KEY_FINE: Final = Message(
    "Secrets: {number} sealed, key {path} is yours alone", "机密:{number} 个,密钥 {path} 仅本人可读"
)
KEY_NONE: Final = Message("Secrets: none kept", "机密:没有")
KEY_MISSING: Final = Message(
    "{number} secrets are sealed, but the key {path} is not there", "有 {number} 个机密,但密钥 {path} 不存在"
)
KEY_NOT_NAMED: Final = Message(
    "{number} secrets are sealed, but no key is named here", "有 {number} 个机密,但此处没有指明密钥"
)
KEY_NOT_NAMED_FIX: Final = Message(
    "set HORAE_KEY_FILE to this machine's copy of the key that all nodes share",
    "用 HORAE_KEY_FILE 指明本机上所有节点共用的密钥副本",
)
KEY_MISSING_FIX: Final = Message("bring the key file back, or set the secrets again", "恢复密钥文件,或重新设置机密")
DISK_FINE: Final = Message("{free} free on the disk of the store", "存储所在磁盘剩余 {free}")
DISK_LOW: Final = Message("Only {free} free on the disk of the store", "存储所在磁盘仅剩 {free}")
DISK_FIX: Final = Message("make room, or move the store", "清理空间,或移动存储")
LIBRARIES: Final = Message("Optional libraries: {present}{absent}", "可选库:{present}{absent}")
ABSENT: Final = Message("; not installed: {names}", ";未安装:{names}")
LIBRARIES_FIX: Final = Message("pip install 'horae[all]'", "pip install 'horae[all]'")
VERDICT: Final = Message("{errors} errors, {warnings} warnings", "{errors} 个错误,{warnings} 个警告")

# --- export, import, apply -----------------------------------------------------------------------------------------

EXPORTED: Final = Message("{tasks} tasks and {runs} runs → {path}", "{tasks} 个任务、{runs} 条运行 → {path}")
IMPORT_SUMMARY: Final = Message(
    "+ {new} tasks  ~ {changed} changed  = {same} as they are  ? {unclear} unclear",
    "+ {new} 个新任务  ~ {changed} 个修改  = {same} 个不变  ? {unclear} 个不明确",
)
RUNS_TAKEN: Final = Message("{taken} runs from before, {left} not taken", "历史运行 {taken} 条,未导入 {left} 条")
RUNS_TAKEN_BEFORE: Final = Message(
    "{taken} runs from before, {there} are here already, {left} not taken",
    "历史运行 {taken} 条,已存在 {there} 条,未导入 {left} 条",
)
GROUPS_TAKEN: Final = Message("{number} groups", "{number} 个群组")
OVER: Final = Message("{number} tasks are over and stay behind", "{number} 个任务已结束,不再导入")
NOTHING_WRITTEN: Final = Message("nothing written; drop --dry-run to apply", "没有写入;去掉 --dry-run 即可执行")
NOT_TAKEN_OVER: Final = Message("? {source}: {text}  {because}", "? {source}:{text}  {because}")
ABOUT: Final = Message("! {source}: {note}", "! {source}:{note}")
PAUSED_THERE: Final = Message("paused when it was exported", "导出时处于暂停状态")
GAVE_UP_THERE: Final = Message("had given up when it was exported", "导出时已放弃重试")
FIRES_CHANGE: Final = Message("fires −{removed} +{added} in the next 7 days", "未来 7 天触发 −{removed} +{added}")
APPLY_SUMMARY: Final = Message(
    "+ {new} new  ~ {changed} changed  = {same} the same  - {gone} gone",
    "+ {new} 个新增  ~ {changed} 个修改  = {same} 个不变  - {gone} 个移除",
)
APPLY: Final = Message("Apply", "应用")
IMPORTING: Final = Message("importing", "正在导入")
APPLIED: Final = Message("applied", "已应用")
NOTHING_TO_DO: Final = Message("nothing to do", "无需改动")
LANE_CHANGES: Final = Message("lane {name}: {before} → {after}", "通道 {name}:{before} → {after}")
NOT_REMOVED: Final = Message("{name} could not be removed: {because}", "无法移除 {name}:{because}")

# --- simulate ------------------------------------------------------------------------------------------------------

SIMULATING: Final = Message("simulating", "正在预演")
SIMULATED: Final = Message(
    "{start} – {until} ({zone}): {runs} runs, {skipped} skipped, at most {most} at once",
    "{start} – {until}({zone}):运行 {runs} 次,跳过 {skipped} 次,最多同时 {most} 个",
)
NO_FINDINGS: Final = Message("nothing that you should look at", "没有需要注意的地方")
BUSIEST_MINUTE: Final = Message(
    "busiest minute {at}: {count} starts ({names})", "最忙的一分钟 {at}:{count} 次启动({names})"
)
BUSIEST_SECOND: Final = Message("busiest second {at}: {count} due ({names})", "最忙的一秒 {at}:{count} 个到期({names})")
SIMULATED_TITLES: Final = (
    Message("TASK", "任务"),
    Message("PLANNED", "计划"),
    Message("RAN", "运行"),
    Message("SKIPPED", "跳过"),
    Message("WAITING", "等待"),
    Message("LATEST", "最晚"),
    Message("FIRST", "首次"),
    Message("LAST", "末次"),
)
LANE_TITLES: Final = (
    Message("LANE", "通道"),
    Message("LIMIT", "上限"),
    Message("RUNS", "运行"),
    Message("WANTED", "同时需要"),
    Message("FULL", "占满"),
    Message("LONGEST WAIT", "最长等待"),
)
SKIPPED_TASKS: Final = Message("{number} tasks are not going, and were left out", "{number} 个任务未在运行,已忽略")

# --- horae mcp ---------------------------------------------------------------------------------------------------------

WAITS_FOR_ASSISTANT: Final = Message(
    "Waiting for an assistant on standard input (MCP); Ctrl-C ends it. An assistant starts this command itself, by its configuration:",
    "正在标准输入上等待助手(MCP),按 Ctrl-C 结束。此命令由助手按其配置自行启动:",
)
CONFIGURE_ASSISTANT: Final = Message(
    '  {{"mcpServers": {{"horae": {{"command": "horae", "args": ["mcp"]}}}}}}',
    '  {{"mcpServers": {{"horae": {{"command": "horae", "args": ["mcp"]}}}}}}',
)
