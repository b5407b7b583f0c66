"""Refusals of outgoing requests: code, sentence and hint in two languages; header values are never shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from ..errors import InvalidTask, NotAuthenticated, Refusal, ServerUnreachable
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "provider_unreachable": RefusalEntry(
            ServerUnreachable,
            "The identity provider '{provider}' cannot be reached: {problem}.",
            "Try again later, or sign in with a token. A provider in a private network has to be in outgoing_networks.",
            "无法访问身份提供方“{provider}”:{problem}。",
            "请稍后重试,或用令牌登录。私有网络中的提供方需列入 outgoing_networks。",
        ),
        "provider_answer": RefusalEntry(
            ServerUnreachable,
            "The identity provider '{provider}' did not answer as expected: {problem}.",
            "Check oidc_issuer, oidc_client_id and the client secret, or sign in with a token.",
            "身份提供方“{provider}”的应答不符合预期:{problem}。",
            "请检查 oidc_issuer、oidc_client_id 和客户端密钥,或用令牌登录。",
        ),
        "provider_token": RefusalEntry(
            NotAuthenticated,
            "The answer of '{provider}' could not be verified ({problem}), so you are not signed in.",
            "Sign in again. If it repeats, compare the clocks, and the client id at the provider.",
            "无法验证“{provider}”的应答({problem}),因此没有登录。",
            "请重新登录。如反复出现,请核对双方时钟以及提供方处的客户端标识。",
        ),
        "provider_denied": RefusalEntry(
            NotAuthenticated,
            "'{provider}' did not sign you in ({problem}).",
            "Try again, or sign in with a token.",
            "“{provider}”未让您登录({problem})。",
            "请重试,或用令牌登录。",
        ),
        "provider_state": RefusalEntry(
            NotAuthenticated,
            "This sign-in was not begun in this browser, or more than ten minutes ago.",
            "Begin again with the button below.",
            "此次登录并非由此浏览器发起,或已超过十分钟。",
            "请用下面的按钮重新开始。",
        ),
        "url_too_long": RefusalEntry(
            InvalidTask,
            "The URL has {length} characters; at most {most} are sent.",
            "Move what is long into the body.",
            "该 URL 有 {length} 个字符;最多发送 {most} 个。",
            "请把较长的内容放进请求体。",
        ),
        "url_characters": RefusalEntry(
            InvalidTask,
            "The URL contains a space, a backslash, a line break or another character that no URL has.",
            "Write it percent-encoded, for example %20 for a space.",
            "该 URL 含有空格、反斜杠、换行或其他不允许的字符。",
            "请使用百分号编码,例如用 %20 表示空格。",
        ),
        "url_scheme": RefusalEntry(
            InvalidTask,
            "The scheme '{scheme}' is not supported.",
            "Give a URL that begins with https:// or http://.",
            "不支持“{scheme}”协议。",
            "请给出以 https:// 或 http:// 开头的 URL。",
        ),
        "url_userinfo": RefusalEntry(
            InvalidTask,
            "The URL contains a user name or password.",
            "Send credentials in a header, with a reference to a secret.",
            "该 URL 含有用户名或密码。",
            "请通过请求头并引用密钥来发送凭据。",
        ),
        "url_host": RefusalEntry(
            InvalidTask,
            "'{host}' is not a host that can be called.",
            "Give a name in ASCII letters (international names as xn--…), or a plain IP address.",
            "“{host}”不是可以调用的主机。",
            "请给出 ASCII 字母的域名(国际化域名写作 xn--…)或普通的 IP 地址。",
        ),
        "url_port": RefusalEntry(
            InvalidTask,
            "'{port}' is not a port.",
            "Give a number from 1 to 65535, or leave it out.",
            "“{port}”不是端口。",
            "请给出 1 到 65535 之间的数字,或省略端口。",
        ),
        "address_not_public": RefusalEntry(
            InvalidTask,
            "'{host}' leads to an address that is not public.",
            "Where the node runs, write outgoing_networks = {toml} at the top of horae.toml or set "
            "HORAE_OUTGOING_NETWORKS={networks} in its environment, then restart the node. "
            "A command at the store itself (--store) needs the same setting where it runs. It counts for tasks and webhooks.",
            "“{host}”指向非公网地址。",
            "请在节点运行的地方,于 horae.toml 开头写 outgoing_networks = {toml},或设置环境变量 "
            "HORAE_OUTGOING_NETWORKS={networks},然后重新启动节点。直接访问存储(--store)的命令也需在其运行的地方做同样的设置。对任务和 webhook 同时生效。",
        ),
        "bad_network": RefusalEntry(
            InvalidTask,
            "'{value}' is not a network.",
            "Give it as an address and a prefix, for example 10.1.0.0/16 or fd00::/8.",
            "“{value}”不是网络。",
            "请写成地址加前缀,例如 10.1.0.0/16 或 fd00::/8。",
        ),
        "header_name": RefusalEntry(
            InvalidTask,
            "'{name}' is not the name of a header, or it is given twice.",
            "Use letters, digits and hyphens, each name once.",
            "“{name}”不是合法的请求头名称,或重复出现。",
            "请使用字母、数字和连字符,每个名称只出现一次。",
        ),
        "header_value": RefusalEntry(
            InvalidTask,
            "The value of the header '{name}' cannot be sent.",
            "Give one line of at most {most} characters: no line break, no control character, no space at either end.",
            "请求头“{name}”的值无法发送。",
            "请给出一行不超过 {most} 个字符的文本:不含换行和控制字符,首尾没有空格。",
        ),
        "header_reserved": RefusalEntry(
            InvalidTask,
            "The header '{name}' is set by Horae itself.",
            "Leave it out.",
            "请求头“{name}”由 Horae 自行设置。",
            "请不要填写它。",
        ),
        "too_many_headers": RefusalEntry(
            InvalidTask,
            "The headers are too many or too long: {count} with {size} characters.",
            "Give at most {most} with {most_size} characters together.",
            "请求头过多或过长:{count} 个,共 {size} 个字符。",
            "最多 {most} 个,合计不超过 {most_size} 个字符。",
        ),
        "signing_secret": RefusalEntry(
            InvalidTask,
            "The secret for signatures is not of the form that Standard Webhooks wants.",
            "Give whsec_ followed by base64 of 24 to 64 random bytes.",
            "签名密钥不符合 Standard Webhooks 的格式。",
            "请给出 whsec_ 加上 24 到 64 个随机字节的 base64。",
        ),
        "http_library_missing": RefusalEntry(
            InvalidTask,
            "Calling HTTP endpoints needs a library that is not installed here.",
            "Install it with: pip install 'horae[http]'",
            "调用 HTTP 接口需要的库尚未安装。",
            "安装命令:pip install 'horae[http]'",
        ),
    }
)


NOT_PUBLIC: Final = "address_not_public"


def refuse_address(host: str, addresses: Iterable[object]) -> Refusal:
    """Build the refusal of a host, with the networks that an operator would have to allow."""
    texts = list(dict.fromkeys(str(address) for address in addresses))
    return refuse(NOT_PUBLIC, host=host, toml=json.dumps(texts), networks=",".join(texts))


def refused_networks(refusal: Refusal) -> tuple[str, ...]:
    """Return the networks that this refusal asks an operator to allow; none where it has another reason."""
    return tuple(str(refusal.facts["networks"]).split(",")) if refusal.code == NOT_PUBLIC else ()


refuse: Final = CATALOGUE.refuse
