package edit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

var dev = state.StackName{Project: "shop", Name: "dev"}

func named(typ, name string) urn.URN { return urn.New("dev", "shop", "", typ, name) }

const root = urn.URN("urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev")

var (
	provider = &state.Resource{URN: named("pulumi:providers:acme", "default"), Type: "pulumi:providers:acme", Custom: true, ID: "p1"}
	group    = &state.Resource{URN: named("acme:net:Group", "group"), Type: "acme:net:Group", Parent: root}
	vpc      = custom("acme:net:Vpc", "vpc", root)
	subnet   = with(custom("acme:net:Subnet", "subnet", group.URN), func(r *state.Resource) {
		r.Dependencies = []urn.URN{vpc.URN}
		r.PropertyDependencies = map[string][]urn.URN{"vpc": {vpc.URN}, "cidr": nil}
		r.Aliases = []urn.URN{named("acme:net:Subnet", "old")}
		r.Inputs = property.NewMap(property.Entry{Key: "vpc", Value: property.Secret(
			property.Reference(property.ResourceReference{URN: string(vpc.URN), HasID: true, ID: "vpc"}))})
	})
)

// custom returns a resource of the provider.
func custom(typ, name string, parent urn.URN) *state.Resource {
	return &state.Resource{URN: urn.New("dev", "shop", parent, typ, name), Type: typ, Custom: true, ID: name,
		Parent: parent, Provider: provider.Reference()}
}

func with(r *state.Resource, change func(*state.Resource)) *state.Resource {
	c := *r
	change(&c)
	return &c
}

// shop is a stack of a provider, a component with a child, and what the child depends on.
func shop(more ...*state.Resource) *state.Snapshot {
	s := state.NewSnapshot(append([]*state.Resource{
		{URN: root, Type: urn.RootType}, provider, group, vpc, subnet,
	}, more...)...)
	s.Stack = dev.Qualified()
	return s
}

func resourcesOf(s *state.Snapshot) []*state.Resource {
	var out []*state.Resource
	for _, r := range s.Resources() {
		out = append(out, r)
	}
	return out
}

func names(s *state.Snapshot) []string {
	var out []string
	for _, r := range s.Resources() {
		out = append(out, r.URN.Name())
	}
	return out
}

func TestDelete(t *testing.T) {
	protected := with(vpc, func(r *state.Resource) { r.Protect = true })
	for name, test := range map[string]struct {
		in      *state.Snapshot
		urns    []urn.URN
		options edit.DeleteOptions
		left    []string
		err     string
	}{
		"one that nothing needs":      {in: shop(), urns: []urn.URN{subnet.URN}, left: []string{"shop-dev", "default", "group", "vpc"}},
		"one and all that needs it":   {in: shop(), urns: []urn.URN{vpc.URN, subnet.URN}, left: []string{"shop-dev", "default", "group"}},
		"one that another depends on": {in: shop(), urns: []urn.URN{vpc.URN}, err: string(vpc.URN) + " is needed by " + string(subnet.URN) + ": forget those as well with --target-dependents"},
		"a parent":                    {in: shop(), urns: []urn.URN{group.URN}, err: "is needed by " + string(subnet.URN)},
		"a provider":                  {in: shop(), urns: []urn.URN{provider.URN}, err: "is needed by " + string(vpc.URN) + ", " + string(subnet.URN)},
		"with dependents": {in: shop(), urns: []urn.URN{vpc.URN}, options: edit.DeleteOptions{Dependents: true},
			left: []string{"shop-dev", "default", "group"}},
		"not there":   {in: shop(), urns: []urn.URN{named("a:b:C", "vpc")}, err: "there is no resource urn:pulumi:dev::shop::a:b:C::vpc; did you mean " + string(vpc.URN) + "?"},
		"a bare name": {in: shop(), urns: []urn.URN{"subnet"}, err: "did you mean " + string(subnet.URN) + "?"},
		"protected": {in: state.NewSnapshot(provider, protected), urns: []urn.URN{vpc.URN},
			err: string(vpc.URN) + " is protected: unprotect first, or forget all the same with --force"},
		"protected dependent": {in: state.NewSnapshot(provider, protected), urns: []urn.URN{provider.URN},
			options: edit.DeleteOptions{Dependents: true}, err: string(vpc.URN) + " is protected"},
		"protected by force": {in: state.NewSnapshot(provider, protected), urns: []urn.URN{vpc.URN},
			options: edit.DeleteOptions{Protected: true}, left: []string{"default"}},
		"the new one of two copies": {in: state.NewSnapshot(provider,
			with(vpc, func(r *state.Resource) { r.Delete, r.ID, r.Parent = true, "old", "" }), with(vpc, func(r *state.Resource) { r.Parent = "" })),
			urns: []urn.URN{vpc.URN}, left: []string{"default", "vpc"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := names(test.in)
			out, err := edit.Delete(test.in, test.urns, test.options)
			require.Equal(t, before, names(test.in), "what is given stays as it is")
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.left, names(out))
			require.NoError(t, out.Verify())
		})
	}
}

