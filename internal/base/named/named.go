// Package named carries the address of a service together with who has named it. Credentials of the environment belong to
// addresses that the operator has named: in a variable of the environment, a flag, or husk login. Code that opens an address
// takes such a [URL], and asks it for the variables that hold credentials, so that an address from a project's file gets none.
//
// The package also decides which environment variables the processes and providers of a run get: see [Environment],
// [ProgramEnvironment], and [Lookup].
package named

import (
	"net/url"
	"os"
	"strings"
	"sync"
)

// URL is an address and who has named it. The zero value is nobody's, and gets no credentials.
type URL struct {
	text, origin string
	operator     bool
	withheld     *withheld
}

// withheld has the variables that were asked for, and that a project's address did not get.
type withheld struct {
	sync.Mutex
	names []string
}

// ByOperator returns an address that the operator has named. origin says where, as in "husk login".
func ByOperator(text, origin string) URL { return URL{text: text, origin: origin, operator: true} }

// ByProject returns an address that a project has named. origin says where, as in "backend.url in Husk.yaml".
func ByProject(text, origin string) URL {
	return URL{text: text, origin: origin, withheld: new(withheld)}
}

// Text returns the address as it was named, which may have a password.
func (u URL) Text() string { return u.text }

// Origin says what names the address.
func (u URL) Origin() string { return u.origin }

// IsOperators reports whether the operator has named the address, so that the credentials of this machine's user are for it.
func (u URL) IsOperators() bool { return u.operator }

// Getenv returns a variable of the environment that is for the address: empty if a project has named that.
func (u URL) Getenv(variable string) string {
	value := os.Getenv(variable)
	if value == "" || u.operator {
		return value
	}
	u.Withhold(variable)
	return ""
}

// Withhold notes that the address does not get the value of a variable.
func (u URL) Withhold(variable string) {
	if u.withheld == nil || os.Getenv(variable) == "" {
		return
	}
	u.withheld.Lock()
	defer u.withheld.Unlock()
	for _, name := range u.withheld.names {
		if name == variable {
			return
		}
	}
	u.withheld.names = append(u.withheld.names, variable)
}

// Withheld returns the variables that are set, and that the address did not get, because a project has named it.
func (u URL) Withheld() []string {
	if u.withheld == nil {
		return nil
	}
	u.withheld.Lock()
	defer u.withheld.Unlock()
	return append([]string(nil), u.withheld.names...)
}

// IsSamePlace reports whether two addresses are the same without their users and passwords: with it, somebody who names an
// address with credentials has named the same without them.
func (u URL) IsSamePlace(other URL) bool {
	a, errA := url.Parse(u.text)
	b, errB := url.Parse(other.text)
	if errA != nil || errB != nil || a.Scheme == "" || a.Host == "" {
		return false
	}
	place := func(u *url.URL) string {
		u.User = nil
		u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
		return strings.TrimSuffix(u.String(), "/")
	}
	return place(a) == place(b)
}
