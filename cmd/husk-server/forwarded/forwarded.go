// Package forwarded tells from whom requests come that proxies forward.
package forwarded

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of the proxies that are trusted to say for whom they ask.
type Proxies []netip.Prefix

// Parse returns proxies from addresses and networks, such as 10.0.0.7 and 10.1.0.0/16.
func Parse(texts []string) (all Proxies, err error) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil || address.Zone() != "" {
				return nil, fmt.Errorf("%q is neither an address nor a network, such as 10.0.0.7 or 10.1.0.0/16", text)
			}
			network = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		all = append(all, network)
	}
	return all, nil
}

func (p Proxies) trust(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// Handler returns a handler that has another one answer requests as if they came from the client of the trusted proxies: the last
// address in X-Forwarded-For that is none of theirs. Anybody can have written what stands before that.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, ok := address(r.RemoteAddr); ok && p.trust(from) {
			r.RemoteAddr = p.client(from, strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")).String()
		}
		next.ServeHTTP(w, r)
	})
}

// client returns the client of a proxy that has forwarded a request. An invalid address ends the search: the last proxy stands
// for whoever is behind it.
func (p Proxies) client(from netip.Addr, forwarded []string) netip.Addr {
	for _, text := range slices.Backward(forwarded) {
		next, ok := address(strings.TrimSpace(text))
		if !ok {
			return from
		}
		if from = next; !p.trust(from) {
			return from
		}
	}
	return from
}

// address returns an address, which may have a port.
func address(text string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap(), true
	}
	plain, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return plain.Unmap(), err == nil
}
