// Package backend lets a Go program keep stacks where a team has them. A project, the environment, or
// [github.com/husk-dev/husk/automation.Options] names the place with a URL; the program links the kinds of places that it takes:
//
//	automation.Open(ctx, dir, automation.Options{Backends: []backend.Kind{postgres.Kind(), s3.Kind()}})
//
// Directories need no kind. The command husk has all of [postgres], [s3], and [remote].
//
// [postgres]: https://pkg.go.dev/github.com/husk-dev/husk/backend/postgres
// [s3]: https://pkg.go.dev/github.com/husk-dev/husk/backend/s3
// [remote]: https://pkg.go.dev/github.com/husk-dev/husk/backend/remote
package backend

import "github.com/husk-dev/husk/internal/backend"

// Kind is a kind of place, with the schemes of its URLs. The packages below this one have them.
type Kind backend.Kind
