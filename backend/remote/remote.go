// Package remote keeps stacks at a husk server, as the command husk does.
package remote

import (
	"github.com/husk-dev/husk/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
)

// Kind takes URLs such as https://husk.example.com, and http://127.0.0.1:8080 on this machine. The token is the password of the
// URL, or HUSK_ACCESS_TOKEN of the environment if the program, the environment, or husk login names the URL.
func Kind() backend.Kind { return backend.Kind{Schemes: remote.Schemes, Open: remote.Open} }
