package walktest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// resource is one of a program. It names others that come before it.
type resource struct {
	Name, Type string // Thing, Single, Named, or Group for a component
	Key, Kind  int
	// Alias is the name that it had before.
	Alias string `json:",omitempty"`
	// From are resources whose address is an input, After those that it depends on, Owner the one that it is deleted
	// with, and With the one that it is replaced with.
	From, After          []string `json:",omitempty"`
	Owner, With          string   `json:",omitempty"`
	Parent               string   `json:",omitempty"`
	DeleteFirst, Retain  bool     `json:",omitempty"`
	Ignore, Protect, Own bool     `json:",omitempty"`
	Trigger              int      `json:",omitempty"`
	Import               bool     `json:",omitempty"`
}

// program is a program in YAML.
type program struct {
	// Region is that of the stack's configuration, Own that of the program's own provider: RegionOf names a resource whose
	// address it is.
	Region, Own, RegionOf string     `json:",omitempty"`
	Resources             []resource `json:",omitempty"`
}

const group = "Group"

var names = []string{"a", "b", "c", "d", "e", "f"}

func (p *program) index(name string) int {
	return slices.IndexFunc(p.Resources, func(r resource) bool { return r.Name == name })
}

// parts are the names of the objects of a resource: a component has two.
func (r resource) parts() []string {
	if r.Type == group {
		return []string{r.Name + "-one", r.Name + "-two"}
	}
	return []string{r.Name}
}

// yaml is the text of the program of a project.
func (p *program) yaml(project, address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nruntime: yaml\nplugins: {providers: [{name: world, path: world.wasm, grants: {tcp: [%q]}}]}\n", project, address)
	fmt.Fprintf(&b, "config: {\"world:endpoint\": %q", address)
	if p.Region != "" {
		fmt.Fprintf(&b, ", \"world:region\": %s", p.Region)
	}
	b.WriteString("}\n")
	b.WriteString(`components:
  Group:
    inputs:
      name: {type: string}
      key: {type: integer}
      from: {type: array}
    resources:
      one: {type: "world:Thing", name: "${name}-one", properties: {key: "${key}", kind: 0, from: "${from}"}}
      two: {type: "world:Single", name: "${name}-two", properties: {key: 0, kind: "${key}", from: ["${one.address}"]}}
    outputs:
      address: ${two.address}
      first: ${one.address}
resources:
`)
	own := false
	for _, r := range p.Resources {
		if r.Own && !own {
			own = true
			region := fmt.Sprintf("%q", "r"+p.Own)
			if p.RegionOf != "" {
				region = fmt.Sprintf("\"${%s.address}\"", p.RegionOf)
			}
			fmt.Fprintf(&b, "  own: {type: pulumi:providers:world, properties: {endpoint: %q, region: %s}}\n", address, region)
		}
		p.declare(&b, project, r)
	}
	if len(p.Resources) == 0 {
		b.WriteString("  {}\n")
	}
	return b.String()
}

