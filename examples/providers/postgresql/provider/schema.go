package provider

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// SchemaInputs are the inputs of postgresql:Schema.
type SchemaInputs struct {
	Name        string `husk:"name,autoname=63" doc:"The schema's name."`
	Database    string `husk:"database,replace" doc:"The database that it is in."`
	Owner       string `husk:"owner,computed" doc:"The role that owns it; the provider's own where none is given."`
	DropCascade bool   `husk:"dropCascade,default=false" doc:"Whether to delete the schema with all that is in it. Otherwise it must be empty."`
}

// SchemaState is the state of postgresql:Schema.
type SchemaState struct {
	SchemaInputs
}

// Schema implements postgresql:Schema.
type Schema struct{ server *server }

// Check refuses an invalid name.
func (Schema) Check(_ context.Context, r guest.CheckRequest[SchemaInputs]) ([]guest.CheckFailure, error) {
	return checkName(r.Inputs.Name), nil
}

// Create makes the schema. Its ID is the database, a dot, and its name.
func (o Schema) Create(ctx context.Context, r guest.CreateRequest[SchemaInputs]) (guest.CreateResponse[SchemaState], error) {
	in := r.Inputs
	statement := "CREATE SCHEMA " + name(in.Name)
	if in.Owner != "" {
		statement += " AUTHORIZATION " + name(in.Owner)
	} else {
		in.Owner = o.server.user()
	}
	if err := o.server.run(ctx, in.Database, statement); err != nil {
		return guest.CreateResponse[SchemaState]{}, err
	}
	return guest.CreateResponse[SchemaState]{ID: in.Database + "." + in.Name, State: SchemaState{in}}, nil
}

// Read finds who owns the schema.
func (o Schema) Read(ctx context.Context, r guest.ReadRequest[SchemaInputs, SchemaState]) (guest.ReadResponse[SchemaInputs, SchemaState], error) {
	var response guest.ReadResponse[SchemaInputs, SchemaState]
	in, err := partsOf(r.ID)
	if err != nil {
		return response, err
	}
	found := SchemaInputs{Database: in[0], Name: in[1]}
	if r.State != nil {
		found = r.State.SchemaInputs // the name may have changed, the ID has not
	}
	err = o.server.find(ctx, found.Database, "there is no schema "+found.Name+" in "+found.Database,
		"SELECT pg_get_userbyid(nspowner)::text FROM pg_namespace WHERE nspname = $1", []any{found.Name}, &found.Owner)
	if err != nil {
		return response, err
	}
	response.Inputs, response.State = found, SchemaState{found}
	if r.Inputs != nil && r.Inputs.Owner == "" || r.Inputs == nil && found.Owner == o.server.user() {
		response.Inputs.Owner = "" // it need not be given
	}
	return response, nil
}

// partsOf reads the ID of an object in a database: the database, a dot, and a name.
func partsOf(id string) ([2]string, error) {
	database, rest, ok := strings.Cut(id, ".")
	if !ok || database == "" || rest == "" {
		return [2]string{}, guest.InvalidArgument("id", "the ID is to be a database, a dot, and a name, as in app.reports")
	}
	return [2]string{database, rest}, nil
}

// Update renames the schema, and gives it to another owner.
func (o Schema) Update(ctx context.Context, r guest.UpdateRequest[SchemaInputs, SchemaState]) (guest.UpdateResponse[SchemaState], error) {
	in := r.Inputs
	var statements []string
	if in.Name != r.State.Name {
		statements = append(statements, "ALTER SCHEMA "+name(r.State.Name)+" RENAME TO "+name(in.Name))
	}
	switch {
	case in.Owner == "":
		in.Owner = r.State.Owner
	case in.Owner != r.State.Owner:
		statements = append(statements, "ALTER SCHEMA "+name(in.Name)+" OWNER TO "+name(in.Owner))
	}
	return guest.UpdateResponse[SchemaState]{State: SchemaState{in}}, o.server.run(ctx, in.Database, statements...)
}

// Delete deletes the schema.
func (o Schema) Delete(ctx context.Context, r guest.DeleteRequest[SchemaState]) error {
	statement := "DROP SCHEMA IF EXISTS " + name(r.State.Name)
	if r.State.DropCascade {
		statement += " CASCADE"
	}
	err := o.server.run(ctx, r.State.Database, statement)
	if isCode(err, invalidCatalogName) {
		return guest.NotFound("there is no database " + r.State.Database)
	}
	return err
}
