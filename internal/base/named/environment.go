package named

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// shared are the variables of Husk that any process may have: where a husk that such a process starts keeps and looks for what it
// needs, and the operator's policy, which it must keep to. All other variables that begin with HUSK_ are husk's alone.
var shared = []string{
	"HUSK_BACKEND_URL", "HUSK_STACK", "HUSK_CACHE_DIR", "HUSK_COPIES_DIR", "HUSK_PRECOMPILED_DIR", "HUSK_VENDOR_DIR",
	"HUSK_TRUST_POLICY", "HUSK_OFFLINE", "HUSK_REGISTRIES", "HUSK_REGISTRY_MIRRORS", "HUSK_REGISTRY_REALMS", "HUSK_PLAIN_HTTP",
}

// backends are the variables with the URL of stacks, which may have a password.
var backends = []string{"HUSK_BACKEND_URL", "PULUMI_BACKEND_URL"}

// IsHusks reports whether a variable of the environment is for husk alone, such as a token of a server, or a key of secrets: no
// process that runs code of a project or of a plugin gets it, and no provider is granted it, by whatever name. What counts is whose a
// credential is, and not whether husk reads it: those of proxies, collectors, and clouds are the user's, and processes that the user lets run
// may need them.
func IsHusks(variable string) bool {
	variable = strings.ToUpper(variable) // on Windows, case does not matter
	if strings.HasPrefix(variable, "PULUMI_CONFIG_PASSPHRASE") {
		return true
	}
	return strings.HasPrefix(variable, "HUSK_") && !strings.HasPrefix(variable, "HUSK_TEST_") && !slices.Contains(shared, variable)
}

// CheckVariable returns an error for a variable of [IsHusks].
func CheckVariable(variable string) error {
	if !IsHusks(variable) {
		return nil
	}
	return fmt.Errorf("the environment variable %s is for husk alone, which passes no token or key of its own on: "+
		"set a variable of another name, which does not begin with HUSK_, to what is needed here", variable)
}

// given are the variables of [Give], nil without any.
var given atomic.Pointer[map[string]string]

// Give sets the variables that whoever asked for the run of this process has chosen. Providers that are granted them and processes of
// programs get them. They are not in the environment: neither husk itself finds them, nor git or a compiler, which a variable could have
// run something.
func Give(variables map[string]string) error {
	for name := range variables {
		if err := CheckVariable(name); err != nil {
			return err
		}
	}
	all := maps.Clone(variables)
	given.Store(&all)
	return nil
}

// Given returns the variables of [Give].
func Given() map[string]string {
	if all := given.Load(); all != nil {
		return *all
	}
	return nil
}

// Lookup returns a variable for whoever is not husk: one of [Give], or of the environment, but not one of [IsHusks], and no password of the
// stacks.
func Lookup(variable string) (value string, is bool) {
	if value, is = Given()[variable]; is {
		return value, true
	}
	return lookup(variable)
}

func lookup(variable string) (value string, is bool) {
	if value, is = os.LookupEnv(variable); !is || IsHusks(variable) {
		return "", false
	}
	if slices.Contains(backends, strings.ToUpper(variable)) {
		return withoutPassword(value)
	}
	return value, true
}

// ProgramEnvironment returns the variables of a process that runs the code of a project or of a plugin, as [Lookup] returns them.
func ProgramEnvironment() []string {
	all := slices.DeleteFunc(Environment(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		_, is := Given()[name]
		return is
	})
	for _, name := range slices.Sorted(maps.Keys(Given())) {
		all = append(all, name+"="+Given()[name])
	}
	return all
}

// Environment returns the variables of a process that works for husk, such as git or a compiler: the environment's, as [Lookup] returns
// them.
func Environment() (all []string) {
	for _, one := range os.Environ() {
		name, _, _ := strings.Cut(one, "=")
		if name == "" { // Windows keeps the directories of drives so
			all = append(all, one)
		} else if value, is := lookup(name); is {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// withoutPassword returns a URL without what may be a password. is is false if nobody can say what of it is one.
func withoutPassword(text string) (shown string, is bool) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	shown = text
	if _, has := u.User.Password(); has {
		name := u.User.Username()
		if u.User = nil; name != "" {
			u.User = url.User(name)
		}
		shown = u.String()
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", false
	}
	for key := range query {
		if secret.MatchString(key) {
			query.Del(key)
			u.RawQuery = query.Encode()
			shown = u.String()
		}
	}
	return shown, true
}

// secret finds parameters of URLs that may have a password, or name what has one.
var secret = regexp.MustCompile(`(?i)pass|secret|token|key`)
