package tfstate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
)

// Takeover has the resources that a stack takes over from a state.
type Takeover struct {
	// Objects are in the order of the state.
	Objects []*Object
	// Left names the rest, and why it is not taken over: sentences for the user.
	Left []string
}

// Object is a resource to take over.
type Object struct {
	*Resource
	// Name is the resource's name in the program.
	Name string
	// Token is the type.
	Token         string
	ID            string
	State, Inputs property.Map
	// After are the resource's dependencies.
	After []*Object
	// By is the provider's name in the project. The alias of the resource's provider configuration is for the caller to look up.
	By string
}

// shownAddresses is how many addresses a sentence lists.
const shownAddresses = 5

// Take says what of a state providers take over. It is an error if an attribute cannot be a property.
func Take(s *State, known []*Known) (*Takeover, error) {
	t := &taking{Takeover: &Takeover{}, missing: make(map[string][]string), unknown: make(map[string][]string)}
	var managed []*Resource
	for _, r := range s.Resources {
		switch {
		case !r.Managed:
			t.data = append(t.data, r.Address)
		case r.Deposed:
			t.deposed = append(t.deposed, r.Address)
		default:
			managed = append(managed, r)
		}
	}
	named := names(managed)
	for _, r := range managed {
		if err := t.take(r, named[r], known); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Address, err)
		}
	}
	t.depend()
	t.tell()
	return t.Takeover, nil
}

type taking struct {
	*Takeover
	data, deposed, builtin []string
	// missing are addresses by the providers that no project lists, and unknown those by the types that a
	// provider does not have.
	missing, unknown map[string][]string
	dropped, tainted []string
}

// builtin is the provider that is part of Terraform.
const builtin = "terraform.io/builtin/terraform"

func (t *taking) take(r *Resource, name string, known []*Known) error {
	if r.Provider.Source == builtin {
		t.builtin = append(t.builtin, r.Address)
		return nil
	}
	by, listed := providerOf(r, known)
	if by == nil {
		if listed != "" {
			key := "the provider " + listed + " has no type for " + r.Type
			t.unknown[key] = append(t.unknown[key], r.Address)
		} else {
			t.missing[r.Provider.Source] = append(t.missing[r.Provider.Source], r.Address)
		}
		return nil
	}
	typ, m := by.find(r)
	if r.Tainted && m == nil {
		t.tainted = append(t.tainted, r.Address)
	}
	state, inputs, dropped, err := r.properties(typ, m)
	if err != nil {
		return err
	}
	for _, attribute := range dropped {
		t.dropped = append(t.dropped, r.Address+"."+attribute)
	}
	t.Objects = append(t.Objects, &Object{
		Resource: r, Name: name, Token: typ.Token, ID: r.id(m, name), State: state, Inputs: inputs, By: by.Name,
	})
	return nil
}

// providerOf returns the provider that has the type of a resource: first one of Terraform's name. If none has,
// listed is the one of that name.
func providerOf(r *Resource, known []*Known) (by *Known, listed string) {
	for _, k := range known {
		if k.Name == r.Provider.Name() {
			if typ, _ := k.find(r); typ != nil {
				return k, k.Name
			}
			listed = k.Name
		}
	}
	for _, k := range known {
		if typ, _ := k.find(r); typ != nil {
			return k, k.Name
		}
	}
	return nil, listed
}

// depend finds what Terraform's dependencies name.
func (t *taking) depend() {
	blocks := make(map[string][]*Object)
	for _, o := range t.Objects {
		blocks[o.Block()] = append(blocks[o.Block()], o)
	}
	for _, o := range t.Objects {
		seen := map[string]bool{o.Block(): true}
		for _, address := range o.Dependencies {
			if block := withoutKeys(address); !seen[block] {
				seen[block] = true
				o.After = append(o.After, blocks[block]...)
			}
		}
	}
}

// tell fills in the sentences of Left.
func (t *taking) tell() {
	say := func(format string, args ...any) { t.Left = append(t.Left, fmt.Sprintf(format, args...)) }
	for _, source := range slices.Sorted(maps.Keys(t.missing)) {
		say("Not taken over, because the project lists no provider for %s: %s", source, list(t.missing[source]))
		t.Left = append(t.Left, advice(source))
	}
	for _, key := range slices.Sorted(maps.Keys(t.unknown)) {
		say("Not taken over, because %s: %s", key, list(t.unknown[key]))
	}
	if len(t.builtin) > 0 {
		say("Not taken over, because they are values of Terraform itself: %s", list(t.builtin))
	}
	if len(t.deposed) > 0 {
		say("Not taken over, because Terraform has replaced and not yet deleted them, which terraform apply does: %s", list(t.deposed))
	}
	if len(t.data) > 0 {
		say("Not taken over, because data sources are read by the program: %s", list(t.data))
	}
	if len(t.tainted) > 0 {
		say("Terraform would replace what it has marked as tainted; husk state taint has that done here: %s", list(t.tainted))
	}
	if len(t.dropped) > 0 {
		say("Left out, because the provider has no such property: %s", list(t.dropped))
	}
}

func advice(source string) string {
	name := Provider{Source: source}.Name()
	from := "MODULE@VERSION"
	if parts := strings.Split(source, "/"); len(parts) == 3 {
		from = "github.com/" + parts[1] + "/terraform-provider-" + name + "@latest"
	}
	return fmt.Sprintf("Add it with husk provider port %s and {name: %s, path: %[2]s.wasm} under plugins.providers, then import again.", from, name)
}

func list(addresses []string) string {
	if more := len(addresses) - shownAddresses; more > 1 {
		return fmt.Sprintf("%s, and %d more", strings.Join(addresses[:shownAddresses], ", "), more)
	}
	return strings.Join(addresses, ", ")
}
