package provider

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// PublicationInputs are the inputs of postgresql:Publication.
type PublicationInputs struct {
	Name                         string   `husk:"name,autoname=63" doc:"The publication's name."`
	Database                     string   `husk:"database,computed,replace" doc:"The database whose tables it publishes; the configured one where none is given."`
	Owner                        string   `husk:"owner,computed" doc:"The role that owns it; the provider's own where none is given."`
	Tables                       []string `husk:"tables,computed" doc:"The tables that it publishes, as schema.table; those that it has where none are given."`
	AllTables                    bool     `husk:"allTables,default=false,replace" doc:"Whether it publishes all tables of the database. The provider's role must be a superuser then."`
	PublishParams                []string `husk:"publishParams,computed" doc:"The changes that it publishes, of insert, update, delete, and truncate; all where none are given."`
	PublishViaPartitionRootParam bool     `husk:"publishViaPartitionRootParam,default=false" doc:"Whether changes of a partition are published as those of the partitioned table."`
	DropCascade                  bool     `husk:"dropCascade,default=false" doc:"Whether to delete what depends on it, too."`
}

// PublicationState is the state of postgresql:Publication.
type PublicationState struct {
	PublicationInputs
}

// Publication implements postgresql:Publication.
type Publication struct{ server *server }

// published are the changes that a publication can have, in the order of the server.
var published = []string{"insert", "update", "delete", "truncate"}

// Check brings the tables and the changes into order.
func (Publication) Check(_ context.Context, r guest.CheckRequest[PublicationInputs]) ([]guest.CheckFailure, error) {
	in := r.Inputs
	failures := checkName(in.Name)
	fail := func(path, reason string) {
		failures = append(failures, guest.CheckFailure{Path: path, Reason: reason})
	}
	if r.Known("tables") && len(in.Tables) > 0 {
		for n, table := range in.Tables {
			parts, ok := tableParts(table)
			if !ok {
				fail("tables["+strconv.Itoa(n)+"]", `is to be schema.table, with quotes around a name that has a dot, as in public."a.b"`)
				continue
			}
			in.Tables[n] = tableName(parts[0], parts[1])
		}
		slices.Sort(in.Tables)
		in.Tables = slices.Compact(in.Tables)
		if in.AllTables {
			fail("tables", "are not for a publication of all tables")
		}
	}
	if r.Known("publishParams") && in.PublishParams != nil {
		var list []string
		for _, change := range published {
			if slices.Contains(in.PublishParams, change) {
				list = append(list, change)
			}
		}
		for n, change := range in.PublishParams {
			if !slices.Contains(published, change) {
				fail("publishParams["+strconv.Itoa(n)+"]", "there is no "+change+"; there are "+strings.Join(published, ", "))
			}
		}
		if len(in.PublishParams) == 0 {
			fail("publishParams", "must have one of "+strings.Join(published, ", "))
		}
		in.PublishParams = list
	}
	return failures, nil
}

// tableParts reads the name of a table, which is in the schema public where it names none.
func tableParts(table string) (parts [2]string, ok bool) {
	var list []string
	for rest := table; ; {
		part, after, more := "", "", false
		if strings.HasPrefix(rest, `"`) {
			end := strings.Index(strings.ReplaceAll(rest[1:], `""`, "\x00\x00"), `"`)
			if end < 0 {
				return parts, false
			}
			part, after = strings.ReplaceAll(rest[1:1+end], `""`, `"`), rest[end+2:]
			if after != "" && after[0] != '.' {
				return parts, false
			}
			more = after != ""
			after = strings.TrimPrefix(after, ".")
		} else {
			part, after, more = strings.Cut(rest, ".")
		}
		if part == "" {
			return parts, false
		}
		list = append(list, part)
		if rest = after; !more {
			break
		}
	}
	switch len(list) {
	case 1:
		return [2]string{"public", list[0]}, true
	case 2:
		return [2]string{list[0], list[1]}, true
	}
	return parts, false
}

// tableName writes the name of a table, which tableParts reads.
func tableName(parts ...string) string {
	written := make([]string, len(parts))
	for n, part := range parts {
		written[n] = part
		if strings.ContainsAny(part, `."`) {
			written[n] = name(part)
		}
	}
	return strings.Join(written, ".")
}

func quoteTables(tables []string) string {
	quoted := make([]string, len(tables))
	for n, table := range tables {
		parts, _ := tableParts(table)
		quoted[n] = name(parts[:]...)
	}
	return strings.Join(quoted, ", ")
}

// options returns the options for WITH and SET.
func (in PublicationInputs) options() string {
	options := "publish_via_partition_root = " + strconv.FormatBool(in.PublishViaPartitionRootParam)
	if len(in.PublishParams) > 0 {
		options = "publish = " + text(strings.Join(in.PublishParams, ", ")) + ", " + options
	}
	return "(" + options + ")"
}

// Create makes the publication. Its ID is the database, a dot, and its name.
func (o Publication) Create(ctx context.Context, r guest.CreateRequest[PublicationInputs]) (guest.CreateResponse[PublicationState], error) {
	var response guest.CreateResponse[PublicationState]
	in := r.Inputs
	in.Database = o.server.database(in.Database)
	statement := "CREATE PUBLICATION " + name(in.Name)
	switch {
	case in.AllTables:
		statement += " FOR ALL TABLES"
	case len(in.Tables) > 0:
		statement += " FOR TABLE " + quoteTables(in.Tables)
	}
	statements := []string{statement + " WITH " + in.options()}
	if in.Owner != "" {
		statements = append(statements, "ALTER PUBLICATION "+name(in.Name)+" OWNER TO "+name(in.Owner))
	}
	if err := o.server.run(ctx, in.Database, statements...); err != nil {
		return response, err
	}
	response.ID, response.State = in.Database+"."+in.Name, PublicationState{in}
	found, err := o.find(ctx, in)
	if err != nil {
		return response, guest.InitFailed("the publication was made, but cannot be read: " + err.Error())
	}
	response.State = PublicationState{found}
	return response, nil
}

