"""Secrets in a text: where they are, and which rule found them. Knows no files.

A pattern is tried only where one of its hints is in the text, and every repetition in it is
bounded, so that a scan is linear in the text. How keys look is what their makers publish.
"""

import re
from collections.abc import Iterator

from co_cli.knowledge.safety.secret_values import JUDGES, Match

LEFT_OUT = "[left out]"

# A line names a rule and says what a message calls it. Under it, its patterns: who judges what
# was matched (see secret_values), hints in lower case (- for none), and the pattern, which goes on
# in deeper lines. Between slashes a pattern reads the text in lower case. A group `value` or
# `quoted` is the secret; else all of the match is, to the end of the word.
_RULES = r"""
private-key: a private key
    any private -----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY
    any putty-user PuTTY-User-Key-File-\d
    any mi|mh|mc4c|b3blbnnz (?:MI[A-Za-z0-9+/]{2,6}IBA(?:AK|DANBgkqhki)|MH[cQ]CAQEE|MC4CAQAwBQYDK2Vw
        |MIG[A-Za-z0-9+/]{0,2}AgE|b3BlbnNzaC1rZXktdjEA)[A-Za-z0-9+/\s]{20}
    any xprv xprv[1-9A-Za-z]{90}
age-secret-key: an age secret key
    any age-secret-key /age-secret-key-(?:pq-)?1[0-9a-z]{40}/
aws-access-key: an AWS access key
    any akia|asia|abia|acca A(?:KIA|SIA|BIA|CCA)(?<!\wA...)[A-Z0-9]{16}\b
aws-secret-key: an AWS secret key
    any aws /aws[\w .-]{0,20}?secret<KEY40>/
    any access /secret_?access<KEY40>/
github-token: a GitHub token
    any ghp_|gho_|ghu_|ghs_|ghr_ gh[pousr]_[A-Za-z0-9]{30}
    any github_pat_ github_pat_\w{30}
gitlab-token: a GitLab token
    any gl gl(?:pat|dt|rt|ptt|cbt|ft|oas|soat|agent|imt)-[\w-]{20}
slack-token: a Slack token
    any xox|xapp- (?:xox[a-eoprs]|xapp)-(?=[A-Za-z%-]{0,40}\d)[\w%-]{12}
slack-webhook: a Slack webhook
    any hooks.slack.com hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{30}
stripe-key: a Stripe key
    any sk_|rk_ [sr]k_(?:live|test|prod)_[A-Za-z0-9]{10}
    any whsec_ whsec_[\w+/]{24}
anthropic-key: an Anthropic key
    any sk-ant- sk-ant-[\w-]{20}
openai-key: an OpenAI key
    any sk- sk-(?<!\wsk-)(?:(?:proj|svcacct|admin|or-v1)-[\w-]{20}
        |(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{20}|[A-Za-z]{40})
google-api-key: a Google API key
    any aiza AIza[\w-]{35}
google-oauth: a Google OAuth secret
    any gocspx-|ya29.|1//0 GOCSPX-[\w-]{20}|ya29\.(?<!\w.....)[\w-]{20}|1//0(?<!\w....)[\w-]{40}
npm-token: an npm token
    any npm_ npm_(?<!\wnpm_)[A-Za-z0-9]{36}
pypi-token: a PyPI token
    any pypi- pypi-(?:AgE[\w-]{30}|[\w-]{85})
huggingface-token: a Hugging Face token
    any hf_|api_org_ (?:hf_(?<!\whf_)|api_org_)[A-Za-z0-9]{30}
digitalocean-token: a DigitalOcean token
    any dop_v1|doo_v1|dor_v1 do[por]_v1_[A-Fa-f0-9]{40}
sendgrid-key: a SendGrid key
    any sg. SG\.(?<!\wSG.)[\w-]{16,32}\.[\w-]{30}
twilio-key: a Twilio key
    any sk SK[0-9a-fA-F]{32}(?<!\w.{34})\b
telegram-token: a Telegram bot token
    any :a (?:\b|bot)\d{6,16}:A[\w-]{34}(?![\w-])
discord-webhook: a Discord webhook
    any /webhooks/ /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{17,20}\/[\w-]{40}/
discord-token: a Discord bot token
    any . \b(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){4}[\w-]{2,16}\.[\w-]{6}\.[\w-]{27}
service-token: an API token
    any shp|dapi|sbp_|rubygems_|sib-|clojars_ (?:shp(?:at|ca|pa|ss)_|dapi|sbp_|rubygems_
        |x(?:key|smtp)sib-|CLOJARS_)[a-fA-F0-9]{32}
    any lin_|ntn_|glsa_|glc_|gsk_|r8_|xai-|pplx- (?:lin_(?:api|oauth)_|ntn_|gl(?:sa|c)_|gsk_|r8_
        |xai-|pplx-)\w{32}
    any atatt3|atctt3|nvapi-|ops_eyj|hrku-|figd_|sntry|fm2_|dckr_ (?:AT[AC]TT3|nvapi-|ops_eyJ
        |HRKU-|figd_|sntry[su]_|fm2_|dckr_pat_)[\w+/=-]{20}
    any eaa|akcp|ezak|eztk (?:EAA(?<!\wEAA)|AKCp|EZ[AT]K)[A-Za-z0-9]{54}
    any dp.|hvs.|hvb. (?:dp\.[a-z]{2,5}\.\w{40}|hv[sb]\.[\w-]{24})
    any nrak-|pmak- NRAK-\w{27}|PMAK-\w{24}
    any tskey- tskey-[a-z]{2,10}-\w{10}
    any key- key-(?<!\wkey-)[a-f0-9]{32}\b
    any sq0 sq0[a-z]{3}-[\w-]{22}
    any q~ (?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31}
    any ltai LTAI(?<!\wLTAI)[A-Za-z0-9]{20}\b
    any pscale_ pscale_[a-z]{2,6}_[\w.-]{32}
    any a3- A3-(?<!\wA3-)[A-Z0-9]{6}-[A-Z0-9-]{20}
    any pat pat(?<!\wpat)[A-Za-z0-9]{14}\.[a-f0-9]{64}
    any /incomingwebhook/ /\/incomingwebhook\/[a-f0-9]{32}/
    any hooks.zapier hooks\.zapier\.com/hooks/catch/\d{4,12}/\w{5}
jwt: a JSON Web Token
    any eyj eyJ(?<![\w-]eyJ)[\w-]{10,4000}\.eyJ[\w-]{10,16000}\.[\w-]{10}
azure-storage-key: an Azure key
    any key= /(?:account|sharedaccess)key=[a-z0-9+\/]{40}/
password-hash: a password hash
    sure $ \$(?:2[abxy]?\$\d\d|argon2(?:id|i|d)\$[\w=,$]{4,40}|y\$\w{1,4}|[1567]|apr1|md5|sha1)
        \$[\w./+$=]{20}
    any pbkdf2|scrypt (?:pbkdf2|scrypt)[\w:-]{1,20}\$\w{1,12}\$?[\w./+$=]{16}
    any sha} \{S?SHA\}[\w+/]{24}
    any scram-sha SCRAM-SHA-(?:1|256)\$\d{4,6}:
    any ::: [0-9a-fA-F]{32}:[0-9a-fA-F]{32}:::
database-url: a database URL with its password
    any :// /\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle
        |clickhouse|cockroachdb|nats|kafka|neo4j|bolt)(?:\+[a-z0-9]{1,20})?<LOGIN>/
basic-auth-url: a URL with its password
    any :// /<LOGIN>/
signed-url: a signed URL
    random sig /[?&;](?:[\w-]{0,20}signature|sig)=(?P<value>[\w%+\/=.~-]{16,400})/
    random key= /[?&](?:[\w-]{0,20}key)=(?P<value>[\w%+\/=.~-]{16,400})/
    any /private- /private-[a-f0-9]{20}
authorization-header: an access token
    named bearer|basic /b(?:earer|asic)(?<!\w.{5})(?<!\w.{6}) (?=[\w+\/=.~-]{16})<VALUE>/
    random authorization /authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:[a-z]{1,12}[ \t])?
        (?P<value>[\w+\/=.~-]{16,400})/
    random cookie: /cookie:[ \t]{0,3}[\w.-]{1,40}=(?P<value>[\w%+\/=.~-]{16,400})/
    random sess /sess(?:ion)?[_-]?id=(?P<value>[\w%+\/=.~-]{16,400})/
otp-secret: a secret for one-time passwords
    any otpauth: /otpauth:\/\/[^\s"'?]{1,200}\?[^\s"'?]{0,100}?secret=[a-z2-7]{8}/
    codes totp|2fa|mfa|otp|authenticator /(?:totp|[2m]fa|otp|authenticator)<SOME>
        (?:[:=]|[ \t]is)[ \t]{0,3}(?P<value>[a-z0-9]{4,64}(?:[ -][a-z0-9]{4,8}){0,15})/
recovery-code: recovery codes
    codes code|key|schl /(?:(?:recovery|backup|rescue|scratch|emergency)[ -](?:code|key)s?
        |(?:wiederherstellungs|notfall|backup)-?(?:codes?|schlüssel)
        |(?:codes? de |clé de )(?:secours|récupération)
        |(?:códigos?|clave) de (?:respaldo|recuperación))<SOME>(?:[:=]|[ \t](?:is|are)|\n)\s{0,6}
        (?P<value>[a-z0-9]{4,16}(?:[ -][a-z0-9]{4,16}){1,15})/
    any - (?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])
seed-phrase: a wallet's seed phrase
    seed - /(?<![a-z]{3} )(?<![\w'-])(?P<value>(?:[a-z]{3,8}[ \t,]{1,3}){11,23}[a-z]{3,8})
        (?![\w'-])/
    seed - /(?<!.)(?P<value>(?:[a-z]{3,8}\r?\n){11,23}[a-z]{3,8})(?!.)/
    seed - /\b(?=0?1\D)(?P<value>(?:\d{1,2}[.):]?[ \t]{0,3}[a-z]{3,8}[\s,]{1,3}(?!0?1[.): \t]))
        {11,23}\d\d[.):]?[ \t]{0,3}[a-z]{3,8})(?![\w'-])/
card-number: a card number
    card - (?<![^\W_])(?<!\d[.,])[2-9](?:\d{3}(?:(?:<APART>\d{4}){3}|<APART>\d{6}<APART>\d{4,5})
        |\d{7}<APART>\d{8}|\d{12,18})(?![^\W_])
    card - (?<![^\W_])(?<!\d[.,])[2-9]\d{3}(?:<APART>\d{4}){2,3}<APART>\d{1,3}(?![^\W_])
pin-code: a PIN or an access code
    pin pin|puk|cvv|cvc /(?:pin|puk|cv[vc])(?<![\w-]...)(?:[ -]?code)?<SOME>(?:[:=]|<IS>)
        [ \t]{0,3}(?P<value>#?\d[\w#*-]{2,14})/
    pin pin|puk|cvv|cvc (?:PIN|PUK|CV[VC]|cv[vc])(?<![\w-]...) (?:code )?
        (?P<value>#?\d[\w#*-]{2,14})
    pin code|código|codigo|combin /(?:(?:alarm|door|gate|entry|access|safe|lock|locker|unlock
        |security|garage|building|zugangs|tür)[ -]?code|combination
        |code (?:d['’]accès|de l['’]alarme|de la porte|du portail)
        |c[óo]digo de (?:la )?(?:puerta|alarma|acceso))<SOME>(?:[:=]|<IS>)
        [ \t]{0,3}(?P<value>#?\d[\w#*-]{2,14})/
login-command: a password on a command line
    any curl curl\b[^\n]{0,100}? (?:-u|--user|--proxy-user)[ =]?["']?[^\s:"'$]{1,60}:<PASSWORD>
    any sshpass sshpass[ \t]{1,3}-p[ \t]{0,3}["']?<PASSWORD>
    any mysql|mariadb (?:mysql|mariadb)[a-z-]{0,10}\b[^\n|;]{0,80}? -p["']?<PASSWORD>
    loose login login\b[^\n|;]{0,80}? -p[ =]["']?<PASSWORD>
    any ldap ldap[a-z]{3,10}\b[^\n|;]{0,100}? -w ?["']?<PASSWORD>
    any redis-cli redis-cli\b[^\n|;]{0,80}? -a ["']?<PASSWORD>
    any smbclient|mount|rpcclient -U ?["']?[\w.\\/@-]{1,60}%<PASSWORD>
    any 7z|rar (?:7z[ar]?|rar)\b[^\n|;]{0,80}? -p["']?<PASSWORD>
    any zip zip\b[^\n|;]{0,80}? -P ?["']?<PASSWORD>
    loose net /net user?\b[^\n|;]{0,100}? (?P<value>[^\s*\/"']{6,60}) \/(?:user|add)\b/
    any htpasswd htpasswd -[a-zA-Z]{0,3}b[a-zA-Z]{0,3} \S{1,80} \S{1,60} ["']?<PASSWORD>
    any ␣-s|-stdin echo (?:-n )?["']?(?P<value>[^\s"'$|]{4,100})["']? ?\| ?(?:sudo (?:-\w{1,2} )?-S
        |[^|\n]{1,80}?--password-stdin)
    any chpasswd :(?P<value>[^\s:"'$|]{4,60})["']? ?\| ?(?:sudo )?chpasswd
    any pass: -pass(?:in|out)? ["']?pass:<PASSWORD>
    any identified /identified by ["']<PASSWORD>/
    loose --pass|word /--[a-z-]{0,20}(?:password|passphrase|passwd)[ =]<VALUE>/
login-file: a login with its password
    any login /login\s{1,8}\S{1,80}\s{1,8}password\s{1,3}<PASSWORD>/
    any requirepass|masterauth (?:requirepass|masterauth)[ \t]{1,3}["']?<PASSWORD>
    encoded auth /auth["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?P<value>[a-z0-9+\/]{8,200}={0,2})/
    strict : :(?:\d{2,5}|\*):[\w*-]{1,40}:[\w*-]{1,40}:(?P<value>[^\s:]{6,100})(?!\S)
kubernetes-secret: a Kubernetes secret
    any kind:␣secret (?<!.)[ \t]{0,8}(?:data|stringData):[ \t]{0,3}\n[ \t]{1,12}[\w.-]{1,80}:
        [ \t]{0,3}["']?(?P<value>[^\s"'${<|][^\s"'${<]{5,200})
assigned-secret: a password or key
    loose - /(?:<PASSWORD_NAME>)\d{0,2}<LINK><VALUE>/
    plain pass|pwd (?<!.)[ \t>*-]{0,8}(?:export )?[A-Z0-9_]{0,40}(?:PASS(?:WORD|WD|PHRASE)
        |PASS(?<![A-Z]PASS)|PWD)=["']?(?P<value>[A-Za-z]{8,40})["']?(?![^\r\n])
    plain pass|pwd /(?<!.)[ \t>*-]{0,8}(?:[\w.-]{0,40}[_.-])?(?:pass(?:word|wd|phrase)|pwd)
        (?:=|[ \t]{0,2}:[ \t]{0,3})["']?(?P<value>[a-z]{8,40})["']?(?![^\r\n])/
    told - /(?:<PASSWORD_NAME>)\d{0,2}["'`*]{0,2}(?:<GAP>)?,?<IS>:?[ \t]{1,3}["'`*]{0,2}
        (?P<value>[a-z]{4,40})["'`*]{0,2}(?:(?=[.,;!] )|[.!]{0,2}[ \t]{0,3}(?![^\r\n]))/
    phrase - /(?:<PASSWORD_NAME>)\d{0,2}(?:<GAP>)?(?:,?<IS>:?|[ \t]{0,2}:)[ \t]{1,3}
        (?P<value>[a-z]{3,12}(?:[ -][a-z]{3,12}){3,7})
        (?:(?=[.,;!] )|[.!]{0,2}[ \t]{0,3}(?![^\r\n]))/
    named secret|token|cred|key /(?:secret(?<!:secret)|token|credentials?
        |(?:api|access|auth|secret|private|signing|encryption|master|license)[ _-]?key(?:_base)?)
        <LINK><VALUE>/
    strict _key|_auth|_salt /_(?:key|auth|salt)<LINK><VALUE>/
    strict clé|clave|schlüssel /(?:schlüssel|cl(?:és?|ave))<LINK><VALUE>/
    beside - /(?:<PASSWORD_NAME>)[ \t]{1,3}(?:[-–—|][ \t]{1,3})?<VALUE>/
    strict token|key|secret /(?:token|secret|key(?<=[a-z][ _-]key))[ \t]{1,3}
        (?P<value>[\w+\/=.-]{16,200})/
    strict ␣as␣|␣als␣|␣com /(?<!\S)["'`]?(?P<value>[^\s"'`]{6,60})["'`]? (?:as|als|com[eo]|comme)
        (?: (?:the|my|our|its|your|a|das|mein|le|la|mon|mi))?(?: [a-z]{1,15})? (?:<PASSWORD_NAME>)/
    strict admin|root /(?:admin(?:istrator)?|root)(?<![\w\/.-]admin)(?<![\w\/.-]root)
        (?: \/ |[\/:])(?P<value>[^\s"'`,;\/]{6,60})(?![\w\/])/
    strict @ @[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}[:|](?P<value>[^\s"'`,;\/.]{6,60})(?![\w\/.])
    strict login|cred|zugang|identifiant|anmelde|account|konto|pass|acces /(?:log-?in|creds
        |credential
        |zugangsdaten|anmeldedaten|identifiant|credencial|acceso|account|konto|auth-user-pass)s?<SOME>
        (?:[:=]|<IS>)[ \t]{0,3}["']?[\w.@+$\\-]{1,60}["']?[ \t]{0,3}(?:[\/:|,]|and|und|et|y)
        [ \t]{0,3}["']?(?P<value>[^\s"'`,;]{6,100})/
"""

