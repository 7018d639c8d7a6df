// Package egress decides which addresses a connection for an untrusted guest may reach. Addresses of the
// Internet are allowed. Inner addresses (this machine, private networks, and services that give a cloud's
// machines their credentials) must be named by the operator. Package host uses it for connections of
// guests, and package contents for URLs of assets.
package egress

import (
	"net"
	"net/netip"
)

// inner are the networks that are not the Internet, most of them from IANA's special-purpose registries
// (RFC 6890). The first match counts.
var inner = []struct {
	prefix netip.Prefix
	what   string
}{
	// Services with the credentials of a cloud's machines.
	{netip.MustParsePrefix("168.63.129.16/32"), cloud}, // Azure; globally routable
	{netip.MustParsePrefix("192.0.0.192/32"), cloud},   // Oracle
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, " + cloud},
	{netip.MustParsePrefix("100.100.100.200/32"), cloud}, // Alibaba
	{netip.MustParsePrefix("fd00:ec2::/32"), cloud},      // Amazon
	{netip.MustParsePrefix("fd20:ce::/32"), cloud},       // Google

	{netip.MustParsePrefix("127.0.0.0/8"), machine},
	{netip.MustParsePrefix("::1/128"), machine},
	{netip.MustParsePrefix("0.0.0.0/8"), machine},
	{netip.MustParsePrefix("::/128"), machine},

	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), private},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fec0::/10"), private},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},

	{netip.MustParsePrefix("224.0.0.0/4"), many},
	{netip.MustParsePrefix("ff00::/8"), many},
	{netip.MustParsePrefix("192.88.99.0/24"), many}, // relays of 6to4

	{netip.MustParsePrefix("240.0.0.0/4"), reserved},
	{netip.MustParsePrefix("192.0.0.0/24"), reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), reserved},
	{netip.MustParsePrefix("198.51.100.0/24"), reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), reserved},
	{netip.MustParsePrefix("198.18.0.0/15"), reserved},
	{netip.MustParsePrefix("100::/63"), reserved}, // discarded, and dummies
	{netip.MustParsePrefix("2001:db8::/32"), reserved},
	{netip.MustParsePrefix("3fff::/20"), reserved},
	{netip.MustParsePrefix("5f00::/16"), reserved}, // segments of a routing domain

	// These contain an address of IPv4 at different positions.
	{netip.MustParsePrefix("64:ff9b:1::/48"), translated},
	{netip.MustParsePrefix("2002::/16"), translated},
	{netip.MustParsePrefix("::/96"), translated},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), translated},
	{netip.MustParsePrefix("2001::/32"), translated},
	{netip.MustParsePrefix("2001::/23"), reserved},
}

const (
	cloud      = "where clouds keep the credentials of machines"
	machine    = "this machine"
	private    = "in a private network"
	many       = "not of one machine"
	reserved   = "reserved"
	translated = "a translated address"
)

// nat64 has the addresses of IPv4 in networks without it (RFC 6052), in the last 32 bits.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Inside describes an address that is not of the Internet. It is empty for others, also for this machine's
// address in the Internet, which [Dialer] detects.
func Inside(addr netip.Addr) string {
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		return Inside(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, network := range inner {
		if network.prefix.Contains(addr.WithZone("")) {
			return network.what
		}
	}
	if isISATAP(addr) {
		return translated
	}
	return ""
}

// IsPrivate reports whether the address is of a private network, without this machine and services with
// credentials.
func IsPrivate(addr netip.Addr) bool { return Inside(addr) == private }

// isISATAP reports whether the address names the IPv4 address of a tunnel (RFC 5214, 6.1).
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// ownNetworks returns the addresses of the machine's interfaces with their networks. If the system does not
// reveal them, there are none, and [Dialer] checks connections.
func ownNetworks() []netip.Prefix {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	own := make([]netip.Prefix, 0, len(list))
	for _, a := range list {
		if network, ok := a.(*net.IPNet); ok {
			addr, ok := netip.AddrFromSlice(network.IP)
			bits, _ := network.Mask.Size()
			if addr = addr.Unmap(); ok {
				own = append(own, netip.PrefixFrom(addr, min(bits, addr.BitLen())))
			}
		}
	}
	return own
}

// leastLink is the shortest prefix, in bits, of a network that is one link (RFC 4291, 2.5.1, with a margin).
const leastLink = 48

// insideOf describes an address of the Internet that is inside for a machine with these addresses. Neighbours
// behind a common firewall have such addresses in IPv6.
func insideOf(own []netip.Prefix, addr netip.Addr) string {
	for _, network := range own {
		switch {
		case network.Addr() == addr:
			return machine
		case addr.Is6() && network.Bits() >= leastLink && network.Contains(addr):
			return private
		}
	}
	return ""
}
