"""Learning from sent mail: it becomes history, or feedback on the draft from which it was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pearl.errors import Conflict, InputError
from service.importing.run import run_import
from service.importing.sources.base import Items, LeftOut, Options, SourceDocument
from service.importing.sources.mbox import MboxImporter
from service.mail.mailbox import Mail
from service.process.temporary import temporary_folder
from service.store import drafts, feedback
from service.store.database import Database
from service.store.users import User

NOTHING_IN_IT = {"no_files", "unreadable_file"}  # codes of mails none of which is one


@dataclass
class SentMail(MboxImporter):
    """Imports the mails in ``folder/new``. Other mails in the folder, such as the answered ones, help to read them."""

    folder: Path
    drafted: Mapping[str, str | None]  # drafts by the ids of the mails sent from them; None: that is known already
    sent: list[tuple[str, str]] = field(default_factory=list)  # the id of each such draft, and the text that was sent

    name = "mail"

    def read(self, source: Path, options: Options) -> Items:
        """Yield the documents of the new mails. ``source`` is only the account's name."""
        new = str(self.folder / "new")
        with closing(super().read(self.folder, options)) as items:
            for item in items:
                if isinstance(item, (SourceDocument, LeftOut)) and not item.where.startswith(new):
                    continue
                if isinstance(item, SourceDocument) and item.document.id in self.drafted:
                    if draft_id := self.drafted[item.document.id]:
                        self.sent.append((draft_id, item.document.text))
                else:
                    yield item


def learn(
    database: Database,
    user: User,
    options: Options,
    account: Path,
    new: Sequence[Mail],
    beside: Sequence[Mail],
    drafted: Mapping[str, str | None],
) -> int:
    """Add the mails ``new`` to the history, or as feedback if they were sent from a draft; return how many were added.
    ``beside``: other mails that help to read them; ``drafted``: draft ids by the sent mails' ids."""
    with temporary_folder() as folder:
        for name, mails in (("new", new), ("beside", beside)):
            (folder / name).mkdir()
            for number, mail in enumerate(mails):
                (folder / name / f"{number:06}.eml").write_bytes(mail.raw)
        importer = SentMail(folder, drafted)
        try:
            learnt = run_import(database, importer, account, options).imported
        except InputError as error:
            if error.code not in NOTHING_IN_IT:
                raise
            learnt = 0
        for draft_id, text in importer.sent:
            with suppress(Conflict), database.write() as connection:  # other feedback was given before
                written = drafts.get(connection, user.id, draft_id)
                same = text.split() == written.text.split()
                outcome, final = (feedback.ACCEPTED, None) if same else (feedback.EDITED, text)
                feedback.add(connection, user.id, draft_id, outcome, final)
                learnt += 1
    return learnt
