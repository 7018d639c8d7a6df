package provider

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// UserMappingInputs are the inputs of postgresql:UserMapping.
type UserMappingInputs struct {
	UserName   string            `husk:"userName,replace" doc:"The role that uses the foreign server; PUBLIC for all that have no mapping of their own, and CURRENT_USER for the provider's."`
	ServerName string            `husk:"serverName,replace" doc:"The foreign server."`
	Database   string            `husk:"database,computed,replace" doc:"The database that the server is for; the configured one where none is given."`
	Options    map[string]string `husk:"options,optional,secret" doc:"The options of the wrapper, for example the user and the password on the foreign server."`
}

// UserMappingState is the state of postgresql:UserMapping.
type UserMappingState struct {
	UserMappingInputs
}

// UserMapping implements postgresql:UserMapping.
type UserMapping struct{ server *server }

// userMappingID is the form of the ID of a user mapping.
const userMappingID = "userName@serverName@database"

// of returns whom the mapping is for and on which server, as statements have it.
func (in UserMappingInputs) of() string {
	user := name(in.UserName)
	switch in.UserName {
	case "PUBLIC", "CURRENT_ROLE", "CURRENT_USER", "USER":
		user = in.UserName
	case "public":
		user = "PUBLIC"
	}
	return "USER MAPPING FOR " + user + " SERVER " + name(in.ServerName)
}

// user returns the name that the catalog has.
func (o UserMapping) user(in UserMappingInputs) string {
	switch in.UserName {
	case "PUBLIC":
		return "public"
	case "CURRENT_ROLE", "CURRENT_USER", "USER":
		return o.server.user()
	}
	return in.UserName
}

// Create makes the mapping.
func (o UserMapping) Create(ctx context.Context, r guest.CreateRequest[UserMappingInputs]) (guest.CreateResponse[UserMappingState], error) {
	in := r.Inputs
	in.Database = o.server.database(in.Database)
	if err := o.server.run(ctx, in.Database, "CREATE "+in.of()+withOptions(in.Options)); err != nil {
		return guest.CreateResponse[UserMappingState]{}, err
	}
	return guest.CreateResponse[UserMappingState]{ID: idOf(in.UserName, in.ServerName, in.Database), State: UserMappingState{in}}, nil
}

// find finds the options of a mapping. The recorded ones stay where the provider's role may not see them.
func (o UserMapping) find(ctx context.Context, in UserMappingInputs) (UserMappingInputs, error) {
	var options []string
	var visible bool
	// The conditions are the same as in the view pg_user_mappings, which shows no options to others.
	err := o.server.find(ctx, in.Database, "there is no mapping of "+in.UserName+" for the server "+in.ServerName+" in "+in.Database, `
		SELECT coalesce(m.umoptions, '{}'), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
			OR m.umuser <> 0 AND m.usename = current_user AND (pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE'))
			OR m.umuser = 0 AND pg_has_role(s.srvowner, 'USAGE')
		FROM pg_user_mappings m JOIN pg_foreign_server s ON s.oid = m.srvid WHERE m.usename = $1 AND m.srvname = $2`,
		[]any{o.user(in), in.ServerName}, &options, &visible)
	if err == nil && visible {
		in.Options = optionsIn(options, in.Options)
	}
	return in, err
}

// Read finds what the mapping is.
func (o UserMapping) Read(ctx context.Context, r guest.ReadRequest[UserMappingInputs, UserMappingState]) (guest.ReadResponse[UserMappingInputs, UserMappingState], error) {
	var response guest.ReadResponse[UserMappingInputs, UserMappingState]
	var in UserMappingInputs
	if r.State != nil {
		in = r.State.UserMappingInputs
	} else {
		parts, err := partsOfID(r.ID, userMappingID, 2)
		if err != nil {
			return response, err
		}
		in = UserMappingInputs{UserName: parts[0], ServerName: parts[1], Database: o.server.database(parts[2])}
		response.ID = idOf(in.UserName, in.ServerName, in.Database)
	}
	found, err := o.find(ctx, in)
	if err != nil {
		return response, err
	}
	response.Inputs, response.State = found, UserMappingState{found}
	if r.Inputs != nil && r.Inputs.Database == "" || r.Inputs == nil && found.Database == o.server.database("") {
		response.Inputs.Database = ""
	}
	return response, nil
}

// Update changes the options.
func (o UserMapping) Update(ctx context.Context, r guest.UpdateRequest[UserMappingInputs, UserMappingState]) (guest.UpdateResponse[UserMappingState], error) {
	var response guest.UpdateResponse[UserMappingState]
	in := r.Inputs
	in.Database = r.State.Database
	is, err := o.find(ctx, r.State.UserMappingInputs)
	if err != nil {
		return response, err
	}
	response.State = UserMappingState{in}
	if changes := changeOptions(is.Options, in.Options); changes != "" {
		err = o.server.run(ctx, in.Database, "ALTER "+in.of()+changes)
	}
	return response, err
}

// Delete deletes the mapping.
func (o UserMapping) Delete(ctx context.Context, r guest.DeleteRequest[UserMappingState]) error {
	err := o.server.run(ctx, r.State.Database, "DROP "+r.State.of())
	if isCode(err, invalidCatalogName, undefinedObject) {
		return guest.NotFound("the mapping, the server, or the role is gone")
	}
	return err
}
