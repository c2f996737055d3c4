"""Removes a model's loops from a draft as it streams: sentences and clauses that repeat earlier ones."""

from __future__ import annotations

from collections import Counter, deque

import regex

from pearl.text.words import CLOSERS, FULL_STOPS

SAME = 5  # words of a sentence that nobody writes twice in a row
ALIKE, SHARE = 6, 0.8  # words of a sentence, and how many of them stand in one shortly before where the two are alike
CLAUSE = 8  # words of a clause that is read as a sentence
BEFORE = 12  # sentences that one is compared with
# Sentences in a row that are alike. Of people's own texts one in 150 has so many, mostly rows of a log.
CIRCLE = 3
MOST_CUT = 6  # sentences that were left out; the last of them ends the draft
LONGEST = 2000  # characters of a sentence that is read as one
# at a line's end, behind a stop or comma and a blank, and behind a full stop of a script without blanks
END = regex.compile(
    rf"\n|(?<=[.!?…,;][{CLOSERS}]{{0,3}})[^\S\n]|(?<=[{FULL_STOPS}][{CLOSERS}]*)(?=[^{FULL_STOPS}{CLOSERS}])"
)
# The same words in a row, numbers aside, as often as one text of people in 3,700 has them: a model counts on.
TURNS, TURN = 8, 12  # how often, and the most words of a turn
LOOK_BACK = 4  # characters before a place that tell whether a sentence ends there
DIGIT, GAP = regex.compile(r"\d"), regex.compile(r"\s+")
ITEM = regex.compile(r"\s*(?:\d{1,3}(?:[.)]|\Z)|[-*•])\s*")  # or as much of it as has come
WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Thai}]{1,3}|\w+(?:['’]\w+)*")

Words = list[str]


class LoopFilter:
    """Passes on a draft that comes in pieces, without sentences that repeat the sentence before. ``cut`` counts the
    repetitions; ``ended`` is True once CIRCLE similar sentences stand in a row or MOST_CUT were cut: nothing is passed
    on then.

    A sentence is held back only as long as it may be cut.
    """

    def __init__(self) -> None:
        self._last: Words = []  # of the sentence before
        self._before: deque[Words] = deque(maxlen=BEFORE)  # of those that are long enough to be compared
        self._row = 0  # the last sentences of which each was like one before it
        self._sentence = ""  # the one that goes on
        self._given = 0  # characters of it
        self._blanks = ""  # behind what was given
        self._latest: Words = []  # that came, with each digit as 0
        self._word = ""  # the one that goes on
        self.cut = 0
        self.ended = False

    def feed(self, text: str) -> str:
        """Take more of the draft; return the part that has become certain."""
        turned = self._turned(text)
        certain, start, seen, text = "", 0, len(self._sentence) - 1, text[:turned]
        text = self._sentence + text
        while not self.ended and (end := _end(text, start, max(start, seen))):
            self._sentence, start = text[start:end], end
            certain += self._whole()
            self._given = 0
        self._sentence = text[start:]
        if not self.ended and (turned is not None or not self._may_go()):
            certain += self._give()
        self.ended |= turned is not None
        return certain

    def _turned(self, text: str) -> int | None:
        """Return how much of the text completes TURNS turns of the same words, numbers aside; None if none does."""
        start = 0
        for gap in GAP.finditer(text):
            word, self._word = DIGIT.sub("0", self._word + text[start : gap.start()]), ""
            start, self._latest = gap.end(), [*self._latest[1 - TURNS * TURN :], *filter(None, (word,))]
            for size in range(1, TURN + 1):
                turn = self._latest[-size:]
                again = turn == self._latest[-2 * size : -size]  # first, for most do not
                if again and self._latest[-TURNS * size :] == turn * TURNS and any(map(str.isalpha, "".join(turn))):
                    return start
        self._word += text[start:]
        return None

    def finish(self) -> str:
        """Return the part held back, unless it is a repetition, even one that was broken off."""
        if self.ended or not self._may_go():
            return "" if self.ended else self._give()
        words = _words(self._sentence)
        if self._row == CIRCLE - 2 and any(_alike(words, other[: len(words)]) for other in self._before):
            self.ended = True
            return ""
        if len(words) >= SAME and _begins(words, self._last):
            self.cut += 1
            return ""
        return self._give()

    def _may_go(self) -> bool:
        return not self._given and (self._row == CIRCLE - 2 or _begins(_words(self._sentence), self._last))

    def _whole(self) -> str:
        """Judge a sentence that has ended; return what is given of it."""
        words = _words(self._sentence)
        if not words:
            return self._give()
        again = not self._given and len(words) >= SAME and words == self._last
        self.cut += again
        if len(words) >= ALIKE and not again:
            self._row = self._row + 1 if any(_alike(words, other) for other in self._before) else 0
            self._before.append(words)
        self._last = words
        self.ended = self._row == CIRCLE - 1 or self.cut == MOST_CUT
        return "" if again or self.ended else self._give()

    def _give(self) -> str:
        ready, self._given = self._blanks + self._sentence[self._given :], len(self._sentence)
        text = ready.rstrip()
        self._blanks = ready[len(text) :]
        return text


def _end(text: str, start: int, seen: int) -> int:
    """Return the end of the sentence or long clause that begins at ``start``; 0 if it has not ended, as is known up to
    ``seen``. The blank behind a list's number is no end."""
    for end in END.finditer(text, seen, start + LONGEST):
        sentence = text[start : end.end()]
        clause = sentence.rstrip().endswith((",", ";"))
        if sentence and (not clause or len(_words(sentence)) >= CLAUSE) and not ITEM.fullmatch(sentence):
            return end.end()
    return start + LONGEST if len(text) - start > LONGEST else 0


def _words(sentence: str) -> Words:
    item = ITEM.match(sentence)
    return WORD.findall(sentence.lower(), item.end() if item else 0)


def _begins(words: Words, other: Words) -> bool:
    """True if the ``other`` words begin with these, of which the last may be incomplete."""
    if not words:
        return bool(other)
    *whole, last = words
    return len(words) <= len(other) and whole == other[: len(whole)] and other[len(whole)].startswith(last)


def _alike(words: Words, other: Words) -> bool:
    both = Counter(words) & Counter(other)
    return both.total() >= SHARE * max(len(words), len(other), ALIKE)


def without_loops(text: str) -> str:
    """Return a whole draft without loops and without white space around it."""
    loops = LoopFilter()
    return (loops.feed(text) + loops.finish()).strip()
