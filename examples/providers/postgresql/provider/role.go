package provider

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// RoleInputs are the inputs of postgresql:Role.
type RoleInputs struct {
	Name                            string          `husk:"name,autoname=63" doc:"The role's name."`
	Login                           bool            `husk:"login,default=false" doc:"Whether the role may log in."`
	Password                        string          `husk:"password,optional,secret" doc:"The password to log in with; without one the role has none."`
	EncryptedPassword               bool            `husk:"encryptedPassword,default=true" doc:"Whether the server keeps the password encrypted, which it always does."`
	ValidUntil                      string          `husk:"validUntil,default=infinity" doc:"When the password stops being valid, as PostgreSQL reads it, for example 2030-01-31T12:00:00Z; infinity for never."`
	Superuser                       bool            `husk:"superuser,default=false" doc:"Whether nothing is checked for the role."`
	CreateDatabase                  bool            `husk:"createDatabase,default=false" doc:"Whether the role may make databases."`
	CreateRole                      bool            `husk:"createRole,default=false" doc:"Whether the role may make and change roles."`
	Inherit                         bool            `husk:"inherit,default=true" doc:"Whether the role has the privileges of the roles that it is a member of."`
	Replication                     bool            `husk:"replication,default=false" doc:"Whether the role may replicate."`
	BypassRowLevelSecurity          bool            `husk:"bypassRowLevelSecurity,default=false" doc:"Whether the role sees all rows, whatever the policies of tables say."`
	ConnectionLimit                 int             `husk:"connectionLimit,default=-1,min=-1" doc:"How many connections the role may have at once; -1 for any number."`
	Roles                           []string        `husk:"roles,optional" doc:"The roles that this one is a member of."`
	SearchPaths                     []string        `husk:"searchPaths,optional" doc:"The schemas that the role's sessions look names up in, in this order."`
	StatementTimeout                *int            `husk:"statementTimeout,min=0" doc:"How many milliseconds a statement of the role may take; 0 for any number."`
	IdleInTransactionSessionTimeout *int            `husk:"idleInTransactionSessionTimeout,min=0" doc:"How many milliseconds a transaction of the role may wait for its client; 0 for any number."`
	AssumeRole                      string          `husk:"assumeRole,optional" doc:"The role that sessions become when they begin."`
	Parameters                      []RoleParameter `husk:"parameters,optional" doc:"Other parameters of the role's sessions."`
	SkipReassignOwned               bool            `husk:"skipReassignOwned,default=false" doc:"Whether deleting the role leaves what it owns and its privileges. Otherwise the provider's role owns it then, in each database."`
	SkipDropRole                    bool            `husk:"skipDropRole,default=false" doc:"Whether deleting the resource leaves the role."`
}

// RoleState is the state of postgresql:Role.
type RoleState struct {
	RoleInputs
}

// Role implements postgresql:Role.
type Role struct{ server *server }

// Check checks the name and the parameters, and sorts the list of roles.
func (Role) Check(_ context.Context, r guest.CheckRequest[RoleInputs]) ([]guest.CheckFailure, error) {
	in := r.Inputs
	failures := checkName(in.Name)
	if r.Known("roles") {
		slices.Sort(in.Roles)
		in.Roles = slices.Compact(in.Roles)
	}
	if !in.EncryptedPassword && r.Known("encryptedPassword") {
		failures = append(failures, guest.CheckFailure{Path: "encryptedPassword", Reason: "must be true: PostgreSQL keeps no passwords in plain text since version 10"})
	}
	if in.ValidUntil == "" || strings.EqualFold(in.ValidUntil, "null") || strings.EqualFold(in.ValidUntil, "infinity") {
		in.ValidUntil = "infinity"
	}
	if r.Known("parameters") {
		failures = append(failures, checkParameters(in.Parameters)...)
	}
	return failures, nil
}

