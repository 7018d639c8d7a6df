package grant

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/base/hostname"
)

var tcpCapability = Capability{
	Name: NameTCP, Flags: []string{"tcp=HOST:PORT"}, Placeholder: "<host>:<port>",
	Entry: Entry{Noun: "a host and port"},
	fulfils: func(s Set, scope string) bool {
		wanted, err := ParseTCP(scope)
		return slices.ContainsFunc(s.TCP, func(g TCP) bool {
			return scope == "" || err == nil && (g == wanted || g.Covers(wanted.Host, wanted.Port))
		})
	},
	add: func(s *Set, t Text, p Place) error {
		scope, anyHost := t.Scope, false
		if port, ok := strings.CutPrefix(scope, hostname.Any+":"); ok && p.AnyHost {
			scope, anyHost = anyName+":"+port, true
		}
		g, err := ParseTCP(scope)
		if anyHost {
			g.Host = hostname.Any
		}
		s.TCP = append(s.TCP, g)
		return err
	},
}

// TCP lets a provider connect to one host and port.
type TCP struct {
	// Host is a name in lower case, or an IP address, with *. and **. as in [HTTP].
	Host string
	Port uint16
}

// ParseTCP reads a grant of a project file: db.example.org:5432,
// *.example.org:5432, or [2001:db8::1]:5432.
func ParseTCP(text string) (TCP, error) {
	const form = "a grant is a host and a port such as db.example.org:5432"
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return TCP{}, errors.New(form)
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return TCP{}, fmt.Errorf("%s: %q is not a port", form, number)
	}
	rest, wildcard := host, ""
	for _, begin := range []string{hostname.Any + ".", hostname.Below} {
		if name, ok := strings.CutPrefix(host, begin); ok {
			rest, wildcard = name, begin
		}
	}
	name, err := hostname.Canonical(rest)
	if err != nil {
		return TCP{}, fmt.Errorf("%s: %w", form, err)
	}
	if wildcard != "" {
		if _, err := netip.ParseAddr(name); err == nil {
			return TCP{}, errors.New("a * stands for names, not for addresses")
		}
		name = wildcard + name
	}
	return TCP{Host: name, Port: uint16(port)}, nil
}

// String returns the grant in the syntax of a project file.
func (g TCP) String() string { return hostname.Join(g.Host, g.Port) }

// Covers reports whether the grant is of a host and port.
func (g TCP) Covers(host string, port uint16) bool {
	return g.Port == port && hostname.Matches(g.Host, host)
}
