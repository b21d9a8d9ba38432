"""What people say of themselves as it is stored and as it is told, in the third and second person.

I prefer tabs, User prefers tabs, you prefer tabs. Knows no notebook.
"""

import re

_QUOTED = r"(\"[^\"]{1,300}\"|“[^”]{1,300}”|`[^`]{1,300}`|(?<!\w)'[^']{3,300}'(?!\w))"
_FIRST = (
    r"(?i)(?<![\w/.'-])(?:(?P<i>I)(?:(?:'|(?<!\w i)|(?<=\b(?:and|but) i)|(?<=\b(?:so|as) i)"
    r"|(?<=\bbecause i))(?P<tail>m|ve|ll|d(?= rather| prefer))\b|'(?P<had>d)\b)?"
    r"(?P<adverbs>(?: (?:also|really|always|usually|often|still|much|just|only|never|now|even|quite"
    r"|rarely|no longer|[a-z]{3,12}ly)){0,3})(?: (?P<verb>[a-z]+(?:'t)?))?|(?P<my>my|mine)"
    r"|(?:(?<!^)(?<!\b(?:je|no|se) )me|me(?= and\b))|(?P<self>myself))(?![\w/-]|\.\w)"
)
_ALSO = r"(?<=User )([^.;]{1,200} (?:and|but) )(prefer|love|hate|dislike)\b"
_REACHED = {  # where the person is to be reached, as what of theirs that is
    r"(?i)^(?:contact|reach|write to|e-?mail) me (?:at|under) (?=[^\s@]{1,60}@)": "my email is ",
    r"(?i)^(?:contact|reach|call|phone) me (?:at|on) (?=[+\d][\d ()/-]{5,20})": "my phone is ",
}
_TAILS = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
_VERBS = {"am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't"}
_FIXED = frozenset(
    "can can't cannot could couldn't will won't would wouldn't should shouldn't may might must was "
    "wasn't were had hadn't did didn't went got made took saw ran found came gave told said left "
    "sent built kept thought knew wrote brought broke lost met paid forgot meant chose felt began "
    "grew spent bought taught stuck sold lent quit drove flew held heard led rode "
    "slept spoke swam threw won wore and or in of to as at is for with the a not who".split()
)
_CAPITAL = (
    r"(?:we|we're|we've|our|the|this|that|there|all|every|each|any|no|never|always|when|whenever"
    r"|for|in|on|if|it|it's|not|don't|keep|use|after|before|as|a|an)\b"
)


def third_person(said: str) -> str:
    """The person's own words, about "User": I prefer tabs -> User prefers tabs."""
    for reached, mine in _REACHED.items():
        said = re.sub(reached, mine, said)
    pieces = re.split(_QUOTED, said)
    pieces[::2] = [re.sub(_FIRST, _renamed, piece) for piece in pieces[::2]]
    text = re.sub(r"[\s.,;:!]+$", "", "".join(pieces))
    text = re.sub(_ALSO, lambda also: also[1] + _conjugated(also[2]), text)
    return text[:1].upper() + text[1:] if re.match(_CAPITAL, text) else text


def _renamed(match: re.Match[str]) -> str:
    if not match["i"]:
        return "User's" if match["my"] else "themselves" if match["self"] else "User"
    adverbs, verb, tail = match["adverbs"], match["verb"] or "", match["tail"] or match["had"]
    if tail:
        return f"User {_TAILS[tail.lower()]}{adverbs} {verb}".rstrip()
    if match["i"] == "i" and verb in ("", "in", "is", "and", "or", "as", "to", "of"):
        return match[0]  # a variable of that name
    return f"User{adverbs} {_conjugated(verb)}".rstrip()


def _conjugated(verb: str) -> str:
    low = re.sub(r"^(do|have)nt$", r"\1n't", verb.lower())
    if low in _VERBS:
        return _VERBS[low]
    past = low.endswith("ed") and not low.endswith(("eed", "mbed"))
    if past or low in _FIXED or not low.isalpha():
        return verb
    if re.search(r"[^aeiou]y$", low):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if re.search(r"(?:[sxzo]|ch|sh)$", low) else f"{verb}s"


_USER = (
    r"(?P<start>^|[.!?] )?\bUser(?:(?P<own>'s)\b(?P<alone>(?= (?:is|are|was|were)\b))?"
    r"|(?P<adverbs>(?: (?:also|really|always|usually|often|still|just|only|never|now|even|quite"
    r"|rarely|no longer|[a-z]{3,12}ly)){0,3})(?: (?P<verb>[a-z]+(?:'t)?))?)"
)
_YOURS = {"is": "are", "isn't": "aren't", "has": "have", "hasn't": "haven't", "does": "do",
          "doesn't": "don't", "was": "were", "wasn't": "weren't"}  # fmt: skip


_NAME = r"(?!User\b|We\b|Our\b|The\b)[A-Z][\w.-]*(?: [A-Z][\w-]*)?"
_PERSON = (  # whom a note is about: its subject, or who is told to be somebody's somebody
    rf"(?!.*\b(?:and|or|with) [A-Z])(?:(?:User's|Our|The) [\w ]{{2,30}} is (?={_NAME}$))?"
    rf"(User's (?!name\b)[a-z]{{3,20}}|{_NAME})(?:'s \w| (?:is|was|has|\w{{2,20}}(?:s|ed)) |$)"
)
_OF_SOMEBODY = r"(?i)(?:(?:she|he)(?P<be>'s)?|(?P<own>her|his))(?= \w)"


def named(said: str, before: str) -> str:
    """What is said, with the one person whom the text before is about in a pronoun's place."""
    person, one = re.match(_PERSON, before), re.match(_OF_SOMEBODY, said)
    if not person or not one:
        return said
    return person[1] + ("'s" if one["own"] else " is" if one["be"] else "") + said[one.end() :]


def second_person(stored: str) -> str:
    """A stored text, told to the person whom it is about."""
    pieces = re.split(_QUOTED, stored)
    pieces[::2] = [re.sub(_USER, _addressed, piece) for piece in pieces[::2]]
    return re.sub(r"(?i)(\byou\b[^.;]{1,80}) themselves\b", r"\1 yourself", "".join(pieces))


def _addressed(match: re.Match[str]) -> str:
    you = f"{match['start'] or ''}{'You' if match['start'] is not None else 'you'}"
    if match["own"]:
        return f"{you}r" if match["alone"] is None else f"{you}rs"
    verb = match["verb"] or ""
    return f"{you}{match['adverbs'] or ''} {_YOURS.get(verb) or _plural(verb)}".rstrip()


def _plural(verb: str) -> str:
    """What "User" does, done by "you": prefers -> prefer."""
    if verb in _FIXED or not verb.endswith("s") or verb.endswith("ss"):
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    return verb[:-2] if re.search(r"(?:ss|cus|x|zz|o|(?<!ca)ch|sh)es$", verb) else verb[:-1]
