package provider

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// ExtensionInputs are the inputs of postgresql:Extension.
type ExtensionInputs struct {
	Name        string `husk:"name,replace" doc:"The extension's name, for example pgcrypto. The server must have it."`
	Database    string `husk:"database,replace" doc:"The database to install it in."`
	Schema      string `husk:"schema,computed,replace" doc:"The schema for its objects; the extension's own choice where none is given."`
	Version     string `husk:"version,computed" doc:"The version; the server's default where none is given."`
	DropCascade bool   `husk:"dropCascade,default=false" doc:"Whether to remove what depends on it, too."`
}

// ExtensionState is the state of postgresql:Extension.
type ExtensionState struct {
	ExtensionInputs
}

// Extension implements postgresql:Extension.
type Extension struct{ server *server }

// Create installs the extension. Its ID is the database, a dot, and its name.
func (o Extension) Create(ctx context.Context, r guest.CreateRequest[ExtensionInputs]) (guest.CreateResponse[ExtensionState], error) {
	var response guest.CreateResponse[ExtensionState]
	in := r.Inputs
	// An extension that names no schema goes into the first one of the search path.
	statement := "CREATE EXTENSION " + name(in.Name)
	if in.Schema != "" {
		statement += " SCHEMA " + name(in.Schema)
	}
	if in.Version != "" {
		statement += " VERSION " + text(in.Version)
	}
	if err := o.server.run(ctx, in.Database, "SET LOCAL search_path TO public", statement); err != nil {
		return response, err
	}
	response.ID, response.State = in.Database+"."+in.Name, ExtensionState{in}
	found, err := o.find(ctx, in)
	if err != nil {
		return response, guest.InitFailed("the extension was installed, but cannot be read: " + err.Error())
	}
	response.State = ExtensionState{found}
	return response, nil
}

// find completes the properties of an extension.
func (o Extension) find(ctx context.Context, in ExtensionInputs) (ExtensionInputs, error) {
	found, _, err := o.findWithDefaults(ctx, in)
	return found, err
}

// findWithDefaults also returns the extension with the default schema and version.
func (o Extension) findWithDefaults(ctx context.Context, in ExtensionInputs) (found, usual ExtensionInputs, err error) {
	found, usual = in, in
	err = o.server.find(ctx, in.Database, "there is no extension "+in.Name+" in "+in.Database, `
		SELECT n.nspname::text, e.extversion, coalesce(v.schema::text, 'public'), coalesce(a.default_version, '')
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		LEFT JOIN pg_available_extensions a ON a.name = e.extname
		LEFT JOIN pg_available_extension_versions v ON v.name = e.extname AND v.version = e.extversion
		WHERE e.extname = $1`, []any{in.Name}, &found.Schema, &found.Version, &usual.Schema, &usual.Version)
	return found, usual, err
}

// Read finds the schema and the version of the extension.
func (o Extension) Read(ctx context.Context, r guest.ReadRequest[ExtensionInputs, ExtensionState]) (guest.ReadResponse[ExtensionInputs, ExtensionState], error) {
	var response guest.ReadResponse[ExtensionInputs, ExtensionState]
	parts, err := partsOf(r.ID)
	if err != nil {
		return response, err
	}
	given := ExtensionInputs{Database: parts[0], Name: parts[1]}
	if r.Inputs != nil {
		given = *r.Inputs
	}
	found, usual, err := o.findWithDefaults(ctx, given)
	if err != nil {
		return response, err
	}
	// Optional inputs that were not given stay so.
	response.Inputs, response.State = found, ExtensionState{found}
	if r.Inputs != nil && given.Schema == "" || r.Inputs == nil && found.Schema == usual.Schema {
		response.Inputs.Schema = ""
	}
	if r.Inputs != nil && given.Version == "" || r.Inputs == nil && found.Version == usual.Version {
		response.Inputs.Version = ""
	}
	return response, nil
}

// Update changes the version.
func (o Extension) Update(ctx context.Context, r guest.UpdateRequest[ExtensionInputs, ExtensionState]) (guest.UpdateResponse[ExtensionState], error) {
	var response guest.UpdateResponse[ExtensionState]
	in := r.Inputs
	if in.Version != "" && in.Version != r.State.Version {
		if err := o.server.run(ctx, in.Database, "ALTER EXTENSION "+name(in.Name)+" UPDATE TO "+text(in.Version)); err != nil {
			return response, err
		}
	}
	found, err := o.find(ctx, in)
	response.State = ExtensionState{found}
	return response, err
}

// Delete removes the extension.
func (o Extension) Delete(ctx context.Context, r guest.DeleteRequest[ExtensionState]) error {
	statement := "DROP EXTENSION IF EXISTS " + name(r.State.Name)
	if r.State.DropCascade {
		statement += " CASCADE"
	}
	err := o.server.run(ctx, r.State.Database, statement)
	if isCode(err, invalidCatalogName) {
		return guest.NotFound("there is no database " + r.State.Database)
	}
	return err
}
