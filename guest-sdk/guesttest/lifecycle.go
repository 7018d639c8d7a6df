package guesttest

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
)

// Change is an update in a [Lifecycle].
type Change struct {
	Inputs Props
	// Diff is the expected result of [Provider.Diff]. If one of its lines ends with -replace, the resource is created anew.
	Diff []string
	// State are properties that the state must have then.
	State Props
}

// Lifecycle says how a resource lives.
type Lifecycle struct {
	Inputs Props
	// State are properties that the state must have after the creation.
	State   Props
	Changes []Change
	// Import has the resource read by its ID at the end: an import must find the state that was recorded.
	Import bool
	// Remains is set for resources whose read cannot tell, after the deletion, that they are gone.
	Remains bool
}

// Lifecycle previews, creates, reads, compares, changes, imports, and deletes a resource. Each must do as the contract says: the
// creation keeps the promises of the preview, the same inputs make no difference, a refresh of an unchanged object finds no
// change, and a deleted object is gone and can be deleted again.
func (p *Provider) Lifecycle(typ string, l Lifecycle) {
	p.t.Helper()
	r := p.create(typ, l.Inputs, l.State)
	for _, c := range l.Changes {
		diff := p.Diff(r, c.Inputs)
		want := slices.Sorted(slices.Values(c.Diff))
		if !slices.Equal(diff, want) {
			p.t.Fatalf("the difference of %s is not as expected\n%s\n%s\n%s\n%s", r,
				listed("want", want), listed("got", diff), block("state", r.State), block("new inputs", p.Named(r.Name).Check(typ, c.Inputs)))
		}
		if slices.ContainsFunc(diff, func(line string) bool { return strings.HasSuffix(line, "-replace") }) {
			p.Delete(r)
			r = p.create(typ, c.Inputs, c.State)
			continue
		}
		r = p.Update(r, c.Inputs)
		p.wantState(r, "update", c.State)
		p.settled(r, c.Inputs)
	}
	if l.Import {
		imported := p.Import(typ, r.ID)
		if imported == nil {
			p.t.Fatalf("importing %s by the ID %q: it is not found", r, r.ID)
		}
		p.sameState(r, "the import", imported.State)
	}
	p.Delete(r)
	if !l.Remains {
		if read := p.Read(r); read != nil {
			p.t.Fatalf("%s is still there after its deletion\n%s", r, block("read", read.State))
		}
	}
	if err := p.TryDelete(r); err != nil {
		p.t.Fatalf("deleting %s again, as after a run that was interrupted: %v", r, err)
	}
}

// create previews and creates a resource, and checks that both agree.
func (p *Provider) create(typ string, inputs, state Props) *Resource {
	p.t.Helper()
	promised := p.Preview(typ, inputs)
	r := p.Create(typ, inputs)
	known := property.NewMap()
	for key, v := range promised.All() {
		if !v.ContainsUnknowns() {
			known = known.With(key, v)
		}
	}
	p.mustHave(r, "the creation is not as the preview promised", known, r.State)
	p.wantState(r, "creation", state)
	p.settled(r, inputs)
	return r
}

// settled checks that nothing is to be done for a resource.
func (p *Provider) settled(r *Resource, inputs Props) {
	p.t.Helper()
	if diff := p.Diff(r, inputs); len(diff) > 0 {
		p.t.Fatalf("%s differs from the inputs that it has\n%s\n%s\n%s", r, listed("differences", diff), block("inputs", r.Inputs), block("state", r.State))
	}
	read := p.Read(r)
	if read == nil {
		p.t.Fatalf("%s is gone when it is read by the ID %q", r, r.ID)
	}
	p.sameState(r, "the read", read.State)
	if diff := p.Diff(read, inputs); len(diff) > 0 {
		p.t.Fatalf("%s differs from its inputs after it is read\n%s\n%s\n%s", r, listed("differences", diff), block("inputs", r.Inputs), block("read", read.State))
	}
}

func (p *Provider) wantState(r *Resource, after string, want Props) {
	p.t.Helper()
	p.mustHave(r, "the state after the "+after+" is not as expected", mapOf(p.t, want), r.State)
}

// mustHave fails the test unless a map has the properties that are wanted, secret or not.
func (p *Provider) mustHave(r *Resource, problem string, want, got property.Map) {
	p.t.Helper()
	part := property.NewMap()
	for key := range want.All() {
		if v, ok := got.Lookup(key); ok {
			part = part.With(key, v)
		}
	}
	if lines := mismatches(want.Unwrap(), part.Unwrap()); len(lines) > 0 {
		p.t.Fatalf("%s: %s\n%s\n%s\n%s", r, problem, strings.Join(lines, "\n"), block("inputs", r.Inputs), block("state", got))
	}
}

// sameState fails the test unless a state is the resource's.
func (p *Provider) sameState(r *Resource, what string, got property.Map) {
	p.t.Helper()
	if lines := mismatches(r.State, got); len(lines) > 0 {
		p.t.Fatalf("%s: %s does not give the state that was recorded\n%s\n%s\n%s", r, what, strings.Join(lines, "\n"), block("state", r.State), block("got", got))
	}
}

// mismatches returns a line for each property that differs.
func mismatches(want, got property.Map) (lines []string) {
	for _, c := range property.Diff(want, got) {
		lines = append(lines, "  "+c.Path.String()+": want "+at(c.Path, want)+", got "+at(c.Path, got))
	}
	return lines
}

// at returns the value at a path as text.
func at(path property.Path, m property.Map) string {
	v, ok := path.Get(property.Object(m))
	if !ok {
		return "none"
	}
	return property.Render(v)
}

// block shows properties, one a line.
func block(title string, m property.Map) string {
	var lines []string
	for _, key := range m.Keys() {
		lines = append(lines, key+": "+property.Render(m.Get(key)))
	}
	return listed(title, lines)
}