// find completes the properties of a publication.
func (o Publication) find(ctx context.Context, in PublicationInputs) (PublicationInputs, error) {
	changes := make([]bool, len(published))
	var schemas, tables []string
	err := o.server.find(ctx, in.Database, "there is no publication "+in.Name+" in "+in.Database, `
		WITH t AS (
			SELECT r.prpubid, c.oid, n.nspname::text, c.relname::text
			FROM pg_publication_rel r JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace)
		SELECT pg_get_userbyid(pubowner)::text, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot,
			ARRAY(SELECT nspname FROM t WHERE prpubid = p.oid ORDER BY oid), ARRAY(SELECT relname FROM t WHERE prpubid = p.oid ORDER BY oid)
		FROM pg_publication p WHERE pubname = $1`, []any{in.Name},
		&in.Owner, &in.AllTables, &changes[0], &changes[1], &changes[2], &changes[3], &in.PublishViaPartitionRootParam, &schemas, &tables)
	if err != nil {
		return in, err
	}
	in.Tables, in.PublishParams = []string{}, []string{}
	for n, table := range tables {
		in.Tables = append(in.Tables, tableName(schemas[n], table))
	}
	slices.Sort(in.Tables)
	for n, change := range published {
		if changes[n] {
			in.PublishParams = append(in.PublishParams, change)
		}
	}
	return in, nil
}

// Read finds what the publication is.
func (o Publication) Read(ctx context.Context, r guest.ReadRequest[PublicationInputs, PublicationState]) (guest.ReadResponse[PublicationInputs, PublicationState], error) {
	var response guest.ReadResponse[PublicationInputs, PublicationState]
	var given PublicationInputs
	given.Database, given.Name = o.server.databaseAnd(r.ID)
	if r.State != nil {
		given = r.State.PublicationInputs // the name may have changed, the ID has not
	}
	found, err := o.find(ctx, given)
	if err != nil {
		return response, err
	}
	response.ID, response.Inputs, response.State = r.ID, found, PublicationState{found}
	if r.Inputs == nil {
		response.ID = found.Database + "." + found.Name
	}
	// Optional inputs that were not given stay so.
	usual := r.Inputs == nil
	if usual && found.Database == o.server.database("") || !usual && r.Inputs.Database == "" {
		response.Inputs.Database = ""
	}
	if usual && found.Owner == o.server.user() || !usual && r.Inputs.Owner == "" {
		response.Inputs.Owner = ""
	}
	if usual && len(found.Tables) == 0 || !usual && r.Inputs.Tables == nil {
		response.Inputs.Tables = nil
	}
	if usual && len(found.PublishParams) == len(published) || !usual && r.Inputs.PublishParams == nil {
		response.Inputs.PublishParams = nil
	}
	return response, nil
}

// Update changes the publication. The tables that stay keep the columns and rows that others have chosen for them.
func (o Publication) Update(ctx context.Context, r guest.UpdateRequest[PublicationInputs, PublicationState]) (guest.UpdateResponse[PublicationState], error) {
	var response guest.UpdateResponse[PublicationState]
	in := r.Inputs
	in.Database = r.State.Database
	is, err := o.find(ctx, r.State.PublicationInputs)
	if err != nil {
		return response, err
	}
	alter := "ALTER PUBLICATION " + name(in.Name) + " "
	var statements []string
	if in.Name != is.Name {
		statements = append(statements, "ALTER PUBLICATION "+name(is.Name)+" RENAME TO "+name(in.Name))
	}
	if in.Tables != nil {
		added := slices.DeleteFunc(slices.Clone(in.Tables), func(table string) bool { return slices.Contains(is.Tables, table) })
		dropped := slices.DeleteFunc(slices.Clone(is.Tables), func(table string) bool { return slices.Contains(in.Tables, table) })
		if len(added) > 0 {
			statements = append(statements, alter+"ADD TABLE "+quoteTables(added))
		}
		if len(dropped) > 0 {
			statements = append(statements, alter+"DROP TABLE "+quoteTables(dropped))
		}
	}
	statements = append(statements, alter+"SET "+in.options())
	if in.Owner != "" && in.Owner != is.Owner {
		statements = append(statements, alter+"OWNER TO "+name(in.Owner))
	}
	if err := o.server.run(ctx, in.Database, statements...); err != nil {
		return response, err
	}
	found, err := o.find(ctx, in)
	if err != nil {
		return response, err
	}
	response.State = PublicationState{found}
	return response, nil
}

// Delete deletes the publication.
func (o Publication) Delete(ctx context.Context, r guest.DeleteRequest[PublicationState]) error {
	statement := "DROP PUBLICATION IF EXISTS " + name(r.State.Name)
	if r.State.DropCascade {
		statement += " CASCADE"
	}
	err := o.server.run(ctx, r.State.Database, statement)
	if isCode(err, invalidCatalogName) {
		return guest.NotFound("there is no database " + r.State.Database)
	}
	return err
}
