package provider

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// on returns the objects of the privileges, in GRANT's syntax.
func (in GrantInputs) on(ctx context.Context, q querier) (string, error) {
	kind := kindOf(in.ObjectType)
	switch {
	case in.ObjectType == "database":
		return kind.keyword + " " + name(in.Database), nil
	case in.ObjectType == "schema":
		return kind.keyword + " " + name(in.Schema), nil
	case len(in.Objects) == 0:
		return "ALL " + kind.keyword + "S IN SCHEMA " + name(in.Schema), nil
	case !kind.inSchema:
		return kind.keyword + " " + names(in.Objects), nil
	}
	objects := make([]string, len(in.Objects))
	for n, object := range in.Objects {
		objects[n] = name(in.Schema, object)
		if in.hasArguments(object) {
			signature, err := in.signature(ctx, q, object)
			if err != nil {
				return "", err
			}
			if signature == "" {
				return "", missingRoutine("there is no " + in.ObjectType + " " + in.Schema + "." + object + " in " + in.Database)
			}
			objects[n] = signature
		}
	}
	return kind.keyword + " " + strings.Join(objects, ", "), nil
}

// missingRoutine is the error of a routine that there is not.
type missingRoutine string

func (e missingRoutine) Error() string { return string(e) }

// hasArguments reports whether an object is a routine with the types of its arguments.
func (in GrantInputs) hasArguments(object string) bool {
	return slices.Contains(kindOf(in.ObjectType).privileges, "EXECUTE") && strings.HasSuffix(object, ")") && strings.Contains(object, "(")
}

// signature returns a routine of the grant as [signatureOf] does.
func (in GrantInputs) signature(ctx context.Context, q querier, object string) (string, error) {
	routine, types, _ := strings.Cut(strings.TrimSuffix(object, ")"), "(")
	return signatureOf(ctx, q, in.Schema, routine, types)
}

// signatureOf returns the name and the types of a routine as the server writes them; empty if there is none. The types
// are read by the server, because only it knows what a type is called: text that is not a type does not become a part
// of a statement.
func signatureOf(ctx context.Context, q querier, schema, routine, types string) (string, error) {
	var signature string
	err := q.QueryRow(ctx, "SELECT coalesce(to_regprocedure(quote_ident($1::text) || '.' || quote_ident($2::text) || '(' || $3::text || ')')::text, '')",
		schema, routine, types).Scan(&signature)
	if isCode(err, invalidSchemaName, syntaxError, invalidText) {
		return "", nil
	}
	return signature, err
}

// The objects of a grant, with their lists of privileges. The first parameter is always the grantee.
const (
	theDatabase = `SELECT oid, coalesce(datacl, acldefault('d', datdba)) AS acl FROM pg_database WHERE datname = $2`
	theSchema   = `SELECT oid, coalesce(nspacl, acldefault('n', nspowner)) AS acl FROM pg_namespace WHERE nspname = $2`
	theWrapper  = `SELECT oid, coalesce(fdwacl, acldefault('F', fdwowner)) AS acl FROM pg_foreign_data_wrapper WHERE fdwname::text = ANY($2::text[])`
	theServer   = `SELECT oid, coalesce(srvacl, acldefault('S', srvowner)) AS acl FROM pg_foreign_server WHERE srvname::text = ANY($2::text[])`
	theTables   = `SELECT c.oid, c.relacl AS acl FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $2 AND c.relkind::text = ANY($3::text[]) AND (cardinality($4::text[]) = 0 OR c.relname::text = ANY($4::text[]))`
	theRoutines = `SELECT p.oid, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname = $2 AND p.prokind::text = ANY($3::text[])
			AND (cardinality($4::text[]) = 0 OR p.proname::text = ANY($4::text[]) OR p.oid::regprocedure::text = ANY($4::text[]))`
	theColumns = `SELECT a.attnum::oid AS oid, a.attacl AS acl FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $2 AND c.relkind::text = ANY($3::text[]) AND c.relname::text = ANY($4::text[]) AND a.attname::text = ANY($5::text[])
			AND NOT a.attisdropped`
)

