package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/husk-dev/husk/internal/backend"
)

// applicationID marks the file as one of Husk: "husk".
const applicationID = 0x6875736b

// migrations make the tables. Each raises the version of the schema by one, and never changes: a newer version is a
// further element. Times are microseconds since 1970.
//
// Programs that know fewer migrations go on using the file: a migration only adds. What they read and write stays, and new columns have
// defaults. A migration may remove what only programs with fewer than N migrations use. It sets oldest to N, and these programs refuse the
// file from then on.
var migrations = []string{`
CREATE TABLE stacks (
	id         INTEGER PRIMARY KEY,
	project    TEXT NOT NULL,
	name       TEXT NOT NULL,
	-- A removed stack keeps its row, so that its tokens never come again.
	present    INTEGER NOT NULL,
	token      INTEGER NOT NULL DEFAULT 0,
	-- The lease that lasts, who holds it, and until when nobody else can take it.
	lease      TEXT,
	holder     TEXT,
	expires    INTEGER,
	checkpoint BLOB,
	written    INTEGER,
	-- The sequence numbers of the checkpoint and of the last record.
	sequence   INTEGER NOT NULL DEFAULT 0,
	last       INTEGER NOT NULL DEFAULT 0,
	-- Every checkpoint and every removal raises it.
	revision   INTEGER NOT NULL DEFAULT 1,
	UNIQUE (project, name)
) STRICT;
CREATE TABLE journal (
	stack    INTEGER NOT NULL REFERENCES stacks,
	sequence INTEGER NOT NULL,
	record   BLOB NOT NULL,
	PRIMARY KEY (stack, sequence)
) STRICT;
CREATE TABLE backups (
	stack      INTEGER NOT NULL REFERENCES stacks,
	number     INTEGER NOT NULL,
	checkpoint BLOB NOT NULL,
	sequence   INTEGER NOT NULL,
	written    INTEGER,
	PRIMARY KEY (stack, number)
) STRICT;
-- Records that follow on a backup and are in no later checkpoint.
CREATE TABLE backup_records (
	stack    INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	record   BLOB NOT NULL,
	PRIMARY KEY (stack, number, sequence),
	FOREIGN KEY (stack, number) REFERENCES backups ON DELETE CASCADE
) STRICT;
CREATE TABLE history (
	stack   INTEGER PRIMARY KEY REFERENCES stacks,
	records BLOB NOT NULL
) STRICT;
CREATE TABLE runs (
	stack   INTEGER NOT NULL REFERENCES stacks,
	run     TEXT NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (stack, run)
) STRICT;
CREATE TABLE kv (
	stack    INTEGER NOT NULL REFERENCES stacks,
	provider TEXT NOT NULL,
	version  INTEGER NOT NULL,
	content  BLOB NOT NULL,
	PRIMARY KEY (stack, provider)
) STRICT;
CREATE TABLE modules (
	digest  TEXT PRIMARY KEY,
	content BLOB NOT NULL,
	kept    INTEGER NOT NULL
) STRICT;
`, `
-- SQLite writes a row again as a whole: what is large is in no row whose other columns change.
CREATE TABLE kept (
	digest TEXT PRIMARY KEY REFERENCES modules ON DELETE CASCADE,
	at     INTEGER NOT NULL
) STRICT;
INSERT INTO kept SELECT digest, kept FROM modules;
ALTER TABLE modules DROP COLUMN kept;
CREATE TABLE checkpoints (
	stack   INTEGER PRIMARY KEY REFERENCES stacks,
	content BLOB NOT NULL
) STRICT;
INSERT INTO checkpoints SELECT id, checkpoint FROM stacks WHERE checkpoint IS NOT NULL;
ALTER TABLE stacks DROP COLUMN checkpoint;
`}

// oldest is the number of migrations that a program must know at least to use the tables.
var oldest = 2

// versionBits are the bits of the file's user_version with the version of its schema. What is above them is the oldest version that can
// use the file, 0 for the version itself.
const versionBits = 16

// newer returns the version in a file's user_version, and an error if this program cannot use the file.
func (d *db) newer(user int) (version int, err error) {
	version, least := user&(1<<versionBits-1), user>>versionBits
	if least <= 0 {
		least = version
	}
	if version > len(migrations) && least > len(migrations) {
		err = done{backend.NewerSchema(d.file, version, len(migrations))}
	}
	return version, err
}

// migrate makes the tables, unless they have this version or a newer one.
func (d *db) migrate(ctx context.Context, opened *sql.DB) error {
	begun, err := opened.BeginTx(ctx, nil) // so that only one process makes them
	if err != nil {
		return err
	}
	defer func() { _ = begun.Rollback() }() // unless it was committed
	t := &tx{ctx: ctx, Tx: begun}
	var id, user, tables int
	if _, err := t.row("SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)",
		nil, &id, &user, &tables); err != nil {
		return err
	}
	if id != applicationID && tables > 0 {
		return fmt.Errorf("the file has tables of another program: name another file")
	}
	is, err := d.newer(user)
	if err != nil || is >= len(migrations) {
		return err
	}
	for _, migration := range migrations[is:] {
		if _, err := t.ExecContext(ctx, migration); err != nil {
			return err
		}
	}
	user = len(migrations)
	if oldest < user {
		user |= oldest << versionBits
	}
	if _, err := t.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, user)); err != nil {
		return err
	}
	return begun.Commit()
}
