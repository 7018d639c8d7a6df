package guest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

type boxInputs struct {
	Text   deploy.Out[string]            `husk:"text,optional"`
	Token  deploy.Out[string]            `husk:"token,optional,secret"`
	Any    deploy.Out[property.Value]    `husk:"any,optional"`
	Size   int                           `husk:"size,default=3"`
	Nested *boxNested                    `husk:"nested"`
	List   []deploy.Out[string]          `husk:"list,optional"`
	Labels map[string]string             `husk:"labels,optional"`
	Table  deploy.Out[map[string]string] `husk:"table,optional"`
}

type boxNested struct {
	Host deploy.Out[string] `husk:"host,optional"`
	Port int                `husk:"port,optional"`
}

type boxOutputs struct {
	Result deploy.Out[property.Value] `husk:"result,optional"`
	Hidden deploy.Out[string]         `husk:"hidden,optional,secret"`
	List   []deploy.Out[string]       `husk:"list,optional"`
}

type construct func(context.Context, guest.ConstructRequest[boxInputs], *deploy.Deployment) (boxOutputs, error)

func (f construct) Construct(ctx context.Context, r guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
	return f(ctx, r, d)
}

const (
	box    = "p:index:Box"
	boxURN = urn.URN("urn:pulumi:dev::proj::p:index:Box::b")
)

// boxed constructs a component with a monitor.
func boxed(t *testing.T, m *monitor, request abi.ConstructRequest, f construct) (abi.ConstructResponse, error) {
	t.Helper()
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Components: []guest.Component{guest.ComponentOf(box, f)}})
	require.NoError(t, err)
	request.Type, request.Name, request.Context.DryRun = box, "b", m.preview
	return p.Construct(abi.WithMonitor(t.Context(), m), request)
}

// result returns a component with one output.
func result(v deploy.Source) (boxOutputs, error) {
	return boxOutputs{Result: deploy.As[property.Value](v)}, nil
}

func child(name string, inputs deploy.Props) deploy.Declaration {
	return deploy.Declaration{Type: "q:index:Thing", Name: name, Inputs: inputs}
}

func childURN(name string) urn.URN {
	return urn.New("dev", "proj", boxURN, "q:index:Thing", name)
}

