"""Judges of secrets: is a match one, or a word, a name, a path or code?"""

import base64
import re
from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

_PLACEHOLDER = re.compile(
    r"(?i)^(?:[<{\[(*]|\$[a-z_{(]|%\(|%\w{1,64}%$|%s$|(?:my)?(?:passw(?:or)?d|pass|pwd?|secret|token)$)"
    r"|x{6}|\*{3}|\.{3}|change.?me|placeholder|redacted|example|…"
)
# Places, methods and names that a note may well give where a secret would stand.
_ORDINARY = re.compile(
    r"(?i)^(?:[~./]|arn:|[a-z]{1,10}://|0x[0-9a-f]{40}$|\d{4}-\d\d-\d\d)"
    r"|^[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,64}$|\s|your|dummy|1password|keepass|bitwarden|argon2|pbkdf2"
    r"|bcrypt|scrypt|sha-?\d|base\d\d|oauth|privatekey|[rhep]s(?:256|384|512)|aes-?\d|ed25519|rsa-?\d|k8s"
    r"|^v?\d{1,4}(?:\.\d{1,6}){1,3}|^\d{1,4}[-_]?[a-z]{0,12}$"
)
# Names of variables and fields: DB_PASSWORD2, user.password_v2, pwd_hash2.
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+[0-9]?(?:[_.][a-z]+[0-9]{0,2})+")
_WORD = re.compile(r"[A-Za-z]*[0-9]{0,5}|[a-z]{0,2}[0-9]{1,5}[a-z]{1,2}|[0-9]+")  # oauth2, k8s, 3rd
# What a line may say of a password instead of giving it: required, optional, from the keychain.
_REMARK = re.compile(
    r"(?i)(?:ed|ing|ly|al|able|tion|[dt]ory|ssary|en|ent|ive|lich|oire)$|pass|pwd|user|secret|cred|token"
    r"|vault|key|manager|string|default|unknown|unbekannt|nothing|varchar|hash|plain|hidden|wallet"
    r"|^(?:anything|doppler|dashlane|lastpass|localhost|postgres|somewhere|whatever)$"
)
_MARKS = "!@#$%^&*~?+"
_ODD = re.compile(f"[0-9{_MARKS}]")
_WEAK = re.compile(r"[a-z]{4,20}[0-9]{2,4}(?![\w(\[./-])")
_FUNCTION_WORDS = frozenset(
    "the and for are was were has had not but from have which their our its his her than does did"
    " been via per your how who why a an at in is of on or to least with must be characters".split()
)
_SAID_OF_ONE = frozenset(
    "wrong weak strong stale missing empty same different long short fine safe here there good bad"
    " known easy hard blank null none correct invalid valid gone lost public shared temporary"
    " sensitive okay back mine ours yours theirs below above elsewhere obvious random unique secure"
    " simple complex encrypted optional numeric alphanumeric case next important mandatory online"
    " falsch leer gleich sicher schwach stark lang kurz richtig faible vide correcta incorrecta"
    " this that these those what also only still just never always local remote common".split()
)
# What a sentence about a password says beside these, so that four words are no passphrase.
_SAID_BESIDE = _FUNCTION_WORDS | frozenset(
    "word words letter letters digits numbers one two three four five six seven eight nine ten"
    " twelve every each once twice again since until after before during while when where because"
    " unless without within between among inside under over about into onto enough more most less"
    " some any all both many few much very too quite rather almost already you they them she him"
    " it we us me my nobody somebody everyone anyone everybody will would can cannot should could"
    " may might need needs months weeks days hours minutes year years time times now today minimum"
    " maximum like such as so if then long short random only still just never always this that"
    " these those what here there somewhere elsewhere else same different plain text".split()
)
_TEST_CARDS = frozenset("4111111111111111 5555555555554444 378282246310005".split())
_FOR_TESTS = r"(?i)(?<![\w./@-])(?:test|sandbox|dummy|fake|example|sample|demo|trial)"
_CARD_WORDS = (
    r"(?i)card|visa|master|amex|american express|discover|diners|jcb|union ?pay|maestro|rupay"
    r"|credit|debit|karte|carte|tarjeta|cv[cv]|exp"
)
# How the numbers of each brand begin, and how long they are.
_CARDS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|3[47]\d{13}|35(?:2[89]|[3-8]\d)\d{12,15}"  # Visa, Amex, JCB
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3(?:0[0-5]|[689]\d)\d{11,16}|220[0-4]\d{12,15}|2131\d{11}"  # Diners, Mir, JCB
    r"|6\d{12,18}|5[0678]\d{11,17}|8[12]\d{14}|9792\d{12}"  # Discover, UnionPay, Maestro, RuPay
)
_COMMON = re.compile(r"[24]\d{15}|3[47]\d{13}|35\d{14}|5[1-5]\d{14}|6(?:011|[245]\d\d)\d{12}")
_IBAN = re.compile(r"\b[A-Z]{2}\d\d(?:[ -]?[A-Z0-9]{1,4}){0,7}[ -]?$")