func TestProtectAndTaint(t *testing.T) {
	s, err := edit.Protect(shop(), []urn.URN{vpc.URN, group.URN}, true)
	require.NoError(t, err)
	s, err = edit.Taint(s, []urn.URN{vpc.URN}, true)
	require.NoError(t, err)
	found := func(u urn.URN) *state.Resource {
		r, err := edit.Find(s, u)
		require.NoError(t, err)
		return r
	}
	require.True(t, found(vpc.URN).Protect && found(vpc.URN).Taint && found(group.URN).Protect)
	require.False(t, vpc.Protect, "what is given stays as it is")
	s, err = edit.Protect(s, []urn.URN{vpc.URN}, false)
	require.NoError(t, err)
	s, err = edit.Taint(s, []urn.URN{vpc.URN}, false)
	require.NoError(t, err)
	require.False(t, found(vpc.URN).Protect || found(vpc.URN).Taint)
	_, err = edit.Taint(s, []urn.URN{group.URN}, true)
	require.ErrorContains(t, err, "is a component: there is nothing of it to replace")
}

func TestRename(t *testing.T) {
	s := shop()
	require.NoError(t, s.Apply(state.Entry{state.BeginOperation{Op: 0, Type: state.OperationUpdating, Resource: subnet}}))
	s, err := edit.Rename(s, vpc.URN, "main")
	require.NoError(t, err)
	require.NoError(t, s.Verify())
	const main = "urn:pulumi:dev::shop::acme:net:Vpc::main"
	r, err := edit.Find(s, subnet.URN)
	require.NoError(t, err)
	require.Equal(t, []urn.URN{main}, r.Dependencies)
	require.Equal(t, map[string][]urn.URN{"vpc": {main}, "cidr": nil}, r.PropertyDependencies)
	ref, ok := r.Inputs.Get("vpc").Plain().AsReference()
	require.True(t, ok, "a reference in a secret")
	require.Equal(t, property.ResourceReference{URN: main, HasID: true, ID: "vpc"}, ref)
	for _, pending := range s.Operations() {
		require.Equal(t, []urn.URN{main}, pending.Resource.Dependencies)
	}
	require.Equal(t, []urn.URN{vpc.URN}, subnet.Dependencies, "what is given stays as it is")

	s, err = edit.Rename(s, provider.URN, "mine")
	require.NoError(t, err)
	require.NoError(t, s.Verify())
	r, err = edit.Find(s, subnet.URN)
	require.NoError(t, err)
	require.Equal(t, "urn:pulumi:dev::shop::pulumi:providers:acme::mine::p1", r.Provider)

	_, err = edit.Rename(shop(with(vpc, func(r *state.Resource) { r.URN = main })), vpc.URN, "main")
	require.EqualError(t, err, "there is a resource "+main+" already")
	_, err = edit.Rename(s, root, "other")
	require.ErrorContains(t, err, "is the stack itself: husk stack rename renames it")
}

