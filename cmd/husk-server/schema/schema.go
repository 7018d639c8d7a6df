// Package schema has the SQL that makes the tables of a server.
package schema

import "strings"

// Changes make the tables, each from the tables of the changes before. INTEGER stands for BIGINT in PostgreSQL, BLOB for BYTEA, and
// INSTR for STRPOS; COLLATE BYTES orders texts by their bytes. SQLite writes a row again as a whole: large values are not in rows
// whose other columns change. Times are in milliseconds since 1970, 0 for none.
//
// Servers of a database are replaced one by one, and the ones of earlier versions go on serving: a change only adds. What they read and write
// stays, and new columns have defaults. A later version may remove what only servers of versions before N use: its change then sets least of
// husk_schema to N, the number of changes which the oldest servers know that can serve the tables. Servers that know fewer stop serving.
var Changes = []string{`
CREATE TABLE husk_tenants (
	name TEXT PRIMARY KEY,
	key BLOB NOT NULL
);
CREATE TABLE husk_tokens (
	hash TEXT PRIMARY KEY,
	tenant TEXT NOT NULL,
	name TEXT NOT NULL,
	role TEXT NOT NULL,
	projects TEXT NOT NULL,
	made INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	UNIQUE (tenant, name)
);
CREATE TABLE husk_bundles (
	tenant TEXT NOT NULL,
	digest TEXT NOT NULL,
	made INTEGER NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (tenant, digest)
);
CREATE TABLE husk_runs (
	number INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	tenant TEXT NOT NULL,
	project TEXT NOT NULL,
	stack TEXT NOT NULL,
	request TEXT NOT NULL,
	selector TEXT NOT NULL,
	state TEXT NOT NULL,
	previewing INTEGER NOT NULL,
	requested_by TEXT NOT NULL,
	requested_projects TEXT NOT NULL,
	approved_by TEXT NOT NULL,
	plan BLOB,
	worker TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	token TEXT NOT NULL,
	lease INTEGER NOT NULL,
	not_before INTEGER NOT NULL,
	cancel INTEGER NOT NULL,
	lines INTEGER NOT NULL,
	reason TEXT NOT NULL,
	made INTEGER NOT NULL,
	began INTEGER NOT NULL,
	ended INTEGER NOT NULL
);
CREATE UNIQUE INDEX husk_runs_one ON husk_runs (tenant, project, stack) WHERE state = 'running';
CREATE INDEX husk_runs_queued ON husk_runs (selector, number) WHERE state = 'queued';
CREATE INDEX husk_runs_open ON husk_runs (tenant, project, stack, number) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX husk_runs_token ON husk_runs (token) WHERE state = 'running';
CREATE INDEX husk_runs_ended ON husk_runs (ended);
CREATE TABLE husk_lines (
	run TEXT NOT NULL,
	number INTEGER NOT NULL,
	stream TEXT NOT NULL,
	time INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (run, number)
);
CREATE TABLE husk_schedules (
	tenant TEXT NOT NULL,
	name TEXT NOT NULL,
	cron TEXT NOT NULL,
	run TEXT NOT NULL,
	requested_by TEXT NOT NULL,
	requested_projects TEXT NOT NULL,
	version TEXT NOT NULL,
	next INTEGER NOT NULL,
	last TEXT NOT NULL,
	PRIMARY KEY (tenant, name)
);
CREATE TABLE husk_workers (
	tenant TEXT NOT NULL,
	name TEXT NOT NULL,
	labels TEXT NOT NULL,
	slots INTEGER NOT NULL,
	running INTEGER NOT NULL,
	seen INTEGER NOT NULL,
	PRIMARY KEY (tenant, name)
)`, `
ALTER TABLE husk_runs ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE husk_runs ADD COLUMN base INTEGER NOT NULL DEFAULT -1`, `
ALTER TABLE husk_runs ADD COLUMN logged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE husk_runs ADD COLUMN worker_token TEXT NOT NULL DEFAULT ''`, `
ALTER TABLE husk_tokens ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_tokens ADD COLUMN issued_by TEXT NOT NULL DEFAULT '';
UPDATE husk_tokens SET person = name;
ALTER TABLE husk_runs ADD COLUMN requested_person TEXT NOT NULL DEFAULT '';
UPDATE husk_runs SET requested_person = requested_by;
ALTER TABLE husk_schedules ADD COLUMN requested_person TEXT NOT NULL DEFAULT '';
UPDATE husk_schedules SET requested_person = requested_by;
ALTER TABLE husk_runs ADD COLUMN seen TEXT NOT NULL DEFAULT '';
UPDATE husk_runs SET seen = 'unknown' WHERE base <> -1`, `
UPDATE husk_runs SET approved_by = (SELECT person FROM husk_tokens p WHERE p.tenant = husk_runs.tenant AND p.name = husk_runs.approved_by)
	WHERE EXISTS (SELECT 1 FROM husk_tokens p WHERE p.tenant = husk_runs.tenant AND p.name = husk_runs.approved_by)`, `
ALTER TABLE husk_runs ADD COLUMN bundle TEXT NOT NULL DEFAULT '';
UPDATE husk_runs SET bundle = substr(request, INSTR(request, '"bundle":"') + 10, 71);
ALTER TABLE husk_schedules ADD COLUMN bundle TEXT NOT NULL DEFAULT '';
UPDATE husk_schedules SET bundle = substr(run, INSTR(run, '"bundle":"') + 10, 71);
ALTER TABLE husk_schedules ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_schedules ADD COLUMN token TEXT NOT NULL DEFAULT '';
UPDATE husk_schedules SET token = COALESCE((SELECT hash FROM husk_tokens k WHERE k.tenant = husk_schedules.tenant AND k.name = husk_schedules.requested_by
	AND k.person = husk_schedules.requested_person AND k.projects = husk_schedules.requested_projects), '');
ALTER TABLE husk_schedules DROP COLUMN requested_person;
ALTER TABLE husk_schedules DROP COLUMN requested_projects`, `
ALTER TABLE husk_runs ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0`, `
ALTER TABLE husk_runs ADD COLUMN said INTEGER NOT NULL DEFAULT 0`, `
ALTER TABLE husk_runs ADD COLUMN attention INTEGER NOT NULL DEFAULT 0;
ALTER TABLE husk_runs ADD COLUMN lost TEXT NOT NULL DEFAULT ''`, `
CREATE TABLE husk_counted (at INTEGER NOT NULL);
INSERT INTO husk_counted (at) VALUES (0);
ALTER TABLE husk_runs ADD COLUMN cancel_call TEXT NOT NULL DEFAULT ''`, `
ALTER TABLE husk_runs ADD COLUMN ready INTEGER NOT NULL DEFAULT 0;
DROP INDEX husk_runs_queued;
CREATE INDEX husk_runs_queued ON husk_runs (number) WHERE state = 'queued' AND ready = 0;
UPDATE husk_runs SET ready = 1 WHERE state = 'queued' AND ready = 0 AND number = (SELECT o.number FROM husk_runs o WHERE o.state IN ('queued', 'running', 'waiting')
	AND o.attention = 0 AND o.tenant = husk_runs.tenant AND o.project = husk_runs.project AND o.stack = husk_runs.stack ORDER BY o.number LIMIT 1);
CREATE INDEX husk_runs_ready ON husk_runs (tenant, selector COLLATE BYTES, number) WHERE ready > 0 AND state = 'queued';
CREATE INDEX husk_runs_ready_anywhere ON husk_runs (selector COLLATE BYTES, number) WHERE ready > 0 AND state = 'queued';
CREATE INDEX husk_runs_ready_since ON husk_runs (ready) WHERE ready > 0 AND state = 'queued';
CREATE INDEX husk_runs_later ON husk_runs (not_before) WHERE not_before > 0 AND state = 'queued';
CREATE INDEX husk_runs_counted ON husk_runs (tenant, state, attention, made) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX husk_runs_open_of_tenant ON husk_runs (tenant, (-number)) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX husk_runs_lease ON husk_runs (lease) WHERE state = 'running';
CREATE INDEX husk_runs_of_tenant ON husk_runs (tenant, number);
CREATE INDEX husk_runs_of_stack ON husk_runs (tenant, project, stack, (-number));
CREATE INDEX husk_runs_bundle ON husk_runs (tenant, bundle) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX husk_bundles_made ON husk_bundles (made)`, `
ALTER TABLE husk_tokens ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
CREATE TABLE husk_audit (
	number INTEGER PRIMARY KEY,
	tenant TEXT NOT NULL,
	at INTEGER NOT NULL,
	token TEXT NOT NULL,
	person TEXT NOT NULL,
	address TEXT NOT NULL,
	action TEXT NOT NULL,
	subject TEXT NOT NULL,
	detail TEXT NOT NULL
);
CREATE INDEX husk_audit_tenant ON husk_audit (tenant, number);
CREATE INDEX husk_audit_at ON husk_audit (at);
CREATE INDEX husk_audit_refused ON husk_audit (tenant, number) WHERE action = 'refused'`, `
DROP INDEX husk_runs_ready;
CREATE INDEX husk_runs_ready ON husk_runs (tenant, selector COLLATE BYTES, project, number, ready, state) WHERE ready > 0 AND state = 'queued';
CREATE INDEX husk_runs_blocked ON husk_runs (tenant, selector, project, ready, state) WHERE ready = 0 AND state = 'queued';
CREATE INDEX husk_runs_attention ON husk_runs (tenant, project, stack) WHERE attention = 1;
CREATE TABLE husk_turns (of TEXT PRIMARY KEY, last TEXT NOT NULL, taken INTEGER NOT NULL);
INSERT INTO husk_turns (of, last, taken) VALUES ('*', '', 0);
ALTER TABLE husk_workers ADD COLUMN projects TEXT NOT NULL DEFAULT '[]';
ALTER TABLE husk_workers ADD COLUMN person TEXT NOT NULL DEFAULT ''`, `
CREATE TABLE husk_contents (
	tenant TEXT NOT NULL,
	digest TEXT NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (tenant, digest),
	FOREIGN KEY (tenant, digest) REFERENCES husk_bundles (tenant, digest) ON DELETE CASCADE
);
INSERT INTO husk_contents (tenant, digest, content) SELECT tenant, digest, content FROM husk_bundles;
ALTER TABLE husk_bundles ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
UPDATE husk_bundles SET size = octet_length(content);
ALTER TABLE husk_bundles DROP COLUMN content;
CREATE TABLE husk_plans (
	run TEXT PRIMARY KEY REFERENCES husk_runs (id) ON DELETE CASCADE,
	content BLOB NOT NULL
);
INSERT INTO husk_plans (run, content) SELECT id, plan FROM husk_runs WHERE octet_length(plan) > 0;
ALTER TABLE husk_runs DROP COLUMN plan`, `
ALTER TABLE husk_runs ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
UPDATE husk_runs SET kept = logged + octet_length(request);
CREATE TABLE husk_kept (tenant TEXT PRIMARY KEY, bytes INTEGER NOT NULL);
INSERT INTO husk_kept (tenant, bytes) SELECT tenant, SUM(kept) FROM husk_runs GROUP BY tenant`, `
ALTER TABLE husk_schema ADD COLUMN least INTEGER NOT NULL DEFAULT 0;
UPDATE husk_schema SET least = 15`, `
ALTER TABLE husk_tenants ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
CREATE TABLE husk_former_keys (
	number INTEGER PRIMARY KEY,
	tenant TEXT NOT NULL,
	key BLOB NOT NULL,
	replaced INTEGER NOT NULL
);
CREATE INDEX husk_former_keys_tenant ON husk_former_keys (tenant, number)`, `
ALTER TABLE husk_tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'issued';
UPDATE husk_tokens SET kind = 'login' WHERE issued_by LIKE 'https://%' OR issued_by LIKE 'http://%'`, `
INSERT INTO husk_kept (tenant, bytes) SELECT tenant, SUM(256 + octet_length(subject) + octet_length(detail)) FROM husk_audit WHERE tenant <> '' GROUP BY tenant
	ON CONFLICT (tenant) DO UPDATE SET bytes = husk_kept.bytes + excluded.bytes`, `
ALTER TABLE husk_tokens ADD COLUMN refresh TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_tokens ADD COLUMN asked INTEGER NOT NULL DEFAULT 0`, `
ALTER TABLE husk_runs ADD COLUMN asked_with TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_runs ADD COLUMN approved_with TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_runs ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_runs ADD COLUMN approver TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_runs ADD COLUMN shower TEXT NOT NULL DEFAULT '';
ALTER TABLE husk_tokens ADD COLUMN ended INTEGER NOT NULL DEFAULT 0`}

// Statements returns the statements of a change in the language of a database.
func Statements(change string, postgres bool) []string {
	words := []string{" COLLATE BYTES", " COLLATE BINARY"}
	if postgres {
		words = []string{" COLLATE BYTES", ` COLLATE "C"`, " INTEGER PRIMARY KEY", " BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", " INTEGER", " BIGINT", " BLOB", " BYTEA", "INSTR(", "STRPOS("}
	}
	return strings.Split(strings.NewReplacer(words...).Replace(change), ";\n")
}