func TestComponentOutputs(t *testing.T) {
	aURN, other := childURN("a"), urn.URN("urn:pulumi:dev::proj::q:index:Thing::other")
	in := deploy.Props{"n": 1, "list": []any{"x", "y"}, "password": deploy.Secret(deploy.Known("p"))}
	for _, test := range []struct {
		name    string
		preview bool
		inputs  property.Map
		from    map[string][]urn.URN // the inputs' dependencies
		of      construct
		want    any
		depends []urn.URN
	}{
		{name: "a constant", of: func(context.Context, guest.ConstructRequest[boxInputs], *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.ValueOf(deploy.Props{"a": []any{1, 2.5, "x", true, nil}, "m": map[string]string{"k": "v"}, "none": nil}))
		}, want: obj("a", []any{1, 2.5, "x", true, nil}, "m", obj("k", "v"))},
		{name: "an input", inputs: obj("text", secret("s")), from: map[string][]urn.URN{"text": {other}},
			of: func(_ context.Context, r guest.ConstructRequest[boxInputs], _ *deploy.Deployment) (boxOutputs, error) {
				return result(r.Inputs.Text)
			}, want: secret("s"), depends: []urn.URN{other}},
		{name: "an input inside of one", inputs: obj("nested", obj("host", "h")), from: map[string][]urn.URN{"nested": {other}},
			of: func(_ context.Context, r guest.ConstructRequest[boxInputs], _ *deploy.Deployment) (boxOutputs, error) {
				return result(r.Inputs.Nested.Host)
			}, want: "h", depends: []urn.URN{other}},
		{name: "defaults", of: func(_ context.Context, r guest.ConstructRequest[boxInputs], _ *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.ValueOf(r.Inputs.Size))
		}, want: 3},
		{name: "an output", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.Field[string](d.Resource(child("a", in)), "list[1]"))
		}, want: "y", depends: []urn.URN{aURN}},
		{name: "a secret output", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.Concat("<", deploy.Field[string](d.Resource(child("a", in)), "password"), ">"))
		}, want: secret("<p>"), depends: []urn.URN{aURN}},
		{name: "all outputs", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(d.Resource(child("a", deploy.Props{"n": 1})))
		}, want: obj("n", 1), depends: []urn.URN{aURN}},
		{name: "ID and URN", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			a := d.Resource(child("a", nil))
			return result(deploy.Concat(a.ID(), " ", a.URN()))
		}, want: "id of a " + string(aURN), depends: []urn.URN{aURN}},
		{name: "an output that is not there", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.Concat("-", deploy.Field[string](d.Resource(child("a", nil)), "none")))
		}, want: "-", depends: []urn.URN{aURN}},
		{name: "an output that is not there yet", preview: true, of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.Concat("-", deploy.Field[string](d.Resource(child("a", nil)), "none.of.it")))
		}, want: property.Unknown, depends: []urn.URN{aURN}},
		{name: "an ID that is not there yet", preview: true, of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(d.Resource(child("a", nil)).ID())
		}, want: property.Unknown, depends: []urn.URN{aURN}},
		{name: "what a function makes", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			n := deploy.Field[int](d.Resource(child("a", deploy.Props{"n": 20})), "n")
			return result(deploy.Apply(n, func(n int) (deploy.Props, error) { return deploy.Props{"double": 2 * n}, nil }))
		}, want: obj("double", 40), depends: []urn.URN{aURN}},
		{name: "a child that depends on a value", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			n := deploy.Field[int](d.Resource(child("a", deploy.Props{"n": 2})), "n")
			return result(deploy.Apply(n, func(n int) (deploy.Out[string], error) {
				last := ""
				for i := range n {
					last = string(rune('x' + i))
					d.Resource(child(last, nil))
				}
				return d.Resource(child(last+"!", nil)).ID(), nil
			}))
		}, want: "id of y!", depends: []urn.URN{aURN, childURN("y!")}},
		{name: "what a function of a package answers", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			a := d.Resource(child("a", deploy.Props{"password": deploy.Secret(deploy.Known("p"))}))
			return result(deploy.Field[string](d.Invoke("q:index:echo", deploy.Props{"v": deploy.Field[string](a, "password")}, deploy.Options{}), "v"))
		}, want: secret("p"), depends: []urn.URN{aURN}},
		{name: "what a method answers", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			a := d.Component(child("a", nil))
			return result(deploy.Field[string](d.Call(a, "q:index:Thing/of", deploy.Props{"v": 1}, deploy.Options{}), "urn"))
		}, want: string(aURN), depends: []urn.URN{aURN, other}},
		{name: "a resource that is read", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(d.Read(child("a", deploy.Props{"n": 1}), deploy.Known("known")).ID())
		}, want: "known", depends: []urn.URN{aURN}},
		{name: "a value that is waited for", of: func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			list, known, err := deploy.Await(d, deploy.Field[[]string](d.Resource(child("a", in)), "list"))
			if err != nil || !known {
				return boxOutputs{}, errors.New("not known")
			}
			return result(deploy.ValueOf(strings.Join(list, "+")))
		}, want: "x+y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &monitor{t: t, preview: test.preview}
			request := abi.ConstructRequest{Inputs: test.inputs}
			for name, urns := range test.from {
				request.InputDependencies = append(request.InputDependencies, abi.PropertyDependency{Key: name, URNs: urns})
			}
			response, err := boxed(t, m, request, test.of)
			require.NoError(t, err)
			require.Equal(t, boxURN, response.URN)
			requireMap(t, obj("result", test.want), response.State)
			var depends []urn.URN
			for _, d := range response.StateDependencies {
				depends = append(depends, d.URNs...)
			}
			require.ElementsMatch(t, test.depends, depends)
			require.Equal(t, response.State.Get("result").Plain().Unwrap(), m.outputs.Get("result").Plain().Unwrap(), "the outputs are registered")
		})
	}
}

