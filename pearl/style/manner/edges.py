"""The edges of a person's texts, found by rule: greeting, the opening that always follows, sign-off and name.

A draft begins and ends with these edges; they are not left to the model (``service/drafting/edged.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import regex

from pearl.records import Document, Edge, Edges
from pearl.stats.proportions import wilson
from pearl.style.manner.ends import FAREWELL, PHRASES, sign_off
from pearl.style.manner.reference import common_words
from pearl.style.manner.trait import excerpt
from pearl.style.manner.writing import Writing
from pearl.text.recipients import ADDRESS, same_recipient_key
from pearl.text.words import FULL_STOPS

LEAST = 3  # texts, of which an edge is known; as many to one recipient are a manner towards them
KEPT, HISTORIES = 2_000, 8  # texts, and histories, whose parts are kept
LATEST = 20  # texts that count: a person who begins otherwise since then begins otherwise
LOOKED_AT = 10 * LATEST  # texts among which those to the recipient are looked for
AGREED = 4  # latest texts with one form, which is the person's now
OPENING_WORDS, OPENING_CHARACTERS = 8, 200  # at most
HABIT = 0.5  # share of texts from which the person has an edge
SAME = 0.25  # share of these from which one form of it is the person's own
ALWAYS = 0.8  # share of texts with the greeting that go on with the same words
SELDOM = 0.2  # the upper end of the share below which the person has none, and a model's is taken out
TAIL = 3  # lines that a sign-off which only recurs has at most
TAIL_WORDS = 6  # of a line that recurs as the last one
SLOT, OPEN = "{name}", "…"  # the place of a name; how a changing one is shown
EXAMPLES = 3

CAPITAL = r"\p{Lu}[\p{L}\p{M}]*+(?:['’.-](?=\p{L})[\p{L}\p{M}]++)*"
TITLED = r"(?:(?i:{titles})\.?[ \t]+)?"
PERSON = rf"{TITLED}{CAPITAL}(?:[ \t]+{CAPITAL}){{0,2}}"
BREAK = r"[ \t]*(?:\n|\Z)|[ \t]{2,}"
WHO = r"(?:(?i:{titles})\.|[^\s,،，;:!.?–—]+)"
GREETED = PHRASES.compile_with(
    regex.compile,
    rf"(?P<phrase>(?i:{{greetings}}))(?!\w)"
    rf"(?P<who>,?[ \t]+{PERSON}(?=[ \t]*[,;:!.–—-]|{BREAK})|(?:[ \t]+(?!-){WHO}){{0,4}}?)"
    rf"(?P<mark>[ \t]*(?:[,،，;:!.]+|[–—-]+(?=\s))|(?={BREAK}))(?P<gap>\s*)",
    0,
)
NAMED = PHRASES.compile_with(
    regex.compile,
    rf"(?P<phrase>)(?P<who>{PERSON}(?:[ \t]*(?:&|/|and|und|et|y|,)[ \t]*{PERSON}){{0,2}})"
    rf"(?P<mark>[ \t]*(?:[,:;!]|[–—-]+(?=\s))|(?={BREAK}))(?P<gap>\s*)",
    0,
)
PEOPLE = PHRASES.compile_with(
    regex.compile, rf"(?:{CAPITAL}[ \t]+)?(?P<titled>(?i:{{titles}})\.?[ \t]+{CAPITAL}(?:[ \t]+{CAPITAL})?)|{PERSON}", 0
)
SIGNED_LINE = PHRASES.compile_with(
    regex.compile,
    rf"(?P<formula>(?i:(?:{{before_farewells}} )*{{farewells}})[ \t]*[,،，、.。!！–—-]*)[ \t]+{PERSON}",
    0,
)
TITLE = PHRASES.compile_with(regex.compile, r"(?i:{titles})\.?", 0)
LEADS_TO_PERSON = regex.compile(r"(?:^|[.!?:]\s+)\w+\s+\Z|\b(?:to|from|an|bei|von|à|para|do)\s+\Z")
SMALL = regex.compile(r"(?<!\w)\p{Ll}\w*")
WORD = regex.compile(r"\p{L}\w*")
SMALL_WORDS, SMALL_SHARE = 2, 0.4  # that a sentence has; a title has fewer
SPEAKS = regex.compile(
    r"['’]s\b|:|[ \t]+(?:of|from|at)\b[^:\n]{1,40}:|,? (?:will|would|can|could|has|is|was|and|\p{Ll}{2,}s)\b"
)
SAID = PHRASES.compile_with(
    regex.compile,
    rf"{PERSON}(?:,[^,.\n]{{2,40}},|[ \t]+(?:of|from|at|in|next|and)\b[^.,\n]{{1,60}}?)?[ \t]+(?i:{{says}})(?!\w)",
    0,
)
ORDERED = PHRASES.compile_with(regex.compile, r"(?i:{orders})(?!\w)(?![ \t]*[:,])", 0)
# a reply's subject, a quoted line, or who speaks: "Tomas: ..."
MESSAGE = PHRASES.compile_with(
    regex.compile,
    rf"\A(?i:re|aw|antw|sv|vs|odp|rif):\s|^[ \t]*>[^\n]*\w|\A{PERSON}(?:[ \t]+(?:from|at|of)\b[^:\n]{{1,40}})?:\s",
    regex.MULTILINE,
)
# what a request is: the author's note of what to write, what someone said, or a message to answer
NOTED, TOLD, RECEIVED = "noted", "told", "received"
TOKENS = regex.compile(r"\s+|\w+(?:['’]\w+)*|[^\w\s]")
BLANKS = regex.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
STOPS = regex.compile(r"[.:!?;,–—…。！？]|\n")
UNSEEN = regex.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # marks of a direction to write in


NONE = Edges()


@dataclass(frozen=True, slots=True)
class UsualEdges:
    """The edges (greeting, opening, sign-off, name) that a draft should have, and the white space between the parts."""

    edges: Edges = NONE
    joint: str = ""  # between the greeting and the opening
    gap: str = "\n\n"  # between them and the text
    greets: bool = True  # False: the person hardly ever does
    signs: bool = True
    addressee: str | None = None  # as the person addresses whom the draft is for

    @property
    def before(self) -> str:
        """Return the beginning of the draft: greeting and opening."""
        return self.joint.join(edge.text for edge in (self.edges.greeting, self.edges.opening) if edge)

    @property
    def greeting(self) -> str:
        """Return the greeting, with what joins it to the opening."""
        return f"{self.edges.greeting.text}{self.joint}" if self.edges.greeting else ""

    @property
    def after(self) -> str:
        """Return the end of the draft: sign-off and name."""
        return "\n".join(edge.text for edge in (self.edges.sign_off, self.edges.name) if edge)


NO_EDGES = UsualEdges()
Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """A text split into its edges and its body."""

    id: str
    form: str = ""  # of the greeting, with SLOT for the name; empty without one
    addressee: str = ""
    gap: str = ""
    body: str = ""
    sign_off: str = ""  # lines above the name
    name: str = ""

    @property
    def signs(self) -> bool:
        return bool(self.sign_off or self.name)


def edges_of(documents: Sequence[Document], request: str, recipient: str | None = None) -> UsualEdges:
    """Return the edges of a draft for a request: the usual edges of the latest texts to its recipient or, if these are
    fewer than LEAST, of the latest texts to anybody. ``documents``: the history, oldest first."""
    documents = tuple(documents[-LOOKED_AT:])
    known, addressing = _known(documents)
    addressee = addressing.of(request, recipient)
    key = recipient and same_recipient_key(recipient)
    to_them = [
        parts
        for document, parts in zip(documents, known, strict=True)
        if (
            same_recipient_key(document.recipient) == key  # of two people with one name only this one
            if key and document.recipient
            else addressee and parts.addressee == addressee
        )
    ]
    counted = (to_them if len(to_them) >= LEAST else known)[-LATEST:]
    return _edges(counted, addressee)


@lru_cache(HISTORIES)  # until `forget_parts`
def _known(documents: tuple[Document, ...]) -> tuple[list[Parts], Addressing]:
    latest = [(document, taken_apart(document)) for document in documents]
    known = _with_recurring_tails([parts for _, parts in latest])
    own = _usual(parts.name for parts in known[-LATEST:] if parts.name) or ""
    return known, Addressing(latest, own)


def usual_ends(documents: Sequence[Document]) -> dict[str, dict[str, Any] | None]:
    """Return the usual beginning (``greeting``) and end (``sign_off``) of texts, given oldest first: the words, with
    OPEN for a name that varies, number and share of the texts, and examples. None where there is no habit."""
    parts = _with_recurring_tails([taken_apart(each) for each in documents])
    found = _edges(parts, None)
    found = found if found.addressee else _edges(parts, OPEN)
    texts = {each.id: each.text for each in documents}
    sides = {
        "greeting": (found.before, found.edges.opening or found.edges.greeting),
        "sign_off": (found.after, found.edges.name or found.edges.sign_off),
    }

    def shown(name: str, words: str, edge: Edge) -> dict[str, Any]:
        def example(id: str) -> dict[str, str]:
            at = max(0, texts[id].rfind(edge.text)) if name == "sign_off" else 0
            return {"id": id, "excerpt": excerpt(texts[id], at, at + len(edge.text))}

        count = {"text": " ".join(words.split()), "texts": len(edge.sources), "of": len(documents)}
        return count | {"share": edge.share.to_json(), "examples": list(map(example, edge.sources[:EXAMPLES]))}

    return {name: shown(name, words, edge) if edge else None for name, (words, edge) in sides.items()}


@lru_cache(KEPT)  # until `forget_parts`
def taken_apart(document: Document) -> Parts:
    """Split a document into edges and body. Two spaces count as a line break, since some mails have lost theirs."""
    text = BLANKS.sub("\n", document.text.replace("\r\n", "\n").strip())
    form, addressee, gap, start = _greeting(text)
    writing = Writing(text)
    spots = sign_off(writing) if text.strip() else []
    end = spots[0][0] if spots and spots[0][0] >= start else len(text)
    tail = [line.strip() for line in text[end:].splitlines() if line.strip()]
    lines, name = _tail(tail)
    return Parts(document.id, form, addressee, gap, text[start:end].rstrip(), lines, name)


def request_role(request: str) -> str:
    """Return the kind of a request: NOTED if it begins with an order, TOLD if it begins with a person who said
    something, RECEIVED if it is itself a message, by greeting, sign-off, subject or quotes. Otherwise empty."""
    request = request.strip()
    if ORDERED.match(request):
        return NOTED
    if SAID.match(request):
        return TOLD
    parts = taken_apart(Document("", request))
    greeted = parts.form and parts.body and (not parts.form.startswith(SLOT) or "\n" in parts.gap)
    signed = parts.signs and "\n" in request
    return RECEIVED if greeted or signed or MESSAGE.search(request) else ""


def forget_parts() -> None:
    """Empty the cache of split texts: one of these texts may have been deleted."""
    taken_apart.cache_clear()
    _known.cache_clear()


def _tail(lines: list[str]) -> tuple[str, str]:
    """Split a sign-off into its words and the name below them."""
    if len(lines) == 1 and (signed := SIGNED_LINE.fullmatch(lines[0])):
        return signed["formula"], lines[0][signed.end("formula") :].strip()
    if lines and not FAREWELL.fullmatch(lines[-1]):
        return "\n".join(lines[:-1]), lines[-1]
    return "\n".join(lines), ""


def _greeting(text: str) -> tuple[str, str, str, int]:
    """Return the form of the text's greeting, whom it names, the gap behind it and where the rest begins."""
    for pattern in (GREETED, NAMED):
        met = pattern.match(text)
        if met is None or (pattern is NAMED and not names_a_person(met)):
            continue
        who = met["who"].strip(", \t")
        caseless = who.lower() == who.upper()  # in such a script any word may be a name
        person = pattern is NAMED or caseless or PEOPLE.fullmatch(who) is not None
        shown = met["who"].replace(who, SLOT) if who and person else met["who"]
        gap = "\n\n" if "\n" in met["gap"] else " "
        return f"{met['phrase']}{shown}{met['mark']}", who if person else "", gap, met.end()
    return "", "", "", 0


