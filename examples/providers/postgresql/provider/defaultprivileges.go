package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// DefaultPrivilegesInputs are the inputs of postgresql:DefaultPrivileges.
type DefaultPrivilegesInputs struct {
	Role            string   `husk:"role,replace" doc:"The role that has the privileges; public for all roles."`
	Database        string   `husk:"database,replace" doc:"The database that the objects are made in."`
	Owner           string   `husk:"owner,replace" doc:"The role that makes the objects."`
	ObjectType      string   `husk:"objectType,replace,oneof=table|sequence|function|routine|type|schema" doc:"What they are for."`
	Schema          string   `husk:"schema,optional,replace" doc:"The schema that the objects are made in; any where none is given."`
	Privileges      []string `husk:"privileges" doc:"All privileges that the role has on new objects by default, for example SELECT. None takes all away."`
	WithGrantOption bool     `husk:"withGrantOption,default=false" doc:"Whether the role may pass them on."`
}

// DefaultPrivilegesState is the state of postgresql:DefaultPrivileges.
type DefaultPrivilegesState struct {
	DefaultPrivilegesInputs
}

// DefaultPrivileges implements postgresql:DefaultPrivileges.
type DefaultPrivileges struct{ server *server }

// Check refuses unknown privileges, and sorts them.
func (DefaultPrivileges) Check(_ context.Context, r guest.CheckRequest[DefaultPrivilegesInputs]) (failures []guest.CheckFailure, _ error) {
	in := r.Inputs
	if in.ObjectType == "schema" && in.Schema != "" {
		failures = append(failures, guest.CheckFailure{Path: "schema", Reason: "is not for default privileges on schemas: no schema is in another one"})
	}
	if in.WithGrantOption && in.Role == "public" {
		failures = append(failures, guest.CheckFailure{Path: "withGrantOption", Reason: "is not for public: PostgreSQL lets only a role pass privileges on"})
	}
	if r.Known("objectType") && r.Known("privileges") {
		checked, wrong := checkPrivileges(in.Privileges, in.ObjectType)
		in.Privileges, failures = checked, append(failures, wrong...)
	}
	return failures, nil
}

// defaultPrivilegesID is the form of the ID of default privileges.
const defaultPrivilegesID = "role@database@owner@objectType@schema"

// put makes the role have these privileges on new objects, and no others.
func (o DefaultPrivileges) put(ctx context.Context, in DefaultPrivilegesInputs) error {
	alter := "ALTER DEFAULT PRIVILEGES FOR ROLE " + name(in.Owner)
	if in.Schema != "" {
		alter += " IN SCHEMA " + name(in.Schema)
	}
	objects := " ON " + kindOf(in.ObjectType).keyword + "S "
	statements := []string{alter + " REVOKE ALL PRIVILEGES" + objects + "FROM " + grantee(in.Role)}
	if len(in.Privileges) > 0 {
		statement := alter + " GRANT " + strings.Join(in.Privileges, ", ") + objects + "TO " + grantee(in.Role)
		if in.WithGrantOption {
			statement += " WITH GRANT OPTION"
		}
		statements = append(statements, statement)
	}
	return o.server.within(ctx, in.Database, pgx.TxOptions{}, func(tx pgx.Tx) error {
		return o.server.as(ctx, tx, in.Owner, func() error { return executeAll(ctx, tx, statements...) })
	})
}

// Create gives the privileges, and takes others away.
func (o DefaultPrivileges) Create(ctx context.Context, r guest.CreateRequest[DefaultPrivilegesInputs]) (guest.CreateResponse[DefaultPrivilegesState], error) {
	in := r.Inputs
	if err := o.put(ctx, in); err != nil {
		return guest.CreateResponse[DefaultPrivilegesState]{}, err
	}
	id := idOf(in.Role, in.Database, in.Owner, in.ObjectType, in.Schema)
	return guest.CreateResponse[DefaultPrivilegesState]{ID: id, State: DefaultPrivilegesState{in}}, nil
}

