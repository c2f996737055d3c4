BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0007');
CREATE TABLE calibrations (
	id VARCHAR(60) NOT NULL,
	user_id INTEGER NOT NULL,
	voice VARCHAR(200) NOT NULL,
	retriever TEXT NOT NULL,
	model VARCHAR(200) NOT NULL,
	settings JSON NOT NULL,
	figures JSON NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_calibrations PRIMARY KEY (id),
	CONSTRAINT fk_calibrations_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_calibrations_user_id_voice_retriever_model UNIQUE (user_id, voice, retriever, model)
);
CREATE TABLE documents (
	seq INTEGER NOT NULL,
	user_id INTEGER NOT NULL,
	document_id VARCHAR(200) NOT NULL,
	text TEXT NOT NULL,
	request TEXT,
	voice VARCHAR(200),
	timestamp FLOAT NOT NULL,
	content_digest BLOB NOT NULL,
	text_digest BLOB NOT NULL, request_digest BLOB, import_id VARCHAR(60), changed_at FLOAT,
	CONSTRAINT pk_documents PRIMARY KEY (seq),
	CONSTRAINT fk_documents_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_documents_user_id_document_id UNIQUE (user_id, document_id)
);
CREATE TABLE drafts (
	id VARCHAR(60) NOT NULL,
	user_id INTEGER NOT NULL,
	voice VARCHAR(200),
	request TEXT NOT NULL,
	instructions TEXT NOT NULL,
	text TEXT NOT NULL,
	stage VARCHAR(20) NOT NULL,
	model VARCHAR(200) NOT NULL,
	retrieval JSON NOT NULL,
	timings JSON NOT NULL,
	created_at FLOAT NOT NULL, revision JSON, questions JSON, usage JSON, quality FLOAT, editing JSON, likeness FLOAT,
	CONSTRAINT pk_drafts PRIMARY KEY (id),
	CONSTRAINT fk_drafts_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE embeddings (
	user_id INTEGER NOT NULL,
	encoder VARCHAR(200) NOT NULL,
	text_digest BLOB NOT NULL,
	vector BLOB NOT NULL,
	CONSTRAINT pk_embeddings PRIMARY KEY (user_id, encoder, text_digest),
	CONSTRAINT fk_embeddings_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE erasures (
	id INTEGER NOT NULL,
	requested_at FLOAT NOT NULL,
	CONSTRAINT pk_erasures PRIMARY KEY (id)
);
CREATE TABLE feedback (
	id VARCHAR(60) NOT NULL,
	draft_id VARCHAR(60) NOT NULL,
	user_id INTEGER NOT NULL,
	outcome VARCHAR(20) NOT NULL,
	document_seq INTEGER,
	created_at FLOAT NOT NULL, edit JSON, machine_share FLOAT, mine BOOLEAN,
	CONSTRAINT pk_feedback PRIMARY KEY (id),
	CONSTRAINT fk_feedback_document_seq_documents FOREIGN KEY(document_seq) REFERENCES documents (seq) ON DELETE SET NULL,
	CONSTRAINT fk_feedback_draft_id_drafts FOREIGN KEY(draft_id) REFERENCES drafts (id) ON DELETE CASCADE,
	CONSTRAINT fk_feedback_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_feedback_draft_id UNIQUE (draft_id)
);
CREATE TABLE grants (
	key_id VARCHAR(40) NOT NULL,
	user_id INTEGER NOT NULL,
	CONSTRAINT pk_grants PRIMARY KEY (key_id, user_id),
	CONSTRAINT fk_grants_key_id_keys FOREIGN KEY(key_id) REFERENCES keys (id) ON DELETE CASCADE,
	CONSTRAINT fk_grants_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE idempotency (
	user_id INTEGER NOT NULL,
	"key" VARCHAR(200) NOT NULL,
	fingerprint VARCHAR(64) NOT NULL,
	status INTEGER,
	body TEXT,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_idempotency PRIMARY KEY (user_id, "key"),
	CONSTRAINT fk_idempotency_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE imports (
	id VARCHAR(60) NOT NULL,
	user_id INTEGER NOT NULL,
	importer VARCHAR(40) NOT NULL,
	source TEXT NOT NULL,
	counts JSON NOT NULL,
	created_at FLOAT NOT NULL,
	undone_at FLOAT,
	CONSTRAINT pk_imports PRIMARY KEY (id),
	CONSTRAINT fk_imports_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE jobs (
	id INTEGER NOT NULL,
	user_id INTEGER NOT NULL,
	kind VARCHAR(40) NOT NULL,
	state VARCHAR(20) NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	error TEXT,
	created_at FLOAT NOT NULL,
	claimed_at FLOAT,
	CONSTRAINT pk_jobs PRIMARY KEY (id),
	CONSTRAINT fk_jobs_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_jobs_user_id_kind UNIQUE (user_id, kind)
);
CREATE TABLE keys (
	id VARCHAR(40) NOT NULL,
	tenant_id INTEGER NOT NULL,
	user_id INTEGER,
	digest VARCHAR(64) NOT NULL,
	shown VARCHAR(20) NOT NULL,
	grants_all_users BOOLEAN NOT NULL,
	created_at FLOAT NOT NULL, name VARCHAR(200), last_used_at FLOAT, expires_at FLOAT,
	CONSTRAINT pk_keys PRIMARY KEY (id),
	CONSTRAINT fk_keys_tenant_id_tenants FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
	CONSTRAINT fk_keys_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_keys_digest UNIQUE (digest)
);
CREATE TABLE profiles (
	user_id INTEGER NOT NULL,
	voice VARCHAR(200) NOT NULL,
	standing BOOLEAN NOT NULL,
	instructions TEXT NOT NULL,
	lines JSON NOT NULL,
	changed_at FLOAT NOT NULL,
	CONSTRAINT pk_profiles PRIMARY KEY (user_id, voice),
	CONSTRAINT fk_profiles_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE tenants (
	id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_tenants PRIMARY KEY (id),
	CONSTRAINT uq_tenants_name UNIQUE (name)
);
CREATE TABLE users (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	tenant_id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	history_version INTEGER DEFAULT '0' NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT fk_users_tenant_id_tenants FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
	CONSTRAINT uq_users_tenant_id_name UNIQUE (tenant_id, name)
);
CREATE TABLE voices (
	user_id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	instructions TEXT DEFAULT '' NOT NULL,
	template VARCHAR(40) DEFAULT 'free' NOT NULL,
	k INTEGER,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_voices PRIMARY KEY (user_id, name),
	CONSTRAINT fk_voices_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_documents_user_id_timestamp_seq ON documents (user_id, timestamp, seq);
CREATE INDEX ix_drafts_user_id ON drafts (user_id);
CREATE INDEX ix_jobs_user_id ON jobs (user_id);
CREATE INDEX ix_keys_user_id ON keys (user_id);
CREATE INDEX ix_feedback_document_seq ON feedback (document_seq);
CREATE INDEX ix_feedback_user_id ON feedback (user_id);
CREATE INDEX ix_grants_user_id ON grants (user_id);
CREATE INDEX ix_imports_user_id ON imports (user_id);
CREATE INDEX ix_documents_import_id ON documents (import_id);
COMMIT;
