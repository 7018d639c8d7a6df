// Package known says where the source of well-known providers for Terraform is. Ports are made of it, and other commands tell of it.
package known

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/internal/base/packed"
)

// archive has the file known.txt.
//
//go:embed known.zip.gz
var archive []byte

// modules are the Go modules of known.txt, by name or address.
var modules = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(packed.Text(archive, "known.txt")) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] != "#" {
			all[fields[0]] = fields[1]
		}
	}
	return all
})

// Module returns the Go module of the provider for Terraform that a package of Pulumi, the name of a provider, or an address
// NAMESPACE/NAME stands for, empty for a provider that is known only by the name of its repository.
func Module(name string) string { return modules()[name] }

// Names returns the names that are known, in their order.
func Names() []string { return slices.Sorted(maps.Keys(modules())) }