// Operations begin as soon as what they need is there, whatever the order in which they
// end.
func TestComponentOrder(t *testing.T) {
	m := &monitor{t: t}
	_, err := boxed(t, m, abi.ConstructRequest{}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
		a := d.Resource(child("a", nil))
		b := d.Resource(child("b", nil))
		c := d.Resource(child("c", deploy.Props{"of": a}))
		d.Resource(deploy.Declaration{Type: "q:index:Thing", Name: "d", Options: deploy.Options{DependsOn: []*deploy.Child{b, c}}})
		d.Resource(child("e", nil))
		require.Equal(t, []string{"a", "b", "e"}, m.started, "nothing waits that need not")
		return boxOutputs{}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "e", "c", "d"}, m.started)
	require.Equal(t, 3, m.most)
}

func TestComponentOptions(t *testing.T) {
	yes := true
	m := &monitor{t: t}
	given := abi.ConstructRequest{Options: abi.ResourceOptions{
		Protect: &yes, Provider: "urn:pulumi:dev::proj::pulumi:providers:p::mine::1", Version: "1.0.0",
		Providers: []abi.PackageProvider{{Package: "q", Reference: "r"}},
	}}
	_, err := boxed(t, m, given, func(_ context.Context, r guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
		require.Equal(t, boxURN, r.URN)
		d.Transform(func(c *deploy.Declaration) { c.Options.RetainOnDelete = &yes })
		provider := d.Resource(deploy.Declaration{Type: "pulumi:providers:q", Name: "prov"})
		group := d.Group(deploy.Declaration{Type: "p:index:Group", Name: "group"})
		a := d.Resource(child("a", nil))
		d.Component(deploy.Declaration{Type: "q:index:Thing", Name: "all", Options: deploy.Options{
			Parent: group, Provider: provider, Providers: []*deploy.Child{provider}, DependsOn: []*deploy.Child{a},
			DeletedWith: a, ReplaceWith: []*deploy.Child{a}, Protect: &yes, DeleteBeforeReplace: &yes,
			IgnoreChanges: []string{"i"}, ReplaceOnChanges: []string{"r"}, HideDiffs: []string{"h"}, AdditionalSecretOutputs: []string{"s"},
			Aliases:  []abi.Alias{{Case: abi.AliasCaseURN, URN: "u"}},
			Timeouts: abi.CustomTimeouts{Create: 1}, ImportID: "im", Version: "2.0.0", Package: "ref",
			ReplacementTrigger: a.ID(), Hooks: []abi.HookBinding{{Kind: abi.HookKindAfterCreate, Names: []string{"x"}}},
		}})
		return boxOutputs{}, nil
	})
	require.NoError(t, err)
	a, trigger := childURN("a"), property.String("id of a")
	reference := string(urn.New("dev", "proj", boxURN, "pulumi:providers:q", "prov")) + "::id of prov"
	all := m.registered["all"]
	require.Equal(t, abi.ResourceOptions{
		Protect: &yes, Provider: reference, Providers: []abi.PackageProvider{{Package: "q", Reference: reference}},
		Dependencies: []urn.URN{a}, AdditionalSecretOutputs: []string{"s"}, CustomTimeouts: abi.CustomTimeouts{Create: 1},
		DeletedWith: a, DeleteBeforeReplace: &yes, IgnoreChanges: []string{"i"}, ReplaceOnChanges: []string{"r"},
		RetainOnDelete: &yes, Aliases: []abi.Alias{{Case: abi.AliasCaseURN, URN: "u"}}, ReplaceWith: []urn.URN{a},
		ReplacementTrigger: &trigger, HideDiffs: []string{"h"}, ImportID: "im", Version: "2.0.0", PackageRef: "ref",
		Hooks: []abi.HookBinding{{Kind: abi.HookKindAfterCreate, Names: []string{"x"}}},
	}, all.Options)
	require.Equal(t, urn.New("dev", "proj", boxURN, "p:index:Group", "group"), all.Parent)
	require.True(t, all.Remote && !all.Custom)
	require.Equal(t, boxURN, m.registered["a"].Parent)
	require.Equal(t, abi.ResourceOptions{Protect: &yes, Providers: []abi.PackageProvider{
		{Package: "q", Reference: "r"}, {Package: "p", Reference: given.Options.Provider},
	}}, m.registered["b"].Options, "the component hands down its own provider")
}