def names_a_person(met: regex.Match[str]) -> bool:
    """True if a match is of a name alone at a text's beginning, as in "Phillip," on a line, or "Tim: ..."."""
    words = regex.findall(r"[\p{L}\p{M}'’.-]+", met["who"])
    if FAREWELL.fullmatch(met["who"] + met["mark"].strip()) or any(word.isupper() and len(word) > 2 for word in words):
        return False
    ordinary = [word for word in words if word.casefold() in common_words() and not TITLE.fullmatch(word)]
    return not ordinary or ("\n" in met["gap"] and bool(met["mark"].strip()) and len(words) == 1)


def _with_recurring_tails(texts: Sequence[Parts]) -> list[Parts]:
    """Find the sign-offs that no list of phrases knows: short last lines that end LEAST texts or more."""
    tails = Counter(tail for parts in texts if not parts.signs for tail in _tails(parts.body))
    names = Counter(parts.name for parts in texts if parts.name)

    def signed(parts: Parts) -> Parts:
        tail = () if parts.signs else max((tail for tail in _tails(parts.body) if recurs(tail)), key=len, default=())
        if not tail:
            return parts
        body = "\n".join(parts.body.splitlines()[: -len(tail)]).rstrip()
        return replace(parts, body=body, sign_off="\n".join(tail[:-1]), name=tail[-1])

    def recurs(tail: Lines) -> bool:
        times = tails[tail] + (names[tail[-1]] if len(tail) == 1 else 0)
        return times >= max(LEAST, HABIT * tails[tail[-1:]])

    return [signed(parts) for parts in texts]


