// Package s3 keeps stacks in a bucket of S3 or a service that speaks its protocol, as the command husk does: docs/state.md has
// the parameters of the URL.
package s3

import (
	"github.com/husk-dev/husk/backend"
	"github.com/husk-dev/husk/internal/backend/s3"
)

// Kind takes URLs such as s3://bucket/prefix?region=eu-central-1.
func Kind() backend.Kind { return backend.Kind{Schemes: []string{s3.Scheme}, Open: s3.Open} }