class Match(NamedTuple):
    """What a pattern took for a secret, and where it stands in its text."""

    value: str
    text: str
    start: int
    end: int
    quoted: bool

    def before(self, size: int) -> str:
        """So much of the text before it."""
        return self.text[max(self.start - size, 0) : self.start]

    def around(self, size: int) -> str:
        """So much of the text on either side."""
        return self.before(size) + self.text[self.end : self.end + size]


def _any(match: Match) -> bool:
    return not _PLACEHOLDER.search(match.value)


def _bare(value: str, quoted: bool) -> str:
    """The value without the sentence's punctuation; empty when it is no secret for sure."""
    if not _ODD.search(value):
        return ""
    if quoted:
        value = value.strip()
    else:
        value = value.rstrip(".,;:!?)]}>*_|")
        if re.search(r"[(\[{<\\]", value):
            return ""
    return "" if _PLACEHOLDER.search(value) or _ORDINARY.search(value) else value


def _mixed(value: str) -> bool:
    return bool(re.search(r"[^\W\d_]", value) and _ODD.search(value))


def _loose(match: Match) -> bool:
    """A password, after a word that says so: letters with a digit or a mark, or many digits."""
    value = match.value
    if match.quoted and len(words := value.lower().split()) > 2:
        return len(words) < 9 and not _FUNCTION_WORDS.intersection(words)
    value = _bare(value, match.quoted)
    if len(value) < 6 or _NAME.fullmatch(value):
        return False
    return _mixed(value) or value.isdigit()


def _is_remark(value: str) -> bool:
    return any(found.search(value) for found in (_PLACEHOLDER, _ORDINARY, _REMARK))


def _plain(match: Match) -> bool:
    """A password of letters alone, where a line gives it and nothing else."""
    value = match.value
    if not (value.islower() or "=" in match.before(2)):  # Bitwarden, Alexander
        return False
    return not _is_remark(value)


def _told(match: Match) -> bool:
    """A password of letters alone that ends what is said, and is no word on it: wrong, the same."""
    value = match.value.lower()
    return value not in _SAID_OF_ONE and not _is_remark(value)


def _phrase(match: Match) -> bool:
    """Four words or more in a password's place that make no sentence with it."""
    words = re.split("[ -]", match.value.lower())
    told = _SAID_BESIDE.intersection(words) or _is_remark(words[0])
    return not (told or any(word.endswith(("ed", "ing", "ly")) for word in words))


def _beside(match: Match) -> bool:
    """A password right after the word, with nothing between them."""
    if match.quoted:
        return _loose(match)
    plain = _WEAK.match(match.text, match.start)
    weak = plain and match.before(6).split()[-1:] != ["pass"] and _bare(plain[0], match.quoted)
    return bool(weak) or _strict(match)


def _named(match: Match) -> bool:
    """A key: letters with digits or marks that are not put together like a name."""
    value = _bare(match.value, match.quoted)
    if len(value) < 8 or not _mixed(value):
        return False
    pieces = re.split(r"[-_./:+]", value)
    mixed = [piece for piece in pieces if re.search(r"[A-Za-z]{2}[0-9]|[0-9][A-Za-z]{2}", piece)]
    return len(pieces) == 1 or len(mixed) > 2 or not all(_WORD.fullmatch(p) for p in pieces)


