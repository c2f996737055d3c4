"""The sample user: a history written for this project, to try PEARL before importing another."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pearl.records import Document
from pearl.settings import Settings
from pearl.text.files.whole import private_file, private_folder
from pearl.text.history.files import parse_document, parse_lines
from service.store import documents, keys, users, voices
from service.store.database import Database
from service.store.documents import Addition

USER = "sample"
VOICES = {"email": "message", "blog": "post"}
REQUEST = "Ask Mr Pellow politely not to remove the bicycle rack"


def sample_documents() -> list[Document]:
    path = Path(str(files(__package__) / "history.jsonl"))
    return list(parse_lines(path, parse_document))


def load_sample(database: Database, settings: Settings) -> str:
    """Store the sample user, if that is missing; return their key.

    The key is kept in PEARL_HOME, readable only by its owner, so that it is the same at every start.
    """
    with database.write() as connection:
        user = users.ensure(connection, {USER})[USER]
        for name, template in VOICES.items():
            if not any(voice.name == name for voice in voices.list_all(connection, user.id)):
                voices.put(connection, user.id, name, {"template": template})
        documents.add(connection, [Addition(user.id, document) for document in sample_documents()])
    return _key(database, settings.home / "sample.key")


def _key(database: Database, file: Path) -> str:
    if file.exists():
        private_file(file)
        key = file.read_text(encoding="utf-8").strip()
        with database.read() as connection:
            if keys.is_valid(connection, key):
                return key
    with database.write() as connection:
        key = keys.create_for_user(connection, USER)
    private_folder(file.parent)
    private_file(file)
    file.write_text(key + "\n", encoding="utf-8")
    return key