func TestComponentFails(t *testing.T) {
	fails := func(name string) *monitor {
		return &monitor{t: t, fail: map[string]error{name: abi.NewError(abi.ErrorKindUnavailable, "no luck")}}
	}
	for _, test := range []struct {
		name    string
		monitor *monitor
		of      construct
		want    string
		kind    error
		started []string
	}{
		{"a child", fails("a"), func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			a := d.Resource(child("a", nil))
			d.Resource(child("b", nil))
			d.Resource(child("c", deploy.Props{"a": a.ID()}))
			return boxOutputs{}, nil
		}, "q:index:Thing a: no luck", abi.ErrUnavailable, []string{"a", "b"}},
		{"what comes later is not begun", fails("b"), func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			a := d.Resource(child("a", nil))
			d.Resource(child("b", nil))
			d.Resource(child("c", deploy.Props{"a": a.ID()}))
			return boxOutputs{}, nil
		}, "q:index:Thing b: no luck", abi.ErrUnavailable, []string{"a", "b"}},
		{"a child because of another", &monitor{t: t, fail: map[string]error{
			"a": abi.NewError(abi.ErrorKindUnavailable, "no luck"), "b": abi.NewError(abi.ErrorKindCancelled, "stopped"),
		}}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", nil))
			d.Resource(child("b", nil))
			return boxOutputs{}, nil
		}, "q:index:Thing a: no luck", abi.ErrUnavailable, []string{"a", "b"}},
		{"the author", &monitor{t: t}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", nil))
			return boxOutputs{}, errors.New("changed my mind")
		}, "changed my mind", abi.ErrInternal, []string{"a"}},
		{"a function that is used", fails("q:index:f"), func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", deploy.Props{"v": d.Invoke("q:index:f", nil, deploy.Options{})}))
			return boxOutputs{}, nil
		}, "q:index:Thing a: q:index:f: no luck", abi.ErrUnavailable, []string{"q:index:f"}},
		{"a function whose result is the component's", fails("q:index:f"), func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(d.Invoke("q:index:f", nil, deploy.Options{}))
		}, "q:index:f: no luck", abi.ErrUnavailable, []string{"q:index:f"}},
		{"a function in the author's code", &monitor{t: t}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", deploy.Props{"v": deploy.Apply(deploy.Known(1), func(int) (int, error) { return 0, errors.New("odd") })}))
			return boxOutputs{}, nil
		}, "q:index:Thing a: odd", abi.ErrInternal, nil},
		{"a type", &monitor{t: t}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			return result(deploy.Apply(deploy.Field[int](d.Resource(child("a", deploy.Props{"n": "x"})), "n"), func(n int) (int, error) { return n, nil }))
		}, "another type is expected than string", abi.ErrInternal, []string{"a"}},
		{"a value that is none", &monitor{t: t}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", deploy.Props{"v": struct{}{}}))
			return boxOutputs{}, nil
		}, "no value can have this type of Go", abi.ErrInternal, nil},
		{"waiting", &monitor{t: t, waitFails: context.Canceled}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", nil))
			return boxOutputs{}, nil
		}, "context canceled", abi.ErrCancelled, []string{"a"}},
		{"skipped", &monitor{t: t, answer: abi.RegistrationResultSkipped}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			d.Resource(child("a", nil))
			return boxOutputs{}, nil
		}, "q:index:Thing a: it was left out", abi.ErrInternal, []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := boxed(t, test.monitor, abi.ConstructRequest{}, test.of)
			require.ErrorContains(t, err, test.want)
			require.ErrorIs(t, err, test.kind)
			require.Equal(t, test.started, test.monitor.started)
			require.Nil(t, test.monitor.outputs, "a component that failed has no outputs")
		})
	}
}

