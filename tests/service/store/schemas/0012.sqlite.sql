BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0012');
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
	CONSTRAINT uq_calibrations_user_id_voice_retriever_model UNIQUE (user_id, voice, retriever, model),
	CONSTRAINT fk_calibrations_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "calibrations" VALUES('c',1,'email','bm25','m','{"threshold": null}','{"texts": 30}',1.79593339121872663495e+09);
CREATE TABLE documents (
	seq INTEGER NOT NULL,
	user_id INTEGER NOT NULL,
	document_id VARCHAR(200) NOT NULL,
	text TEXT NOT NULL,
	request TEXT,
	voice VARCHAR(200),
	timestamp FLOAT NOT NULL,
	content_digest BLOB NOT NULL,
	text_digest BLOB NOT NULL,
	request_digest BLOB,
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
INSERT INTO "documents" VALUES(1,1,'a','Grüße, 100% 😀
','What?','letters',1.25,X'4164E18FFBDE9AF8021D92D93C6FF6CD',X'2C291F98B7065538FACB1518B47D770A',X'207370EC8AC378A9A1369D749E1FE751','import_1',1.79593339118377065665e+09,NULL,NULL,NULL,NULL);
INSERT INTO "documents" VALUES(2,2,'a','Milk.',NULL,NULL,1.70000000012345600132e+09,X'4F88C73A043BC434974EE40D4104D9D9',X'0B23916277B383C6987CA46B0385C516',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "documents" VALUES(3,1,'draft_x','Dear Bo.','q','email',1.79593339120305514342e+09,X'0046DD9C78AFF8F0FE39BCF4B3865BA9',X'45116246ED286F77CE6CF564C51F1E82',X'495DC4B71861B44A28488065C1AE9725',NULL,NULL,NULL,NULL,'accepted_unchanged',NULL);
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
INSERT INTO "drafts" VALUES('draft_x',1,'email','q','','Dear Bo.','draft','m','{"documents": [{"id": "d1", "score": 0.5}], "top_score": 0.5, "threshold": null, "below_threshold": false, "notes": [], "form": null, "claims": []}','{}',1.79593339119377326962e+09,'{"applied": false, "reason": "no_threshold", "message": "There is none."}','[]','{"prompt_tokens": 0, "completion_tokens": 0}',NULL,'null',NULL,NULL,NULL);
INSERT INTO "drafts" VALUES('draft_y',1,NULL,'r','','Dear Bo.','draft','m','{"documents": [{"id": "d1", "score": 0.5}], "top_score": 0.5, "threshold": null, "below_threshold": false, "notes": [], "form": null, "claims": []}','{}',1.79593339119438767433e+09,'{"applied": false, "reason": "no_threshold", "message": "There is none."}','[]','{"prompt_tokens": 0, "completion_tokens": 0}',NULL,'null',NULL,NULL,NULL);
CREATE TABLE embeddings (
	user_id INTEGER NOT NULL,
	encoder VARCHAR(200) NOT NULL,
	text_digest BLOB NOT NULL,
	vector BLOB NOT NULL,
	CONSTRAINT pk_embeddings PRIMARY KEY (user_id, encoder, text_digest),
	CONSTRAINT fk_embeddings_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "embeddings" VALUES(1,'words',X'2C291F98B7065538FACB1518B47D770A',X'0000803F0000803F0000803F');
CREATE TABLE erasures (
	id INTEGER NOT NULL,
	requested_at FLOAT NOT NULL,
	CONSTRAINT pk_erasures PRIMARY KEY (id)
);
INSERT INTO "erasures" VALUES(1,1.79593339122078752513e+09);
CREATE TABLE feedback (
	id VARCHAR(60) NOT NULL,
	draft_id VARCHAR(60) NOT NULL,
	user_id INTEGER NOT NULL,
	outcome VARCHAR(20) NOT NULL,
	document_seq INTEGER,
	created_at FLOAT NOT NULL,
	edit JSON,
	machine_share FLOAT,
	CONSTRAINT pk_feedback PRIMARY KEY (id),
	CONSTRAINT uq_feedback_draft_id UNIQUE (draft_id),
	CONSTRAINT fk_feedback_draft_id_drafts FOREIGN KEY(draft_id) REFERENCES drafts (id) ON DELETE CASCADE,
	CONSTRAINT fk_feedback_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_feedback_document_seq_documents FOREIGN KEY(document_seq) REFERENCES documents (seq) ON DELETE SET NULL
);
INSERT INTO "feedback" VALUES('feedback_01a225f8c96ab3ce013b93ecfa64','draft_x',1,'accepted',3,1.79593339121017932886e+09,'{"words_kept": 2, "words_added": 0, "words_removed": 0, "machine_share": 1.0, "distance": 0.0}',1.0);
CREATE TABLE grants (
	key_id VARCHAR(40) NOT NULL,
	user_id INTEGER NOT NULL,
	CONSTRAINT pk_grants PRIMARY KEY (key_id, user_id),
	CONSTRAINT fk_grants_key_id_keys FOREIGN KEY(key_id) REFERENCES keys (id) ON DELETE CASCADE,
	CONSTRAINT fk_grants_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "grants" VALUES('key_01a225f8c96c7bd9692aa67defa7',1);
INSERT INTO "grants" VALUES('key_01a225f8c96c7bd9692aa67defa7',2);
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
INSERT INTO "idempotency" VALUES(1,'key','print',NULL,NULL,1.79593339121526145932e+09);
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
INSERT INTO "imports" VALUES('import_1',1,'jsonl','/ä.jsonl','{"imported": 1}',1.79593339118641352651e+09,NULL);
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
	CONSTRAINT uq_jobs_user_id_kind UNIQUE (user_id, kind),
	CONSTRAINT fk_jobs_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "jobs" VALUES(1,1,'embed','queued',0,NULL,1.79593339117290592193e+09,NULL);
INSERT INTO "jobs" VALUES(2,2,'embed','queued',0,NULL,1.79593339117290735247e+09,NULL);
CREATE TABLE keys (
	id VARCHAR(40) NOT NULL,
	tenant_id INTEGER NOT NULL,
	user_id INTEGER,
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
INSERT INTO "keys" VALUES('key_01a225f8c96ba3b65cda84df7136',1,1,'4a8d06ac0203308456bb25e72c9e80537f47bc975894125d705c8d735e23c1b8','pearl_wLYG',0,1.79593339121141242981e+09,'laptop',NULL,2000000000.0,NULL,NULL,NULL);
INSERT INTO "keys" VALUES('key_01a225f8c96c7bd9692aa67defa7',1,NULL,'8a1fa334c7a4a685d5d16062756ac04cb1e6f3fae951f9b4752a90f371c6f848','pearl_f8sg',0,1.79593339121489977837e+09,NULL,NULL,NULL,NULL,NULL,NULL);
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
INSERT INTO "profiles" VALUES(1,'email',1,'','{"dashes": {"state": "corrected", "text": "Dashes, never semicolons."}}',1.79593339118594169613e+09);
CREATE TABLE tenants (
	id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_tenants PRIMARY KEY (id),
	CONSTRAINT uq_tenants_name UNIQUE (name)
);
INSERT INTO "tenants" VALUES(1,'default',1.79593339094942331312e+09);
CREATE TABLE users (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	tenant_id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	history_version INTEGER DEFAULT '0' NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT uq_users_tenant_id_name UNIQUE (tenant_id, name),
	CONSTRAINT fk_users_tenant_id_tenants FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
INSERT INTO "users" VALUES(1,1,'ann',3,1.79593339095038843152e+09);
INSERT INTO "users" VALUES(2,1,'bob',1,1.79593339095038866991e+09);
CREATE TABLE voices (
	user_id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	instructions TEXT DEFAULT '' NOT NULL,
	template VARCHAR(40) DEFAULT 'free' NOT NULL,
	k INTEGER,
	created_at FLOAT NOT NULL,
	import_id VARCHAR(60),
	local_only BOOLEAN DEFAULT 0 NOT NULL,
	edges BOOLEAN DEFAULT 1 NOT NULL,
	CONSTRAINT pk_voices PRIMARY KEY (user_id, name),
	CONSTRAINT fk_voices_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "voices" VALUES(1,'email','Briefly.','message',3,1.79593339116931700709e+09,NULL,0,1);
INSERT INTO "voices" VALUES(1,'letters','','free',NULL,1.79593339118436908724e+09,NULL,0,1);
CREATE INDEX ix_keys_user_id ON keys (user_id);
CREATE INDEX ix_imports_user_id ON imports (user_id);
CREATE INDEX ix_documents_user_id_timestamp_seq ON documents (user_id, timestamp, seq);
CREATE INDEX ix_documents_import_id ON documents (import_id);
CREATE INDEX ix_documents_user_id_set_apart ON documents (user_id, set_apart) WHERE set_apart IS NOT NULL;
CREATE INDEX ix_drafts_user_id ON drafts (user_id);
CREATE INDEX ix_jobs_user_id ON jobs (user_id);
CREATE INDEX ix_grants_user_id ON grants (user_id);
CREATE INDEX ix_feedback_user_id ON feedback (user_id);
CREATE INDEX ix_feedback_document_seq ON feedback (document_seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('users',4);
COMMIT;
