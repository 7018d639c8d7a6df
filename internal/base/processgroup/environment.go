package processgroup

import (
	"os"
	"slices"
	"strings"
)

// secretKeys are the beginnings of the variables with keys of secrets, which no other program has a use for.
var secretKeys = []string{
	"HUSK_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE", "HUSK_NEW_CONFIG_PASSPHRASE", "HUSK_KEY_PASSPHRASE", "HUSK_SERVER_KEY",
}

// Environment returns the variables of this process for one that runs code of a project: without keys of secrets.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(secretKeys, func(key string) bool { return strings.HasPrefix(v, key) })
	})
}