func TestRenameStack(t *testing.T) {
	foreign := with(vpc, func(r *state.Resource) {
		r.URN = named("acme:net:Vpc", "foreign")
		r.Inputs = property.NewMap(property.Entry{Key: "peer", Value: property.Reference(
			property.ResourceReference{URN: "urn:pulumi:other::shop::acme:net:Vpc::vpc"})})
	})
	s, err := edit.RenameStack(shop(foreign), dev, state.StackName{Project: "store", Name: "prod"})
	require.NoError(t, err)
	require.NoError(t, s.Verify())
	require.Equal(t, "organization/store/prod", s.Stack)
	require.Equal(t, []string{"store-prod", "default", "group", "vpc", "subnet", "foreign"}, names(s))
	for _, r := range s.Resources() {
		require.Equal(t, []string{"prod", "store"}, []string{r.URN.Stack(), r.URN.Project()})
	}
	r, err := edit.Find(s, "urn:pulumi:prod::store::acme:net:Group$acme:net:Subnet::subnet")
	require.NoError(t, err)
	require.Equal(t, []urn.URN{"urn:pulumi:prod::store::acme:net:Subnet::old"}, r.Aliases)
	require.Equal(t, "urn:pulumi:prod::store::pulumi:providers:acme::default::p1", r.Provider)
	ref, _ := r.Inputs.Get("vpc").Plain().AsReference()
	require.Equal(t, "urn:pulumi:prod::store::acme:net:Vpc::vpc", ref.URN)
	r, err = edit.Find(s, "urn:pulumi:prod::store::acme:net:Vpc::foreign")
	require.NoError(t, err)
	require.True(t, r.Inputs.Equal(foreign.Inputs), "resources of other stacks keep their names")
}

