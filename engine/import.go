package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// ImportTarget is an object that [Import] takes over, or a component, which is only a parent.
type ImportTarget struct {
	Type, Name string
	// ID is the object's, empty for a component.
	ID        string
	Component bool
	// Parent is recorded or imported as well; empty is the stack.
	Parent urn.URN
	// Provider is a recorded provider. If it is empty, it is the parent's provider, the one of all parts of a component, or the
	// default one.
	Provider urn.URN
	// Version is the version of the default provider, empty for any.
	Version string
	// Package has the parameters that make the package of the type; nil for a provider's own package.
	Package *abi.RegisterPackageRequest
	Protect bool
	// Properties names the inputs to keep; none keep all that the provider returns.
	Properties []string
	// State is another tool's record of the object, nil if there is none. The provider refreshes it, so it need not find the
	// object by its ID alone. Inputs are those in it that a program would give.
	State, Inputs *property.Map
	// Dependencies are recorded or imported as well.
	Dependencies []urn.URN
}

// importAll imports parents and dependencies first, and the rest in parallel.
func (d *deployment) importAll(ctx context.Context) error {
	if err := d.readNaming(); err != nil {
		return err
	}
	for _, res := range d.recorder.Resources() {
		if !res.Delete {
			d.registrations.Goals.Set(res.URN, res)
		}
	}
	root, err := d.importRoot(ctx)
	if err != nil {
		return err
	}
	d.imported = make([]*state.Resource, len(d.Imports))
	generations, err := d.generations(root)
	if err != nil {
		return err
	}
	packages := make(map[*abi.RegisterPackageRequest]string)
	for _, generation := range generations {
		var chains [][]*step
		at := make(map[*step]int)
		for _, i := range generation {
			s, err := d.importStep(ctx, root, d.Imports[i], packages)
			if err != nil {
				return fmt.Errorf("import %s %q: %w", d.Imports[i].Type, d.Imports[i].Name, err)
			}
			at[s] = i
			chains = append(chains, []*step{s})
		}
		d.exec.runAll(ctx, chains)
		for s, i := range at {
			d.imported[i] = s.subject()
		}
		if err := errors.Join(errors.Join(d.failures.all()...), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// importRoot returns the stack itself, which is made if it is not there.
func (d *deployment) importRoot(ctx context.Context) (urn.URN, error) {
	req := abi.RegisterResourceRequest{Type: urn.RootType, Name: d.Project + "-" + d.Stack}
	gl, err := d.monitor.goal(ctx, req)
	if err != nil || d.recorder.Lookup(gl.urn) != nil {
		return gl.urn, err
	}
	_, err = d.register(ctx, gl)
	return gl.urn, err
}

// generations returns the targets in groups by index: first those whose parent and dependencies are recorded.
func (d *deployment) generations(root urn.URN) ([][]int, error) {
	depths, errs := make(map[urn.URN]int), []error(nil)
	placed := make([]bool, len(d.Imports))
	waits := func(on urn.URN) bool {
		_, ok := depths[on]
		return !ok && d.recorder.Lookup(on) == nil
	}
	var out [][]int
	for left := len(d.Imports); left > 0; {
		var next []int
		for i, target := range d.Imports {
			parent := urn.URN(cmp.Or(string(target.Parent), string(root)))
			if !placed[i] && !waits(parent) && !slices.ContainsFunc(target.Dependencies, waits) {
				next = append(next, i)
			}
		}
		if len(next) == 0 {
			break
		}
		for _, i := range next {
			u := d.importURN(root, d.Imports[i])
			if _, twice := depths[u]; twice {
				errs = append(errs, fmt.Errorf("%s %q is imported twice", u.Type(), u.Name()))
			}
			placed[i], depths[u] = true, len(out)
			left--
		}
		out = append(out, next)
	}
	all := make(map[urn.URN]bool)
	for _, target := range d.Imports {
		all[d.importURN(root, target)] = true
	}
	for i, target := range d.Imports {
		if placed[i] {
			continue
		}
		errs = append(errs, fmt.Errorf("import %s %q: %w", target.Type, target.Name, waiting(root, target, waits, all)))
	}
	return out, errors.Join(errs...)
}

// waiting returns the error for a target that waits for something that does not come. all are the targets.
func waiting(root urn.URN, target ImportTarget, waits func(urn.URN) bool, all map[urn.URN]bool) error {
	at := slices.IndexFunc(target.Dependencies, waits)
	if at < 0 || waits(urn.URN(cmp.Or(string(target.Parent), string(root)))) {
		return fmt.Errorf("its parent %s is neither in the stack nor imported as well", target.Parent)
	}
	on := target.Dependencies[at]
	if all[on] {
		return fmt.Errorf("it depends on %s, which waits for something, too: maybe they depend on one another", on)
	}
	return fmt.Errorf("it depends on %s, which is neither in the stack nor imported as well", on)
}

func (d *deployment) importURN(root urn.URN, target ImportTarget) urn.URN {
	return urn.New(d.Stack, d.Project, urn.URN(cmp.Or(string(target.Parent), string(root))), target.Type, target.Name)
}

// importStep decides how one thing is imported. packages are the references of the packages so far.
func (d *deployment) importStep(ctx context.Context, root urn.URN, target ImportTarget, packages map[*abi.RegisterPackageRequest]string) (*step, error) {
	switch {
	case providers.IsType(target.Type) || target.Type == urn.RootType:
		return nil, errors.New("it is nothing that a provider has made: only what providers make can be imported")
	case target.Component != (target.ID == ""):
		return nil, errors.New("an object has an ID, and a component has none")
	}
	if old := d.recorder.Lookup(d.importURN(root, target)); old != nil && !old.PendingReplacement {
		if old.Custom == target.Component || !old.External && target.ID != old.ID && target.ID != cmp.Or(old.ImportID, old.ID) {
			return nil, fmt.Errorf("the stack has one of that name already, with the ID %q", old.ID)
		}
		if !old.External {
			same := clone(old)
			return &step{op: OpSame, old: old, new: same}, nil
		}
	}
	req := abi.RegisterResourceRequest{Type: target.Type, Name: target.Name, Custom: !target.Component, Parent: target.Parent}
	req.Options.ImportID, req.Options.Protect, req.Options.Version = target.ID, &target.Protect, target.Version
	req.Options.Dependencies = target.Dependencies
	if pkg := target.Package; pkg != nil {
		if packages[pkg] == "" {
			registered, err := d.monitor.RegisterPackage(ctx, *pkg)
			if err != nil {
				return nil, err
			}
			packages[pkg] = registered.PackageRef
		}
		req.Options.PackageRef = packages[pkg]
	}
	if target.Provider == "" {
		req.Options.Provider = d.providerOfParts(d.recorder.Lookup(target.Parent), providers.PackageOf(target.Type))
	} else {
		provider := d.recorder.Lookup(target.Provider)
		if provider == nil || !providers.IsType(provider.Type) {
			return nil, fmt.Errorf("the stack has no provider %s", target.Provider)
		}
		req.Options.Provider = provider.Reference()
	}
	gl, err := d.monitor.goal(ctx, req)
	if err != nil {
		return nil, err
	}
	n := gl.state(property.Map{})
	n.ImportID = target.ID
	d.registrations.Goals.Set(n.URN, n)
	if target.Component {
		return &step{op: OpCreate, new: n}, nil
	}
	provider, err := d.providerFor(ctx, gl.typ, gl.by)
	if err != nil {
		return nil, err
	}
	return &step{op: OpImport, old: d.recorder.Lookup(gl.urn), new: n, provider: provider, asFound: &target}, nil
}

// providerOfParts returns the provider that all recorded parts of a component, or of the next one above it, have for a package. It
// is empty if there is not one, or if it is a default one. The state does not have the providers that a component hands down.
func (d *deployment) providerOfParts(component *state.Resource, pkg string) (ref string) {
	if component == nil || component.Custom || component.Type == urn.RootType {
		return ""
	}
	for _, res := range d.recorder.Resources() {
		switch {
		case res.Parent != component.URN || res.Delete || providers.PackageOfReference(res.Provider) != pkg:
		case ref != "" && ref != res.Provider:
			return ""
		default:
			ref = res.Provider
		}
	}
	if ref == "" {
		return d.providerOfParts(d.recorder.Lookup(component.Parent), pkg)
	}
	if isByDefault(ref) {
		return "" // which depends on the version
	}
	return ref
}

// importAsFound gives an imported resource the inputs that its provider returns. It imports the object even
// if the provider itself refuses them.
func (a *applier) importAsFound(ctx context.Context, s *step, found *state.Resource) error {
	n := s.new
	n.ID, n.Outputs, n.Inputs, n.RefreshBeforeUpdate = found.ID, found.Outputs, found.Inputs, found.RefreshBeforeUpdate
	if keep := s.asFound.Properties; len(keep) > 0 {
		n.Inputs = found.Inputs.Without(slices.DeleteFunc(found.Inputs.Keys(), func(k string) bool { return slices.Contains(keep, k) })...)
		for _, k := range keep {
			if !found.Inputs.Has(k) {
				a.warn(n.URN, "the object has no input %q to import", k)
			}
		}
	}
	check, err := s.provider.Check(ctx, abi.CheckRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, Olds: &found.Inputs, News: n.Inputs, RandomSeed: newSeed(),
	})
	if session, ok := s.provider.(*providers.Session); ok && err == nil {
		var missing []string
		if missing, check.Failures, err = session.MissingWriteOnly(ctx, n.Type, n.Inputs, check.Failures); len(missing) > 0 {
			a.warn(n.URN, "the program has to set %s: no provider returns write-only inputs", strings.Join(missing, ", "))
		}
	}
	checked, refused, err := checkedInputs(n.Inputs, check, err)
	switch {
	case err != nil:
		return err
	case refused != nil:
		a.warn(n.URN, "the provider would refuse the inputs that it returned for the object, so an update may fail: %v", refused)
	default:
		n.Inputs = checked
	}
	if n.Inputs.ContainsUnknowns() || n.Outputs.ContainsUnknowns() {
		return errors.New("cannot import: the provider returned unknown values")
	}
	n.Created = a.now()
	n.Modified = n.Created
	return nil
}
