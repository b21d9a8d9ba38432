"""What Co will not store: secrets, hidden characters, nothing at all, too much; knows no files.

Every repetition in a pattern is bounded or possessive, so a scan is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from co_cli.errors import RefusedText

__all__ = ["MAX_TAG", "MAX_TEXT", "check_text", "clean_tags", "find_hidden", "find_secret"]

MAX_TEXT = 16 * 1024  # bytes of UTF-8
MAX_TAG = 64  # characters
MAX_TAGS = 64  # in one note

# The groups are the rules. The last one: what Unicode calls default-ignorable (drawn as nothing),
# annotation marks and noncharacters.
_SUSPECT = (
    r"(?P<control_character>\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029])"
    r"|(?P<bidi_control>[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])"
    r"|(?P<not_utf8>[\ud800-\udfff])|(?P<tag_block>[\U000e0000-\U000e007f])"
    r"|(?P<hidden_character>[\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d"
    r"\u2060-\u2065\u206a-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe"
    r"\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff])"
)
_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
# Scripts whose letters join or stack (Arabic, Indic, Mongolian ...): joiners choose their shape.
_JOINING = (
    r"[\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
# Scripts written without spaces (Thai, Khmer, Burmese ...): a zero width space ends a word.
_UNSPACED = r"[\u0e00-\u109f\u1780-\u17ff\u1980-\u1aaf\ua9e0-\uaa7f]{2}"
_PICTURES = "\u203c\u2049\u2139\u3030\u303d"  # emoji that Unicode files as punctuation or letters
_KEYCAPS = tuple("#*0123456789")

# Looked at, not consumed: a name inside a value must not hide the next value.
_VALUE = r"[ \t]{0,5}(?=[\"'`](?P<quoted>[^\"'`\n]{8,100})|(?P<bare>[!#-&(-+\--:<-_a-~]{8,100}))"
_LOGIN = r"://[^\s:/@?#]{0,100}:(?P<password>[^\s/@]{1,200})@(?=[\w\[.])"
# The rule, what a message calls it, its pattern (also in indented lines); the first fit is named.
_SECRETS = r"""
private-key          a private key
    -----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File-\d
