package provider

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// GrantInputs are the inputs of postgresql:Grant.
type GrantInputs struct {
	Role            string   `husk:"role,replace" doc:"The role that has the privileges; public for all roles."`
	Database        string   `husk:"database,replace" doc:"The database that they are for, or are in."`
	ObjectType      string   `husk:"objectType,replace,oneof=database|schema|table|sequence" doc:"What they are for."`
	Schema          string   `husk:"schema,optional,replace" doc:"The schema that they are for, or that the tables or sequences are in."`
	Objects         []string `husk:"objects,optional,replace" doc:"The tables or sequences; without any, all that are in the schema now."`
	Privileges      []string `husk:"privileges" doc:"All privileges that the role has there, for example SELECT. None takes all away."`
	WithGrantOption bool     `husk:"withGrantOption,default=false" doc:"Whether the role may pass them on."`
}

// GrantState is the state of postgresql:Grant.
type GrantState struct {
	GrantInputs
}

// Grant implements postgresql:Grant.
type Grant struct{ server *server }

// privileges returns those that there are for a type of objects (PostgreSQL, table 5.2).
func privileges(objectType string) []string {
	switch objectType {
	case "database":
		return []string{"CONNECT", "CREATE", "TEMPORARY"}
	case "schema":
		return []string{"CREATE", "USAGE"}
	case "sequence":
		return []string{"SELECT", "UPDATE", "USAGE"}
	}
	return []string{"DELETE", "INSERT", "REFERENCES", "SELECT", "TRIGGER", "TRUNCATE", "UPDATE"}
}

// Check holds the privileges to those that there are, and brings them into order.
func (Grant) Check(_ context.Context, r guest.CheckRequest[GrantInputs]) (failures []guest.CheckFailure, _ error) {
	in := r.Inputs
	if r.Known("objects") {
		slices.Sort(in.Objects)
		in.Objects = slices.Compact(in.Objects)
	}
	if !r.Known("objectType") {
		return nil, nil
	}
	switch {
	case in.ObjectType == "database":
		if in.Schema != "" {
			failures = append(failures, guest.CheckFailure{Path: "schema", Reason: "is not for privileges on a database"})
		}
	case in.Schema == "" && r.Known("schema"):
		failures = append(failures, guest.CheckFailure{Path: "schema", Reason: "must be given for privileges on a " + in.ObjectType})
	}
	if len(in.Objects) > 0 && in.ObjectType != "table" && in.ObjectType != "sequence" {
		failures = append(failures, guest.CheckFailure{Path: "objects", Reason: "are for tables and sequences"})
	}
	if !r.Known("privileges") {
		return failures, nil
	}
	known := privileges(in.ObjectType)
	for n, privilege := range in.Privileges {
		in.Privileges[n] = strings.ToUpper(privilege)
		switch in.Privileges[n] {
		case "TEMP":
			in.Privileges[n] = "TEMPORARY"
		case "ALL":
			in.Privileges = known
			return failures, nil
		}
		if !slices.Contains(known, in.Privileges[n]) {
			failures = append(failures, guest.CheckFailure{Path: "privileges", Reason: "there is no " + privilege + " for a " + in.ObjectType +
				"; there are ALL, " + strings.Join(known, ", ")})
		}
	}
	slices.Sort(in.Privileges)
	in.Privileges = slices.Compact(in.Privileges)
	return failures, nil
}

// on returns what the privileges are on, as GRANT has it.
func (in GrantInputs) on() string {
	switch {
	case in.ObjectType == "database":
		return "DATABASE " + name(in.Database)
	case in.ObjectType == "schema":
		return "SCHEMA " + name(in.Schema)
	case len(in.Objects) == 0:
		return "ALL " + strings.ToUpper(in.ObjectType) + "S IN SCHEMA " + name(in.Schema)
	}
	objects := make([]string, len(in.Objects))
	for n, object := range in.Objects {
		objects[n] = name(in.Schema, object)
	}
	return strings.ToUpper(in.ObjectType) + " " + strings.Join(objects, ", ")
}

func (in GrantInputs) grantee() string {
	if in.Role == "public" {
		return "PUBLIC"
	}
	return name(in.Role)
}

// id returns an ID that differs for the grants of a stack; it cannot be read back.
func (in GrantInputs) id() string {
	parts := append([]string{in.Role, in.Database, in.ObjectType, in.Schema}, in.Objects...)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "_")
}

// put makes the role have these privileges and no others.
func (o Grant) put(ctx context.Context, in GrantInputs) error {
	statements := []string{"REVOKE ALL PRIVILEGES ON " + in.on() + " FROM " + in.grantee()}
	if len(in.Privileges) > 0 {
		statement := "GRANT " + strings.Join(in.Privileges, ", ") + " ON " + in.on() + " TO " + in.grantee()
		if in.WithGrantOption {
			statement += " WITH GRANT OPTION"
		}
		statements = append(statements, statement)
	}
	return o.server.run(ctx, in.Database, statements...)
}

