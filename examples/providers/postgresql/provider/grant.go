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
	ObjectType      string   `husk:"objectType,replace,oneof=database|schema|table|sequence|function|procedure|routine|column|foreign_data_wrapper|foreign_server" doc:"What they are for. A routine is a function or a procedure."`
	Schema          string   `husk:"schema,optional,replace" doc:"The schema that they are for, or that the tables, sequences, or routines are in."`
	Objects         []string `husk:"objects,optional,replace" doc:"The objects; without any, all of the type that are in the schema now. A routine is named alone, or with the types of its arguments, as in add(integer, integer). For columns it is their table."`
	Columns         []string `husk:"columns,optional,replace" doc:"The columns of the table that is given in objects, where the type is column."`
	Privileges      []string `husk:"privileges" doc:"All privileges that the role has there, for example SELECT. None takes all away. For columns, privileges that are not named stay as they are."`
	WithGrantOption bool     `husk:"withGrantOption,default=false" doc:"Whether the role may pass them on."`
}

// GrantState is the state of postgresql:Grant.
type GrantState struct {
	GrantInputs
}

// Grant implements postgresql:Grant.
type Grant struct{ server *server }

// Check refuses unknown privileges, and sorts them.
func (Grant) Check(_ context.Context, r guest.CheckRequest[GrantInputs]) (failures []guest.CheckFailure, _ error) {
	in := r.Inputs
	for name, list := range map[string]*[]string{"objects": &in.Objects, "columns": &in.Columns} {
		if r.Known(name) {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	if !r.Known("objectType") {
		return nil, nil
	}
	fail := func(path, reason string) {
		failures = append(failures, guest.CheckFailure{Path: path, Reason: reason})
	}
	kind, column := kindOf(in.ObjectType), in.ObjectType == "column"
	switch {
	case !kind.inSchema && in.Schema != "":
		fail("schema", "is not for privileges on a "+in.ObjectType)
	case kind.inSchema && in.Schema == "" && r.Known("schema"):
		fail("schema", "must be given for privileges on a "+in.ObjectType)
	}
	switch {
	case kind.single && len(in.Objects) != 1 && r.Known("objects") && column:
		fail("objects", "must be the one table that the columns are of")
	case kind.single && len(in.Objects) != 1 && r.Known("objects"):
		fail("objects", "must have exactly one "+in.ObjectType)
	case !kind.single && !kind.all && len(in.Objects) > 0:
		fail("objects", "are not for privileges on a "+in.ObjectType)
	}
	switch {
	case column && len(in.Columns) == 0 && r.Known("columns"):
		fail("columns", "must be given for privileges on a column")
	case !column && len(in.Columns) > 0:
		fail("columns", "are for the objectType column, not "+in.ObjectType)
	}
	if !r.Known("privileges") {
		return failures, nil
	}
	if column && len(in.Privileges) == 0 {
		fail("privileges", "must be given for privileges on a column: those that are not named stay as they are")
	}
	checked, wrong := checkPrivileges(in.Privileges, in.ObjectType)
	in.Privileges = checked
	return append(failures, wrong...), nil
}

// grantID is the form of the ID of a grant.
const grantID = "role@database@objectType@schema@objects@columns"

func (in GrantInputs) id() string {
	return idOf(in.Role, in.Database, in.ObjectType, in.Schema, listOf(in.Objects), listOf(in.Columns))
}

// put makes the role have these privileges and no others; for columns, not the ones that it had by the same grant.
func (o Grant) put(ctx context.Context, in GrantInputs, had []string) error {
	return o.server.within(ctx, in.Database, pgx.TxOptions{}, func(tx pgx.Tx) error {
		on, err := in.on(ctx, tx)
		if err != nil {
			return err
		}
		var statements []string
		switch {
		case in.ObjectType != "column":
			statements = append(statements, "REVOKE ALL PRIVILEGES ON "+on+" FROM "+grantee(in.Role))
		case len(had) > 0:
			statements = append(statements, "REVOKE "+in.list(had)+" ON "+on+" FROM "+grantee(in.Role))
		}
		if len(in.Privileges) > 0 {
			statement := "GRANT " + in.list(in.Privileges) + " ON " + on + " TO " + grantee(in.Role)
			if in.WithGrantOption {
				statement += " WITH GRANT OPTION"
			}
			statements = append(statements, statement)
		}
		return executeAll(ctx, tx, statements...)
	})
}

// list returns privileges as GRANT has them.
func (in GrantInputs) list(privileges []string) string {
	if len(in.Columns) == 0 {
		return strings.Join(privileges, ", ")
	}
	columns := " (" + names(in.Columns) + ")"
	return strings.Join(privileges, columns+", ") + columns
}

// Create gives the privileges, and takes others away.
func (o Grant) Create(ctx context.Context, r guest.CreateRequest[GrantInputs]) (guest.CreateResponse[GrantState], error) {
	if err := o.put(ctx, r.Inputs, nil); err != nil {
		return guest.CreateResponse[GrantState]{}, err
	}
	return guest.CreateResponse[GrantState]{ID: r.Inputs.id(), State: GrantState{r.Inputs}}, nil
}

// Update gives and takes privileges.
func (o Grant) Update(ctx context.Context, r guest.UpdateRequest[GrantInputs, GrantState]) (guest.UpdateResponse[GrantState], error) {
	return guest.UpdateResponse[GrantState]{State: GrantState{r.Inputs}}, o.put(ctx, r.Inputs, r.State.Privileges)
}

// Delete takes the privileges away, also where some of the objects or columns are gone.
func (o Grant) Delete(ctx context.Context, r guest.DeleteRequest[GrantState]) error {
	in := r.State.GrantInputs
	in.Privileges = nil
	err := o.put(ctx, in, r.State.Privileges)
	if !isMissing(err) {
		return err
	}
	if len(in.Objects)+len(in.Columns) > 1 {
		for _, part := range in.each() {
			if err := o.put(ctx, part, r.State.Privileges); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	return guest.NotFound("what the privileges are for, or the role, is gone")
}

// isMissing reports whether a statement failed because its object, or the role, is gone.
func isMissing(err error) bool {
	_, routine := errors.AsType[missingRoutine](err)
	return routine || isCode(err, invalidCatalogName, invalidSchemaName, undefinedObject, undefinedTable, undefinedColumn, undefinedFunction)
}

// each returns grants of one object or column each.
func (in GrantInputs) each() (parts []GrantInputs) {
	for _, column := range in.Columns {
		part := in
		part.Columns = []string{column}
		parts = append(parts, part)
	}
	if len(in.Columns) > 0 {
		return parts
	}
	for _, object := range in.Objects {
		part := in
		part.Objects = []string{object}
		parts = append(parts, part)
	}
	return parts
}

// Read finds the privileges that the role has.
func (o Grant) Read(ctx context.Context, r guest.ReadRequest[GrantInputs, GrantState]) (guest.ReadResponse[GrantInputs, GrantState], error) {
	var response guest.ReadResponse[GrantInputs, GrantState]
	var in GrantInputs
	if r.State != nil {
		in = r.State.GrantInputs
	} else {
		parts, err := partsOfID(r.ID, grantID, 3)
		if err != nil {
			return response, err
		}
		in = GrantInputs{Role: parts[0], Database: parts[1], ObjectType: parts[2], Schema: parts[3], Objects: listIn(parts[4]), Columns: listIn(parts[5])}
	}
	declared := in.Privileges
	err := o.server.in(ctx, in.Database, func(conn *pgx.Conn) (err error) {
		in.Privileges, in.WithGrantOption, err = in.read(ctx, conn)
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows), isCode(err, invalidCatalogName):
		return response, guest.NotFound("the role, or what the privileges are for, is gone")
	case err != nil:
		return response, err
	case len(in.Privileges) == 0 && (len(declared) > 0 || r.State == nil):
		return response, guest.NotFound("the role " + in.Role + " has no such privileges")
	}
	response.Inputs, response.State = in, GrantState{in}
	return response, nil
}
