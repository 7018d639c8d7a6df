package grant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
)

var envCapability = Capability{
	Name: NameEnv, Flags: []string{"env=NAME"}, Placeholder: "<variable>",
	Entry: Entry{Noun: "an environment variable", Check: CheckVariable},
	fulfils: func(s Set, scope string) bool {
		return slices.ContainsFunc(s.Env, func(name string) bool { return scope == "" || name == scope })
	},
	add: func(s *Set, t Text, _ Place) error {
		s.Env = append(s.Env, t.Scope)
		return named.CheckVariable(t.Scope)
	},
}

// CheckVariable returns an error if a text cannot be the name of an environment variable.
func CheckVariable(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fmt.Errorf("%q is not the name of an environment variable", name)
	}
	return nil
}
