package plugins

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/egress"
	"github.com/husk-dev/husk/internal/hostname"
	"github.com/husk-dev/husk/internal/registry"
)

// A project of somebody else's may not choose what of this machine its providers get, nor run anything outside the
// sandbox: see [Options.Untrusted].

// UntrustedLimits are the limits of projects that are not trusted, in their units, as far as they are lower than the
// defaults, which are for one user's own projects: runs of strangers share a machine.
var UntrustedLimits = map[limit.Limit]uint64{
	// Databases and clusters take as long.
	limit.Time: uint64(30 * time.Minute),
	// A Go provider that only computes needs two to three minutes for it.
	limit.Fuel: 1 << 44,
	// 1,000 times a second for the time of a call.
	limit.HostCalls: 2_000_000,
	// Keys and seeds come to some hundreds.
	limit.RandomBytes: 4 << 20,
	// A Go provider works in 10 to 40 MiB.
	limit.Memory: 128 << 20, limit.TotalMemory: 1 << 30,
	limit.OpenFiles: 64, limit.TotalFiles: 128,
	// Values, without assets of some MiB.
	limit.Request: 16 << 20, limit.Answer: 20 << 20,
	limit.WaitingCalls: 10_000, limit.Streams: 2,
	limit.LogRate:     32 << 10,
	limit.CompileTime: uint64(3 * time.Minute),
}

// untrustedLimits returns the limits of projects that are not trusted, by name.
func untrustedLimits() map[string]uint64 {
	all := make(map[string]uint64)
	for _, info := range limit.All() {
		if info.Option == "" {
			continue
		}
		all[info.Name] = info.Default
		if lower, ok := UntrustedLimits[info.Limit]; ok {
			all[info.Name] = min(info.Default, lower)
		}
	}
	return all
}

// refuseUnsandboxed returns an error for what would run outside the sandbox.
func (p *Plugins) refuseUnsandboxed(what string) error {
	if !p.options.Untrusted {
		return nil
	}
	return fmt.Errorf("%s, and a project that is not trusted may have only modules: list a .wasm file of the project, or the source of a published module", what)
}

// checkUntrusted returns an error for a grant that a project which is not trusted may not have. given are the grants
// so far, the last of which is that of the text.
func (p *Plugins) checkUntrusted(written program.Grant, given host.Grants) error {
	if !p.options.Untrusted {
		return nil
	}
	switch written.Capability {
	case grant.NameFS:
		if dir := given.FS[len(given.FS)-1]; dir.Within == "" {
			return errors.New("the project is not trusted: it may have only directories of its own")
		}
	case grant.NameEnv:
		return errors.New("the project is not trusted: it may have no variables of this process")
	case grant.NameHTTP:
		if err := inTheInternet(given.HTTP[len(given.HTTP)-1].Host); err != nil {
			return err
		}
		for _, header := range written.Headers {
			if header.Env != "" {
				return fmt.Errorf("the project is not trusted: its header %s may have no variable of this process: take the value from the configuration", header.Name)
			}
		}
	case grant.NameTCP:
		return inTheInternet(given.TCP[len(given.TCP)-1].Host)
	}
	return nil
}

// inTheInternet returns an error for a host that names an address inside. A name that leads to one does not reach it.
func inTheInternet(host string) error {
	addr, err := netip.ParseAddr(host)
	switch {
	case host == hostname.Localhost:
		return errors.New("the project is not trusted: it may not reach this machine")
	case err == nil && egress.Inside(addr) != "":
		return fmt.Errorf("the project is not trusted: it may not reach %s, which is %s", host, egress.Inside(addr))
	}
	return nil
}

// dialer returns how the registries of a project that is not trusted are reached: those inside only if the operator's
// environment names them, as a mirror, as a registry, or as the proxy of all.
func dialer(mirrors []registry.Mirror) func(ctx context.Context, network, address string) (net.Conn, error) {
	var named []string
	add := func(place string) {
		host, _, _ := strings.Cut(place, "/")
		named = append(named, host)
	}
	for _, m := range mirrors {
		add(m.Prefix)
	}
	for one := range strings.SplitSeq(os.Getenv(registriesVariable), ",") {
		add(strings.TrimPrefix(strings.TrimSpace(one), "oci://"))
	}
	for _, variable := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if proxy, err := url.Parse(os.Getenv(variable)); err == nil && proxy.Host != "" {
			add(proxy.Host)
		}
	}
	d := &egress.Dialer{Allow: func(host string, _ netip.Addr, port uint16) bool {
		return slices.Contains(named, host) || slices.Contains(named, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.Dial(ctx, network, address)
		var inside *egress.AddressError
		if errors.As(err, &inside) {
			err = fmt.Errorf("the project is not trusted, and %w: who runs it can name a registry inside in %s or %s", inside, mirrorsVariable, registriesVariable)
		}
		return conn, err
	}
}
