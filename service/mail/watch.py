"""Watching a mail account in a loop: learn from new sent mail, draft answers to waiting messages, pause."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from pearl.errors import ChatError, InputError, MailError, NotFound, Overloaded, StoreError
from pearl.models.chat.base import Decoding
from pearl.records import Draft
from pearl.text.answers.marks import CLOSING
from pearl.text.usable import counted, printable
from service.drafting.drafter import AUTO, DraftJob
from service.importing.sources.base import Options, stable_id
from service.importing.sources.identities import Identities
from service.importing.sources.mails.boxes import MESSAGE_BYTES
from service.importing.sources.mails.headers import parse_addresses
from service.importing.sources.mails.message import read_envelope
from service.importing.sources.mails.phrases import PHRASES
from service.importing.sources.mbox import SENT, quotes_nothing
from service.mail.account import Account, Secret
from service.mail.answering import USABLE_ID, Waiting, as_mail, as_note, draft_id_of, id_key, key_of
from service.mail.habits import Habits, read_habits
from service.mail.learning import learn
from service.mail.mailbox import Mail, Mailbox, Opened, connected
from service.mail.oauth import Tokens
from service.mail.state import Answer, ReadTo, State
from service.mail.unanswered import why_unanswered
from service.store import drafts, users
from service.store.database import Database
from service.store.users import User

LONGEST_PAUSE_S = 60.0  # between two tries to connect
LOOKED_AT = 500  # UIDs at a time
BATCH_BYTES = 16_000_000
BEFORE = 20  # earlier sent mails, read with new ones to recognize a signature
BEFORE_BYTES = 200_000  # each; larger ones are left out
LATEST = 40  # sent mails that habits are read from
ANSWERS = 20  # sent mails that name a message, the latest
DAY = timedelta(days=1)  # IMAP searches by days, of any time zone
INBOX = "INBOX"

Say = Callable[[str], None]


class Writer(Protocol):
    """Writes drafts while an account is watched, and removes a user's texts from memory before each pause."""

    def write(self, user: str, job: DraftJob, begun: Callable[[str], None], /) -> Draft: ...
    def forget(self, user_id: int, /) -> None: ...


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of ``pearl mail watch``."""

    me: tuple[str, ...]  # all addresses and names of the person
    voice: str | None = None
    answer_folder: str | None = None  # whose messages wait; with only a flag the inbox
    answer_flag: str | None = None  # of messages that wait
    sent: str | None = None  # None: the folder that the server says it is
    drafts: str | None = None
    new_only: bool = False  # leave out what was sent before the first start
    every_s: float = 60.0
    once: bool = False
    draft_tokens: int = 512

    @property
    def answers(self) -> bool:
        return self.answer_folder is not None or self.answer_flag is not None


class MailWatcher:
    """Watches one mail account for one user."""

    def __init__(
        self, account: Account, secret: Secret, wanted: WatchOptions, database: Database, user: User, state: State,
        writer: Writer, say: Say,
    ) -> None:  # fmt: skip
        self._account, self._secret, self._wanted = account, secret, wanted
        self._database, self._user, self._state = database, user, state
        self._writer, self._say = writer, say
        self._tokens = Tokens(secret.grant, secret.keep) if secret.grant else None
        self._me = Identities(wanted.me)
        self._looked_at: set[tuple[int, int]] = set()  # validity and UID of waiting messages that are done
        self._sent = ""  # the folder of sent mail
        self._habits: Habits | None = None  # as of this look; None: not read yet

    def run(self) -> None:
        """Watch until interrupted, or once if the options say so. After the first connection, failures are retried;
        earlier ones raise PearlError."""
        stood, pause = False, 1.0
        while True:
            try:
                with connected(self._account, self._secret, self._tokens) as box:
                    places = self._places(box)
                    stood = True
                    while True:
                        busy = self.round(box, *places)
                        pause = 1.0
                        if self._wanted.once and not busy:
                            return
                        if not busy:
                            self._writer.forget(self._user.id)
                            box.wait(self._wanted.every_s)
            except (MailError, StoreError, Overloaded) as error:
                if self._wanted.once or not stood:
                    raise
                self._say(f"{error.message} Trying again in {pause:.0f} s.")
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _places(self, box: Mailbox) -> tuple[str, str, str]:
        """Return the folders of sent mail, drafts and waiting messages; the last two are "" if no answers are
        drafted."""
        wanted = self._wanted
        sent = box.folder(wanted.sent, "--sent", rb"\Sent", lambda name: SENT.fullmatch(name) is not None)
        if not wanted.answers:
            return sent, "", ""
        names = frozenset(map(str.casefold, PHRASES.entries("draft_folders")))
        laid = box.folder(wanted.drafts, "--drafts", rb"\Drafts", names.__contains__)
        return sent, laid, box.folder(wanted.answer_folder or INBOX, "--answer-folder", b"", lambda name: False)

    def round(self, box: Mailbox, sent: str, laid: str, waiting: str) -> bool:
        """Learn from new sent mail and draft answers; return False if there was nothing to do. ``sent``, ``laid``,
        ``waiting``: the folders of sent mail, drafts and waiting messages."""
        self._check_user()
        self._sent, self._habits = sent, None
        busy = self._learn(box, sent)
        return self._answer(box, laid, waiting) or busy if waiting else busy

    # sent mail

    def _learn(self, box: Mailbox, folder: str) -> bool:
        told = box.open(folder)
        read = self._state.folders.get(folder)
        if read is None and self._wanted.new_only:
            read = self._read_to(folder, ReadTo(told.validity, _last(box, told), time.time()))
        same = read is not None and read.validity == told.validity and (told.next_uid or read.uid + 1) > read.uid
        if read is not None and same:
            uids = [uid for uid in box.search(["UID", f"{read.uid + 1}:*"]) if uid > read.uid]
        elif read is not None and read.newest:
            uids = box.search(["SINCE", (datetime.fromtimestamp(read.newest, UTC) - DAY).date()])
        else:
            uids = box.search(["ALL"])
        if told.next_uid:
            uids = [uid for uid in uids if uid < told.next_uid]
        newest, learnt = read.newest if read else 0.0, 0
        if not (same or uids):
            self._read_to(folder, ReadTo(told.validity, _last(box, told), newest))
        for batch in _batches(box, uids):
            learnt += self._learn_batch(box, folder, batch)
            newest = max(newest, *(mail.received for mail in batch))
            self._read_to(folder, ReadTo(told.validity, batch[-1].uid, newest))
        if learnt:
            self._say(f"{counted(learnt, 'sent mail')} learnt.")
        return bool(learnt)

    def _read_to(self, folder: str, read: ReadTo) -> ReadTo:
        self._state.folders[folder] = read
        self._state.save()
        return read

    def _check_user(self) -> None:
        """Raise NotFound if the user was deleted; otherwise an import would create the user again."""
        with self._database.read() as connection:
            users.history_version(connection, self._user.id)

    def _learn_batch(self, box: Mailbox, folder: str, new: Sequence[Mail]) -> int:
        drafted: dict[str, str | None] = {}
        answered: list[str] = []  # Message-IDs that the mails answer and do not quote
        for mail in new:
            envelope = read_envelope(mail.raw)
            answer = next(filter(None, (self._state.answers.get(id_key(each)) for each in envelope.answers)), None)
            if envelope.id and answer and answer.draft and answer.sent in (None, envelope.id) and self._kept(answer):
                drafted[stable_id(envelope.id)] = None if answer.sent else answer.draft
                answer.sent = envelope.id
            elif envelope.answers and quotes_nothing(mail.raw):
                answered.append(envelope.answers[0])
        before = box.search(["UID", f"1:{new[0].uid - 1}"])[-BEFORE:] if new[0].uid > 1 and len(new) < BEFORE else []
        small = [uid for uid, size in box.sizes(before).items() if size < BEFORE_BYTES]
        beside = [*box.mails(small), *self._find(box, answered)]
        box.open(folder)
        self._check_user()
        options = Options(user=self._user.name, me=self._wanted.me, voice=self._wanted.voice)
        return learn(self._database, self._user, options, self._state.path, new, beside, drafted)

    def _find(self, box: Mailbox, message_ids: Sequence[str]) -> Iterator[Mail]:
        """Yield the mails with these Message-IDs from the server's folder of all mail; without one, from the inbox."""
        if message_ids:
            box.open(box.special(rb"\All") or INBOX)
            for message_id in message_ids:
                yield from box.mails(box.find(message_id)[:1])

    def _kept(self, answer: Answer) -> drafts.StoredDraft | None:
        """Return the stored draft for a message; None if there is none or it holds only questions."""
        with suppress(NotFound), self._database.read() as connection:
            stored = drafts.get(connection, self._user.id, answer.draft or "")
            return None if stored.questions else stored
        return None

    # messages that wait

    def _answer(self, box: Mailbox, laid: str, folder: str) -> bool:
        done = 0
        flag = self._wanted.answer_flag
        flagged = [] if flag is None else ["FLAGGED"] if flag.lower() == "flagged" else ["KEYWORD", flag]
        validity = box.open(folder).validity
        found = box.search(["UNANSWERED", "UNDELETED", "UNDRAFT", *flagged])
        uids = [uid for uid in found if (validity, uid) not in self._looked_at]
        waiting = []
        for start in range(0, len(uids), LOOKED_AT):
            for uid, head in box.heads(uids[start : start + LOOKED_AT]).items():
                answer = self._state.answers.get(key_of(head))
                if (answer and answer.laid) or self._me.match(*read_envelope(head).sender):
                    self._looked_at.add((validity, uid))
                else:
                    waiting.append(uid)
        left_out = Counter[str]()
        for uid in reversed(waiting):  # the latest first
            for mail in box.mails([uid]):
                try:
                    why = self._answer_one(box, laid, Waiting.read(mail.raw, mail.received, self._me))
                    done += why is None
                    left_out.update(filter(None, [why]))
                    self._looked_at.add((validity, uid))
                except ChatError as error:  # it may write later
                    self._say(f"No draft yet: {error.message}")
                except InputError as error:
                    gone = isinstance(error, NotFound)  # the user, or the voice
                    if gone or error.code == "unwritable_file":
                        raise
                    self._looked_at.add((validity, uid))
                    self._say(f"No draft: {error.message}")
            box.open(folder)
        if left_out:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in left_out.most_common())
            self._say(f"No draft for {counted(left_out.total(), 'message')} that need none: {reasons}.")
        return bool(done)

    def _answer_one(self, box: Mailbox, folder: str, waiting: Waiting) -> str | None:
        """Put a draft for a message into Drafts, unless one is there. Return why the message gets none; None if it got
        one.

        Each step can be repeated safely: a draft that is on the server or in the store is not written again.
        """
        answer = self._state.answers.setdefault(waiting.key, Answer())
        kept = self._kept(answer)
        why = None if kept else why_unanswered(waiting, partial(self._is_answered, box))
        box.open(folder)
        if why is None and not box.find(draft_id_of(waiting.key, self._account.address)):
            self._append_draft(box, folder, waiting, kept or self._draft(waiting, answer))
        answer.laid = True
        self._state.save()
        return why

    def _is_answered(self, box: Mailbox, waiting: Waiting) -> bool:
        """True if a mail in the sent folder answers this message, whatever program sent it."""
        if not (waiting.envelope.id and USABLE_ID.fullmatch(waiting.envelope.id)):
            return False
        box.open(self._sent)
        named = box.heads(box.find(waiting.envelope.id, "In-Reply-To", "References")[-ANSWERS:])
        return any(waiting.is_answered_by(read_envelope(head)) for head in named.values())

    def _append_draft(self, box: Mailbox, folder: str, waiting: Waiting, written: Draft | drafts.StoredDraft) -> None:
        """Put the draft into Drafts; if PEARL could not draft, put a note with its questions there."""
        if written.questions:
            box.append(folder, as_note(waiting, self._account.address, written.questions))
            self._say(f"No draft: nothing written so far helps. Questions that would are in {printable(folder)}.")
            return
        self._habits = self._habits or self._read_habits(box)
        box.append(folder, as_mail(waiting, self._account.address, written.text, self._habits))
        self._say(f"A draft is in {printable(folder)}: {written.id}")

    def _read_habits(self, box: Mailbox) -> Habits:
        box.open(self._sent)
        sizes = box.sizes(box.search(["ALL"])[-LATEST:])
        mails = [mail.raw for mail in box.mails([uid for uid, size in sizes.items() if size < BEFORE_BYTES])]
        answered = {answer for raw in mails for answer in read_envelope(raw).answers[:1]}
        box.open(box.special(rb"\All") or INBOX)
        heads = box.heads([uid for answer in answered for uid in box.find(answer)[:1]])
        others: dict[str, set[str]] = {}
        for envelope in map(read_envelope, heads.values()):
            got = [each for name in ("to", "cc") for each in parse_addresses(envelope.fields.get(name, ""))]
            others[envelope.id or ""] = {each for each in got if not self._me.match("", each)} - {
                envelope.sender[1].lower()
            }
        return read_habits(mails, others)

    def _draft(self, waiting: Waiting, answer: Answer) -> Draft:
        def note(draft_id: str) -> None:
            """Save the draft's id before it is written, so that it is found again after a crash."""
            answer.draft = draft_id
            self._state.save()

        job = DraftJob(
            waiting.request or "",
            self._wanted.voice,
            revise=AUTO,
            decoding=Decoding(self._wanted.draft_tokens, stop=(CLOSING,)),
            recipient=waiting.recipient,
            thread=waiting.thread,
        )
        return self._writer.write(self._user.name, job, note)


def _last(box: Mailbox, told: Opened) -> int:
    """Return the last UID in the open folder, 0 if the folder is empty."""
    return told.next_uid - 1 if told.next_uid else max(box.search(["ALL"]), default=0)


def _batches(box: Mailbox, uids: Sequence[int]) -> Iterator[list[Mail]]:
    """Yield the mails in batches that memory can hold."""
    for start in range(0, len(uids), LOOKED_AT):
        batch: list[int] = []
        total = 0
        for uid, size in [*box.sizes(uids[start : start + LOOKED_AT]).items(), (0, BATCH_BYTES)]:
            size = min(size, MESSAGE_BYTES)
            if batch and (not uid or total + size > BATCH_BYTES):
                if mails := box.mails(batch):
                    yield mails
                batch, total = [], 0
            batch, total = [*batch, uid], total + size
