package capability

import (
	"fmt"
	"os"

	"github.com/husk-dev/husk/abi/grant"
)

// maxEnvironment bounds the granted variables in bytes, as operating systems do for one of them.
const maxEnvironment = 128 << 10

// Environment returns the environment of a guest, and the names of the granted variables in it.
func Environment(grants grant.Set) (env, granted []string, _ error) {
	size := 0
	for _, name := range grants.Env {
		if err := grant.CheckVariable(name); err != nil {
			return nil, nil, err
		}
		if value, ok := os.LookupEnv(name); ok {
			env, granted = append(env, name+"="+value), append(granted, name)
			size += len(name) + len(value) + 2
		}
	}
	if size > maxEnvironment {
		return nil, nil, fmt.Errorf("the granted environment variables take %d bytes, at most %d are possible", size, maxEnvironment)
	}
	if len(grants.FS) > 0 {
		env = append(env, "PWD="+grant.WorkingDirectory)
	}
	return env, granted, nil
}