def _tails(body: str) -> Iterable[Lines]:
    """Yield the last lines of a text, one, two, ... of them, as long as they are short and other text is above them."""
    lines = [line.strip() for line in body.splitlines()]
    for size in range(1, min(TAIL, len(lines) - 1) + 1):
        if not 0 < len(lines[-size].split()) <= TAIL_WORDS:
            return
        yield tuple(lines[-size:])


def _edges(texts: Sequence[Parts], addressee: str | None) -> UsualEdges:
    if len(texts) < LEAST:
        return replace(NO_EDGES, addressee=addressee)
    form = _habit(texts, lambda parts: parts.form)
    if form == f"{SLOT}:" and _usual_share(parts.addressee for parts in texts if parts.form == form) >= ALWAYS:
        return _edges([_ungreeted(parts) for parts in texts], addressee)  # "Item: ..." names nobody
    having = [parts for parts in texts if parts.form == form] if form else list(texts)
    if addressee is None and _usual_share(parts.addressee for parts in having) >= ALWAYS:
        addressee = _usual(parts.addressee for parts in having) or None  # always the same, such as "Team"
    words = _filled(form, addressee) if form else ""
    gap = _usual(parts.gap for parts in having if parts.gap) or "\n\n"
    follows = _always_follows([parts.body for parts in having])
    going_on = [parts for parts in having if parts.body.startswith(follows)]
    opening = follows
    if words and gap == " ":  # what follows on the greeting's line belongs to it: "Hello Dev, kettle's on."
        on_line, _, opening = follows.partition("\n")
        words = f"{words} {on_line}".rstrip()
    behind = [parts.body[len(follows) :] for parts in going_on] if follows else []
    closing = _habit(texts, lambda parts: parts.sign_off)
    name = _habit(texts, lambda parts: parts.name)
    return UsualEdges(
        Edges(
            _edge(words, having if opening == follows else going_on, texts),
            _edge(opening.strip(), going_on, texts),
            _edge(closing, [parts for parts in texts if parts.sign_off == closing], texts),
            _edge(name, [parts for parts in texts if parts.name == name], texts),
        ),
        joint=gap if opening == follows else "\n\n",
        gap=(_usual("\n\n" if rest[:1] == "\n" else " " for rest in behind) or gap) if follows else gap,
        greets=_does(texts, lambda parts: parts.form),
        signs=_does(texts, lambda parts: parts.sign_off or parts.name),
        addressee=addressee,
    )