func (p *program) declare(b *strings.Builder, project string, r resource) {
	var from []string
	for _, name := range r.From {
		from = append(from, fmt.Sprintf("\"${%s.address}\"", name))
		if p.Resources[p.index(name)].Type == group {
			from = append(from, fmt.Sprintf("\"${%s.first}\"", name))
		}
	}
	var options []string
	option := func(format string, args ...any) { options = append(options, fmt.Sprintf(format, args...)) }
	refs := func(names ...string) string {
		var out []string
		for _, name := range names {
			out = append(out, fmt.Sprintf("\"${%s}\"", name))
		}
		return strings.Join(out, ", ")
	}
	if len(r.After) > 0 {
		option("dependsOn: [%s]", refs(r.After...))
	}
	if r.Protect {
		option("protect: true")
	}
	if r.Alias != "" {
		option("aliases: [{name: %s}]", r.Alias)
	}
	if r.Own {
		option("provider: \"${own}\"")
	}
	if r.Type == group {
		fmt.Fprintf(b, "  %s: {type: \"%s:Group\", properties: {name: %s, key: %d, from: [%s]}, options: {%s}}\n", r.Name, project, r.Name, r.Key, strings.Join(from, ", "), strings.Join(options, ", "))
		return
	}
	properties := fmt.Sprintf("key: %d, kind: %d, from: [%s]", r.Key, r.Kind, strings.Join(from, ", "))
	if r.Type == "Named" {
		properties += ", name: " + r.Name + r.Parent
	}
	if r.Owner != "" {
		option("deletedWith: %s", refs(r.Owner))
		properties += fmt.Sprintf(", owner: \"${%s.address}\"", r.Owner)
	}
	if r.With != "" {
		option("replaceWith: [%s]", refs(r.With))
	}
	if r.Parent != "" {
		option("parent: %s", refs(r.Parent))
	}
	if r.DeleteFirst {
		option("deleteBeforeReplace: true")
	}
	if r.Retain {
		option("retainOnDelete: true")
	}
	if r.Ignore {
		option("ignoreChanges: [key]")
	}
	if r.Trigger > 0 {
		option("replacementTrigger: %d", r.Trigger)
	}
	if r.Import {
		option("import: %s", importID(r.Name))
	}
	fmt.Fprintf(b, "  %s: {type: \"world:%s\", properties: {%s}, options: {%s}}\n", r.Name, r.Type, properties, strings.Join(options, ", "))
}

// importID is the ID of the object that a resource takes over.
func importID(name string) string { return "found-" + name }

// clone returns a copy that can be changed.
func (p program) clone() program {
	p.Resources = slices.Clone(p.Resources)
	for i := range p.Resources {
		p.Resources[i].From = slices.Clone(p.Resources[i].From)
		p.Resources[i].After = slices.Clone(p.Resources[i].After)
	}
	return p
}

// random draws what walks do.
type random struct{ *rand.Rand }

func (r random) oneIn(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r random, all []T) T { return all[r.IntN(len(all))] }

// draw draws a resource after those of a program.
func (p *program) draw(r random, name string) resource {
	out := resource{Name: name, Type: pick(r, []string{"Thing", "Thing", "Thing", "Single", "Single", "Named", group}), Key: r.IntN(3), Kind: r.IntN(2)}
	p.attach(r, &out)
	return out
}

// attach draws what a resource has to do with those before it.
func (p *program) attach(r random, out *resource) {
	var before []string
	for _, other := range p.Resources {
		before = append(before, other.Name)
	}
	some := func(n int) (chosen []string) {
		for _, name := range before {
			if r.oneIn(n) {
				chosen = append(chosen, name)
			}
		}
		return chosen
	}
	out.From, out.After, out.Owner, out.With, out.Parent = some(4), some(4), "", "", ""
	out.Protect = r.oneIn(10)
	if out.Type == group {
		return
	}
	out.DeleteFirst, out.Retain, out.Ignore, out.Own = r.oneIn(6), r.oneIn(10), r.oneIn(8), r.oneIn(4)
	if r.oneIn(8) {
		out.Trigger = 1 + r.IntN(2)
	}
	if len(before) == 0 {
		return
	}
	if owner := p.Resources[p.index(pick(r, before))]; r.oneIn(4) && owner.Type != group && out.Type != "Named" {
		out.Owner = owner.Name
	}
	if with := pick(r, before); r.oneIn(8) {
		out.With = with
	}
	if parent := pick(r, before); r.oneIn(6) {
		out.Parent = parent
	}
}

// drawProgram draws a program.
func drawProgram(r random) program {
	p := program{Own: fmt.Sprint(r.IntN(2))}
	for _, name := range names {
		if r.oneIn(3) {
			continue
		}
		p.Resources = append(p.Resources, p.draw(r, name))
	}
	if len(p.Resources) > 0 && r.oneIn(2) {
		p.RegionOf = p.Resources[0].Name
		p.Resources[0].Own = false
	}
	p.mend()
	return p
}

