// Package sqlite keeps stacks in a file of SQLite, for programs that want one file in place of a directory. The command husk does
// not read it.
package sqlite

import (
	"context"

	"github.com/husk-dev/husk/backend"
	internal "github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/named"
)

// Kind takes URLs such as sqlite:///var/lib/stacks.db, or sqlite://./stacks.db in the working directory.
func Kind() backend.Kind {
	return backend.Kind{Schemes: []string{sqlite.Scheme}, Open: func(ctx context.Context, at named.URL, dir string) (*internal.Backend, error) {
		return sqlite.Open(ctx, at.Text(), dir)
	}}
}