def _habit(texts: Sequence[Parts], part: Callable[[Parts], str]) -> str:
    """Return the usual form of a part that at least HABIT of the texts have; empty if hardly two have the same form."""
    found = [part(parts) for parts in texts if part(parts)]
    usual = _usual(found)
    return usual if len(found) >= HABIT * len(texts) and found.count(usual) >= max(2, SAME * len(found)) else ""


def _usual(found: Iterable[str]) -> str:
    """Return the value that the latest AGREED texts share, or the most frequent value, the latest in a tie; empty if
    there are no values."""
    latest = list(found)[::-1]
    if len(latest) >= AGREED and len(set(latest[:AGREED])) == 1:
        return latest[0]
    counted = Counter(latest)
    return max(counted, key=counted.__getitem__, default="")


def _usual_share(found: Iterable[str]) -> float:
    """Return the share of the most frequent value."""
    counted = Counter(found)
    return max(counted.values(), default=0) / max(1, counted.total())


def _ungreeted(parts: Parts) -> Parts:
    """Return the parts with the greeting moved back into the body, if the greeting begins with a name."""
    if not parts.form.startswith(SLOT):
        return parts
    return replace(parts, form="", addressee="", body=f"{_filled(parts.form, parts.addressee)}{parts.gap}{parts.body}")