_PIECES = {
    "<KEY40>": r"(?:[ _.-]?(?:access|key|is)){0,4}[\"'`*]{0,3}[ \t]{0,3}(?:=>|:=|[:=])?\s{0,3}"
    r"[\"'`*]{0,3}(?P<value>[a-z0-9/+]{40})(?![a-z0-9/+])",
    # From a name to its value: an equals sign, a colon, "is"; "for the staging box" may be between.
    "<LINK>": r"[\"'`*_)\]]{0,3}(?:<GAP>)?(?:[ \t]{0,5}(?=[=:→：＝>,-])(?:={1,3}>?|:=?|->|[→：＝>]"
    r"|(?<=[\"']),)|[ \t]value=|,?<IS>:?)[*_]{0,2}",
    "<GAP>": r",?[ \t](?:(?:we|i|you|they|which|that|by|for|of|on|to|at|from|in|fürs?|vom|von|zum"
    r"|zur|der|des|du|de|del|da|do|pour|para|per|voor|van|wi-?fi|wlan|api|admin|root|user"
    r"|d['’]\w{1,12}|\([^()\n]{1,30}\))(?!\w)(?:[ \t][^\s:=;]{1,24}){0,5}?)",
    # What people and programs write between the groups of a card's digits.
    "<APART>": r"[ \t.\xa0\u2000-\u200a\u2010-\u2015\u202f\u3000-]{1,3}",
    "<SOME>": r"(?:[ \t][^\s:=]{1,24}){0,5}?[ \t]{0,3}",
    # The longest comes first: what follows it is the value.
    "<IS>": r"(?:[ \t](?=[iwalhecèéjg])(?:(?:is|was|has been|got) (?:now )?(?:set|changed|reset) to"
    r"|is(?: now)?|are|was|lautet|ist|heißt|est|c['’]est|es|è|é|jest)(?=[ \t:])|['’]s(?=[ \t]))",
    "<VALUE>": r"\s{0,5}(?=[\"'`«“„‘] ?(?P<quoted>[^\"'`\n»”]{4,200})"
    r"|(?P<value>[^\s\"'`,;=<«“]{4,200}))",
    "<PASSWORD>": r"(?P<value>[^\s\"'$<{*][^\s\"']{2,100})",
    "<LOGIN>": r":\/\/[^\s:\/@?#]{0,100}:(?P<value>[^\s\/@]{1,200})@(?=[\w\[.])",
    "<PASSWORD_NAME>": r"pass(?:w(?:or)?[dt]s?|phrase|code)|pwd|pw(?<![a-z]pw)(?![a-z])"
    r"|pass(?<![a-z]pass)(?![a-z])|kennwort|mdp(?<![a-z]mdp)(?![a-z])|mots? de passe|contrase[ñn]a"
    r"|senha|wachtwoord|has[łl]o(?![a-z])|пароль|lösenord|heslo|密码|密碼|パスワード|비밀번호"
    r"|community string|psk(?<![a-z]psk)(?![a-z])|pre-?shared[ _-]?key",
}

