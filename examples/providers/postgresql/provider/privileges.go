package provider

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// kind describes a type of objects that privileges are for.
type kind struct {
	// keyword is the keyword in GRANT.
	keyword string
	// inSchema is for types whose objects are in a schema, or are one.
	inSchema bool
	// all is set for types where GRANT takes all objects of a schema.
	all bool
	// single is set for types where exactly one object is named.
	single bool
	// privileges are the existing privileges (PostgreSQL, table 5.2).
	privileges []string
	// catalog are the letters of the objects in the column relkind or prokind of their catalog.
	catalog []string
}

func kindOf(objectType string) kind {
	execute, usage := []string{"EXECUTE"}, []string{"USAGE"}
	switch objectType {
	case "database":
		return kind{keyword: "DATABASE", privileges: []string{"CONNECT", "CREATE", "TEMPORARY"}}
	case "schema":
		return kind{keyword: "SCHEMA", inSchema: true, privileges: []string{"CREATE", "USAGE"}}
	case "sequence":
		return kind{keyword: "SEQUENCE", inSchema: true, all: true, privileges: []string{"SELECT", "UPDATE", "USAGE"}, catalog: []string{"S"}}
	case "function":
		return kind{keyword: "FUNCTION", inSchema: true, all: true, privileges: execute, catalog: []string{"f", "a", "w"}}
	case "procedure":
		return kind{keyword: "PROCEDURE", inSchema: true, all: true, privileges: execute, catalog: []string{"p"}}
	case "routine":
		return kind{keyword: "ROUTINE", inSchema: true, all: true, privileges: execute, catalog: []string{"f", "a", "w", "p"}}
	case "column":
		return kind{keyword: "TABLE", inSchema: true, single: true, privileges: []string{"INSERT", "REFERENCES", "SELECT", "UPDATE"}, catalog: []string{"r", "v", "m", "f", "p"}}
	case "foreign_data_wrapper":
		return kind{keyword: "FOREIGN DATA WRAPPER", single: true, privileges: usage}
	case "foreign_server":
		return kind{keyword: "FOREIGN SERVER", single: true, privileges: usage}
	case "type":
		return kind{keyword: "TYPE", privileges: usage}
	}
	return kind{keyword: "TABLE", inSchema: true, all: true, catalog: []string{"r", "v", "m", "f", "p"},
		privileges: []string{"DELETE", "INSERT", "REFERENCES", "SELECT", "TRIGGER", "TRUNCATE", "UPDATE"}}
}

// checkPrivileges returns privileges in upper case and in order, and a failure for each that there is not.
func checkPrivileges(list []string, objectType string) (checked []string, failures []guest.CheckFailure) {
	known := kindOf(objectType).privileges
	checked = make([]string, len(list))
	for n, privilege := range list {
		checked[n] = strings.ToUpper(privilege)
		switch checked[n] {
		case "TEMP":
			checked[n] = "TEMPORARY"
		case "ALL":
			return slices.Clone(known), nil
		}
		if !slices.Contains(known, checked[n]) {
			failures = append(failures, guest.CheckFailure{Path: "privileges", Reason: "there is no " + privilege + " for a " + objectType +
				"; there are ALL, " + strings.Join(known, ", ")})
		}
	}
	slices.Sort(checked)
	return slices.Compact(checked), failures
}