// A function that fails is no failure where nobody uses what it says.
func TestComponentMayPassOverFunctions(t *testing.T) {
	m := &monitor{t: t, fail: map[string]error{"q:index:f": abi.NewError(abi.ErrorKindNotFound, "none")}}
	response, err := boxed(t, m, abi.ConstructRequest{}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
		_, _, err := deploy.Await(d, d.Invoke("q:index:f", nil, deploy.Options{}))
		return boxOutputs{Result: deploy.ValueOf(errors.Is(err, abi.ErrNotFound))}, nil
	})
	require.NoError(t, err)
	requireMap(t, obj("result", true), response.State)
}

// A value of another component never comes here; the component ends all the same.
func TestComponentDoesNotWaitForever(t *testing.T) {
	m := &monitor{t: t}
	var stray deploy.Out[string]
	_, err := boxed(t, m, abi.ConstructRequest{}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
		_, err := boxed(t, &monitor{t: t, waitFails: errors.New("away")}, abi.ConstructRequest{}, func(_ context.Context, _ guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
			stray = d.Resource(child("stray", nil)).ID()
			return boxOutputs{}, nil
		})
		require.ErrorContains(t, err, "away")
		d.Resource(child("a", deploy.Props{"v": stray}))
		return boxOutputs{}, nil
	})
	require.ErrorContains(t, err, "q:index:Thing a: it uses a value that never comes")
}

func TestComponentInputs(t *testing.T) {
	for name, test := range map[string]struct {
		inputs property.Map
		want   string // the error; empty if the component has no children for now
	}{
		"secret":                 {obj("size", secret(1)), "size: the provider cannot keep this input secret"},
		"secret in an object":    {obj("nested", obj("port", secret(1))), "nested.port: the provider cannot keep"},
		"secret object":          {obj("nested", secret(obj("port", 1))), "nested: the provider cannot keep"},
		"secret in a map":        {obj("labels", obj("a b", secret("x"))), `labels["a b"]: the provider cannot keep`},
		"wrong":                  {obj("size", "x", "siez", 1), "siez: no such property; did you mean \"size\"?\nsize: expected integer, got string"},
		"unknown":                {obj("size", property.Unknown), ""},
		"unknown in an object":   {obj("nested", obj("port", property.Unknown)), ""},
		"unknown object":         {obj("nested", property.Unknown), ""},
		"unknown in a map":       {obj("labels", obj("a", property.Unknown)), ""},
		"unknown number of them": {obj("list", property.Unknown), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &monitor{t: t, preview: true}
			response, err := boxed(t, m, abi.ConstructRequest{Inputs: test.inputs}, func(context.Context, guest.ConstructRequest[boxInputs], *deploy.Deployment) (boxOutputs, error) {
				t.Error("the author's code runs")
				return boxOutputs{}, nil
			})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				require.Empty(t, m.registered)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"hidden", "list", "result"}, response.State.Keys())
			require.True(t, response.State.Get("hidden").Plain().IsUnknown())
		})
	}
	all := obj("text", property.Unknown, "token", "t", "any", []any{secret(1), property.Unknown}, "list", []any{property.Unknown, secret("x")},
		"nested", obj("host", property.Unknown), "table", obj("k", property.Unknown))
	m := &monitor{t: t, preview: true}
	_, err := boxed(t, m, abi.ConstructRequest{Inputs: all}, func(_ context.Context, r guest.ConstructRequest[boxInputs], d *deploy.Deployment) (boxOutputs, error) {
		in := r.Inputs
		require.True(t, d.Preview())
		d.Resource(child("a", deploy.Props{"text": in.Text, "token": in.Token, "any": in.Any, "list": in.List, "nested": deploy.Props{"host": in.Nested.Host}, "table": in.Table}))
		return boxOutputs{List: in.List}, nil
	})
	require.NoError(t, err)
	requireMap(t, all.With("token", secret("t")), m.registered["a"].Inputs, "what is unknown or secret is passed on as it is")
	require.Equal(t, property.Object(obj("list", []any{property.Unknown, secret("x")})), property.Object(m.outputs.Without("hidden", "result")))
}

