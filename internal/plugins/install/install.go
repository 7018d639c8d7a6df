// Package install fetches the modules that a project names by source, and pins them in its lock.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/registry"
)

// parallel is how many modules are fetched at once: more would share one connection to most registries.
const parallel = 4

// Options select the providers to install.
type Options struct {
	// Update looks for newer versions of the providers in Names, of all if there are none.
	Update bool
	Names  []string
	// Locked refuses to change the lock.
	Locked bool
	// Agree is asked about modules that ask for more than the lock has of them, were signed by somebody else, or are another
	// commit with the same tag. An error ends the installation.
	Agree func([]Installed) error
	// Progress is called while a module is received; nil for nobody. It may be called concurrently.
	Progress func(registry.Progress)
}

// Installed is a module that a project uses.
type Installed struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Version string `json:"version"`
	// Was is the version that the lock had before, empty if it had none or has not changed.
	Was    string `json:"was,omitempty"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// Changed is set if the lock has changed.
	Changed  bool                     `json:"changed"`
	Requests []host.CapabilityRequest `json:"requests,omitempty"`
	// Wider are the requests that are new to a locked module, and Dropped the ones that only the lock has.
	Wider   []host.CapabilityRequest `json:"wider,omitempty"`
	Dropped []host.CapabilityRequest `json:"dropped,omitempty"`
	// Signer is who has signed the module, as the trust policy wants it; empty if it wants nothing. SignerWas is who had
	// signed the module that was locked before, if it was somebody else.
	Signer    string `json:"signer,omitempty"`
	SignerWas string `json:"signerWas,omitempty"`
	// Commit is the built commit of a source in git. CommitWas is the commit that was locked, if the tag of a version names
	// another one now.
	Commit    string `json:"commit,omitempty"`
	CommitWas string `json:"commitWas,omitempty"`
	// Path is the file of the module.
	Path string `json:"-"`

	locked   lockfile.Provider
	replaced *lockfile.Provider
	from     registry.Source
}

// installer is one installation.
type installer struct {
	Options
	project *program.Project
	plugins *plugins.Plugins
	client  *registry.Client
	lock    *lockfile.Lock
}

// Run installs the providers that a project lists with sources, in their order, and writes the lock.
func Run(ctx context.Context, project *program.Project, p *plugins.Plugins, o Options) ([]Installed, error) {
	for _, name := range o.Names {
		declared := project.Provider(name)
		if declared == nil {
			return nil, fmt.Errorf("there is no provider %s in %s", name, project.File.Name)
		}
		if declared.Source == "" {
			return nil, fmt.Errorf("the provider %s has the path %s, not a source: there is nothing to update", name, declared.Path)
		}
	}
	if o.Update && o.Locked {
		return nil, errors.New("an update changes husk.lock, and --locked, which is the default in CI, refuses that: add --locked=false")
	}
	client, err := p.Registry(o.Progress)
	if err != nil {
		return nil, err
	}
	lock, err := lockfile.Load(project)
	if err != nil {
		return nil, err
	}
	before, err := lock.Encode()
	if err != nil {
		return nil, err
	}
	i := &installer{o, project, p, client, lock}
	all, err := i.all(ctx)
	if err != nil {
		return nil, err
	}
	var wider []Installed
	for _, one := range all {
		if len(one.Wider) > 0 || one.SignerWas != "" || one.CommitWas != "" {
			wider = append(wider, one)
		}
	}
	if len(wider) > 0 {
		if err := o.Agree(wider); err != nil {
			return nil, err
		}
	}
	for _, one := range all {
		if one.Changed {
			lock.Set(one.locked, one.replaced)
		}
	}
	if o.Locked {
		return all, nil
	}
	lock.Keep(func(locked lockfile.Provider) bool {
		return slices.ContainsFunc(all, func(one Installed) bool {
			return one.Name == locked.Name && one.Source == locked.Source && one.Version == locked.Version
		})
	})
	return all, write(ctx, project, client, lock, before)
}

// write writes the lock of a project, unless another installation has changed it since its text was before.
func write(ctx context.Context, project *program.Project, client *registry.Client, lock *lockfile.Lock, before []byte) error {
	unlock, err := client.Exclude(ctx, lockfile.Path(project))
	if err != nil {
		return err
	}
	defer unlock()
	now, err := lockfile.Load(project)
	if err != nil {
		return err
	}
	is, err := now.Encode()
	if err != nil {
		return err
	}
	wanted, err := lock.Encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(is, before) && !bytes.Equal(is, wanted) {
		return errors.New("husk.lock was changed by another command meanwhile, and is left as that wrote it: run the command again")
	}
	_, err = lock.Write(project)
	return err
}

// Found is a provider that a project does not list yet.
type Found struct {
	Name, Source, Version string
	// Where is the source itself, where a name was found.
	Where string
}

// Find looks for a provider by its source, or by a name that the registries have. version is a range, empty for any.
func Find(ctx context.Context, p *plugins.Plugins, text, version string, progress func(registry.Progress)) (Found, error) {
	named, err := registry.ParseSource(text)
	if err != nil {
		return Found{}, err
	}
	asked, err := versionrange.Parse(version)
	if err != nil {
		return Found{}, err
	}
	client, err := p.Registry(progress)
	if err != nil {
		return Found{}, err
	}
	from, release, _, err := resolve(ctx, p, client, named, asked)
	if err != nil {
		return Found{}, err
	}
	path, err := client.Fetch(ctx, from, release)
	if err != nil {
		return Found{}, err
	}
	declared := &program.ProviderPlugin{Source: text}
	if _, err := p.Admit(ctx, declared, from, release, path); err != nil {
		return Found{}, err
	}
	m, err := p.Identity(ctx, declared, from, release.Manifest, path)
	return Found{m.Name, text, version, from.String()}, err
}

// resolve returns the newest release of a source in a range, and where it is; of a source in git also the commit.
func resolve(ctx context.Context, p *plugins.Plugins, client *registry.Client, from registry.Source, asked versionrange.Range) (registry.Source, registry.Release, string, error) {
	if from.Kind == registry.Git {
		release, commit, err := p.BuildCommit(ctx, client, from, "")
		return from, release, commit, err
	}
	from, release, err := p.Resolve(ctx, client, from, asked)
	return from, release, "", err
}

// all installs the providers, several at once. The error is the first in their order.
func (i *installer) all(ctx context.Context) ([]Installed, error) {
	var listed []*program.ProviderPlugin
	for at := range i.project.Providers {
		if declared := &i.project.Providers[at]; declared.Source != "" {
			listed = append(listed, declared)
		}
	}
	installed, failures := make([]Installed, len(listed)), make([]error, len(listed))
	free := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for at, declared := range listed {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			installed[at], failures[at] = i.one(ctx, declared)
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return installed, nil
}

// errorf returns an error at the place where a provider is listed.
func (i *installer) errorf(declared *program.ProviderPlugin, detail, format string, args ...any) error {
	return source.Diagnostics{i.project.File.Errorf(declared.Position, format, args...).With(detail)}
}

// failed returns an error at the place where a provider is listed, unless it has one.
func (i *installer) failed(declared *program.ProviderPlugin, err error) error {
	if _, told := errors.AsType[source.Diagnostics](err); told || errors.Is(err, context.Canceled) {
		return err
	}
	summary, detail, _ := strings.Cut(err.Error(), "\n")
	d := i.project.File.Errorf(declared.Position, "the provider %q cannot be installed: %s", declared.Name, summary)
	d.Detail, d.Cause = detail, err
	return source.Diagnostics{d}
}

func (i *installer) one(ctx context.Context, declared *program.ProviderPlugin) (Installed, error) {
	if _, err := i.plugins.Source(declared, nil); err != nil {
		return Installed{}, err
	}
	asked, err := versionrange.Parse(declared.Version)
	if err != nil {
		return Installed{}, i.failed(declared, err)
	}
	locked, err := i.lock.Of(declared)
	if err != nil {
		return Installed{}, i.failed(declared, err)
	}
	update := i.Update && (len(i.Names) == 0 || slices.Contains(i.Names, declared.Name))
	var one Installed
	pin := locked != nil && !update
	at := locked
	if !pin {
		at = nil // a name is looked up again
	}
	from, err := i.plugins.Source(declared, at)
	if err != nil {
		return Installed{}, err
	}
	switch {
	case pin:
		one, err = i.pinned(ctx, declared, from, locked)
	case i.Locked:
		return one, i.errorf(declared, "run husk install without --locked, which is the default in CI, and commit husk.lock",
			"the provider %q cannot be installed without a change of husk.lock: %s", declared.Name, i.lock.Why(declared))
	default:
		one, err = i.newest(ctx, declared, from, asked, locked)
	}
	if err != nil {
		return one, i.failed(declared, err)
	}
	return one, nil
}

// pinned fetches the module that the lock has.
func (i *installer) pinned(ctx context.Context, declared *program.ProviderPlugin, from registry.Source, locked *lockfile.Provider) (Installed, error) {
	path, err := i.plugins.Fetch(ctx, i.client, from, locked)
	if err != nil {
		return Installed{}, plugins.Moved(ctx, i.client, from, locked, err)
	}
	one := Installed{
		Name: declared.Name, Source: declared.Source, Version: locked.Version, Digest: locked.Digest, Size: locked.Size, Path: path, locked: *locked, from: from,
	}
	signer, err := i.plugins.Admit(ctx, declared, from, registry.Release{Digest: locked.Digest, Manifest: locked.Manifest}, path)
	if err != nil {
		return one, err
	}
	if now := lockfile.SignerOf(signer); now != nil && !i.Locked && (locked.Signer == nil || *locked.Signer != *now) {
		one.locked.Signer, one.Changed = now, true // the trust policy has changed, and the module has not
	}
	if one.locked.Signer != nil {
		one.Signer = one.locked.Signer.String()
	}
	m, err := i.identity(ctx, declared, from, locked.Manifest, path, locked.Version)
	if err != nil {
		return one, err
	}
	one.Requests = m.Requests
	one.compare(locked.Requests)
	if len(one.Wider)+len(one.Dropped) > 0 { // the digest is as it was, so the lock was edited
		return one, fmt.Errorf("husk.lock does not have what version %s asks for, which is:\n%s\nrestore the file, or remove the entry and run husk install",
			locked.Version, strings.Join(RequestLines(m.Requests), "\n"))
	}
	return one, nil
}

// identity returns name, version, and requests of a module, which must be the provider, in the version.
func (i *installer) identity(ctx context.Context, declared *program.ProviderPlugin, from registry.Source, manifest, path, version string) (host.Manifest, error) {
	m, err := i.plugins.Identity(ctx, declared, from, manifest, path)
	if err != nil {
		return m, err
	}
	if m.Name != declared.Name {
		return m, fmt.Errorf("%s holds the provider of the package %q: correct the name or the source", declared.Source, m.Name)
	}
	if v, err := semver.ParseTolerant(m.Version); err != nil || version != "" && v.String() != version {
		return m, fmt.Errorf("%s has the module as version %s, and the module says that it is version %s: ask whoever publishes it", declared.Source, version, m.Version)
	}
	return m, nil
}

// newest fetches the newest module in a range. locked is the one that the lock has, nil for none.
func (i *installer) newest(ctx context.Context, declared *program.ProviderPlugin, from registry.Source, asked versionrange.Range, locked *lockfile.Provider) (Installed, error) {
	from, release, commit, err := resolve(ctx, i.plugins, i.client, from, asked)
	if err != nil {
		return Installed{}, err
	}
	path, err := i.client.Fetch(ctx, from, release)
	if err != nil {
		return Installed{}, err
	}
	signer, err := i.plugins.Admit(ctx, declared, from, release, path)
	if err != nil {
		return Installed{}, err
	}
	m, err := i.identity(ctx, declared, from, release.Manifest, path, release.Version)
	if err != nil {
		return Installed{}, err
	}
	version, err := semver.ParseTolerant(m.Version)
	if err != nil {
		return Installed{}, err
	}
	if asked.String() != "" && !asked.Contains(version) {
		return Installed{}, fmt.Errorf("%s has version %s, and the project asks for %s", declared.Source, version, asked)
	}
	if locked != nil {
		was, err := semver.Parse(locked.Version)
		switch {
		case err != nil:
			return Installed{}, err
		case version.EQ(was) && release.Digest != locked.Digest && from.Kind != registry.Git: // a branch goes on
			return Installed{}, &plugins.MovedError{Source: declared.Source, Version: locked.Version, Locked: locked.Digest, Is: release.Digest}
		case version.LT(was):
			return Installed{}, fmt.Errorf("the newest version of %s is %s now, older than %s, which is locked: it was withdrawn, or the registry hides it\n"+
				"to go back, ask for it with version: %s", declared.Source, version, was, version)
		}
	}
	one := Installed{
		Name: declared.Name, Source: declared.Source, Version: version.String(), Digest: release.Digest, Size: release.Size, Path: path, Requests: m.Requests, from: from,
		locked: lockfile.Provider{
			Name: declared.Name, Source: declared.Source, Version: version.String(), Digest: release.Digest, Size: release.Size, Manifest: release.Manifest,
			Signer: lockfile.SignerOf(signer), Commit: commit,
		},
	}
	if named, err := registry.ParseSource(declared.Source); err == nil && named.Kind == registry.Named {
		one.locked.From = from.String()
		if locked != nil && locked.From != "" && locked.From != one.locked.From {
			return Installed{}, fmt.Errorf("%s is at %s now, and husk.lock has it from %s: another registry is asked first, or the first has lost it\n"+
				"to take it from there, remove the entry from husk.lock and run husk install", declared.Source, one.locked.From, locked.From)
		}
	}
	if !signer.IsZero() {
		one.Signer = signer.String()
	}
	one.Commit = commit
	if locked != nil && locked.Commit != commit && locked.Version == one.Version && from.IsVersionTag() {
		one.CommitWas = locked.Commit
	}
	one.locked.Requests = requestsOf(m.Requests)
	one.replaced = i.replaced(declared, locked)
	if one.replaced != nil {
		one.compare(one.replaced.Requests)
		if one.replaced.Version != one.Version {
			one.Was = one.replaced.Version
		}
		if was := one.replaced.Signer; was != nil && (one.locked.Signer == nil || *was != *one.locked.Signer) {
			one.SignerWas = was.String()
		}
	}
	one.Changed = one.replaced == nil || one.replaced.Digest != one.Digest || one.replaced.Source != one.Source || one.replaced.Version != one.Version ||
		one.SignerWas != "" || one.replaced.Signer == nil && one.locked.Signer != nil
	return one, nil
}

// replaced returns the module that the lock has for a provider, also from another source or outside of the range; nil for
// none, and for one that another entry of the project uses.
func (i *installer) replaced(declared *program.ProviderPlugin, locked *lockfile.Provider) *lockfile.Provider {
	if locked != nil {
		return locked
	}
	for at := range slices.Backward(i.lock.Providers) {
		p := &i.lock.Providers[at]
		used := slices.ContainsFunc(i.project.Providers, func(other program.ProviderPlugin) bool {
			of, err := i.lock.Of(&other)
			return err == nil && of == p
		})
		if p.Name == declared.Name && !used {
			return p
		}
	}
	return nil
}

// compare finds the requests of the module beyond the locked ones.
func (one *Installed) compare(locked []lockfile.Request) {
	for _, r := range one.Requests {
		if !isCovered(locked, r) {
			one.Wider = append(one.Wider, r)
		}
	}
	for _, l := range locked {
		if !slices.ContainsFunc(one.Requests, func(r host.CapabilityRequest) bool { return r.Capability == l.Capability && r.Scope == l.Scope }) {
			one.Dropped = append(one.Dropped, host.CapabilityRequest{Capability: l.Capability, Scope: l.Scope, Optional: l.Optional})
		}
	}
}

// Wider returns the requests that others do not have.
func Wider(before, now []host.CapabilityRequest) (wider []host.CapabilityRequest) {
	locked := requestsOf(before)
	for _, r := range now {
		if !isCovered(locked, r) {
			wider = append(wider, r)
		}
	}
	return wider
}

func requestsOf(all []host.CapabilityRequest) (locked []lockfile.Request) {
	for _, r := range all {
		locked = append(locked, lockfile.Request{Capability: r.Capability, Scope: r.Scope, Optional: r.Optional})
	}
	return locked
}

// isCovered reports whether locked requests cover a request. An optional request does not cover a required one. One without a
// scope asks for whatever the configuration says.
func isCovered(locked []lockfile.Request, r host.CapabilityRequest) bool {
	var set grant.Set
	for _, l := range locked {
		if l.Capability != r.Capability || l.Optional && !r.Optional {
			continue
		}
		if l.Scope == "" || l.Scope == r.Scope {
			return true
		}
		if r.Capability == grant.NameHTTP || r.Capability == grant.NameTCP {
			_ = set.Add(grant.Text{Capability: l.Capability, Scope: l.Scope}, grant.Place{}) // an invalid grant covers nothing
		}
	}
	return r.Scope != "" && set.Fulfils(r.Capability, r.Scope)
}

// RequestLines returns requests for people, one in each line.
func RequestLines(requests []host.CapabilityRequest) []string {
	var lines []string
	for _, r := range requests {
		line := strings.TrimSpace(r.Capability + " " + r.Scope)
		if r.Optional {
			line += " (optional)"
		}
		if r.Reason != "" {
			line += ": " + r.Reason
		}
		lines = append(lines, line)
	}
	if lines == nil {
		lines = []string{"nothing"}
	}
	return lines
}

// Vendor puts the modules that the lock of a project pins into an OCI layout in a directory.
func Vendor(ctx context.Context, project *program.Project, p *plugins.Plugins, dir string, progress func(registry.Progress)) ([]Installed, error) {
	all, err := Run(ctx, project, p, Options{Locked: true, Progress: progress})
	if err != nil {
		return nil, err
	}
	client, err := p.Registry(progress)
	if err != nil {
		return nil, err
	}
	var modules []registry.Vendored
	for _, one := range all {
		modules = append(modules, registry.Vendored{
			Source: one.from, Name: one.Name,
			Release: registry.Release{Version: one.Version, Digest: one.Digest, Size: one.Size, Manifest: one.locked.Manifest},
		})
	}
	return all, client.Vendor(ctx, dir, modules)
}
