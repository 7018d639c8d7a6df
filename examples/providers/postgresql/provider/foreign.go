package provider

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// ServerInputs are the inputs of postgresql:Server.
type ServerInputs struct {
	ServerName    string            `husk:"serverName" doc:"The name of the foreign server."`
	FdwName       string            `husk:"fdwName,replace" doc:"The foreign data wrapper that connects to it, for example postgres_fdw, an extension."`
	Database      string            `husk:"database,computed,replace" doc:"The database that the server is for; the configured one where none is given."`
	Options       map[string]string `husk:"options,optional" doc:"The options of the wrapper, for example host, port, and dbname."`
	ServerType    string            `husk:"serverType,optional,replace" doc:"The type of the server, if the wrapper wants to know it."`
	ServerVersion string            `husk:"serverVersion,optional" doc:"The version of the server, if the wrapper wants to know it."`
	ServerOwner   string            `husk:"serverOwner,computed" doc:"The role that owns it; the provider's own where none is given."`
	DropCascade   bool              `husk:"dropCascade,default=false" doc:"Whether to delete what depends on it, too, such as user mappings."`
}

// ServerState is the state of postgresql:Server.
type ServerState struct {
	ServerInputs
}

// Server implements postgresql:Server, a server that foreign tables are on.
type Server struct{ server *server }

// Check refuses an invalid name.
func (Server) Check(_ context.Context, r guest.CheckRequest[ServerInputs]) ([]guest.CheckFailure, error) {
	failures := checkName(r.Inputs.ServerName)
	for n := range failures {
		failures[n].Path = "serverName"
	}
	return failures, nil
}

// withOptions returns the options of a new object as OPTIONS has them.
func withOptions(options map[string]string) string {
	if len(options) == 0 {
		return ""
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(options)) {
		list = append(list, name(key)+" "+text(options[key]))
	}
	return " OPTIONS (" + strings.Join(list, ", ") + ")"
}

// changeOptions returns the clauses that change options into others; empty if they are the same.
func changeOptions(is, want map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, exists := is[key]
		switch {
		case !exists:
			list = append(list, "ADD "+name(key)+" "+text(want[key]))
		case value != want[key]:
			list = append(list, "SET "+name(key)+" "+text(want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, exists := want[key]; !exists {
			list = append(list, "DROP "+name(key))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " OPTIONS (" + strings.Join(list, ", ") + ")"
}

// optionsIn reads options as the catalog has them, key=value. Without any, it returns the former options if these are empty.
func optionsIn(list []string, was map[string]string) map[string]string {
	if len(list) == 0 {
		if len(was) == 0 {
			return was
		}
		return nil
	}
	options := make(map[string]string, len(list))
	for _, option := range list {
		key, value, _ := strings.Cut(option, "=")
		options[key] = value
	}
	return options
}

// Create makes the server. Its ID is the database, a dot, and its name.
func (o Server) Create(ctx context.Context, r guest.CreateRequest[ServerInputs]) (guest.CreateResponse[ServerState], error) {
	in := r.Inputs
	in.Database = o.server.database(in.Database)
	statement := "CREATE SERVER " + name(in.ServerName)
	if in.ServerType != "" {
		statement += " TYPE " + text(in.ServerType)
	}
	if in.ServerVersion != "" {
		statement += " VERSION " + text(in.ServerVersion)
	}
	statements := []string{statement + " FOREIGN DATA WRAPPER " + name(in.FdwName) + withOptions(in.Options)}
	if in.ServerOwner != "" {
		statements = append(statements, "ALTER SERVER "+name(in.ServerName)+" OWNER TO "+name(in.ServerOwner))
	} else {
		in.ServerOwner = o.server.user()
	}
	if err := o.server.run(ctx, in.Database, statements...); err != nil {
		return guest.CreateResponse[ServerState]{}, err
	}
	return guest.CreateResponse[ServerState]{ID: in.Database + "." + in.ServerName, State: ServerState{in}}, nil
}

// find completes the properties of a server.
func (o Server) find(ctx context.Context, in ServerInputs) (ServerInputs, error) {
	var options []string
	err := o.server.find(ctx, in.Database, "there is no server "+in.ServerName+" in "+in.Database, `
		SELECT w.fdwname::text, coalesce(s.srvtype, ''), coalesce(s.srvversion, ''), pg_get_userbyid(s.srvowner)::text, coalesce(s.srvoptions, '{}')
		FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw WHERE s.srvname = $1`,
		[]any{in.ServerName}, &in.FdwName, &in.ServerType, &in.ServerVersion, &in.ServerOwner, &options)
	in.Options = optionsIn(options, in.Options)
	return in, err
}

// Read finds what the server is.
func (o Server) Read(ctx context.Context, r guest.ReadRequest[ServerInputs, ServerState]) (guest.ReadResponse[ServerInputs, ServerState], error) {
	var response guest.ReadResponse[ServerInputs, ServerState]
	var given ServerInputs
	given.Database, given.ServerName = o.server.databaseAnd(r.ID)
	if r.State != nil {
		given = r.State.ServerInputs // the name may have changed, the ID has not
	}
	found, err := o.find(ctx, given)
	if err != nil {
		return response, err
	}
	response.Inputs, response.State = found, ServerState{found}
	usual := r.Inputs == nil
	if usual {
		response.ID = found.Database + "." + found.ServerName
	}
	if usual && found.Database == o.server.database("") || !usual && r.Inputs.Database == "" {
		response.Inputs.Database = ""
	}
	if usual && found.ServerOwner == o.server.user() || !usual && r.Inputs.ServerOwner == "" {
		response.Inputs.ServerOwner = ""
	}
	return response, nil
}

// Update changes the server.
func (o Server) Update(ctx context.Context, r guest.UpdateRequest[ServerInputs, ServerState]) (guest.UpdateResponse[ServerState], error) {
	var response guest.UpdateResponse[ServerState]
	in := r.Inputs
	in.Database = r.State.Database
	is, err := o.find(ctx, r.State.ServerInputs)
	if err != nil {
		return response, err
	}
	alter := "ALTER SERVER " + name(in.ServerName)
	var statements []string
	if in.ServerName != is.ServerName {
		statements = append(statements, "ALTER SERVER "+name(is.ServerName)+" RENAME TO "+name(in.ServerName))
	}
	changes := ""
	switch {
	case in.ServerVersion == is.ServerVersion:
	case in.ServerVersion == "":
		changes = " VERSION NULL"
	default:
		changes = " VERSION " + text(in.ServerVersion)
	}
	if changes += changeOptions(is.Options, in.Options); changes != "" {
		statements = append(statements, alter+changes)
	}
	switch {
	case in.ServerOwner == "":
		in.ServerOwner = is.ServerOwner
	case in.ServerOwner != is.ServerOwner:
		statements = append(statements, alter+" OWNER TO "+name(in.ServerOwner))
	}
	response.State = ServerState{in}
	return response, o.server.run(ctx, in.Database, statements...)
}

// Delete deletes the server.
func (o Server) Delete(ctx context.Context, r guest.DeleteRequest[ServerState]) error {
	statement := "DROP SERVER IF EXISTS " + name(r.State.ServerName)
	if r.State.DropCascade {
		statement += " CASCADE"
	}
	err := o.server.run(ctx, r.State.Database, statement)
	if isCode(err, invalidCatalogName) {
		return guest.NotFound("there is no database " + r.State.Database)
	}
	return err
}
