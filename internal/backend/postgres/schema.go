package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/husk-dev/husk/internal/backend"
)

// migrations make the tables. Each raises the version of the schema by one, and never changes: a newer
// version is a further element.
//
// Programs that know fewer migrations go on using the tables: a migration only adds. What they read and write stays, and new columns have
// defaults. A migration may remove what only programs with fewer than N migrations use. It sets oldest to N, and these programs refuse the
// tables from then on.
var migrations = []string{`
CREATE TABLE @stacks (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project    text NOT NULL,
	name       text NOT NULL,
	-- A removed stack keeps its row, so that its tokens never come again.
	present    boolean NOT NULL,
	token      bigint NOT NULL DEFAULT 0,
	-- The lease that lasts, who holds it, and until when nobody else can take it.
	lease      text,
	holder     text,
	expires    timestamptz,
	checkpoint bytea,
	written    timestamptz,
	-- The sequence numbers of the checkpoint and of the last record.
	sequence   bigint NOT NULL DEFAULT 0,
	last       bigint NOT NULL DEFAULT 0,
	-- Every change but an append raises it.
	revision   bigint NOT NULL DEFAULT 1,
	UNIQUE (project, name)
);
CREATE TABLE @journal (
	stack    bigint NOT NULL REFERENCES @stacks,
	sequence bigint NOT NULL,
	record   bytea NOT NULL,
	PRIMARY KEY (stack, sequence)
);
CREATE TABLE @backups (
	stack      bigint NOT NULL REFERENCES @stacks,
	number     bigint NOT NULL,
	checkpoint bytea NOT NULL,
	sequence   bigint NOT NULL,
	written    timestamptz,
	PRIMARY KEY (stack, number)
);
-- Records that follow on a backup and are in no later checkpoint.
CREATE TABLE @backup_records (
	stack    bigint NOT NULL,
	number   bigint NOT NULL,
	sequence bigint NOT NULL,
	record   bytea NOT NULL,
	PRIMARY KEY (stack, number, sequence),
	FOREIGN KEY (stack, number) REFERENCES @backups ON DELETE CASCADE
);
CREATE TABLE @history (
	stack   bigint PRIMARY KEY REFERENCES @stacks,
	records bytea NOT NULL
);
CREATE TABLE @runs (
	stack   bigint NOT NULL REFERENCES @stacks,
	run     text NOT NULL,
	content bytea NOT NULL,
	PRIMARY KEY (stack, run)
);
CREATE TABLE @kv (
	stack    bigint NOT NULL REFERENCES @stacks,
	provider text NOT NULL,
	version  bigint NOT NULL,
	content  bytea NOT NULL,
	PRIMARY KEY (stack, provider)
);
CREATE TABLE @modules (
	digest  text PRIMARY KEY,
	content bytea NOT NULL,
	kept    timestamptz NOT NULL
);
CREATE FUNCTION @hold(of_stack bigint, of_token bigint, of_revision bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE s record;
BEGIN
	SELECT token, lease, revision INTO s FROM @stacks WHERE id = of_stack FOR UPDATE;
	IF NOT FOUND OR s.token <> of_token OR s.lease IS NULL THEN
		RAISE EXCEPTION 'the lease was lost' USING ERRCODE = 'HK001';
	ELSIF s.revision <> of_revision THEN
		RAISE EXCEPTION 'the stack is at revision %', s.revision USING ERRCODE = 'HK002';
	END IF;
END $$;
CREATE FUNCTION @make(of_project text, of_name text, of_checkpoint bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint;
BEGIN
	INSERT INTO @stacks AS s (project, name, present, checkpoint, written)
	VALUES (of_project, of_name, true, of_checkpoint, clock_timestamp())
	ON CONFLICT (project, name) DO UPDATE SET present = true, checkpoint = excluded.checkpoint, written = excluded.written,
		sequence = 0, last = 0, lease = NULL, holder = NULL, expires = NULL, revision = s.revision + 1
	WHERE NOT s.present RETURNING id INTO made;
	IF made IS NULL THEN
		RAISE EXCEPTION 'the stack exists' USING ERRCODE = 'HK003';
	END IF;
	RETURN made;
END $$;
`}

// oldest is the number of migrations that a program must know at least to use the tables.
var oldest = 1

