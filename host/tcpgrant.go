package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// TCPGrant lets a provider connect to one host and port.
type TCPGrant struct {
	// Host is a name in lower case, or an IP address. *.example.org stands for every
	// name that ends with .example.org; example.org is not among them.
	Host string
	Port uint16
}

// ParseTCPGrant reads a grant as a project file has it: db.example.org:5432,
// *.example.org:5432, or [2001:db8::1]:5432.
func ParseTCPGrant(text string) (TCPGrant, error) {
	const form = "a grant is a host and a port such as db.example.org:5432"
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return TCPGrant{}, errors.New(form)
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return TCPGrant{}, fmt.Errorf("%s: %q is not a port", form, number)
	}
	rest, wildcard := strings.CutPrefix(host, "*.")
	name, err := canonicalHost(rest)
	if err != nil {
		return TCPGrant{}, fmt.Errorf("%s: %w", form, err)
	}
	if wildcard {
		if _, err := netip.ParseAddr(name); err == nil {
			return TCPGrant{}, errors.New("a * stands for names, not for addresses")
		}
		name = "*." + name
	}
	return TCPGrant{Host: name, Port: uint16(port)}, nil
}

// String is the grant as a project file has it.
func (g TCPGrant) String() string { return hostPort(g.Host, g.Port) }

func (g TCPGrant) covers(host string, port uint16) bool {
	return g.Port == port && matchesHost(g.Host, host)
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// matchesHost reports whether a granted host, which may begin with *., is or holds a name.
func matchesHost(granted, host string) bool {
	suffix, wildcard := strings.CutPrefix(granted, "*")
	if !wildcard {
		return granted == host
	}
	_, err := netip.ParseAddr(host)
	return err != nil && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}
