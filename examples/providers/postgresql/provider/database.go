package provider

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// DatabaseInputs are the inputs of postgresql:Database.
type DatabaseInputs struct {
	Name             string `husk:"name,autoname=63,replace" doc:"The database's name."`
	Owner            string `husk:"owner,computed" doc:"The role that owns it; the provider's own where none is given."`
	Template         string `husk:"template,default=template0,replace" doc:"The database that it begins as a copy of."`
	Encoding         string `husk:"encoding,default=UTF8,replace" doc:"How text is encoded."`
	LcCollate        string `husk:"lcCollate,default=C,replace" doc:"How text is ordered."`
	LcCtype          string `husk:"lcCtype,default=C,replace" doc:"What a letter is."`
	ConnectionLimit  int    `husk:"connectionLimit,default=-1,min=-1" doc:"How many connections there may be at once; -1 for any number."`
	AllowConnections bool   `husk:"allowConnections,default=true" doc:"Whether anybody may connect."`
}

// DatabaseState is the state of postgresql:Database.
type DatabaseState struct {
	DatabaseInputs
}

// Database implements postgresql:Database.
type Database struct{ server *server }

// Check refuses an invalid name.
func (Database) Check(_ context.Context, r guest.CheckRequest[DatabaseInputs]) ([]guest.CheckFailure, error) {
	return checkName(r.Inputs.Name), nil
}

// Create makes the database. Its ID is its name.
func (o Database) Create(ctx context.Context, r guest.CreateRequest[DatabaseInputs]) (guest.CreateResponse[DatabaseState], error) {
	var response guest.CreateResponse[DatabaseState]
	in := r.Inputs
	statement := "CREATE DATABASE " + name(in.Name) +
		" TEMPLATE " + name(in.Template) + " ENCODING " + text(in.Encoding) +
		" LC_COLLATE " + text(in.LcCollate) + " LC_CTYPE " + text(in.LcCtype) +
		" CONNECTION LIMIT " + strconv.Itoa(in.ConnectionLimit) +
		" ALLOW_CONNECTIONS " + strconv.FormatBool(in.AllowConnections)
	if in.Owner != "" {
		statement += " OWNER " + name(in.Owner)
	}
	if err := o.server.execute(ctx, "", statement); err != nil {
		return response, err
	}
	response.ID, response.State = in.Name, DatabaseState{in}
	found, err := o.find(ctx, in.Name)
	if err != nil {
		return response, guest.InitFailed("the database was made, but cannot be read: " + err.Error())
	}
	response.State.Owner = found.Owner
	return response, nil
}

func (o Database) find(ctx context.Context, id string) (in DatabaseInputs, err error) {
	in.Name = id
	err = o.server.find(ctx, "", "there is no database "+id, `
		SELECT pg_get_userbyid(datdba)::text, pg_encoding_to_char(encoding)::text, datcollate::text, datctype::text, datconnlimit, datallowconn
		FROM pg_database WHERE datname = $1`, []any{id},
		&in.Owner, &in.Encoding, &in.LcCollate, &in.LcCtype, &in.ConnectionLimit, &in.AllowConnections)
	return in, err
}

// Read finds the properties of the database. Its template cannot be found.
func (o Database) Read(ctx context.Context, r guest.ReadRequest[DatabaseInputs, DatabaseState]) (guest.ReadResponse[DatabaseInputs, DatabaseState], error) {
	in, err := o.find(ctx, r.ID)
	if err != nil {
		return guest.ReadResponse[DatabaseInputs, DatabaseState]{}, err
	}
	in.Template = "template0"
	if r.Inputs != nil {
		in.Template = r.Inputs.Template
	}
	response := guest.ReadResponse[DatabaseInputs, DatabaseState]{Inputs: in, State: DatabaseState{in}}
	if r.Inputs != nil && r.Inputs.Owner == "" || r.Inputs == nil && in.Owner == o.server.user() {
		response.Inputs.Owner = "" // it need not be given
	}
	return response, nil
}

// Update changes the database.
func (o Database) Update(ctx context.Context, r guest.UpdateRequest[DatabaseInputs, DatabaseState]) (guest.UpdateResponse[DatabaseState], error) {
	in := r.Inputs
	statements := []string{"ALTER DATABASE " + name(in.Name) + " WITH CONNECTION LIMIT " + strconv.Itoa(in.ConnectionLimit) +
		" ALLOW_CONNECTIONS " + strconv.FormatBool(in.AllowConnections)}
	switch {
	case in.Owner == "":
		in.Owner = r.State.Owner
	case in.Owner != r.State.Owner:
		statements = append(statements, "ALTER DATABASE "+name(in.Name)+" OWNER TO "+name(in.Owner))
	}
	return guest.UpdateResponse[DatabaseState]{State: DatabaseState{in}}, o.server.run(ctx, "", statements...)
}

// Delete deletes the database with all that is in it.
func (o Database) Delete(ctx context.Context, r guest.DeleteRequest[DatabaseState]) error {
	return o.server.execute(ctx, "", "DROP DATABASE IF EXISTS "+name(r.ID))
}