// changes returns the attributes in which the role differs, for CREATE ROLE and ALTER ROLE. Others must
// not be named, because a plain role may not set them, not even to their value.
func (in RoleInputs) changes(is RoleInputs) string {
	var list []string
	for _, o := range []struct {
		on, was bool
		name    string
	}{
		{in.Login, is.Login, "LOGIN"},
		{in.Superuser, is.Superuser, "SUPERUSER"},
		{in.CreateDatabase, is.CreateDatabase, "CREATEDB"},
		{in.CreateRole, is.CreateRole, "CREATEROLE"},
		{in.Inherit, is.Inherit, "INHERIT"},
		{in.Replication, is.Replication, "REPLICATION"},
		{in.BypassRowLevelSecurity, is.BypassRowLevelSecurity, "BYPASSRLS"},
	} {
		switch {
		case o.on && !o.was:
			list = append(list, o.name)
		case o.was && !o.on:
			list = append(list, "NO"+o.name)
		}
	}
	if in.ConnectionLimit != is.ConnectionLimit {
		list = append(list, "CONNECTION LIMIT "+strconv.Itoa(in.ConnectionLimit))
	}
	if in.ValidUntil != cmp.Or(is.ValidUntil, "infinity") { // a state of an earlier version has none
		list = append(list, "VALID UNTIL "+text(in.ValidUntil))
	}
	switch {
	// A password that is kept as MD5 is lost with the name.
	case in.Password == is.Password && (in.Name == is.Name || in.Password == ""):
	case in.Password == "":
		list = append(list, "PASSWORD NULL")
	default:
		list = append(list, "PASSWORD "+text(in.Password))
	}
	return strings.Join(list, " ")
}

// Create makes the role. Its ID is its name.
func (o Role) Create(ctx context.Context, r guest.CreateRequest[RoleInputs]) (guest.CreateResponse[RoleState], error) {
	in, plain := r.Inputs, RoleInputs{Name: r.Inputs.Name, Inherit: true, ConnectionLimit: -1, ValidUntil: "infinity"}
	statements := []string{"CREATE ROLE " + name(in.Name) + " " + in.changes(plain)}
	for _, group := range in.Roles {
		statements = append(statements, "GRANT "+name(group)+" TO "+name(in.Name))
	}
	statements = append(statements, in.settings(plain)...)
	if err := o.server.run(ctx, "", statements...); err != nil {
		return guest.CreateResponse[RoleState]{}, err
	}
	return guest.CreateResponse[RoleState]{ID: in.Name, State: RoleState{in}}, nil
}

// Read finds what the role is. Passwords cannot be read, so that the recorded one stays.
func (o Role) Read(ctx context.Context, r guest.ReadRequest[RoleInputs, RoleState]) (guest.ReadResponse[RoleInputs, RoleState], error) {
	in := RoleInputs{Name: r.ID, EncryptedPassword: true}
	if r.State != nil {
		in.Name = r.State.Name // the name may have changed, the ID has not
	}
	recorded := RoleInputs{}
	if r.Inputs != nil {
		recorded = *r.Inputs
		in.Password, in.SkipReassignOwned, in.SkipDropRole = recorded.Password, recorded.SkipReassignOwned, recorded.SkipDropRole
	}
	var config []string
	err := o.server.find(ctx, "", "there is no role "+in.Name, `
		SELECT rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolinherit, rolreplication, rolbypassrls, rolconnlimit,
			ARRAY(SELECT DISTINCT g.rolname::text FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid ORDER BY 1),
			coalesce(rolconfig, '{}'), coalesce(to_char(nullif(rolvaliduntil, 'infinity') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'infinity')
		FROM pg_roles r WHERE rolname = $1`, []any{in.Name},
		&in.Login, &in.Superuser, &in.CreateDatabase, &in.CreateRole, &in.Inherit, &in.Replication, &in.BypassRowLevelSecurity, &in.ConnectionLimit,
		&in.Roles, &config, &in.ValidUntil)
	if err != nil {
		return guest.ReadResponse[RoleInputs, RoleState]{}, err
	}
	in.ValidUntil = strings.Replace(in.ValidUntil, ".000000Z", "Z", 1)
	if recorded.ValidUntil != "" && recorded.ValidUntil != in.ValidUntil && in.ValidUntil != "infinity" {
		// The same time can be written in many ways.
		var same bool
		err := o.server.find(ctx, "", "", "SELECT $1::text::timestamptz = $2::text::timestamptz", []any{recorded.ValidUntil, in.ValidUntil}, &same)
		if err != nil {
			return guest.ReadResponse[RoleInputs, RoleState]{}, err
		}
		if same {
			in.ValidUntil = recorded.ValidUntil
		}
	}
	if err := in.readSettings(config, recorded); err != nil {
		return guest.ReadResponse[RoleInputs, RoleState]{}, err
	}
	slices.Sort(in.Roles)
	if len(in.Roles) == 0 {
		in.Roles = recorded.Roles[:0:0]
	}
	return guest.ReadResponse[RoleInputs, RoleState]{Inputs: in, State: RoleState{in}}, nil
}

