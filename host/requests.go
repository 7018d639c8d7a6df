package host

import (
	"slices"
	"strings"
)

// Missing returns the requests that the grants do not fulfil, in their order.
func (g Grants) Missing(requests []CapabilityRequest) []CapabilityRequest {
	var missing []CapabilityRequest
	for _, r := range requests {
		if !g.fulfil(r) {
			missing = append(missing, r)
		}
	}
	return missing
}

// fulfil reports whether the grants have what is requested or, where a request leaves open
// what that is, anything of the kind.
func (g Grants) fulfil(r CapabilityRequest) bool {
	switch r.Capability {
	case "fs":
		return anyOf(g.FS, r.Scope == "", func(granted FSGrant) bool { return granted.holds(r.Scope) })
	case "env":
		return anyOf(g.Env, r.Scope == "", func(name string) bool { return name == r.Scope })
	case "http":
		wanted, err := ParseHTTPGrant(r.Scope)
		return anyOf(g.HTTP, r.Scope == "", func(granted HTTPGrant) bool { return err == nil && granted.holds(wanted) })
	case "tcp":
		wanted, err := ParseTCPGrant(r.Scope)
		return anyOf(g.TCP, r.Scope == "", func(granted TCPGrant) bool {
			return err == nil && (granted == wanted || granted.covers(wanted.Host, wanted.Port))
		})
	case "kv":
		return g.KV != nil
	}
	return false
}

func anyOf[G any](granted []G, anything bool, holds func(G) bool) bool {
	return anything && len(granted) > 0 || slices.ContainsFunc(granted, holds)
}

// holds reports whether a directory as a project file names it, with :rw behind it where
// it is to be written to, is in the granted one.
func (g FSGrant) holds(scope string) bool {
	dir, writable := strings.CutSuffix(scope, ":rw")
	wanted, err := ProjectGrant("/", strings.TrimSuffix(dir, ":ro"), writable)
	if err != nil || writable && !g.ReadWrite {
		return false
	}
	return wanted.GuestPath == g.GuestPath || strings.HasPrefix(wanted.GuestPath, strings.TrimSuffix(g.GuestPath, "/")+"/")
}

// holds reports whether all that another grant allows is allowed, with some methods at
// least.
func (g HTTPGrant) holds(other HTTPGrant) bool {
	if g.Scheme != other.Scheme || g.Port != other.Port || g.Host != other.Host && !matchesHost(g.Host, other.Host) {
		return false
	}
	return g.Path == "" || g.Path == other.Path || strings.HasPrefix(other.Path, g.Path+"/")
}