// Create gives the privileges, and takes others away.
func (o Grant) Create(ctx context.Context, r guest.CreateRequest[GrantInputs]) (guest.CreateResponse[GrantState], error) {
	if err := o.put(ctx, r.Inputs); err != nil {
		return guest.CreateResponse[GrantState]{}, err
	}
	return guest.CreateResponse[GrantState]{ID: r.Inputs.id(), State: GrantState{r.Inputs}}, nil
}

// Update gives and takes privileges.
func (o Grant) Update(ctx context.Context, r guest.UpdateRequest[GrantInputs, GrantState]) (guest.UpdateResponse[GrantState], error) {
	return guest.UpdateResponse[GrantState]{State: GrantState{r.Inputs}}, o.put(ctx, r.Inputs)
}

// Delete takes the privileges away.
func (o Grant) Delete(ctx context.Context, r guest.DeleteRequest[GrantState]) error {
	in := r.State.GrantInputs
	in.Privileges = nil
	err := o.put(ctx, in)
	if isCode(err, invalidCatalogName, invalidSchemaName, undefinedObject) {
		return guest.NotFound("what the privileges are for, or the role, is gone")
	}
	return err
}

// The lists of what is granted, by the type of object.
const (
	onDatabase = `SELECT a.privilege_type, a.is_grantable FROM pg_database d,
		aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a WHERE d.datname = $2 AND a.grantee = $1`
	onSchema = `SELECT a.privilege_type, a.is_grantable FROM pg_namespace n,
		aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a WHERE n.nspname = $2 AND a.grantee = $1`
	objects = `SELECT c.oid, c.relacl FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind::text = ANY($2::text[]) AND (cardinality($3::text[]) = 0 OR c.relname::text = ANY($3::text[]))`
	// A privilege counts where the role has it on each of the objects.
	onObjects = `WITH o AS (` + objects + `)
		SELECT a.privilege_type, bool_and(a.is_grantable) FROM o, aclexplode(o.relacl) a
		WHERE a.grantee = $4 GROUP BY a.privilege_type HAVING count(DISTINCT o.oid) = (SELECT count(*) FROM o)`
)

// Read finds the privileges that the role has.
func (o Grant) Read(ctx context.Context, r guest.ReadRequest[GrantInputs, GrantState]) (guest.ReadResponse[GrantInputs, GrantState], error) {
	var response guest.ReadResponse[GrantInputs, GrantState]
	if r.State == nil {
		return response, guest.InvalidArgument("id", "a grant cannot be imported: declare it, which changes nothing where the role has these privileges")
	}
	in := r.State.GrantInputs
	err := o.server.in(ctx, in.Database, func(conn *pgx.Conn) (err error) {
		in.Privileges, in.WithGrantOption, err = in.read(ctx, conn)
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows), isCode(err, invalidCatalogName):
		return response, guest.NotFound("the role, or what the privileges are for, is gone")
	case err != nil:
		return response, err
	case len(in.Privileges) == 0 && len(r.State.Privileges) > 0:
		return response, guest.NotFound("the role " + in.Role + " has no such privileges")
	}
	response.Inputs, response.State = in, GrantState{in}
	return response, nil
}

// read asks for the privileges that there are. What is for all tables or sequences of a
// schema stays as it is where the schema has none.
func (in GrantInputs) read(ctx context.Context, conn *pgx.Conn) (held []string, grantable bool, err error) {
	var grantee uint32 // 0 for all roles
	if in.Role != "public" {
		if err := conn.QueryRow(ctx, "SELECT oid FROM pg_roles WHERE rolname = $1", in.Role).Scan(&grantee); err != nil {
			return nil, false, err
		}
	}
	query, args := onDatabase, []any{grantee, in.Database}
	switch in.ObjectType {
	case "schema":
		query, args = onSchema, []any{grantee, in.Schema}
	case "table", "sequence":
		kinds := []string{"S"}
		if in.ObjectType == "table" {
			kinds = []string{"r", "v", "m", "f", "p"}
		}
		args = []any{in.Schema, kinds, append([]string{}, in.Objects...)}
		var some bool
		const inSchema = "SELECT EXISTS (" + objects + ") FROM pg_namespace WHERE nspname = $1"
		if err := conn.QueryRow(ctx, inSchema, args...).Scan(&some); err != nil {
			return nil, false, err
		}
		if !some && len(in.Objects) == 0 {
			return in.Privileges, in.WithGrantOption, nil
		}
		query, args = onObjects, append(args, grantee)
	}
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	held, grantable = []string{}, true
	var privilege string
	var passed bool
	_, err = pgx.ForEachRow(rows, []any{&privilege, &passed}, func() error {
		held = append(held, privilege)
		grantable = grantable && passed
		return nil
	})
	slices.Sort(held)
	if len(held) == 0 {
		grantable = in.WithGrantOption
	}
	return held, grantable, err
}