// edit changes a program in some way.
func (p program) edit(r random) program {
	p = p.clone()
	for range 1 + r.IntN(3) {
		if len(p.Resources) == 0 || r.oneIn(8) {
			return drawProgram(r)
		}
		i := r.IntN(len(p.Resources))
		kind := r.IntN(12)
		if region := p.index(p.RegionOf); region >= 0 && r.oneIn(4) {
			i, kind = region, 2 // it is replaced, and so is the provider, perhaps
		}
		at := &p.Resources[i]
		switch kind {
		case 0, 1:
			at.Key = r.IntN(3)
		case 2, 3:
			at.Kind = r.IntN(3)
			if at.Type == group {
				at.Key = r.IntN(3)
			}
		case 4:
			p.Resources = slices.Delete(p.Resources, i, i+1)
		case 5, 6:
			if name := pick(r, names); p.index(name) < 0 {
				added := p.draw(r, name)
				p.Resources = append(p.Resources, added)
			}
		case 7: // renamed, sometimes without an alias
			if name := pick(r, names); p.index(name) < 0 {
				old := at.Name
				p.rename(old, name)
				at.Alias = ""
				if !r.oneIn(4) && !slices.ContainsFunc(p.Resources, func(other resource) bool { return other.Alias == old }) {
					at.Alias = old
				}
			}
		case 8:
			earlier := program{Resources: p.Resources[:i]}
			earlier.attach(r, at)
		case 9:
			at.Protect, at.Retain = r.oneIn(5), at.Type != group && r.oneIn(5)
		case 10:
			p.Own = fmt.Sprint(r.IntN(3))
			p.RegionOf = ""
			if r.oneIn(3) {
				p.RegionOf = at.Name
			}
		case 11:
			switch {
			case r.oneIn(4):
				p.Region = pick(r, []string{"", "here"})
			case at.Type == "Thing" && at.Owner == "" && !at.Own && p.Region == "":
				if name := pick(r, names); p.index(name) < 0 {
					p.Resources = append(p.Resources, resource{Name: name, Type: "Thing", Key: r.IntN(3), Import: true})
				}
			}
		}
	}
	p.mend()
	return p
}

func (p *program) rename(old, to string) {
	renamed := func(name *string) {
		if *name == old {
			*name = to
		}
	}
	for i := range p.Resources {
		at := &p.Resources[i]
		renamed(&at.Name)
		renamed(&at.Owner)
		renamed(&at.With)
		renamed(&at.Parent)
		for j := range at.From {
			renamed(&at.From[j])
		}
		for j := range at.After {
			renamed(&at.After[j])
		}
	}
	renamed(&p.RegionOf)
}

// mend leaves out what names nothing that comes before it.
func (p *program) mend() {
	known, first := map[string]bool{}, len(p.Resources)
	for i := range p.Resources {
		at := &p.Resources[i]
		unknown := func(name string) bool { return !known[name] }
		at.From, at.After = slices.DeleteFunc(at.From, unknown), slices.DeleteFunc(at.After, unknown)
		for _, name := range []*string{&at.Owner, &at.With, &at.Parent} {
			if !known[*name] {
				*name = ""
			}
		}
		if parent := p.index(at.Parent); at.Owner == "" && parent >= 0 {
			at.Owner = p.Resources[parent].Owner // which children inherit
		}
		if at.Own || at.Parent != "" || p.Region != "" {
			at.Import = false // what was found is not in the region of another provider
		}
		if at.Own && first == len(p.Resources) {
			first = i
		}
		known[at.Name] = true
		if p.index(at.Alias) >= 0 {
			at.Alias = ""
		}
	}
	// The provider's region is known before its resources are.
	if at := p.index(p.RegionOf); at < 0 || at >= first {
		p.RegionOf = ""
	}
	if p.RegionOf == "" && p.Own == "" {
		p.Own = "0"
	}
}