func TestMove(t *testing.T) {
	prod := state.StackName{Project: "shop", Name: "prod"}
	in := func(stack string, u urn.URN) urn.URN {
		return urn.New(stack, "shop", "", u.QualifiedType(), u.Name())
	}
	t.Run("a component with its child", func(t *testing.T) {
		moved, err := edit.Move(shop(), state.NewSnapshot(), dev, prod, []urn.URN{group.URN})
		require.NoError(t, err)
		require.NoError(t, moved.Source.Verify())
		require.NoError(t, moved.Target.Verify())
		require.Equal(t, []string{"shop-dev", "default", "vpc"}, names(moved.Source), "others may use the provider")
		require.Equal(t, []string{"shop-prod", "default", "group", "subnet"}, names(moved.Target))
		require.Equal(t, []urn.URN{in("prod", provider.URN)}, moved.Providers)
		require.Equal(t, []urn.URN{in("prod", group.URN), in("prod", subnet.URN)}, moved.Resources)
		require.Equal(t, []edit.Broken{{From: in("prod", subnet.URN), To: vpc.URN}}, moved.Broken)
		r, err := edit.Find(moved.Target, in("prod", subnet.URN))
		require.NoError(t, err)
		require.Equal(t, in("prod", group.URN), r.Parent)
		require.Equal(t, string(in("prod", provider.URN))+"::p1", r.Provider)
		require.Empty(t, r.Dependencies)
		require.True(t, property.Secret(property.String("vpc")).Equal(r.Inputs.Get("vpc")), "the ID in place of a reference: %v", r.Inputs)
	})
	t.Run("what others depend on", func(t *testing.T) {
		moved, err := edit.Move(shop(), state.NewSnapshot(), dev, prod, []urn.URN{vpc.URN})
		require.NoError(t, err)
		require.NoError(t, moved.Source.Verify())
		r, err := edit.Find(moved.Source, subnet.URN)
		require.NoError(t, err)
		require.Empty(t, r.Dependencies)
		require.Equal(t, edit.Broken{From: subnet.URN, To: in("prod", vpc.URN)}, moved.Broken[0])
	})
	t.Run("with what an earlier run was cut off with", func(t *testing.T) {
		s := shop()
		created := with(subnet, func(r *state.Resource) { r.URN = urn.New("dev", "shop", group.URN, subnet.Type, "new") })
		require.NoError(t, s.Apply(state.Entry{
			state.BeginOperation{Op: 0, Type: state.OperationUpdating, Resource: group},
			state.BeginOperation{Op: 1, Type: state.OperationCreating, Resource: created},
			state.BeginOperation{Op: 2, Type: state.OperationUpdating, Resource: vpc},
		}))
		moved, err := edit.Move(s, state.NewSnapshot(), dev, prod, []urn.URN{group.URN})
		require.NoError(t, err)
		require.Equal(t, []urn.URN{vpc.URN}, operations(moved.Source))
		require.Equal(t, []urn.URN{in("prod", group.URN), in("prod", created.URN)}, operations(moved.Target))
		for _, op := range moved.Target.Operations() {
			if op.Type == state.OperationCreating {
				require.Equal(t, in("prod", group.URN), op.Resource.Parent)
				require.Equal(t, string(in("prod", provider.URN))+"::p1", op.Resource.Provider)
				require.Empty(t, op.Resource.Dependencies)
			}
		}
	})
	t.Run("a child without its parent", func(t *testing.T) {
		moved, err := edit.Move(shop(), state.NewSnapshot(), dev, prod, []urn.URN{subnet.URN})
		require.NoError(t, err)
		r, err := edit.Find(moved.Target, "urn:pulumi:prod::shop::acme:net:Subnet::subnet")
		require.NoError(t, err)
		require.Equal(t, urn.URN("urn:pulumi:prod::shop::pulumi:pulumi:Stack::shop-prod"), r.Parent)
	})
	t.Run("a part without what uses it by its component", func(t *testing.T) {
		user := with(custom("acme:net:Vm", "vm", root), func(r *state.Resource) { r.Dependencies = []urn.URN{group.URN} })
		moved, err := edit.Move(shop(user), state.NewSnapshot(), dev, prod, []urn.URN{subnet.URN})
		require.NoError(t, err)
		require.NoError(t, moved.Source.Verify())
		r, err := edit.Find(moved.Source, user.URN)
		require.NoError(t, err)
		require.Equal(t, user.Dependencies, r.Dependencies)
		require.Contains(t, moved.Broken, edit.Broken{From: user.URN, To: "urn:pulumi:prod::shop::acme:net:Subnet::subnet"})
	})
	t.Run("a part and what uses it by its component, which stays", func(t *testing.T) {
		user := with(custom("acme:net:Vm", "vm", root), func(r *state.Resource) {
			r.Dependencies, r.PropertyDependencies = []urn.URN{group.URN}, map[string][]urn.URN{"net": {group.URN}}
		})
		moved, err := edit.Move(shop(user), state.NewSnapshot(), dev, prod, []urn.URN{subnet.URN, user.URN})
		require.NoError(t, err)
		require.NoError(t, moved.Target.Verify())
		r, err := edit.Find(moved.Target, in("prod", user.URN))
		require.NoError(t, err)
		part := []urn.URN{"urn:pulumi:prod::shop::acme:net:Subnet::subnet"}
		require.Equal(t, part, r.Dependencies)
		require.Equal(t, map[string][]urn.URN{"net": part}, r.PropertyDependencies)
		require.Contains(t, moved.Broken, edit.Broken{From: r.URN, To: group.URN})
	})
	t.Run("to a stack that has the provider", func(t *testing.T) {
		other := with(provider, func(r *state.Resource) { r.URN, r.ID = in("prod", provider.URN), "p2" })
		moved, err := edit.Move(shop(), state.NewSnapshot(other), dev, prod, []urn.URN{vpc.URN})
		require.NoError(t, err)
		require.Empty(t, moved.Providers)
		r, err := edit.Find(moved.Target, in("prod", vpc.URN))
		require.NoError(t, err)
		require.Equal(t, other.Reference(), r.Provider)

		other = with(other, func(r *state.Resource) {
			r.Inputs = property.NewMap(property.Entry{Key: "region", Value: property.String("elsewhere")})
		})
		_, err = edit.Move(shop(), state.NewSnapshot(other), dev, prod, []urn.URN{vpc.URN})
		require.ErrorContains(t, err, "is configured otherwise than "+string(provider.URN))
	})
	t.Run("with the extension that it is of", func(t *testing.T) {
		s := shop(with(vpc, func(r *state.Resource) {
			r.URN, r.ID, r.ExtensionRef = named("acme:net:Gateway", "gateway"), "g", "ext-1"
		}))
		s.Extensions = []byte(`{"ext-1":{"name":"gateway","version":"1.0.0","value":"AAE="},"ext-2":{}}`)
		moved, err := edit.Move(s, state.NewSnapshot(), dev, prod, []urn.URN{named("acme:net:Gateway", "gateway")})
		require.NoError(t, err)
		require.NoError(t, moved.Target.Verify())
		require.JSONEq(t, `{"ext-1":{"name":"gateway","version":"1.0.0","value":"AAE="}}`, string(moved.Target.Extensions))
	})
	t.Run("refused", func(t *testing.T) {
		for _, u := range []urn.URN{root, provider.URN, "urn:pulumi:dev::shop::a:b:C::x"} {
			_, err := edit.Move(shop(), state.NewSnapshot(), dev, prod, []urn.URN{u})
			require.ErrorContains(t, err, string(u))
		}
		there := with(vpc, func(r *state.Resource) { r.URN = in("prod", vpc.URN) })
		_, err := edit.Move(shop(), state.NewSnapshot(there), dev, prod, []urn.URN{vpc.URN})
		require.EqualError(t, err, "there is a resource "+string(there.URN)+" already")
		_, err = edit.Move(shop(), shop(), dev, dev, []urn.URN{vpc.URN})
		require.EqualError(t, err, "the resources are in that stack already")
	})
}

