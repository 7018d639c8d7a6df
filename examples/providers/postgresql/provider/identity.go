package provider

import (
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Names may have any character, so that those between the parts of an ID are written as %40 and %2C in a part.
var (
	escaper   = strings.NewReplacer("%", "%25", "@", "%40", ",", "%2C")
	unescaper = strings.NewReplacer("%25", "%", "%40", "@", "%2C", ",")
)

// idOf returns an ID of parts. Empty ones at the end are left out.
func idOf(parts ...string) string {
	escaped := make([]string, len(parts))
	for n, part := range parts {
		escaped[n] = escaper.Replace(part)
	}
	return strings.TrimRight(strings.Join(escaped, "@"), "@")
}

// partsOfID reads an ID of [idOf]. The form names the parts, as in role@database. The first least parts must not be empty.
func partsOfID(id, form string, least int) ([]string, error) {
	most := strings.Count(form, "@") + 1
	parts := strings.Split(id, "@")
	valid := len(parts) >= least && len(parts) <= most
	for n := range parts {
		parts[n] = unescaper.Replace(parts[n])
		valid = valid && (n >= least || parts[n] != "")
	}
	if !valid {
		return nil, guest.InvalidArgument("id", `the ID is to be `+form+`, with "%40" for an @ in a name and "%2C" for a comma`)
	}
	return append(parts, make([]string, most-len(parts))...), nil
}

// listOf writes a list as one part of an ID, which listIn reads.
func listOf(items []string) string {
	escaped := make([]string, len(items))
	for n, item := range items {
		escaped[n] = escaper.Replace(item)
	}
	return strings.Join(escaped, ",")
}

func listIn(part string) []string {
	if part == "" {
		return nil
	}
	items := strings.Split(part, ",")
	for n := range items {
		items[n] = unescaper.Replace(items[n])
	}
	return items
}

// databaseAnd reads the ID of an object in a database: the database, a dot, and a name; or the name alone for an object in the
// configured database.
func (s *server) databaseAnd(id string) (database, name string) {
	if database, name, ok := strings.Cut(id, "."); ok && database != "" && name != "" {
		return database, name
	}
	return s.database(""), id
}