# A pattern need not see all of a secret; how the rest of it goes on, by rule, by group, for any.
_TAILS = {
    "private-key": r"(?:-----)?[^-]*-----END[^\n-]*-----"
    r"|(?!-----)[\w+/=]*(?:\s+[\w+/=]{30,})*(?:\s+[\w+/]+=+)?|[\s\S]*",
    "kubernetes-secret": r"[^\n]*(?:\n[ \t][^\n]*)*",
    "recovery-code": r"(?:[\s,;]{1,3}[A-Za-z0-9-]*[0-9][A-Za-z0-9-]*)*",
    **dict.fromkeys(("seed-phrase", "card-number", "database-url", "basic-auth-url"), ""),
    "quoted": "[^\"'`\\n»”]*",
    "": "(?:[^\\s\"'`<>]*[^\\s\"'`<>,;])?",
}


def _read_rules() -> tuple[dict[str, str], list[tuple[str, str, list[str], bool, str]]]:
    """What each rule is called; and rule, judge, hints, whether it reads lower case, pattern."""
    called: dict[str, str] = {}
    patterns = []
    rule = ""
    for line in re.sub(r"\n {8}", "", _RULES.strip("\n")).split("\n"):
        if not line.startswith(" "):
            rule, _, called[rule] = line.partition(": ")
            continue
        judge, words, source = line.split(None, 2)
        hints = [hint.replace("␣", " ") for hint in words.removeprefix("-").split("|")]
        for name, piece in _PIECES.items():  # those that use others come first
            source = source.replace(name, piece)
        folded = source.startswith("/") and source.endswith("/")
        patterns.append((rule, judge, hints, folded, source[1:-1] if folded else source))
    return called, patterns


