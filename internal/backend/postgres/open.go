// Package postgres keeps stacks in a PostgreSQL database.
//
// Every step is one transaction that is sent in one round trip, without session state and without named
// statements, so that poolers such as PgBouncer can give each to another connection. A step under a lease
// checks the fencing token in its transaction. If the connection is lost, the step is sent again; what it
// checks shows whether the first attempt took effect.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
)

// Schemes are the schemes of the URLs that [Open] takes.
var Schemes = []string{"postgres", "postgresql"}

const (
	// schemaParameter names the schema of the tables in a URL.
	schemaParameter = "schema"
	defaultSchema   = "husk"
)

var schemaPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

var _ backend.Opener = Open

// Open opens the backend of a URL such as postgres://user:password@host:5432/database?sslmode=verify-full.
// libpq's parameters, environment variables, and password file apply to one that the operator has named. It does not
// connect yet.
func Open(ctx context.Context, at named.URL, dir string) (*backend.Backend, error) {
	return OpenSchema(ctx, at, "", dir)
}

// OpenSchema is Open with another schema than the URL names, unless that is empty. Backends in a process whose URLs differ
// only by their schemas share connections.
func OpenSchema(_ context.Context, at named.URL, other, dir string) (*backend.Backend, error) {
	config, err := configOf(at)
	if err != nil {
		return nil, err
	}
	schema := cmp.Or(other, config.RuntimeParams[schemaParameter], defaultSchema)
	if !schemaPattern.MatchString(schema) {
		return nil, fmt.Errorf("the URL of the backend has schema=%q, and a schema is lower-case letters, digits, and \"_\"", schema)
	}
	delete(config.RuntimeParams, schemaParameter)
	place := (&url.URL{Scheme: Schemes[0], User: url.User(config.User), Host: fmt.Sprintf("%s:%d", config.Host, config.Port), Path: "/" + config.Database}).String()
	if schema != defaultSchema {
		place += "?" + schemaParameter + "=" + schema
	}
	p, release, err := shared(at, config)
	if err != nil {
		return nil, err
	}
	d := &db{pool: p, place: place, tables: strings.NewReplacer("@", `"`+schema+`".`), schema: schema, close: release}
	s := &Store{db: d}
	return &backend.Backend{
		Place: place, Dir: dir, Remote: true,
		State: s, End: s.end, Modules: modules{d}, KV: kv{d}, History: runs{d},
		Check: d.check, Close: d.close,
	}, nil
}