def _does(texts: Sequence[Parts], part: Callable[[Parts], str]) -> bool:
    """False where the share of texts that have the part is small beyond chance."""
    share = wilson(sum(bool(part(parts)) for parts in texts), len(texts))
    return share is None or share.high >= SELDOM


def _edge(text: str, having: Sequence[Parts], texts: Sequence[Parts]) -> Edge | None:
    share = wilson(len(having), len(texts))
    return Edge(text, share, tuple(parts.id for parts in reversed(having))) if text and share else None


def _filled(form: str, addressee: str | None) -> str:
    """Put a name into a greeting, or take the name's slot out if there is none; empty if no word is left."""
    words = form.replace(SLOT, addressee) if addressee else regex.sub(rf"[ \t]*{regex.escape(SLOT)}", "", form)
    return words.strip() if regex.search(r"\w", words) else ""


def _always_follows(bodies: Sequence[str]) -> str:
    """Return the words with which a share of ALWAYS of the bodies begin, and at least LEAST, up to their last
    punctuation mark or line end; empty if there are no such words."""
    tokens, common = [TOKENS.findall(body[:OPENING_CHARACTERS]) for body in bodies], ""
    for place in range(max(map(len, tokens), default=0)):
        begun = Counter(words[place] for words in tokens if len(words) > place)
        token, times = max(begun.items(), key=lambda counted: counted[1])
        if times < max(LEAST, ALWAYS * len(bodies)):
            break
        if len(regex.findall(r"\w+", common + token)) > OPENING_WORDS:
            break
        common += token
        tokens = [words for words in tokens if len(words) > place and words[place] == token]
    for mark in reversed(list(STOPS.finditer(common))) if "\n>" not in common else ():  # a quote is another's
        opening = common[: mark.end()].rstrip()
        rests = [body[len(opening) :] for body in bodies if body.startswith(opening)]
        if mark[0] == "," and not all(rest.startswith("\n") for rest in rests):
            continue  # a name that changes may stand behind it: "Good to hear from you, ..."
        if all(not rest or rest[0].isspace() or mark[0] in FULL_STOPS for rest in rests):  # it ends a word
            going_on = sum(bool(rest.strip()) for rest in rests) >= max(LEAST, HABIT * len(bodies))
            return opening if going_on and regex.match(r"(?!-{3})[^>]*\p{L}", opening) else ""
    return ""