func TestRepair(t *testing.T) {
	missing := named("a:b:C", "missing")
	for name, test := range map[string]struct {
		broken []*state.Resource
		done   []string
		left   []string
		err    string
	}{
		"whole": {broken: resourcesOf(shop()), left: []string{"shop-dev", "default", "group", "vpc", "subnet"}},
		"references": {broken: []*state.Resource{provider, with(vpc, func(r *state.Resource) { r.Dependencies, r.Parent = []urn.URN{missing}, "" })}, left: []string{"default", "vpc"},
			done: []string{string(vpc.URN) + " no longer names " + string(missing) + " as dependency, which is missing"}},
		"a provider under another ID": {broken: []*state.Resource{provider, with(vpc, func(r *state.Resource) { r.Provider, r.Parent = string(provider.URN)+"::p0", "" })}, left: []string{"default", "vpc"},
			err: "names the provider " + string(provider.URN) + "::p0, which is missing"},
		"a component's provider": {broken: []*state.Resource{with(group, func(r *state.Resource) { r.Parent, r.Provider = "", "urn:p::1" })}, left: []string{"group"},
			done: []string{"the component " + string(group.URN) + " no longer names the provider urn:p::1, which is missing"}},
		"no provider at all": {broken: []*state.Resource{with(vpc, func(r *state.Resource) { r.Provider, r.Parent = "", "" })}, left: []string{"vpc", "default"},
			done: []string{"gave " + string(vpc.URN) + " the default provider of its package"}},
		"a double": {broken: []*state.Resource{provider, with(vpc, func(r *state.Resource) { r.Parent = "" }), with(vpc, func(r *state.Resource) { r.Parent = "" })}, left: []string{"default", "vpc"},
			done: []string{"removed the second of two " + string(vpc.URN)}},
		"two real resources of one name": {broken: []*state.Resource{provider, with(vpc, func(r *state.Resource) { r.Parent = "" }), with(vpc, func(r *state.Resource) { r.Parent, r.ID = "", "other" })},
			left: []string{"default", "vpc", "vpc"}, err: "is there more than once"},
		"a component's ID": {broken: []*state.Resource{with(group, func(r *state.Resource) { r.Parent, r.ID = "", "x" })}, left: []string{"group"},
			done: []string{"removed the ID \"x\" of the component " + string(group.URN)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, done, err := edit.Repair(state.NewSnapshot(test.broken...), edit.RepairOptions{})
			require.Equal(t, test.done, done)
			require.Equal(t, test.left, names(s))
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			again, done, err := edit.Repair(s, edit.RepairOptions{})
			require.NoError(t, err)
			require.Empty(t, done)
			require.True(t, slices.Equal(resourcesOf(s), resourcesOf(again)))
		})
	}
	s := shop()
	s.Manifest.Magic = "altered"
	s, done, err := edit.Repair(s, edit.RepairOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"wrote the manifest's magic anew, which did not match its version"}, done)
	require.NoError(t, s.Verify())
}