def _strict(match: Match) -> bool:
    """What nothing but a password or a key looks like, whatever stands before it."""
    value = _bare(match.value, match.quoted).removeprefix("base64:")
    if len(value) < 6 or _NAME.fullmatch(value) or not _mixed(value):
        return False
    upper, lower = re.search("[A-Z]", value), re.search("[a-z]", value)
    numbers = re.findall("[0-9]+", value)
    leet = len(numbers) > 1 and re.search("[a-zA-Z][0-9]{1,2}[a-zA-Z]", value)
    marked = re.search(rf"\w[{_MARKS}]", value) and "." not in value
    strange = upper or (numbers and "#" not in value)
    long = len(value) > 15 and sum(map(len, numbers)) > 3 and "/" not in value
    return bool((upper and lower and numbers) or leet or (marked and strange) or long)


def _random(match: Match) -> bool:
    value = match.value
    return _any(match) and bool(re.search("[0-9]", value) and _mixed(value))


def _codes(match: Match) -> bool:
    """Groups of letters and digits of one length, or the letters of a one-time password."""
    value = match.value
    groups = re.split("[ -]", value)
    if len(groups) == 1:
        return len(value) > 15 and bool(re.fullmatch("[A-Z2-7]+", value) or _mixed(value))
    first = len(groups[0])
    even = list(takewhile(lambda group: len(group) == first, groups))
    digits = sum(map(str.isdigit, "".join(even)))
    has_digit = any(map(str.isdigit, groups[0]))
    return digits > 1 and (len(even) > 2 or (len(even) > 1 and has_digit))


def _seed(match: Match) -> bool:
    """Twelve to 24 plain words that make no sentence, alone or where a wallet is spoken of."""
    words = re.findall("[a-z]+", match.value.lower())
    if _FUNCTION_WORDS.intersection(words):
        return False
    around = match.around(80)
    if re.search(r"(?i)seed|mnemonic|wallet|recovery|phrase|ledger|trezor|metamask", around):
        return True
    _, text, start, end, _ = match
    line = text[text.rfind("\n", 0, start) + 1 : start] + text[end : end + 1]
    alone = match.value.islower() and not line.strip(" \n\t\"'`*>-")
    return alone and len(words) in (12, 15, 18, 21, 24)


def _card(match: Match) -> bool:
    """A brand's digits with a right check digit, grouped or alone, or where a card is named."""
    value = re.sub(r"\D", "", match.value)
    doubled = [int(c) * 2 - 9 * (c > "4") if n % 2 else int(c) for n, c in enumerate(value[::-1])]
    if sum(doubled) % 10 or not _CARDS.fullmatch(value) or _IBAN.search(match.before(40)):
        return False
    published = value in _TEST_CARDS or len(set(value)) < 5 or value.startswith("40000")
    if published and re.search(_FOR_TESTS, match.around(60)):
        return False  # everybody's, and said to be
    plain = len(value) < len(match.value) or match.value == match.text.strip()
    return bool(plain or _COMMON.fullmatch(value) or re.search(_CARD_WORDS, match.around(60)))


def _pin(match: Match) -> bool:
    value = match.value.rstrip("-")
    digits = sum(map(str.isdigit, value))
    short = 3 if re.search(r"(?i)cv[cv][^\n]{0,20}$", match.before(24)) else 4
    return digits >= short and len(value) - digits < 4 and not re.match(r"\d{4}-\d\d-\d\d", value)


def _encoded(match: Match) -> bool:
    """A user and a password as HTTP and Docker write them."""
    value = match.value.rstrip("=")
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False
    return plain.isprintable() and ":" in plain


JUDGES: dict[str, Callable[[Match], bool]] = {
    "any": _any, "sure": lambda _: True, "loose": _loose, "plain": _plain, "beside": _beside,
    "told": _told, "phrase": _phrase, "named": _named, "strict": _strict, "random": _random,
    "codes": _codes, "seed": _seed, "card": _card, "pin": _pin, "encoded": _encoded,
}  # fmt: skip