// Update gives and takes privileges.
func (o DefaultPrivileges) Update(ctx context.Context, r guest.UpdateRequest[DefaultPrivilegesInputs, DefaultPrivilegesState]) (guest.UpdateResponse[DefaultPrivilegesState], error) {
	return guest.UpdateResponse[DefaultPrivilegesState]{State: DefaultPrivilegesState{r.Inputs}}, o.put(ctx, r.Inputs)
}

// Delete takes the privileges away.
func (o DefaultPrivileges) Delete(ctx context.Context, r guest.DeleteRequest[DefaultPrivilegesState]) error {
	in := r.State.DefaultPrivilegesInputs
	in.Privileges = nil
	err := o.put(ctx, in)
	if isCode(err, invalidCatalogName, invalidSchemaName, undefinedObject) {
		return guest.NotFound("a role, the database, or the schema is gone")
	}
	return err
}

// Read finds the privileges that the role has on new objects.
func (o DefaultPrivileges) Read(ctx context.Context, r guest.ReadRequest[DefaultPrivilegesInputs, DefaultPrivilegesState]) (guest.ReadResponse[DefaultPrivilegesInputs, DefaultPrivilegesState], error) {
	var response guest.ReadResponse[DefaultPrivilegesInputs, DefaultPrivilegesState]
	var in DefaultPrivilegesInputs
	if r.State != nil {
		in = r.State.DefaultPrivilegesInputs
	} else {
		parts, err := partsOfID(r.ID, defaultPrivilegesID, 4)
		if err != nil {
			return response, err
		}
		in = DefaultPrivilegesInputs{Role: parts[0], Database: parts[1], Owner: parts[2], ObjectType: parts[3], Schema: parts[4]}
	}
	declared := in.Privileges
	err := o.server.in(ctx, in.Database, func(conn *pgx.Conn) (err error) {
		in.Privileges, in.WithGrantOption, err = in.read(ctx, conn)
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows), isCode(err, invalidCatalogName):
		return response, guest.NotFound("a role, the database, or the schema is gone")
	case err != nil:
		return response, err
	case len(in.Privileges) == 0 && (len(declared) > 0 || r.State == nil):
		return response, guest.NotFound("the role " + in.Role + " has no such privileges by default")
	}
	response.Inputs, response.State = in, DefaultPrivilegesState{in}
	return response, nil
}

// read asks for the privileges. The error is pgx.ErrNoRows if a role or the schema is gone.
func (in DefaultPrivilegesInputs) read(ctx context.Context, conn *pgx.Conn) (held []string, grantable bool, err error) {
	letters := map[string][2]string{ // in pg_default_acl, and of acldefault
		"table": {"r", "r"}, "sequence": {"S", "s"}, "function": {"f", "f"}, "routine": {"f", "f"}, "type": {"T", "T"}, "schema": {"n", "n"},
	}[in.ObjectType]
	if letters[0] == "" {
		return nil, false, guest.InvalidArgument("id", "there are no default privileges on a "+in.ObjectType)
	}
	grantee, err := oidOf(ctx, conn, in.Role)
	if err != nil {
		return nil, false, err
	}
	owner, err := oidOf(ctx, conn, in.Owner)
	if err != nil {
		return nil, false, err
	}
	var schema uint32
	if in.Schema != "" {
		if err := conn.QueryRow(ctx, "SELECT oid FROM pg_namespace WHERE nspname = $1", in.Schema).Scan(&schema); err != nil {
			return nil, false, err
		}
	}
	// Privileges for all schemas replace the usual ones, and privileges for one schema come on top of them.
	rows, err := conn.Query(ctx, `
		SELECT a.privilege_type, a.is_grantable FROM aclexplode(coalesce(
			(SELECT defaclacl FROM pg_default_acl WHERE defaclrole = $2 AND defaclnamespace = $3 AND defaclobjtype = $4::text::"char"),
			CASE WHEN $3::oid = 0 THEN acldefault($5::text::"char", $2) END)) a
		WHERE a.grantee = $1`, grantee, owner, schema, letters[0], letters[1])
	if err != nil {
		return nil, false, err
	}
	held, grantable, err = privilegesIn(rows, nil)
	if len(held) == 0 {
		grantable = in.WithGrantOption
	}
	return held, grantable, err
}