// A provider that is missing is never replaced by one that may be configured otherwise, unless the
// caller says so. An earlier state has it as it was.
func TestRepairOfMissingProviders(t *testing.T) {
	lost := with(provider, func(r *state.Resource) {
		r.ID, r.Inputs, r.Dependencies = "p0", property.NewMap(property.Entry{Key: "region", Value: property.Number(1)}), []urn.URN{named("a:b:C", "gone")}
	})
	orphan := with(vpc, func(r *state.Resource) { r.Provider, r.Parent = lost.Reference(), "" })
	broken := func() *state.Snapshot { return state.NewSnapshot(provider, orphan) }

	_, done, err := edit.Repair(broken(), edit.RepairOptions{Earlier: []*state.Snapshot{state.NewSnapshot(), shop()}})
	var undecided *edit.UndecidedError
	require.ErrorAs(t, err, &undecided)
	require.Equal(t, []edit.MissingProvider{{Reference: lost.Reference(), Users: []urn.URN{vpc.URN}, Candidates: []*state.Resource{provider}}}, undecided.Providers)
	require.Empty(t, done)
	var broke *state.IntegrityError
	require.ErrorAs(t, err, &broke)

	s, done, err := edit.Repair(broken(), edit.RepairOptions{Earlier: []*state.Snapshot{state.NewSnapshot(), state.NewSnapshot(lost)}})
	require.NoError(t, err)
	require.Equal(t, []string{
		"brought back the provider " + lost.Reference() + ", which " + string(vpc.URN) + " named, from an earlier state",
		string(provider.URN) + " no longer names " + string(named("a:b:C", "gone")) + " as dependency, which is missing",
	}, done)
	serial, ok := s.Graph().Provider(lost.Reference())
	require.True(t, ok)
	back, _ := s.Resource(serial)
	require.True(t, back.Delete, "a newer one is there")
	require.Equal(t, lost.Inputs, back.Inputs)
	r, err := edit.Find(s, vpc.URN)
	require.NoError(t, err)
	require.Equal(t, lost.Reference(), r.Provider)

	for by, want := range map[string]string{provider.Reference(): provider.Reference(), edit.DefaultProvider: provider.Reference()} {
		s, done, err := edit.Repair(broken(), edit.RepairOptions{Providers: map[string]string{lost.Reference(): by}})
		require.NoError(t, err)
		require.Contains(t, done, "gave "+string(vpc.URN)+" the provider "+by+" in place of "+lost.Reference()+", which is missing")
		r, err := edit.Find(s, vpc.URN)
		require.NoError(t, err)
		require.Equal(t, want, r.Provider)
	}
	_, _, err = edit.Repair(broken(), edit.RepairOptions{Providers: map[string]string{lost.Reference(): "urn:none::x"}})
	require.ErrorContains(t, err, "there is no provider urn:none::x")
}

// operations returns what the pending operations of a state are about.
func operations(s *state.Snapshot) (out []urn.URN) {
	for _, op := range s.Operations() {
		out = append(out, op.Resource.URN)
	}
	return out
}