// least is the oldest version in the table meta m. Programs that knew one migration made the table without it.
const least = "coalesce((to_jsonb(m)->>'least')::bigint, m.version)"

// The codes of the functions above.
const (
	codeFenced   = "HK001"
	codeRevision = "HK002"
	codeExists   = "HK003"
)

// Codes of PostgreSQL.
const (
	undefinedTable  = "42P01"
	undefinedColumn = "42703"
	undefinedCall   = "42883"
	invalidSchema   = "3F000"
	notPrivileged   = "42501"
	readOnlySession = "25006"
	diskFull        = "53100"
	divisionByZero  = "22012"
)

// migrationLock is the number of the lock that a transaction takes to make the tables: any would do.
const migrationLock = 4875736

// errSchema marks errors that another attempt would have, too.
var errSchema = errors.New("the tables of the backend")

type schemaError struct{ error }

func (e schemaError) Unwrap() []error { return []error{e.error, errSchema} }

// prepare makes the tables, unless they have this version or a newer one.
func (d *db) prepare(ctx context.Context, conn *pgconn.PgConn) error {
	is, err := d.version(ctx, conn)
	if err == nil && is < len(migrations) {
		if err = d.migrate(ctx, conn); isCode(err, notPrivileged) {
			return schemaError{fmt.Errorf("the role %s may not make the tables of husk in the schema %q: let a role that may create there run husk login once, or grant it CREATE on the database: %w",
				d.pool.config.User, d.schema, err)}
		}
	}
	return err
}

func (d *db) version(ctx context.Context, conn *pgconn.PgConn) (int, error) {
	results, err := exec(ctx, conn, d.tables, []statement{sql("SELECT version::bigint, " + least + " FROM @meta m")})
	if isCode(err, undefinedTable, invalidSchema) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(results[0].Rows) != 1 {
		return 0, schemaError{fmt.Errorf("the table meta of the schema %q has %d rows, and it must have one: these are not the tables of husk", d.schema, len(results[0].Rows))}
	}
	found := row(results[0].Rows[0])
	is := int(found.int(0))
	if is < 0 {
		return 0, schemaError{fmt.Errorf("the table meta of the schema %q has the version %d, which no husk writes: restore a backup of the schema, or name a schema without such tables", d.schema, is)}
	}
	if is > len(migrations) && int(found.int(1)) > len(migrations) {
		return 0, schemaError{backend.NewerSchema(d.place, is, len(migrations))}
	}
	return is, nil
}

func (d *db) migrate(ctx context.Context, conn *pgconn.PgConn) error {
	run := func(text string) error {
		_, err := conn.Exec(ctx, d.tables.Replace(text)).ReadAll()
		return err
	}
	if err := run(fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d)", migrationLock)); err != nil {
		return err
	}
	// Another process may have made the tables while this one waited. A failed statement would end the
	// transaction, so the table of the version is made first.
	err := run(fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS %q; CREATE TABLE IF NOT EXISTS @meta (version integer NOT NULL);
		INSERT INTO @meta SELECT 0 WHERE NOT EXISTS (SELECT FROM @meta)`, d.schema))
	is := len(migrations)
	if err == nil {
		is, err = d.version(ctx, conn)
	}
	if err == nil && is < len(migrations) {
		for ; err == nil && is < len(migrations); is++ {
			err = run(migrations[is])
		}
		if err == nil {
			err = run(fmt.Sprintf("ALTER TABLE @meta ADD COLUMN IF NOT EXISTS least integer; UPDATE @meta SET version = %d, least = %d", len(migrations), oldest))
		}
	}
	if err == nil {
		return run("COMMIT")
	}
	_ = run("ROLLBACK") // the connection is closed in any case
	return err
}

// check tries, for husk login, to write to the tables, and takes it back.
func (d *db) check(ctx context.Context) error {
	// The version is zero for no stack, so the statements change nothing.
	_, _, err := d.step(ctx, sql("DELETE FROM @journal WHERE stack < 0"), sql("DELETE FROM @modules WHERE digest = ''"),
		sql("UPDATE @stacks SET revision = revision WHERE id < 0"), sql("UPDATE @meta SET version = version WHERE version < 0"), sql("SELECT @hold(id, token, revision) FROM @stacks WHERE id < 0"))
	return err
}
