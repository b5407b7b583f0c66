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
AGENTS: Final = Message("Agents", "智能体")
AGENTS_RUN: Final = Message(
    "by {runtime} · channels: {channels} · groups: {groups}", "运行方式 {runtime} · 渠道:{channels} · 群组:{groups}"
)
NO_NAMES: Final = Message("none", "无")
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
NAME_THE_STORE: Final = Message(
    "the commands below leave its password out: set PGPASSWORD, PGPASSFILE, MYSQL_PWD or REDISCLI_AUTH, or put its address into HORAE_STORE",
    "下面的命令不含它的密码:请设置 PGPASSWORD、PGPASSFILE、MYSQL_PWD 或 REDISCLI_AUTH,或把它的地址放入 HORAE_STORE",
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
SOCKET: Final = Message("Socket", "套接字")
SOCKET_AT: Final = Message("{path}  (try: {command})", "{path}(试试:{command})")
METRICS: Final = Message("Metrics", "指标")
API_AT: Final = Message("{url}  (docs: {url}/docs)", "{url}(文档:{url}/docs)")
FIRST_TOKEN: Final = Message("of an admin; shown this once, kept in {path}", "管理员令牌;仅显示一次,保存在 {path}")
TOKEN_FILE: Final = Message("of an admin, kept in {path}", "管理员令牌,保存在 {path}")
TOKENS_THERE: Final = Message("given out before; for another one: {command}", "使用已发放的令牌;新建:{command}")
CONSOLE: Final = Message("Console", "控制台")
ONE_TIME_LINK: Final = Message("one-time link", "一次性链接")
CONSOLE_AT: Final = Message("{url}  (sign in: {command})", "{url}(登录:{command})")
NO_TLS: Final = Message(
    "every machine that can reach {host} can try tokens here, and read the traffic: put a proxy with TLS in front",
    "任何能访问 {host} 的人都可以尝试令牌并看到传输内容:请在前面放置带 TLS 的代理",
)
NO_API: Final = Message("not served: {because}", "未提供:{because}")
PORT_TAKEN: Final = Message("port {port} is taken (--port chooses another)", "端口 {port} 已被占用(可用 --port 另选)")
NOT_INSTALLED: Final = Message("install it with: pip install 'horae[server]'", "请先安装:pip install 'horae[server]'")
ROUTER_READY: Final = Message(
    "The router listens at {url}, in front of: {names}.", "路由器监听 {url},后面的部署:{names}。"
)
ROUTE_TITLES: Final = Message("OWNER|DEPLOYMENT|URL", "所有者|部署|地址")
SERVER_DIED: Final = Message(
    "the API's process {pid} died ({how}); it restarts in {pause:g} s",
    "接口进程 {pid} 已终止({how});{pause:g} 秒后重新启动",
)
ON_SIGNAL: Final = Message("on Ctrl-C", "按 Ctrl-C")
STOPPING: Final = Message(
    "stopping: live runs may end, the others are handed back", "正在停止:等待进行中的运行结束,其余交还"
)
STOPPED: Final = Message("stopped", "已停止")
DRAINED: Final = Message("drained: no run is left", "已排空:没有正在进行的运行")
PROCESSES_ON_SQLITE: Final = (
    Message(
        "on SQLite one process at a time writes, so the gain has a limit:",
        "在 SQLite 上同一时刻只有一个进程写文件，因此收益有限：",
    ),
    Message(
        "compare with one process, or use PostgreSQL (processes_on_sqlite)",
        "请与单进程比较，或使用 PostgreSQL（processes_on_sqlite）",
    ),
)
"""Two lines of the header of a node."""
PROCESS: Final = Message("Process", "进程")
PROCESS_READY: Final = Message("{number} of {total} is ready", "第 {number} 个（共 {total} 个）已就绪")
WORKER_DIED: Final = Message(
    "the worker process {pid} died ({how}); it restarts in {pause:g} s",
    "工作进程 {pid} 已终止({how});{pause:g} 秒后重新启动",
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
GAVE_UP: Final = Message("has given up: {because} See: horae why {id}", "已放弃:{because}查看:horae why {id}")
STRANDED: Final = Message(
    "{number} due entries wait for a node that can run them. See: horae ls, then horae why TASK",
    "{number} 个到期条目在等待能执行它们的节点。查看:horae ls,再用 horae why 任务",
)
LONG_OVERDUE: Final = Message(
    "{number} entries are overdue by more than 30 s: nodes are busy, or the store is slow. See: horae doctor",
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

ON_THE_SERVER: Final = Message("On the server:", "服务器上:")
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
GROUP_NEW: Final = Message("new, {chat}", "新建,{chat}")
GROUP_KNOWN: Final = Message("registered already, {chat}", "已注册,{chat}")
MESSAGES_TAKEN: Final = Message(
    "{messages} messages, {waiting} of them wait", "{messages} 条消息,其中 {waiting} 条等待处理"
)
SESSION_TAKEN: Final = Message("session", "会话")
FILES_TAKEN: Final = Message(
    "files: {copied} copied, {known} there already, {left} not copied (links, pipes, unreadable), {over} over the limit",
    "文件:已复制 {copied} 个,已存在 {known} 个,未复制 {left} 个(链接、管道、无法读取),超出限额 {over} 个",
)
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
LANE_RATE_CHANGES: Final = Message("lane {name}, rate: {before} → {after}", "通道 {name} 的速率:{before} → {after}")
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
    Message("RATE", "速率"),
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
