package provider

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// RoleInputs are the inputs of postgresql:Role.
type RoleInputs struct {
	Name            string   `husk:"name,autoname=63,replace" doc:"The role's name."`
	Login           bool     `husk:"login,default=false" doc:"Whether the role may log in."`
	Password        string   `husk:"password,optional,secret" doc:"The password to log in with; without one the role has none."`
	Superuser       bool     `husk:"superuser,default=false" doc:"Whether nothing is checked for the role."`
	CreateDatabase  bool     `husk:"createDatabase,default=false" doc:"Whether the role may make databases."`
	CreateRole      bool     `husk:"createRole,default=false" doc:"Whether the role may make and change roles."`
	Inherit         bool     `husk:"inherit,default=true" doc:"Whether the role has the privileges of the roles that it is a member of."`
	Replication     bool     `husk:"replication,default=false" doc:"Whether the role may replicate."`
	ConnectionLimit int      `husk:"connectionLimit,default=-1,min=-1" doc:"How many connections the role may have at once; -1 for any number."`
	Roles           []string `husk:"roles,optional" doc:"The roles that this one is a member of."`
}

// RoleState is the state of postgresql:Role.
type RoleState struct {
	RoleInputs
}

// Role implements postgresql:Role.
type Role struct{ server *server }

// Check checks the name, and sorts the list of roles.
func (Role) Check(_ context.Context, r guest.CheckRequest[RoleInputs]) ([]guest.CheckFailure, error) {
	if r.Known("roles") {
		slices.Sort(r.Inputs.Roles)
		r.Inputs.Roles = slices.Compact(r.Inputs.Roles)
	}
	return checkName(r.Inputs.Name), nil
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
	switch {
	case in.Password == is.Password:
	case in.Password == "":
		list = append(list, "PASSWORD NULL")
	default:
		list = append(list, "PASSWORD "+text(in.Password))
	}
	return strings.Join(list, " ")
}

// Create makes the role. Its ID is its name.
func (o Role) Create(ctx context.Context, r guest.CreateRequest[RoleInputs]) (guest.CreateResponse[RoleState], error) {
	in, plain := r.Inputs, RoleInputs{Inherit: true, ConnectionLimit: -1}
	statements := []string{"CREATE ROLE " + name(in.Name) + " " + in.changes(plain)}
	for _, group := range in.Roles {
		statements = append(statements, "GRANT "+name(group)+" TO "+name(in.Name))
	}
	if err := o.server.run(ctx, "", statements...); err != nil {
		return guest.CreateResponse[RoleState]{}, err
	}
	return guest.CreateResponse[RoleState]{ID: in.Name, State: RoleState{in}}, nil
}

// Read finds what the role is. Passwords cannot be read, so that the recorded one stays.
func (o Role) Read(ctx context.Context, r guest.ReadRequest[RoleInputs, RoleState]) (guest.ReadResponse[RoleInputs, RoleState], error) {
	in := RoleInputs{Name: r.ID}
	err := o.server.find(ctx, "", "there is no role "+r.ID, `
		SELECT rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolinherit, rolreplication, rolconnlimit,
			ARRAY(SELECT g.rolname::text FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid ORDER BY 1)
		FROM pg_roles r WHERE rolname = $1`, []any{r.ID},
		&in.Login, &in.Superuser, &in.CreateDatabase, &in.CreateRole, &in.Inherit, &in.Replication, &in.ConnectionLimit, &in.Roles)
	if err != nil {
		return guest.ReadResponse[RoleInputs, RoleState]{}, err
	}
	slices.Sort(in.Roles)
	if r.Inputs != nil {
		in.Password = r.Inputs.Password
		if len(in.Roles) == 0 {
			in.Roles = r.Inputs.Roles[:0:0]
		}
	}
	if len(in.Roles) == 0 {
		in.Roles = nil
	}
	return guest.ReadResponse[RoleInputs, RoleState]{Inputs: in, State: RoleState{in}}, nil
}

// Update changes the role.
func (o Role) Update(ctx context.Context, r guest.UpdateRequest[RoleInputs, RoleState]) (guest.UpdateResponse[RoleState], error) {
	in := r.Inputs
	var statements []string
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
	return guest.UpdateResponse[RoleState]{State: RoleState{in}}, o.server.run(ctx, "", statements...)
}

// Delete deletes the role, which must own nothing any more.
func (o Role) Delete(ctx context.Context, r guest.DeleteRequest[RoleState]) error {
	return o.server.execute(ctx, "", "DROP ROLE IF EXISTS "+name(r.ID))
}