class Addressing:
    """The names by which a person addresses others, learned from their latest texts."""

    def __init__(self, texts: Sequence[tuple[Document, Parts]], own: str) -> None:
        """Learn names from texts; ``own`` is the person's own name, which they address nobody by."""
        self._texts = texts
        self._own = {word.casefold() for word in own.split()}
        self._people = list(dict.fromkeys(parts.addressee for _, parts in reversed(texts) if parts.addressee))

    def of(self, request: str, recipient: str | None) -> str | None:
        """Return the name by which the person addresses the reader of a text: its recipient, or the sender of the
        message to answer, or the first person that the request names. None if nobody is known."""
        if recipient:
            key = same_recipient_key(recipient)
            for document, parts in reversed(self._texts):
                if parts.addressee and document.recipient and same_recipient_key(document.recipient) == key:
                    return parts.addressee
            name = UNSEEN.sub("", recipient).strip()
            if not ADDRESS.search(name) and (PEOPLE.fullmatch(name) or name.lower() == name.upper()):
                return self._as_usual(name)
        *above, last = request.strip().splitlines() or [""]
        sender = taken_apart(Document("", request)).name or (last.strip() if above else "")
        if PEOPLE.fullmatch(sender) and not self._is_own(sender):
            return self._as_usual(sender)
        mentions = sorted(
            (at, -len(person), person) for person in self._people if (at := self._place(person, request)) >= 0
        )
        if mentions:
            return mentions[0][2]
        small = len(SMALL.findall(request))
        is_title = small < max(SMALL_WORDS, SMALL_SHARE * len(WORD.findall(request)))  # its capitals say nothing
        people = (self._person(met) for met in PEOPLE.finditer(request) if met["titled"] or not is_title)
        named = next(filter(None, people), None)
        return self._as_usual(named) if named else None

    def _is_own(self, person: str) -> bool:
        return not self._own.isdisjoint(person.casefold().split())

    def _place(self, person: str, request: str) -> int:
        """Return where a text names a person whom the user wrote to, in whole or without the title; -1 if nowhere."""
        if self._is_own(person):
            return -1
        untitled = " ".join(word for word in person.split() if not TITLE.fullmatch(word)) or person
        met = regex.search(rf"(?<!\w)(?:{regex.escape(person)}|{regex.escape(untitled)})(?!\w)", request)
        return met.start() if met else -1

    def _person(self, met: regex.Match[str]) -> str | None:
        """Return the name in a match, without an order's verb before it; None if nobody to address is named."""
        before, after = met.string[: met.start()], met.string[met.end() :]
        words = met[0].split()
        titles = [place for place, word in enumerate(words[:-1]) if TITLE.fullmatch(word)]
        begins = regex.search(r"(?:^|[.!?:]\s+|\n\s*)\Z", before) is not None
        speaks = SPEAKS.match(after) is not None or (not before and SAID.match(met.string) is not None)
        if titles:
            words = words[titles[0] :]
        elif begins and not (speaks and words[0].casefold() not in common_words()):
            words = words[1:]  # a verb: "Ask Priya"
        elif not begins and not LEADS_TO_PERSON.search(before):
            return None
        named = " ".join(words)
        return named if named and not self._is_own(named) and words[-1].casefold() not in common_words() else None

    def _as_usual(self, person: str) -> str:
        """Return the form in which the writer addresses a person: as before, or by first name if that is usual."""
        names = [word for word in person.split() if not TITLE.fullmatch(word)]
        for known in self._people:
            if known == person or (names and {names[0], names[-1]} & set(known.split())):
                return known
        first_names = [parts.addressee for _, parts in self._texts if parts.addressee]
        alone = sum(" " not in name for name in first_names)
        return names[0] if len(names) == len(person.split()) > 1 and alone > len(first_names) / 2 else person
