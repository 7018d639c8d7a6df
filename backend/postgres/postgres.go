// Package postgres keeps stacks in PostgreSQL, as the command husk does: docs/state.md has the parameters of the URL.
package postgres

import (
	"github.com/husk-dev/husk/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
)

// Kind takes URLs such as postgres://user@host/database?schema=husk.
func Kind() backend.Kind { return backend.Kind{Schemes: postgres.Schemes, Open: postgres.Open} }
