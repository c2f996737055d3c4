"""The database's tables. Times are Unix seconds in UTC. An empty database gets the tables as declared here; for other
databases each change needs a migration in ``migrations/``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

RowId = BigInteger().with_variant(Integer, "sqlite")  # SQLite only auto-increments INTEGER


def _owned_by_user(**options: Any) -> Column[int]:
    return Column("user_id", RowId, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, **options)


tenants = Table(
    "tenants",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("tenant_id", RowId, ForeignKey("tenants.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(200), nullable=False),
    # counts the changes of the user's documents, so that every process knows when its indexes are stale
    Column("history_version", Integer, nullable=False, server_default="0"),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("tenant_id", "name"),
    sqlite_autoincrement=True,  # a deleted user's id must not come back as someone else's: histories are cached by it
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("tenant_id", RowId, ForeignKey("tenants.id", ondelete="CASCADE"), nullable=False),
    # None for a service key, which acts for the users it is granted
    Column("user_id", RowId, ForeignKey("users.id", ondelete="CASCADE"), nullable=True, index=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("shown", String(20), nullable=False),
    Column("grants_all_users", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("name", String(200), nullable=True),
    Column("last_used_at", Float, nullable=True),
    Column("expires_at", Float, nullable=True),  # None: never
    Column("tokens_per_day", BigInteger, nullable=True),  # that its drafts may take; None: any number
    Column("spent_on", Integer, nullable=True),  # the last day on which they took some, in UTC, since 1970
    Column("tokens_spent", BigInteger, nullable=True),  # on that day
)

grants = Table(
    "grants",
    metadata,
    Column("key_id", String(40), ForeignKey("keys.id", ondelete="CASCADE"), primary_key=True),
    _owned_by_user(primary_key=True, index=True),
)

voices = Table(
    "voices",
    metadata,
    _owned_by_user(primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("instructions", Text, nullable=False, server_default=""),
    Column("template", String(40), nullable=False, server_default="free"),
    Column("k", Integer, nullable=True),
    Column("created_at", Float, nullable=False),
    Column("import_id", String(60), nullable=True),  # of the import that made it, until its owner changes it
    Column("local_only", Boolean, nullable=False, server_default=false()),  # no model elsewhere is shown its texts
    Column("edges", Boolean, nullable=False, server_default=true()),  # drafts begin and end as its texts do, by rule
)

imports = Table(
    "imports",
    metadata,
    Column("id", String(60), primary_key=True),
    _owned_by_user(index=True),
    Column("importer", String(40), nullable=False),
    Column("source", Text, nullable=False),
    Column("counts", JSON, nullable=False),  # imported, already there, left out by reason: the summary's numbers
    Column("created_at", Float, nullable=False),
    Column("undone_at", Float, nullable=True),
)

documents = Table(
    "documents",
    metadata,
    Column("seq", RowId, primary_key=True),
    _owned_by_user(),
    Column("document_id", String(200), nullable=False),
    Column("text", Text, nullable=False),
    Column("request", Text, nullable=True),
    Column("voice", String(200), nullable=True),
    Column("timestamp", Float, nullable=False),
    Column("content_digest", LargeBinary(16), nullable=False),  # of text, request and voice: "same id, same content"
    Column("text_digest", LargeBinary(16), nullable=False),  # of the text, which embeddings are cached by
    Column("request_digest", LargeBinary(16), nullable=True),  # of the request, which is embedded as well
    # of imports; no foreign key, which SQLite can only add by rebuilding the table, and that cascades into feedback
    Column("import_id", String(60), nullable=True, index=True),
    Column("changed_at", Float, nullable=True),  # when its owner last changed it by hand; None: as it came
    Column("recipient", String(200), nullable=True),  # whom it went to: an address, handle, name or channel
    Column("thread", String(200), nullable=True),  # the conversation that it belongs to
    # why it is no sample of its owner's manner (service/store/apart.py); None: it is one
    Column("set_apart", String(40), nullable=True),
    Column("mine", Boolean, nullable=True),  # its owner's word on whether it is a sample; None: none given
    UniqueConstraint("user_id", "document_id"),
    Index("ix_documents_user_id_timestamp_seq", "user_id", "timestamp", "seq"),
    Index(
        "ix_documents_user_id_set_apart",
        "user_id",
        "set_apart",
        postgresql_where=text("set_apart IS NOT NULL"),
        sqlite_where=text("set_apart IS NOT NULL"),
    ),
)

embeddings = Table(
    "embeddings",
    metadata,
    _owned_by_user(primary_key=True),
    Column("encoder", String(200), primary_key=True),
    Column("text_digest", LargeBinary(16), primary_key=True),  # of a document's text or of its request
    Column("vector", LargeBinary, nullable=False),  # float32, little-endian, of unit length
)

drafts = Table(
    "drafts",
    metadata,
    Column("id", String(60), primary_key=True),
    _owned_by_user(index=True),
    Column("voice", String(200), nullable=True),
    Column("request", Text, nullable=False),
    Column("instructions", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("stage", String(20), nullable=False),
    Column("model", String(200), nullable=False),
    Column("retrieval", JSON, nullable=False),  # ids and scores of the documents, never their text; notes
    Column("timings", JSON, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("revision", JSON, nullable=True),  # these three are None in the earliest drafts
    Column("questions", JSON, nullable=True),
    Column("usage", JSON, nullable=True),
    Column("quality", Float, nullable=True),  # None without a reward model
    Column("editing", JSON, nullable=True),  # None where no candidates were asked for
    Column("likeness", Float, nullable=True),  # None where it is not told or cannot be said
    Column("recipient", String(200), nullable=True),  # these two as of documents
    Column("thread", String(200), nullable=True),
)

feedback = Table(
    "feedback",
    metadata,
    Column("id", String(60), primary_key=True),
    Column("draft_id", String(60), ForeignKey("drafts.id", ondelete="CASCADE"), nullable=False, unique=True),
    _owned_by_user(index=True),
    Column("outcome", String(20), nullable=False),
    # what was sent is this document of the history: request and text are a training pair
    Column("document_seq", RowId, ForeignKey("documents.seq", ondelete="SET NULL"), nullable=True, index=True),
    Column("created_at", Float, nullable=False),
    Column("edit", JSON, nullable=True),  # words and sentences kept, added and removed; None where nothing was sent
    Column("machine_share", Float, nullable=True),  # of the sent text's words, those that were the draft's
)

calibrations = Table(
    "calibrations",
    metadata,
    Column("id", String(60), primary_key=True),
    _owned_by_user(),
    Column("voice", String(200), nullable=False),  # empty for the whole history
    Column("retriever", Text, nullable=False),  # the fingerprint of what scores
    Column("model", String(200), nullable=False),
    Column("settings", JSON, nullable=False),  # threshold, margin and k, those alone that were better than the default
    Column("figures", JSON, nullable=False),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("user_id", "voice", "retriever", "model"),
)

profiles = Table(
    "profiles",
    metadata,
    _owned_by_user(primary_key=True),
    Column("voice", String(200), primary_key=True),  # empty for the whole history
    Column("standing", Boolean, nullable=False),  # True: its lines are standing instructions
    Column("instructions", Text, nullable=False),  # those lines, as they were when last changed
    Column("lines", JSON, nullable=False),  # by the line's name, its state and text as the person set them
    Column("changed_at", Float, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", RowId, primary_key=True),
    _owned_by_user(index=True),
    Column("kind", String(40), nullable=False),
    Column("state", String(20), nullable=False),  # queued, running, failed; a finished job's row is gone
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("error", Text, nullable=True),
    Column("created_at", Float, nullable=False),
    Column("claimed_at", Float, nullable=True),
    UniqueConstraint("user_id", "kind"),
)

idempotency = Table(
    "idempotency",
    metadata,
    _owned_by_user(primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("fingerprint", String(64), nullable=False),  # of method, path and body
    Column("status", Integer, nullable=True),  # None while the first call is under way
    Column("body", Text, nullable=True),
    Column("created_at", Float, nullable=False),
)

erasures = Table(
    "erasures",  # deletions whose traces in the database's files are still to be overwritten
    metadata,
    Column("id", RowId, primary_key=True),
    Column("requested_at", Float, nullable=False),
)


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Make an INSERT that has ``on_conflict_do_nothing`` and ``on_conflict_do_update``, for this kind of database."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert

        return insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