func TestComponentSchema(t *testing.T) {
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Components: []guest.Component{
		guest.ComponentOf(box, construct(nil), guest.Doc("A box.")).With(
			guest.MethodOf("open", func(context.Context, guest.MethodRequest[thingInputs], *deploy.Deployment) (boxNested, error) {
				return boxNested{}, nil
			}, guest.Doc("Opens it.")))}})
	require.NoError(t, err)
	response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.NoError(t, metaschema.Validate([]byte(response.Schema)))
	require.Contains(t, response.Schema, `"isComponent":true,"methods":{"open":"p:index:Box/open"}`)
	require.Contains(t, response.Schema, `"table":{"type":"object","additionalProperties":{"type":"string"}}`)
	require.Contains(t, response.Schema, `"p:index:Box/open":{"description":"Opens it.","inputs":{"type":"object","properties":{"__self__":{"$ref":"#/resources/p:index:Box"},"size":{"type":"integer"}},"required":["__self__","size"]}`)
}

func TestComponentRefused(t *testing.T) {
	type reserved struct {
		URN deploy.Out[string] `husk:"urn"`
	}
	none := construct(nil)
	method := func(name string) guest.Method {
		return guest.MethodOf(name, func(context.Context, guest.MethodRequest[boxInputs], *deploy.Deployment) (boxOutputs, error) {
			return boxOutputs{}, nil
		})
	}
	for name, test := range map[string]struct {
		components []guest.Component
		want       string
	}{
		"an empty one":  {[]guest.Component{{}}, "component : it was not made by guest.ComponentOf"},
		"twice":         {[]guest.Component{guest.ComponentOf(box, none), guest.ComponentOf(box, none)}, "component p:index:Box: it is declared twice"},
		"foreign token": {[]guest.Component{guest.ComponentOf("q:index:Box", none)}, "component q:index:Box: its token must begin with p:"},
		"reserved": {[]guest.Component{guest.ComponentOf(box, guest.Constructor[boxInputs, reserved](nil))},
			`component p:index:Box: its state must not have a property "urn"`},
		"method twice":   {[]guest.Component{guest.ComponentOf(box, none).With(method("m"), method("m"))}, "component p:index:Box: method m: it is declared twice"},
		"method's name":  {[]guest.Component{guest.ComponentOf(box, none).With(method("a/b"))}, "component p:index:Box: method a/b: it needs a name without : and /"},
		"without a name": {[]guest.Component{guest.ComponentOf(box, none).With(method(""))}, "it needs a name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Components: test.components})
			require.ErrorContains(t, err, test.want)
		})
	}
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Components: []guest.Component{guest.ComponentOf(box, none)}})
	require.NoError(t, err)
	_, err = p.Construct(t.Context(), abi.ConstructRequest{Type: "p:index:Bxo"})
	require.ErrorContains(t, err, "the package p 1.0.0 has no component p:index:Bxo; did you mean p:Box?")
	_, err = p.Construct(t.Context(), abi.ConstructRequest{Type: box})
	require.ErrorContains(t, err, "needs a monitor")
	_, err = p.Call(t.Context(), abi.CallRequest{Token: "p:index:Box/open"})
	require.ErrorContains(t, err, "has no method p:index:Box/open")
}

