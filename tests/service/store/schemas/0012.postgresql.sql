CREATE TABLE tenants (
	id BIGSERIAL NOT NULL,
	name VARCHAR(200) NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_tenants PRIMARY KEY (id),
	CONSTRAINT uq_tenants_name UNIQUE (name)
);
CREATE TABLE erasures (
	id BIGSERIAL NOT NULL,
	requested_at FLOAT NOT NULL,
	CONSTRAINT pk_erasures PRIMARY KEY (id)
);
CREATE TABLE users (
	id BIGSERIAL NOT NULL,
	tenant_id BIGINT NOT NULL,
	name VARCHAR(200) NOT NULL,
	history_version INTEGER DEFAULT '0' NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_users PRIMARY KEY (id),
	CONSTRAINT uq_users_tenant_id_name UNIQUE (tenant_id, name),
	CONSTRAINT fk_users_tenant_id_tenants FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE keys (
	id VARCHAR(40) NOT NULL,
	tenant_id BIGINT NOT NULL,
	user_id BIGINT,
	digest VARCHAR(64) NOT NULL,
	shown VARCHAR(20) NOT NULL,
	grants_all_users BOOLEAN NOT NULL,
	created_at FLOAT NOT NULL,
	name VARCHAR(200),
	last_used_at FLOAT,
	expires_at FLOAT,
	tokens_per_day BIGINT,
	spent_on INTEGER,
	tokens_spent BIGINT,
	CONSTRAINT pk_keys PRIMARY KEY (id),
	CONSTRAINT fk_keys_tenant_id_tenants FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
	CONSTRAINT fk_keys_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_keys_digest UNIQUE (digest)
);
CREATE INDEX ix_keys_user_id ON keys (user_id);
CREATE TABLE voices (
	user_id BIGINT NOT NULL,
	name VARCHAR(200) NOT NULL,
	instructions TEXT DEFAULT '' NOT NULL,
	template VARCHAR(40) DEFAULT 'free' NOT NULL,
	k INTEGER,
	created_at FLOAT NOT NULL,
	import_id VARCHAR(60),
	local_only BOOLEAN DEFAULT false NOT NULL,
	edges BOOLEAN DEFAULT true NOT NULL,
	CONSTRAINT pk_voices PRIMARY KEY (user_id, name),
	CONSTRAINT fk_voices_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE imports (
	id VARCHAR(60) NOT NULL,
	user_id BIGINT NOT NULL,
	importer VARCHAR(40) NOT NULL,
	source TEXT NOT NULL,
	counts JSON NOT NULL,
	created_at FLOAT NOT NULL,
	undone_at FLOAT,
	CONSTRAINT pk_imports PRIMARY KEY (id),
	CONSTRAINT fk_imports_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_imports_user_id ON imports (user_id);
CREATE TABLE documents (
	seq BIGSERIAL NOT NULL,
	user_id BIGINT NOT NULL,
	document_id VARCHAR(200) NOT NULL,
	text TEXT NOT NULL,
	request TEXT,
	voice VARCHAR(200),
	timestamp FLOAT NOT NULL,
	content_digest BYTEA NOT NULL,
	text_digest BYTEA NOT NULL,
	request_digest BYTEA,
	import_id VARCHAR(60),
	changed_at FLOAT,
	recipient VARCHAR(200),
	thread VARCHAR(200),
	set_apart VARCHAR(40),
	mine BOOLEAN,
	CONSTRAINT pk_documents PRIMARY KEY (seq),
	CONSTRAINT uq_documents_user_id_document_id UNIQUE (user_id, document_id),
	CONSTRAINT fk_documents_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_documents_user_id_timestamp_seq ON documents (user_id, timestamp, seq);
CREATE INDEX ix_documents_import_id ON documents (import_id);
CREATE INDEX ix_documents_user_id_set_apart ON documents (user_id, set_apart) WHERE set_apart IS NOT NULL;
CREATE TABLE embeddings (
	user_id BIGINT NOT NULL,
	encoder VARCHAR(200) NOT NULL,
	text_digest BYTEA NOT NULL,
	vector BYTEA NOT NULL,
	CONSTRAINT pk_embeddings PRIMARY KEY (user_id, encoder, text_digest),
	CONSTRAINT fk_embeddings_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE drafts (
	id VARCHAR(60) NOT NULL,
	user_id BIGINT NOT NULL,
	voice VARCHAR(200),
	request TEXT NOT NULL,
	instructions TEXT NOT NULL,
	text TEXT NOT NULL,
	stage VARCHAR(20) NOT NULL,
	model VARCHAR(200) NOT NULL,
	retrieval JSON NOT NULL,
	timings JSON NOT NULL,
	created_at FLOAT NOT NULL,
	revision JSON,
	questions JSON,
	usage JSON,
	quality FLOAT,
	editing JSON,
	likeness FLOAT,
	recipient VARCHAR(200),
	thread VARCHAR(200),
	CONSTRAINT pk_drafts PRIMARY KEY (id),
	CONSTRAINT fk_drafts_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_drafts_user_id ON drafts (user_id);
CREATE TABLE calibrations (
	id VARCHAR(60) NOT NULL,
	user_id BIGINT NOT NULL,
	voice VARCHAR(200) NOT NULL,
	retriever TEXT NOT NULL,
	model VARCHAR(200) NOT NULL,
	settings JSON NOT NULL,
	figures JSON NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_calibrations PRIMARY KEY (id),
	CONSTRAINT uq_calibrations_user_id_voice_retriever_model UNIQUE (user_id, voice, retriever, model),
	CONSTRAINT fk_calibrations_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE profiles (
	user_id BIGINT NOT NULL,
	voice VARCHAR(200) NOT NULL,
	standing BOOLEAN NOT NULL,
	instructions TEXT NOT NULL,
	lines JSON NOT NULL,
	changed_at FLOAT NOT NULL,
	CONSTRAINT pk_profiles PRIMARY KEY (user_id, voice),
	CONSTRAINT fk_profiles_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE jobs (
	id BIGSERIAL NOT NULL,
	user_id BIGINT NOT NULL,
	kind VARCHAR(40) NOT NULL,
	state VARCHAR(20) NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	error TEXT,
	created_at FLOAT NOT NULL,
	claimed_at FLOAT,
	CONSTRAINT pk_jobs PRIMARY KEY (id),
	CONSTRAINT uq_jobs_user_id_kind UNIQUE (user_id, kind),
	CONSTRAINT fk_jobs_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_jobs_user_id ON jobs (user_id);
CREATE TABLE idempotency (
	user_id BIGINT NOT NULL,
	key VARCHAR(200) NOT NULL,
	fingerprint VARCHAR(64) NOT NULL,
	status INTEGER,
	body TEXT,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_idempotency PRIMARY KEY (user_id, key),
	CONSTRAINT fk_idempotency_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE grants (
	key_id VARCHAR(40) NOT NULL,
	user_id BIGINT NOT NULL,
	CONSTRAINT pk_grants PRIMARY KEY (key_id, user_id),
	CONSTRAINT fk_grants_key_id_keys FOREIGN KEY(key_id) REFERENCES keys (id) ON DELETE CASCADE,
	CONSTRAINT fk_grants_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_grants_user_id ON grants (user_id);
CREATE TABLE feedback (
	id VARCHAR(60) NOT NULL,
	draft_id VARCHAR(60) NOT NULL,
	user_id BIGINT NOT NULL,
	outcome VARCHAR(20) NOT NULL,
	document_seq BIGINT,
	created_at FLOAT NOT NULL,
	edit JSON,
	machine_share FLOAT,
	CONSTRAINT pk_feedback PRIMARY KEY (id),
	CONSTRAINT uq_feedback_draft_id UNIQUE (draft_id),
	CONSTRAINT fk_feedback_draft_id_drafts FOREIGN KEY(draft_id) REFERENCES drafts (id) ON DELETE CASCADE,
	CONSTRAINT fk_feedback_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_feedback_document_seq_documents FOREIGN KEY(document_seq) REFERENCES documents (seq) ON DELETE SET NULL
);
CREATE INDEX ix_feedback_user_id ON feedback (user_id);
CREATE INDEX ix_feedback_document_seq ON feedback (document_seq);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version VALUES ('0012');
INSERT INTO erasures VALUES ('1', '1795933394.2982283');
SELECT setval(pg_get_serial_sequence('erasures', 'id'), (SELECT max(id) FROM erasures));
INSERT INTO tenants VALUES ('1', 'default', '1795933394.2010853');
SELECT setval(pg_get_serial_sequence('tenants', 'id'), (SELECT max(id) FROM tenants));
INSERT INTO users VALUES ('2', '1', 'bob', '1', '1795933394.2035234');
INSERT INTO users VALUES ('1', '1', 'ann', '3', '1795933394.203521');
SELECT setval(pg_get_serial_sequence('users', 'id'), (SELECT max(id) FROM users));
INSERT INTO calibrations VALUES ('c', '1', 'email', 'bm25', 'm', '{"threshold": null}', '{"texts": 30}', '1795933394.2934215');
INSERT INTO documents VALUES ('2', '2', 'a', 'Milk.', NULL, NULL, '1700000000.123456', E'\\x4f88c73a043bc434974ee40d4104d9d9', E'\\x0b23916277b383c6987ca46b0385c516', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO documents VALUES ('1', '1', 'a', 'Grüße, 100% 😀
', 'What?', 'letters', '1.25', E'\\x4164e18ffbde9af8021d92d93c6ff6cd', E'\\x2c291f98b7065538facb1518b47d770a', E'\\x207370ec8ac378a9a1369d749e1fe751', 'import_1', '1795933394.2271936', NULL, NULL, NULL, NULL);
INSERT INTO documents VALUES ('3', '1', 'draft_x', 'Dear Bo.', 'q', 'email', '1795933394.2564416', E'\\x0046dd9c78aff8f0fe39bcf4b3865ba9', E'\\x45116246ed286f77ce6cf564c51f1e82', E'\\x495dc4b71861b44a28488065c1ae9725', NULL, NULL, NULL, NULL, 'accepted_unchanged', NULL);
SELECT setval(pg_get_serial_sequence('documents', 'seq'), (SELECT max(seq) FROM documents));
INSERT INTO drafts VALUES ('draft_x', '1', 'email', 'q', '', 'Dear Bo.', 'draft', 'm', '{"documents": [{"id": "d1", "score": 0.5}], "top_score": 0.5, "threshold": null, "below_threshold": false, "notes": [], "form": null, "claims": []}', '{}', '1795933394.2494645', '{"applied": false, "reason": "no_threshold", "message": "There is none."}', '[]', '{"prompt_tokens": 0, "completion_tokens": 0}', NULL, 'null', NULL, NULL, NULL);
INSERT INTO drafts VALUES ('draft_y', '1', NULL, 'r', '', 'Dear Bo.', 'draft', 'm', '{"documents": [{"id": "d1", "score": 0.5}], "top_score": 0.5, "threshold": null, "below_threshold": false, "notes": [], "form": null, "claims": []}', '{}', '1795933394.2512176', '{"applied": false, "reason": "no_threshold", "message": "There is none."}', '[]', '{"prompt_tokens": 0, "completion_tokens": 0}', NULL, 'null', NULL, NULL, NULL);
INSERT INTO embeddings VALUES ('1', 'words', E'\\x2c291f98b7065538facb1518b47d770a', E'\\x0000803f0000803f0000803f');
INSERT INTO idempotency VALUES ('1', 'key', 'print', NULL, NULL, '1795933394.2875988');
INSERT INTO imports VALUES ('import_1', '1', 'jsonl', '/ä.jsonl', '{"imported": 1}', '1795933394.2337558', NULL);
INSERT INTO jobs VALUES ('2', '2', 'embed', 'queued', '0', NULL, '1795933394.2173548', NULL);
INSERT INTO jobs VALUES ('1', '1', 'embed', 'queued', '0', NULL, '1795933394.2173538', NULL);
SELECT setval(pg_get_serial_sequence('jobs', 'id'), (SELECT max(id) FROM jobs));
INSERT INTO keys VALUES ('key_01a225f8d566745bb7bdb063347b', '1', '1', 'b12864e5425db2b9a07792568092720a9d31750f49246f31c1e9d85ebc83f4a8', 'pearl_brt9', 'false', '1795933394.2793512', 'laptop', NULL, '2000000000', NULL, NULL, NULL);
INSERT INTO keys VALUES ('key_01a225f8d56d4829c7146212abe9', '1', NULL, '92fd65695d8a0561dafa8256629b737cfcddfec06be3fddb2634aa597c425e34', 'pearl_jnKa', 'false', '1795933394.2862', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO profiles VALUES ('1', 'email', 'true', '', '{"dashes": {"state": "corrected", "text": "Dashes, never semicolons."}}', '1795933394.2329354');
INSERT INTO voices VALUES ('1', 'letters', '', 'free', NULL, '1795933394.227829', NULL, 'false', 'true');
INSERT INTO voices VALUES ('1', 'email', 'Briefly.', 'message', '3', '1795933394.2139797', NULL, 'false', 'true');
INSERT INTO feedback VALUES ('feedback_01a225f8d55e341cabefa386e108', 'draft_x', '1', 'accepted', '3', '1795933394.2700636', '{"words_kept": 2, "words_added": 0, "words_removed": 0, "machine_share": 1.0, "distance": 0.0}', '1');
INSERT INTO grants VALUES ('key_01a225f8d56d4829c7146212abe9', '1');
INSERT INTO grants VALUES ('key_01a225f8d56d4829c7146212abe9', '2');