// Update changes the role.
func (o Role) Update(ctx context.Context, r guest.UpdateRequest[RoleInputs, RoleState]) (guest.UpdateResponse[RoleState], error) {
	in := r.Inputs
	var statements []string
	if in.Name != r.State.Name {
		statements = append(statements, "ALTER ROLE "+name(r.State.Name)+" RENAME TO "+name(in.Name))
	}
	if changes := in.changes(r.State.RoleInputs); changes != "" {
		statements = append(statements, "ALTER ROLE "+name(in.Name)+" "+changes)
	}
	for _, group := range r.State.Roles {
		if !slices.Contains(in.Roles, group) {
			statements = append(statements, "REVOKE "+name(group)+" FROM "+name(in.Name))
		}
	}
	for _, group := range in.Roles {
		if !slices.Contains(r.State.Roles, group) {
			statements = append(statements, "GRANT "+name(group)+" TO "+name(in.Name))
		}
	}
	statements = append(statements, in.settings(r.State.RoleInputs)...)
	return guest.UpdateResponse[RoleState]{State: RoleState{in}}, o.server.run(ctx, "", statements...)
}

// Delete deletes the role. Before that, it makes the provider's role the owner of the role's objects, and takes the privileges of
// the role away, in each database where it has any.
func (o Role) Delete(ctx context.Context, r guest.DeleteRequest[RoleState]) error {
	role := r.State.Name
	var databases []string
	if !r.State.SkipReassignOwned {
		if role == o.server.user() {
			return guest.InvalidArgument("name", "the provider logs in as "+role+", and would lose what it owns: configure another username, or set skipReassignOwned and skipDropRole")
		}
		// Objects outside of databases, such as a database itself, are found with the empty name.
		err := o.server.find(ctx, "", "there is no role "+role, `
			SELECT ARRAY(
				SELECT DISTINCT coalesce(b.datname::text, '') FROM pg_shdepend d LEFT JOIN pg_database b ON b.oid = d.dbid
				WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid ORDER BY 1)
			FROM pg_roles r WHERE r.rolname = $1`, []any{role}, &databases)
		if err != nil {
			return err
		}
	}
	here := o.server.database("")
	for _, database := range databases {
		if database == "" || database == here {
			continue
		}
		err := o.server.within(ctx, database, pgx.TxOptions{}, func(tx pgx.Tx) error { return o.disown(ctx, tx, role) })
		if err != nil {
			return err
		}
	}
	return o.server.within(ctx, "", pgx.TxOptions{}, func(tx pgx.Tx) error {
		if slices.Contains(databases, "") || slices.Contains(databases, here) {
			if err := o.disown(ctx, tx, role); err != nil {
				return err
			}
		}
		if r.State.SkipDropRole {
			return nil
		}
		return executeAll(ctx, tx, "DROP ROLE IF EXISTS "+name(role))
	})
}

// disown takes what a role owns and its privileges in a database away from it.
func (o Role) disown(ctx context.Context, tx pgx.Tx, role string) error {
	return o.server.as(ctx, tx, role, func() error {
		return executeAll(ctx, tx, "REASSIGN OWNED BY "+name(role)+" TO CURRENT_USER", "DROP OWNED BY "+name(role))
	})
}
