"""Table of all commands: the module and attribute of each, and its one-line help in both languages."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..message import Message


class CommandEntry(NamedTuple):
    """A command of the table: `place` is `module:attribute` of a Click command below this package."""

    place: str
    does: Message


Panel = dict[str, CommandEntry]

PANELS: Final[tuple[tuple[Message, Panel], ...]] = (
    (
        Message("Start", "开始"),
        {
            "up": CommandEntry(
                "commands.operate.up:up",
                Message(
                    "Run the engine and the HTTP API here, until Ctrl-C.", "在前台运行引擎和 HTTP 接口,按 Ctrl-C 结束。"
                ),
            ),
            "open": CommandEntry(
                "commands.access.open_console:open_console",
                Message(
                    "Open the console in a browser, signed in by a one-time link.",
                    "在浏览器中打开控制台,用一次性链接登录。",
                ),
            ),
            "worker": CommandEntry(
                "commands.operate.up:worker",
                Message("Run the engine as one of many nodes, until SIGTERM.", "作为多个节点之一运行,直到 SIGTERM。"),
            ),
            "route": CommandEntry(
                "commands.operate.route:route",
                Message(
                    "Forward requests to the deployment of each owner, until Ctrl-C.",
                    "将请求转发到各所有者所在的部署,按 Ctrl-C 结束。",
                ),
            ),
            "mcp": CommandEntry(
                "commands.operate.mcp:mcp",
                Message(
                    "Serve an assistant over standard input and output (MCP).",
                    "通过标准输入输出为助手提供服务(MCP)。",
                ),
            ),
            "service": CommandEntry(
                "commands.operate.service:service_commands",
                Message("Let systemd run Horae on this machine.", "让 systemd 在本机运行 Horae。"),
            ),
            "doctor": CommandEntry(
                "doctor.doctor:doctor",
                Message(
                    "Check this deployment for problems; exit code 1 when there is an error.",
                    "检查本部署的问题;有错误时退出码为 1。",
                ),
            ),
        },
    ),
    (
        Message("Daily", "日常"),
        {
            "add": CommandEntry("commands.tasks.add:add", Message("Make a task.", "新建任务。")),
            "ls": CommandEntry("commands.tasks.ls:ls", Message("List tasks.", "列出任务。")),
            "show": CommandEntry(
                "commands.tasks.show:show",
                Message("Show one task, or one run, in full.", "查看一个任务或一次运行的全部信息。"),
            ),
            "next": CommandEntry(
                "commands.tasks.next:next_fires",
                Message("Show when a schedule fires next.", "查看计划接下来的触发时间。"),
            ),
            "explain": CommandEntry(
                "commands.tasks.next:explain",
                Message(
                    "Explain what a schedule means, with its JSON and warnings.", "说明计划的含义,附 JSON 和警告。"
                ),
            ),
            "run": CommandEntry(
                "commands.runs.run:run", Message("Run a task now, once more.", "立即额外运行一次任务。")
            ),
            "pause": CommandEntry(
                "commands.tasks.control:pause",
                Message("Pause a task: it starts no runs until it is resumed.", "暂停任务:恢复之前不启动运行。"),
            ),
            "resume": CommandEntry("commands.tasks.control:resume", Message("Resume a task.", "恢复任务。")),
            "undo": CommandEntry(
                "commands.tasks.control:undo",
                Message(
                    "Undo the cancel of a task, or a bulk pause, resume or cancel.",
                    "撤销任务的取消,或批量暂停、恢复、取消。",
                ),
            ),
            "skip": CommandEntry(
                "commands.tasks.control:skip", Message("Skip the next occurrences of a task.", "跳过任务接下来的几次。")
            ),
            "edit": CommandEntry("commands.tasks.edit:edit", Message("Change a task.", "修改任务。")),
            "cancel": CommandEntry(
                "commands.tasks.control:cancel",
                Message("Cancel a task; its history stays.", "取消任务,保留历史。"),
            ),
            "rm": CommandEntry(
                "commands.tasks.control:remove", Message("Remove a task and its history.", "删除任务及其历史。")
            ),
            "why": CommandEntry(
                "commands.runs.why:why",
                Message("Say why a task did, or did not, run.", "说明任务为什么运行或没有运行。"),
            ),
            "runs": CommandEntry(
                "commands.runs.runs:runs", Message("List runs, newest first.", "列出运行记录,最新的在前。")
            ),
            "logs": CommandEntry(
                "commands.runs.runs:logs", Message("Show the log lines of a run.", "查看一次运行的日志行。")
            ),
            "retry": CommandEntry("commands.runs.run:retry", Message("Try a failed run again.", "重试失败的运行。")),
            "failures": CommandEntry(
                "commands.runs.failures:failures",
                Message(
                    "List failed runs by their error, or retry all of one error.",
                    "按错误列出失败的运行,或重试同一错误的全部运行。",
                ),
            ),
            "stop": CommandEntry("commands.runs.run:stop", Message("Ask a run to end.", "要求一次运行结束。")),
            "backfill": CommandEntry(
                "commands.runs.run:backfill",
                Message("Run the occurrences of a past range.", "补跑过去一段时间内的各次。"),
            ),
            "watch": CommandEntry("commands.runs.watch:watch", Message("Watch what happens, live.", "实时查看动态。")),
        },
    ),
    (
        Message("Manage", "管理"),
        {
            "status": CommandEntry(
                "commands.operate.status:status",
                Message("Say whether a node is up, and what needs attention.", "查看节点是否运行,以及有哪些需要处理。"),
            ),
            "overview": CommandEntry(
                "commands.operate.overview:overview",
                Message("Show the state of all tasks and nodes at a glance.", "查看所有任务和节点的概况。"),
            ),
            "events": CommandEntry("commands.runs.runs:events", Message("Read the event log.", "读取事件日志。")),
            "lanes": CommandEntry(
                "commands.operate.overview:lanes",
                Message(
                    "List lanes: limit, rate, runs, entries that wait, and idle runs.",
                    "列出通道:上限、速率、运行、等待和空闲。",
                ),
            ),
            "lane": CommandEntry(
                "commands.operate.overview:lane",
                Message(
                    "Show a lane and what waits in it, or set its limit or its rate.",
                    "查看一个通道及其等待,或设置其上限或速率。",
                ),
            ),
            "nodes": CommandEntry(
                "commands.operate.nodes:nodes",
                Message(
                    "List the nodes (processes that run tasks), show one, or drain one.",
                    "列出节点(运行任务的进程),查看或排空其中一个。",
                ),
            ),
            "token": CommandEntry(
                "commands.access.token:token_commands",
                Message("Make, list or revoke tokens.", "创建、列出或作废令牌。"),
            ),
            "session": CommandEntry(
                "commands.access.session:session_commands",
                Message(
                    "List the browsers that are signed in, or sign one out.", "列出已登录的浏览器,或让其中一个退出。"
                ),
            ),
            "owner": CommandEntry(
                "commands.access.owner:owner_commands",
                Message("Manage the owners of tasks, and their rights.", "管理任务的所有者及其权限。"),
            ),
            "webhook": CommandEntry(
                "commands.access.webhook:webhook_commands",
                Message("Send events to other systems.", "将事件发送到其他系统。"),
            ),
            "notify": CommandEntry(
                "commands.access.notify:notify_commands",
                Message("Send messages to people: mail, chat, phone.", "向人发送消息:邮件、聊天、手机。"),
            ),
            "group": CommandEntry(
                "commands.access.group:group_commands",
                Message(
                    "Register chats, each with an agent; change, stop or remove them.",
                    "注册聊天群组(每个群组有一个智能体),修改、停止或删除。",
                ),
            ),
            "messages": CommandEntry(
                "commands.access.messages:message_commands",
                Message("Send and read the messages of streams.", "发送和读取消息流中的消息。"),
            ),
            "plan": CommandEntry(
                "commands.tasks.plan:plan_commands",
                Message(
                    "Manage plans: messages to stations at planned times, as in Zero.",
                    "管理计划:在计划时间发往站点的消息,与 Zero 相同。",
                ),
            ),
            "deliveries": CommandEntry(
                "commands.access.deliveries:delivery_commands",
                Message(
                    "List texts on their way to chats; send one again, or discard it.",
                    "列出发往聊天的文本;重新发送或丢弃其中一条。",
                ),
            ),
            "audit": CommandEntry(
                "commands.access.audit:audit_commands",
                Message(
                    "Show who did what, and verify that the record is unchanged.",
                    "查看谁做了什么,并验证记录未被改动。",
                ),
            ),
            "login": CommandEntry(
                "commands.access.login:login",
                Message("Log in to a server; commands go there from now on.", "登录服务器;此后的命令都发往该服务器。"),
            ),
            "context": CommandEntry(
                "commands.access.login:context_commands",
                Message("Choose the server that commands go to.", "选择命令发往的服务器。"),
            ),
            "secret": CommandEntry(
                "commands.access.secret:secret_commands",
                Message(
                    "Manage secrets: tasks name them but never hold their values.",
                    "管理机密:任务引用其名称,从不包含其值。",
                ),
            ),
            "approve": CommandEntry(
                "commands.access.approve:approve",
                Message(
                    "Approve a task that an agent made, so that it runs; without a task, list those that wait.",
                    "批准智能体创建并等待人员确认的任务;不写任务则列出等待的任务。",
                ),
            ),
            "reject": CommandEntry(
                "commands.access.approve:reject",
                Message(
                    "Reject a task that an agent made: it is cancelled and never runs.",
                    "拒绝智能体创建的任务:将其取消,不会运行。",
                ),
            ),
            "agent": CommandEntry(
                "commands.access.approve:agent_commands",
                Message(
                    "List agents, limit one, stop it with all its tasks, or restart it.",
                    "列出智能体,限制其中一个,停止其创建的全部任务,或让其继续。",
                ),
            ),
            "view": CommandEntry(
                "commands.access.view:view_commands",
                Message(
                    "Save queries under names, for ls --view, runs --view and the console.",
                    "将查询保存为视图,供 ls --view、runs --view 和控制台使用。",
                ),
            ),
            "station": CommandEntry(
                "commands.operate.station:station_commands",
                Message(
                    "Let programs join over ZeroMQ, and see who has joined.", "让程序通过 ZeroMQ 加入,并查看谁已加入。"
                ),
            ),
            "config": CommandEntry("commands.operate.config:config", Message("Show every setting.", "查看所有设置。")),
            "db": CommandEntry(
                "commands.operate.db:db_commands",
                Message("Back up, restore, check or upgrade the store.", "备份、恢复、检查或升级存储。"),
            ),
        },
    ),
    (
        Message("Move", "迁移"),
        {
            "export": CommandEntry(
                "transfer.import_export:export",
                Message(
                    "Write all tasks as JSON lines, to move or to keep them.",
                    "将所有任务导出为 JSON 行,用于迁移或留存。",
                ),
            ),
            "import": CommandEntry(
                "transfer.import_export:import_file",
                Message(
                    "Import tasks; importing twice changes nothing.",
                    "导入任务;重复导入不会产生变化。",
                ),
            ),
            "move": CommandEntry(
                "transfer.move:move_store",
                Message(
                    "Move everything, or one owner, to another store: resumable, and compared at the end.",
                    "将全部数据或一个所有者迁移到另一个存储:可续传,结束时比对。",
                ),
            ),
            "apply": CommandEntry(
                "transfer.apply:apply", Message("Make the tasks equal to those of a file.", "使任务与文件一致。")
            ),
            "simulate": CommandEntry(
                "commands.tasks.simulate:simulate",
                Message(
                    "Try tasks in advance: overlaps, full lanes, clock changes, busy moments.",
                    "预演任务:重叠、通道占满、时钟变动、繁忙时刻。",
                ),
            ),
        },
    ),
    (
        Message("Meta", "其他"),
        {
            "help": CommandEntry(
                "commands.meta.help:explain_topic",
                Message(
                    "Explain a topic: schedules, zones, queries, json, exit-codes; or a command.",
                    "说明一个主题:schedules、zones、queries、json、exit-codes;或一个命令。",
                ),
            ),
            "completion": CommandEntry(
                "commands.meta.completion:completion",
                Message(
                    "Print a completion script: source <(horae completion bash).",
                    "输出补全脚本:source <(horae completion bash)。",
                ),
            ),
            "version": CommandEntry("commands.meta.help:version", Message("Show the version.", "显示版本。")),
        },
    ),
)

ALIASES: Final = {"list": "ls", "top": "watch", "remove": "rm", "delete": "rm"}
COMMANDS: Final[Panel] = {name: each for _, panel in PANELS for name, each in panel.items()}
