// Package hostname compares the names of hosts in grants and requests.
package hostname

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Localhost is the name by which this machine can be granted.
const Localhost = "localhost"

// Canonical returns the form of a host for comparisons.
func Canonical(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", errors.New("an address with a zone cannot be granted")
		}
		return addr.Unmap().String(), nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}) {
			return "", fmt.Errorf("%q is not the name of a host (in ASCII: a name of other letters begins with xn--)", host)
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return "", fmt.Errorf("%q is neither a name nor an address: an address of IPv4 is four numbers from 0 to 255, without zeros before them", host)
	}
	return host, nil
}

// isNumber reports whether some programs take a host with this last label for an address, such as 127.1 and
// 0x7f000001. No name of the Internet ends so.
func isNumber(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Any is the grant of all names but localhost.
const Any = "*"

// Below is the prefix of a granted host that stands for all names below one: **.example.org. With *. it stands for names of one
// label more.
const Below = "**."

// Matches reports whether a granted host, which may begin with *. or **., includes a name or another granted host.
func Matches(granted, host string) bool {
	if granted == Any {
		_, err := netip.ParseAddr(host)
		return err != nil && host != Localhost
	}
	label, suffix, _ := strings.Cut(granted, ".")
	if label != Any && label+"." != Below {
		return granted == host
	}
	first, ok := strings.CutSuffix(host, "."+suffix)
	if _, err := netip.ParseAddr(host); err == nil || !ok || first == "" {
		return false
	}
	return label+"." == Below || !strings.Contains(first, ".") && first+"." != Below
}

// MatchedFormerly reports whether a granted host that begins with *. included a name while it stood for all names below.
func MatchedFormerly(granted, host string) bool {
	suffix, wildcard := strings.CutPrefix(granted, Any+".")
	return wildcard && Matches(Below+suffix, host)
}

// IsLocalhost reports whether a name that was granted as localhost leads to this machine.
func IsLocalhost(host string, addr netip.Addr) bool {
	return host == Localhost && addr.IsLoopback()
}

// IsThisMachine reports whether a host of a URL is this machine, by its name or an address that needs no network.
func IsThisMachine(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == Localhost || err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback()
}

// Join returns the host and port as one text.
func Join(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