// objects returns the query for the objects, and its parameters after the grantee.
func (in GrantInputs) objects(ctx context.Context, q querier) (query string, args []any, err error) {
	kind := kindOf(in.ObjectType)
	objects := append([]string{}, in.Objects...)
	for n, object := range objects {
		if in.hasArguments(object) {
			signature, err := in.signature(ctx, q, object)
			if err != nil {
				return "", nil, err
			}
			if signature != "" {
				objects[n] = signature
			}
		}
	}
	switch in.ObjectType {
	case "database":
		return theDatabase, []any{in.Database}, nil
	case "schema":
		return theSchema, []any{in.Schema}, nil
	case "foreign_data_wrapper":
		return theWrapper, []any{objects}, nil
	case "foreign_server":
		return theServer, []any{objects}, nil
	case "table", "sequence":
		return theTables, []any{in.Schema, kind.catalog, objects}, nil
	case "function", "procedure", "routine":
		return theRoutines, []any{in.Schema, kind.catalog, objects}, nil
	case "column":
		return theColumns, []any{in.Schema, kind.catalog, objects, append([]string{}, in.Columns...)}, nil
	}
	return "", nil, guest.InvalidArgument("id", "there are no privileges on a "+in.ObjectType)
}

// read asks for the privileges that the role has on each of the objects. The error is pgx.ErrNoRows if the role or all objects
// are gone. A grant on all objects of a schema stays as it is if the schema has none.
func (in GrantInputs) read(ctx context.Context, conn *pgx.Conn) (held []string, grantable bool, err error) {
	grantee, err := oidOf(ctx, conn, in.Role)
	if err != nil {
		return nil, false, err
	}
	query, args, err := in.objects(ctx, conn)
	if err != nil {
		return nil, false, err
	}
	args = append([]any{grantee}, args...)
	var some bool
	// The grantee is named for the server to know its type.
	if err := conn.QueryRow(ctx, "SELECT EXISTS ("+query+") AND $1::oid IS NOT NULL", args...).Scan(&some); err != nil {
		return nil, false, err
	}
	if !some {
		if kindOf(in.ObjectType).all && len(in.Objects) == 0 {
			var schema bool
			err := conn.QueryRow(ctx, "SELECT true FROM pg_namespace WHERE nspname = $1", in.Schema).Scan(&schema)
			return in.Privileges, in.WithGrantOption, err
		}
		return nil, false, pgx.ErrNoRows
	}
	rows, err := conn.Query(ctx, "WITH o AS ("+query+`)
		SELECT a.privilege_type, bool_and(a.is_grantable) FROM o, aclexplode(o.acl) a
		WHERE a.grantee = $1 GROUP BY a.privilege_type HAVING count(DISTINCT o.oid) = (SELECT count(*) FROM o)`, args...)
	if err != nil {
		return nil, false, err
	}
	var among []string
	if in.ObjectType == "column" {
		among = in.Privileges
	}
	held, grantable, err = privilegesIn(rows, among)
	if len(held) == 0 {
		grantable = in.WithGrantOption
	}
	return held, grantable, err
}

// oidOf returns the number of a role, 0 for public. The error is pgx.ErrNoRows if there is none.
func oidOf(ctx context.Context, q querier, role string) (oid uint32, err error) {
	if role != "public" {
		err = q.QueryRow(ctx, "SELECT oid FROM pg_roles WHERE rolname = $1", role).Scan(&oid)
	}
	return oid, err
}

// privilegesIn reads rows of a privilege and of whether it may be passed on, in order; only those among a list, if
// there is one.
func privilegesIn(rows pgx.Rows, among []string) (held []string, grantable bool, err error) {
	held, grantable = []string{}, true
	var privilege string
	var passed bool
	_, err = pgx.ForEachRow(rows, []any{&privilege, &passed}, func() error {
		if len(among) == 0 || slices.Contains(among, privilege) {
			held = append(held, privilege)
			grantable = grantable && passed
		}
		return nil
	})
	slices.Sort(held)
	return held, grantable, err
}
