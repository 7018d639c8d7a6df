package provider

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// alternativeNames are the names that a certificate is for (RFC 5280, section 4.2.1.6).
type alternativeNames struct {
	DNSNames    []string `husk:"dnsNames,optional,replace" doc:"The host names; the first label may be a *."`
	IPAddresses []string `husk:"ipAddresses,optional,replace" doc:"The IP addresses."`
	URIs        []string `husk:"uris,optional,replace" doc:"The URIs, with their scheme."`
}

// ips returns the addresses, which are checked.
func (n *alternativeNames) ips() []net.IP {
	var ips []net.IP
	for _, text := range n.IPAddresses {
		ips = append(ips, net.ParseIP(text))
	}
	return ips
}

// urls returns the URIs, which are checked.
func (n *alternativeNames) urls() []*url.URL {
	var urls []*url.URL
	for _, text := range n.URIs {
		if u, err := url.Parse(text); err == nil {
			urls = append(urls, u)
		}
	}
	return urls
}

// check checks the names. An unknown element is empty.
func (n *alternativeNames) check(f *failures, known func(string) bool) {
	for _, list := range []struct {
		property string
		elements []string
		check    func(string) string
	}{
		{"dnsNames", n.DNSNames, checkDNSName},
		{"ipAddresses", n.IPAddresses, checkIPAddress},
		{"uris", n.URIs, checkURI},
	} {
		known := known(list.property)
		for i, element := range list.elements {
			if element == "" && !known {
				continue
			}
			if reason := list.check(element); reason != "" {
				f.add(list.property+"["+strconv.Itoa(i)+"]", reason)
			}
		}
	}
}

// maxDNSName is the longest host name (RFC 1035, section 2.3.4), written with dots.
const maxDNSName = 253

// The following functions return the fault of an element, empty if it has none.

func checkDNSName(name string) string {
	switch {
	case name == "":
		return "is empty; expected a host name, such as www.example.org"
	case len(name) > maxDNSName:
		return "is longer than the " + strconv.Itoa(maxDNSName) + " bytes that a host name may have"
	case !isASCII(name):
		return "must be ASCII; write " + strconv.Quote(name) + " as punycode (xn--...)"
	case strings.Contains(name, "://"):
		return "expected a host name, such as www.example.org, not the URL " + strconv.Quote(name)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return strconv.Quote(name) + " is an IP address; list it in ipAddresses"
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || strings.ContainsAny(label, " \t\r\n/:@") {
			return "expected a host name, such as www.example.org, not " + strconv.Quote(name)
		}
	}
	return ""
}

func checkIPAddress(text string) string {
	if ip := net.ParseIP(text); ip != nil {
		return ""
	}
	if _, _, err := net.ParseCIDR(text); err == nil {
		return "expected an IP address, such as 127.0.0.1 or ::1, not the network " + strconv.Quote(text)
	}
	return "expected an IP address, such as 127.0.0.1 or ::1, not " + strconv.Quote(text)
}

func checkURI(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "":
		return "expected a URI with its scheme, such as spiffe://example.org/service, not " + strconv.Quote(text)
	case !isASCII(text):
		return "must be ASCII; write the domain as punycode (xn--...), and escape the path (%...)"
	}
	return ""
}