RULES, _PATTERNS = _read_rules()


def find_secrets(text: str) -> Iterator[tuple[str, int, int]]:
    """The rule, start and end of each secret, rule by rule; several may see the same."""
    lower = text.replace("\u0130", "i").lower()  # the one letter that grows: places stay the same
    for rule, judge, hints, folded, source in _PATTERNS:
        if not any(hint in lower for hint in hints):
            continue
        for match in re.finditer(source, lower if folded else text, re.ASCII):
            group = match.lastgroup or 0
            start, end = match.span(group)
            if JUDGES[judge](Match(text[start:end], text, start, end, group == "quoted")):
                tail = _TAILS.get(rule, _TAILS.get(str(group), _TAILS[""]))
                rest = re.compile(tail, re.ASCII).match(text, end)
                yield rule, start, rest.end() if rest else end


def find_secret(text: str) -> str | None:
    """Name the first rule that sees a secret in the text."""
    return next((rule for rule, _, _ in find_secrets(text)), None)


def without_secrets(text: str) -> str:
    """The text with LEFT_OUT in each secret's place; what is left may hold one yet."""
    for _ in range(5):  # what is left out may lay another open
        kept, done = [], 0
        for _, start, end in sorted(find_secrets(text), key=lambda secret: secret[1:]):
            if start >= done:
                kept += [text[done:start], LEFT_OUT]
            done = max(done, end)
        if not kept:
            break
        text = "".join([*kept, text[done:]])
    return text