age-secret-key       an age secret key        (?i)AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40}
aws-access-key       an AWS access key        \b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b
aws-secret-key       an AWS secret key
    (?i)(?:aws[\w .-]{0,20}secret|secret_?access_?key)[\w .-]{0,20}["'`*]{0,3}\s{0,5}
    (?:=>|:=|[:=])?\s{0,5}["'`*]{0,3}[a-z0-9/+]{40}(?![a-z0-9/+])
github-token         a GitHub token           gh[pousr]_[A-Za-z0-9]{30}|github_pat_\w{30}
gitlab-token         a GitLab token           gl(?:pat|dt|rt|ptt|cbt|ft|oas|soat|agent)-[\w-]{20}
slack-token          a Slack token            (?:xox[a-eoprs]|xapp)-(?=[A-Za-z%-]{0,40}\d)[\w%-]{12}
slack-webhook        a Slack webhook
    hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{30}
stripe-key           a Stripe key
    [sr]k_(?:live|test|prod)_[A-Za-z0-9]{10}|whsec_[\w+/]{24}
anthropic-key        an Anthropic key         sk-ant-[\w-]{20}
openai-key           an OpenAI key
    \bsk-(?:(?:proj|svcacct|admin|or-v1)-[\w-]{20}|(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{20}|[A-Za-z]{40})
google-api-key       a Google API key         AIza[\w-]{35}
google-oauth         a Google OAuth secret    GOCSPX-[\w-]{20}|\bya29\.[\w-]{20}|\b1//0[\w-]{40}
npm-token            an npm token             \bnpm_[A-Za-z0-9]{36}
pypi-token           a PyPI token             pypi-AgE[\w-]{30}|pypi-[\w-]{85}
huggingface-token    a Hugging Face token     \b(?:hf|api_org)_[A-Za-z0-9]{30}
digitalocean-token   a DigitalOcean token     do[por]_v1_[A-Fa-f0-9]{40}
sendgrid-key         a SendGrid key           \bSG\.[\w-]{16,32}\.[\w-]{30}
twilio-key           a Twilio key             \bSK[0-9a-fA-F]{32}\b
telegram-token       a Telegram bot token     (?:\b|bot)\d{6,16}:A[\w-]{34}(?![\w-])
discord-webhook      a Discord webhook
    (?i)discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{17,20}/[\w-]{40}
discord-token        a Discord bot token
    \b(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){4}[\w-]{2,16}\.[\w-]{6}\.[\w-]{27}
service-token        an API token
    shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|\bdp\.[a-z]{2,5}\.\w{40}|lin_api_\w{32}|\bntn_\w{40}
    |\bdapi[a-f0-9]{32}|ATATT3[\w=-]{50}|\bhv[sb]\.[\w-]{24}|\bgl(?:sa|c)_\w{32}|NRAK-\w{27}
    |PMAK-\w{24}|\bsbp_[a-f0-9]{40}|\bgsk_\w{40}|\bxai-\w{60}|\bpplx-\w{40}|\br8_\w{37}
    |\btskey-[a-z]{2,10}-\w{10}|dckr_pat_[\w-]{20}|\bkey-[a-f0-9]{32}\b
jwt                  a JSON Web Token
    (?<![\w-])eyJ[\w-]{10,4000}\.eyJ[\w-]{10,16000}\.[\w-]{10}
azure-storage-key    an Azure key             (?i)(?:Account|SharedAccess)Key=[a-z0-9+/]{40}
database-url         a database URL with its password
    (?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse
    |cockroachdb|nats|kafka|neo4j|bolt)(?:\+[a-z0-9]{1,20})?<LOGIN>
basic-auth-url       a URL with its password  (?i)\b[a-z][a-z0-9+.-]{1,20}<LOGIN>
authorization-header an access token          (?i)\b(?:bearer|basic) (?=[\w+/=.~-]{16})<VALUE>
assigned-secret      a password or key
    (?i)(?:passw(?:or)?[dt]|passphrase|pwd|(?<!:)secret|token|credentials?|密码|密碼|パスワード
    |(?:api|access|auth|secret|private|signing|encryption)[ _-]?key)["'`*_]{0,3}[ \t]{0,5}
    (?:=>|:=|={1,3}|[:\uff1a]|\bis\b)[*_]{0,2}<VALUE>
"""
# No rule can match a text without one of these; most notes are spared the compiling of them all.
_HINT = r"(?i)[\w+/=.~-]{16}|://|pass|pwd|secret|token|credential|key|bearer|basic|密|パス"
_PLACEHOLDER = (
    r"(?i)^(?:[<{\[(*]|\$[a-z_{(]|%\(|%\w{1,64}%$|%s$)|x{6}|\*{3}|\.{3}"
    r"|change.?me|placeholder|redacted"
)
# Places, methods and names that a note may well give where a secret would stand.
_ORDINARY = (
    r"(?i)^(?:[~./]|arn:|[a-z]{1,10}://|0x[0-9a-f]{40}$|\d{4}-\d\d-\d\d)|^[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,64}$"
    r"|\s|example|your|dummy|1password|argon2|pbkdf2|bcrypt|scrypt|sha\d|base64|oauth|privatekey"
)
_WORD = r"[A-Za-z]*[0-9]{0,5}|[a-z]{0,2}[0-9]{1,5}[a-z]{1,2}|[0-9]+"  # oauth2, k8s, 3rd


def check_text(text: str, *, allow_secret: bool = False) -> str:
    """Return the text to store, without the white space around it, or raise RefusedText."""
    stored = text.strip()
    if not stored:
        raise RefusedText("there is nothing to store: the text is empty", rule="empty")
    size = len(stored.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT:
        message = f"the text is {size} bytes long; a note holds at most {MAX_TEXT}"
        raise RefusedText(message, rule="too-long", hint="Split it into several notes.")
    for rule, line, column, name in _suspects(text):
        message = f"line {line}, column {column}: {name} will not be stored (rule {rule})"
        raise RefusedText(message, rule=rule, hint="Remove the character and try again.")
    if not allow_secret:
        _refuse_secret(stored, "this")
    return stored


def clean_tags(tags: Iterable[str], *, allow_secret: bool = False) -> list[str]:
    """Return the tags trimmed, without empty and repeated ones, or raise RefusedText."""
    kept: dict[str, None] = {}
    for number, tag in enumerate(tags, 1):
        trimmed = tag.strip()
        if trimmed and trimmed not in kept:
            _check_tag(trimmed, number, allow_secret=allow_secret)
            kept[trimmed] = None
        if len(kept) > MAX_TAGS:
            raise RefusedText(f"a note has at most {MAX_TAGS} tags", rule="too-many-tags")
    return list(kept)


def find_hidden(text: str) -> list[tuple[int, int, str]]:
    """List line, column and name of each character that is not shown as what it is."""
    return [(line, column, name) for _, line, column, name in _suspects(text)]


def find_secret(text: str) -> str | None:
    """Name the first rule that sees a secret in the text."""
    if not re.search(_HINT, text):
        return None
    for name, (_, pattern) in _secrets().items():
        if any(map(_is_real, pattern.finditer(text))):
            return name
    return None


def _check_tag(tag: str, number: int, *, allow_secret: bool) -> None:
    # Secrets come first, hidden characters left out: the messages after this one show the tag.
    if not allow_secret:
        _refuse_secret(re.sub(_SUSPECT, "", tag[:MAX_TEXT]), f"tag {number}")
    shown = tag if len(tag) <= MAX_TAG else f"{tag[:MAX_TAG]}..."
    shown = re.sub(rf"[\t\r\n]|{_SUSPECT}", lambda found: ascii(found[0])[1:-1], shown)
    if len(tag) > MAX_TAG:
        message = f"tag '{shown}' is {len(tag)} characters long; a tag has at most {MAX_TAG}"
        raise RefusedText(message, rule="too-long")
    if re.search(r"[\t\r\n]", tag):
        message = f"tag '{shown}' holds a line break or a tab"
        raise RefusedText(message, rule="control-character")
    for rule, _, column, name in _suspects(tag):
        raise RefusedText(f"tag '{shown}': {name} at column {column} (rule {rule})", rule=rule)


def _refuse_secret(text: str, subject: str) -> None:
    name = find_secret(text)
    if name is not None:
        message = f"{subject} looks like {_secrets()[name][0]} (rule {name})"
        hint = "Store where it is kept instead, or repeat with --allow-secret."
        raise RefusedText(message, rule=f"secret:{name}", hint=hint)


def _suspects(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield rule, line, column and name of each character that must not be stored."""
    line, line_start, seen = 1, 0, 0
    for match in re.finditer(_SUSPECT, text):
        char, index = match[0], match.start()
        before, after = text[max(index - 1, 0) : index], text[index + 1 : index + 2]
        if match["hidden_character"] and _does_something(char, before, after):
            continue
        line += text.count("\n", seen, index)
        line_start = text.rfind("\n", seen, index) + 1 or line_start
        seen = index
        rule = str(match.lastgroup).replace("_", "-")
        name = unicodedata.name(char, rule.replace("-", " ").upper())
        yield rule, line, index - line_start + 1, f"U+{ord(char):04X} {name}"


def _does_something(char: str, before: str, after: str) -> bool:
    """Say whether an invisible character changes how its neighbours are drawn."""
    if char in "\ufe0e\ufe0f":
        return _is_picture(before) or before in _KEYCAPS
    if char in "\u180b\u180c\u180d\u180f":
        return "\u1820" <= before <= "\u18aa"  # a Mongolian letter has several forms
    if char == _ZWSP:
        return re.fullmatch(_UNSPACED, before + after) is not None
    if char not in (_ZWNJ, _ZWJ) or not before:
        return False
    virama = unicodedata.combining(before) == 9
    pictures = char == _ZWJ and _is_picture(after) and (before == "\ufe0f" or _is_picture(before))
    letters = _is_text(before) and _is_text(after) and re.search(_JOINING, before + after)
    return virama or pictures or bool(letters)


def _is_picture(char: str) -> bool:
    if char <= "\x7f":
        return False
    newer = "\U0001f000" <= char <= "\U0001faff"  # this Python may not know it yet
    return newer or char in _PICTURES or unicodedata.category(char)[0] == "S"


def _is_text(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "LMN"


@cache
def _secrets() -> dict[str, tuple[str, re.Pattern[str]]]:
    table = _SECRETS.replace("<VALUE>", _VALUE).replace("<LOGIN>", _LOGIN)
    rules = re.findall(r"^(\S+) +(an? .+?)\s{2,}(\S.*(?:\n .+)*)", table, re.MULTILINE)
    return {rule: (what, re.compile(re.sub(r"\n +", "", p), re.ASCII)) for rule, what, p in rules}


def _is_real(match: re.Match[str]) -> bool:
    groups = match.groupdict()
    value = groups.get("quoted") or groups.get("bare")
    if value:
        return _looks_secret(value, quoted=bool(groups["quoted"]))
    return not re.search(_PLACEHOLDER, groups.get("password") or match[0])


def _looks_secret(value: str, *, quoted: bool) -> bool:
    """Tell a key or password from a word, a name, a path or a piece of code."""
    if not quoted:
        value = value.rstrip(".,;:!?)]}>*_")
        if re.search(r"[(\[{<\\]", value):
            return False
    if re.search(_PLACEHOLDER, value) or re.search(_ORDINARY, value):
        return False
    if not re.search(r"[A-Za-z]", value) or not re.search(r"[0-9!@#$%^&*~?]", value):
        return False
    pieces = re.split(r"[-_./:+]", value)
    mixed = [piece for piece in pieces if re.search(r"[A-Za-z]{2}[0-9]|[0-9][A-Za-z]{2}", piece)]
    return len(pieces) == 1 or len(mixed) > 2 or not all(re.fullmatch(_WORD, p) for p in pieces)