// monitor returns what it is asked, the last operation first, and repeats inputs as
// outputs. It is for one goroutine.
type monitor struct {
	abi.Monitor
	t         *testing.T
	preview   bool
	answer    abi.RegistrationResult
	fail      map[string]error // by name or token
	waitFails error

	started    []string
	registered map[string]abi.RegisterResourceRequest
	outputs    *property.Map
	running    []abi.Completed
	most       int
}

func (m *monitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	if m.registered == nil {
		m.registered = map[string]abi.RegisterResourceRequest{}
	}
	m.registered[r.Name] = r
	response := abi.RegisterResourceResponse{URN: urn.New("dev", "proj", r.Parent, r.Type, r.Name), State: folded(r.Inputs), Result: m.answer}
	if r.Name == "b" && r.Parent == "" {
		response.Result = abi.RegistrationResultSuccess
	}
	if r.Custom && !m.preview {
		response.ID = "id of " + r.Name
	}
	return response, nil
}

func folded(m property.Map) property.Map {
	return m.Transform(func(v property.Value) property.Value {
		o, ok := v.AsOutput()
		switch {
		case !ok:
			return v
		case o.Secret:
			return property.Secret(o.Value)
		}
		return o.Value
	})
}

func (m *monitor) RegisterOutputs(_ context.Context, r abi.RegisterOutputsRequest) error {
	require.Equal(m.t, boxURN, r.URN)
	m.outputs = &r.Outputs
	return nil
}

func (m *monitor) Start(ctx context.Context, o abi.Operation) (abi.OperationHandle, error) {
	name := ""
	var out abi.Outcome
	switch o.Case {
	case abi.OperationCaseRegisterResource:
		name = o.RegisterResource.Name
		out.Case = abi.OutcomeCaseRegistered
		out.Registered, _ = m.RegisterResource(ctx, o.RegisterResource)
	case abi.OperationCaseReadResource:
		name = o.ReadResource.Name
		out.Case = abi.OutcomeCaseResourceRead
		out.ResourceRead = abi.ReadResourceResponse{
			URN: urn.New("dev", "proj", o.ReadResource.Parent, o.ReadResource.Type, name), State: folded(o.ReadResource.Properties),
		}
	case abi.OperationCaseInvoke:
		name = o.Invoke.Token
		out.Case = abi.OutcomeCaseInvoked
		out.Invoked.Result = folded(o.Invoke.Args).Unwrap()
	case abi.OperationCaseCall:
		name = o.Call.Token
		out.Case = abi.OutcomeCaseCalled
		self, _ := o.Call.Args.Get("__self__").Plain().AsReference()
		out.Called.Result = obj("urn", self.URN)
		out.Called.ResultDependencies = []abi.PropertyDependency{{Key: "urn", URNs: []urn.URN{"urn:pulumi:dev::proj::q:index:Thing::other"}}}
	}
	if err := m.fail[name]; err != nil {
		out = abi.Outcome{Case: abi.OutcomeCaseFailed, Failed: abi.AsError(err)}
	}
	m.started = append(m.started, name)
	handle := abi.OperationHandle(len(m.started))
	m.running = append(m.running, abi.Completed{Handle: handle, Outcome: out})
	m.most = max(m.most, len(m.running))
	return handle, nil
}

func (m *monitor) Wait(context.Context) (abi.Completed, error) {
	if m.waitFails != nil {
		return abi.Completed{}, m.waitFails
	}
	require.NotEmpty(m.t, m.running, "waits for nothing")
	last := m.running[len(m.running)-1]
	m.running = slices.Delete(m.running, len(m.running)-1, len(m.running))
	return last, nil
}
