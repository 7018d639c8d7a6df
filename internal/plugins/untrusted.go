package plugins

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/base/egress"
	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/named"
)

// A project of somebody else's may not choose what of this machine its providers get, nor run anything outside the
// sandbox: see [Open].

// untrusted reports whether somebody else chose what the project says.
func (p *Plugins) untrusted() bool { return isUntrusted(p.project) }

// rootOf returns the root that opens a path: the project's root for files of a project that is not trusted. Husk has made the
// other files, or the user of the command has named them: a project's names were checked when they were read.
func (p *Plugins) rootOf(path string) *projectroot.Root {
	if p.untrusted() && filepath.IsAbs(path) { // a relative one is the user's
		if p.project.Root.Owns(path) {
			return p.project.Root
		}
		if state := p.project.Root.WithState(); state.Owns(path) { // a module that a state names
			return state
		}
	}
	return projectroot.New(".", projectroot.Trusted)
}

func isUntrusted(project *program.Project) bool { return project != nil && !project.Root.Trusted() }

// UntrustedLimits are the lower limits of projects that are not trusted, in their units. The others are the defaults, which
// are for one user's own projects; runs of strangers share a machine.
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
	// Some ten seconds. A program of 10,000 resources takes two million steps, and 40 MiB.
	limit.EvaluationSteps: 100_000_000, limit.EvaluationMemory: 128 << 20,
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

// refuseUnsandboxed returns an error for code that would run outside the sandbox.
func (p *Plugins) refuseUnsandboxed(what string) error {
	if !p.untrusted() {
		return nil
	}
	return fmt.Errorf("%s, and a project that is not trusted may have only modules: list a .wasm file of the project, or the source of a published module", what)
}

// checkUntrusted returns an error for a grant that a project which is not trusted may not have. given are the grants so far. The
// text's grant is the last.
func (p *Plugins) checkUntrusted(written program.Grant, given host.Grants) error {
	if !p.untrusted() {
		return nil
	}
	switch written.Capability {
	case grant.NameFS:
		dir := given.FS[len(given.FS)-1]
		if dir.Within == "" {
			return errors.New("the project is not trusted: it may have only directories of its own")
		}
		// Naming a withheld file grants it, which a stranger must not do.
		withheld, err := confined.Withhold(given.Withheld...)
		if err != nil {
			return err
		}
		if withheld.Covers(p.project.Dir, dir.HostPath, nil) {
			return fmt.Errorf("the project is not trusted: it may not have %s, which is withheld from its providers", written.Scope)
		}
	case grant.NameEnv:
		if !isGiven(written.Scope) {
			return fmt.Errorf("the project is not trusted: it may have no variables of this process; husk up --remote --env %s gives it one for a run", written.Scope)
		}
	case grant.NameHTTP:
		if err := inTheInternet(given.HTTP[len(given.HTTP)-1].Host); err != nil {
			return err
		}
		for _, header := range written.Headers {
			if header.Env != "" && !isGiven(header.Env) {
				return fmt.Errorf("the project is not trusted: its header %s may have no variable of this process: take the value from the configuration", header.Name)
			}
		}
	case grant.NameTCP:
		return inTheInternet(given.TCP[len(given.TCP)-1].Host)
	}
	return nil
}

// isGiven reports whether whoever asked for the run of this process has given it a variable.
func isGiven(variable string) bool {
	_, is := named.Given()[variable]
	return is
}

// withheld returns the files that no grant of a directory above them covers. In a project that is not trusted these are also the
// repositories that it came with, and all of .husk, whatever the options say.
func (p *Plugins) withheld() []string {
	all := slices.Concat(p.project.OwnFiles(), p.options.Places.ownFiles(), p.options.Withheld)
	if p.untrusted() {
		for _, name := range append([]string{confined.StateDir}, confined.Repositories...) {
			all = append(all, filepath.Join(p.project.Dir, "**", name))
		}
		all = append(all, UserFiles()...)
	}
	return all
}

// toLook returns the grants of a provider that is only asked about itself. One of a project that is not trusted has none: whoever
// opens the project, in an editor for instance, has not decided to run it.
func (p *Plugins) toLook(g host.Grants) host.Grants {
	if !p.untrusted() || p.options.Runs {
		return g
	}
	return host.Grants{Withheld: g.Withheld, GrantAdvice: func(grant.Text) string {
		return "the project is not trusted, and its providers get nothing before it is run, such as by husk preview"
	}}
}

// inTheInternet returns an error for a host that names an address inside. A name that leads to one does not reach it.
func inTheInternet(host string) error {
	if host == hostname.Localhost {
		return errors.New("the project is not trusted: it may not reach this machine")
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	// An address of the Internet may be one of this machine, or of its neighbours.
	if inside, ok := errors.AsType[*egress.AddressError](new(egress.Dialer).Check(addr.Unmap().WithZone("").String(), addr, 0)); ok {
		return fmt.Errorf("the project is not trusted: it may not reach %s, which is %s", host, inside.What)
	}
	return nil
}
