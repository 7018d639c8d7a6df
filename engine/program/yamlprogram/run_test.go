package yamlprogram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/state"
)

const (
	stackURN = "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"
	aURN     = "urn:pulumi:dev::shop::cloud:index/server:Server::a"
)

// chain has resources that need each other in the order a, b, c, and d, which
// needs none.
const chain = `
resources:
  c:
    type: cloud:Server
    properties: {size: 3, image: "${b.address} ${a.id}"}
  d:
    type: cloud:Server
    properties: {size: 4}
  b:
    type: cloud:Server
    properties: {size: "${count}", tags: {x: "${a.address}"}}
  a:
    type: cloud:Server
    properties: {size: 1}
variables:
  count: ${a.size}
outputs:
  address: ${c.image}
  secret: {fn::secret: "${d.id}"}
  nested: [{id: "${d.id}"}]
  server: ${d}
`

func TestRun(t *testing.T) {
	monitor := &fakeMonitor{state: map[string]property.Map{
		"a": entries("address", "10.0.0.1"), "b": entries("address", property.Secret(property.String("10.0.0.2"))),
	}}
	run := runContext()
	run.Parallel = 1
	require.NoError(t, load(t, chain).Run(t.Context(), run, monitor))

	require.Equal(t, abi.RegisterResourceRequest{Type: urn.RootType, Name: "shop-dev"}, monitor.registered[0], "the stack comes first")
	require.Equal(t, []string{"a", "d", "b", "c"}, monitor.names(), "one at a time, each after what it needs")

	b := monitor.request(t, "b")
	require.Equal(t, "cloud:index/server:Server", b.Type)
	require.Equal(t, urn.URN(stackURN), b.Parent)
	require.True(t, b.Custom)
	require.False(t, b.Remote)
	require.Equal(t, "Husk.yaml:9:3", b.SourcePosition)
	require.Equal(t, `{apiVersion: "v1", size: <a>1, tags: {x: <a>"10.0.0.1"}}`, showMap(b.Inputs))
	require.Equal(t, []abi.PropertyDependency{{Key: "size", URNs: []urn.URN{aURN}}, {Key: "tags", URNs: []urn.URN{aURN}}}, b.PropertyDependencies)

	c := monitor.request(t, "c")
	require.Equal(t, `<a b>secret("10.0.0.2 a-id")`, show(c.Inputs.Get("image")))
	require.Equal(t, []string{"password"}, c.Options.AdditionalSecretOutputs, "what the schema calls secret")
	require.Equal(t, []abi.Alias{{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: "cloud:index:OldServer"}}}, c.Options.Aliases)

	require.Equal(t, `{address: secret("10.0.0.2 a-id"), nested: [{id: "d-id"}], secret: secret("d-id"), server: reference(d d-id)}`,
		showMap(*monitor.outputs))
}

// Resources that do not need each other are registered at the same time.
func TestRunConcurrently(t *testing.T) {
	const n = 20
	var b strings.Builder
	b.WriteString("resources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  r%d:\n    type: bare:index:Thing\n", i)
	}
	b.WriteString("  last:\n    type: bare:index:Thing\n    properties: {all: [")
	for i := range n {
		fmt.Fprintf(&b, `"${r%d.id}", `, i)
	}
	b.WriteString("]}\n")
	var all sync.WaitGroup
	all.Add(n)
	monitor := &fakeMonitor{wait: func(name string) {
		if strings.HasPrefix(name, "r") {
			all.Done()
			all.Wait() // ends only when all are here
		}
	}}
	require.NoError(t, load(t, b.String()).Run(t.Context(), runContext(), monitor))
	require.Equal(t, "last", monitor.names()[n])
	require.Len(t, monitor.request(t, "last").PropertyDependencies[0].URNs, n)
}

func TestRunFailure(t *testing.T) {
	problem := abi.NewError(abi.ErrorKindInvalidArgument, "there is no such size")
	problem.Path = "tags.x"
	monitor := &fakeMonitor{fail: map[string]error{
		"b": fmt.Errorf("create b: %w", problem),
		"d": errors.Join(abi.NewError(abi.ErrorKindUnavailable, "try again"), errors.New("line one\nline two")),
	}, state: map[string]property.Map{"a": entries("address", "x")}}
	var once sync.Once
	both := make(chan struct{})
	monitor.wait = func(name string) {
		if name == "d" {
			<-both // d fails when b is under way
		}
		if name == "b" {
			once.Do(func() { close(both) })
		}
	}
	err := load(t, chain).Run(t.Context(), runContext(), monitor)
	require.EqualError(t, err, strings.TrimPrefix(`
Husk.yaml:6:3: "d": line one
    6 |   d:
      |   ^
  line two
Husk.yaml:6:3: "d": try again
    6 |   d:
      |   ^
Husk.yaml:11:43: "b": create b: tags.x: there is no such size
   11 |     properties: {size: "${count}", tags: {x: "${a.address}"}}
      |                                           ^`, "\n"))
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.NotContains(t, monitor.names(), "c", "what needs a failed resource is not registered")
	require.Nil(t, monitor.outputs)
}

// An error with parts that say less than it does is shown whole.
func TestAFullDiskIsToldOnce(t *testing.T) {
	monitor := &fakeMonitor{fail: map[string]error{
		"a": fmt.Errorf("create a: %w", &state.NoSpaceError{File: "dev.json", Cause: errors.New("write dev.json: no room")}),
	}}
	err := load(t, chain).Run(t.Context(), runContext(), monitor)
	require.Equal(t, 1, strings.Count(err.Error(), "no space left"))
	require.ErrorContains(t, err, `"a": create a: no space left to write dev.json: what was saved before is intact; free some space and run again (write dev.json: no room)`)
}

func TestPreviewTellsAllFailures(t *testing.T) {
	text := `
resources:
  a: {type: bare:index:Thing}
  b: {type: bare:index:Thing, properties: {x: "${a.id}"}}
  c: {type: bare:index:Thing}
  d: {type: bare:index:Thing, properties: {x: "${c.id}"}}
`
	run := runContext()
	run.DryRun, run.Parallel = true, 1
	monitor := &fakeMonitor{dryRun: true, fail: map[string]error{"a": errors.New("no a"), "d": errors.New("no d")}}
	err := load(t, text).Run(t.Context(), run, monitor)
	require.Equal(t, []string{"a", "c", "d"}, monitor.names())
	require.ErrorContains(t, err, "no a")
	require.ErrorContains(t, err, "no d")

	run.DryRun = false
	monitor.dryRun, monitor.registered = false, nil
	require.ErrorContains(t, load(t, text).Run(t.Context(), run, monitor), "no a")
	require.Equal(t, []string{"a"}, monitor.names())
}

// Where the monitor goes on after a failure, so does the program: what needs the
// failed resource is registered with unknown values, and skipped by the monitor.
func TestRunContinuesOnError(t *testing.T) {
	monitor := &fakeMonitor{
		result: map[string]abi.RegistrationResult{"b": abi.RegistrationResultFailed, "c": abi.RegistrationResultSkipped},
		state:  map[string]property.Map{"a": entries("address", "x")},
	}
	require.NoError(t, load(t, chain).Run(t.Context(), runContext(), monitor))
	require.ElementsMatch(t, []string{"a", "b", "c", "d"}, monitor.names())
	require.Equal(t, []string{"nested", "secret", "server"}, monitor.outputs.Keys(), "the outputs that need it are left out")
}

// A registration that was cancelled because of another failure is not told.
func TestRunCancelledRegistrations(t *testing.T) {
	cancelled := abi.NewError(abi.ErrorKindCancelled, "the deployment was stopped")
	var both sync.WaitGroup
	both.Add(2)
	monitor := &fakeMonitor{
		fail: map[string]error{"a": cancelled, "d": errors.New("failed")},
		wait: func(name string) {
			if name == "a" || name == "d" {
				both.Done()
				both.Wait()
			}
		},
	}
	err := load(t, chain).Run(t.Context(), runContext(), monitor)
	require.ErrorContains(t, err, `"d": failed`)
	require.NotContains(t, err.Error(), "stopped")

	monitor = &fakeMonitor{fail: map[string]error{"a": cancelled}}
	err = load(t, chain).Run(t.Context(), runContext(), monitor)
	require.ErrorIs(t, err, abi.ErrCancelled, "unless there is no other")
}

func TestRunCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	monitor := &fakeMonitor{wait: func(name string) {
		if name == "a" {
			cancel()
		}
	}}
	err := load(t, chain).Run(ctx, runContext(), monitor)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, monitor.names(), "b")
	require.Nil(t, monitor.outputs)
}

func TestRunEvaluationErrors(t *testing.T) {
	monitor := &fakeMonitor{state: map[string]property.Map{
		"a": entries("addresses", property.Array(property.String("hunter2")), "password", property.Secret(property.String("hunter2"))),
	}}
	err := load(t, `
resources:
  a:
    type: cloud:Server
    properties: {size: 1}
  b:
    type: bare:index:Thing
    properties:
      first: ${a.addresses[1]}
      second: {fn::fromBase64: "${a.password}"}
      third: {fn::readFile: "${a.password}"}
      fourth: ${a.any.x}
    options:
      protect: ${a.password}
`).Run(t.Context(), runContext(), monitor)
	require.EqualError(t, err, strings.TrimPrefix(`
Husk.yaml:9:27: ${a.addresses} has 1 element, so there is no element 1
    9 |       first: ${a.addresses[1]}
      |                           ^
Husk.yaml:10:35: fn::fromBase64: the argument is not base64
   10 |       second: {fn::fromBase64: "${a.password}"}
      |                                   ^
Husk.yaml:11:32: fn::readFile: it cannot be read; saying why could tell a secret
   11 |       third: {fn::readFile: "${a.password}"}
      |                                ^
Husk.yaml:12:23: ${a.any} is null, so nothing of it can be named
   12 |       fourth: ${a.any.x}
      |                       ^
Husk.yaml:14:18: the option protect must be true or false
   14 |       protect: ${a.password}
      |                  ^`, "\n"))
	require.Equal(t, []string{"a"}, monitor.names())
}

// State of a remote component may come from the resources inside it.
func TestComponentDependencies(t *testing.T) {
	monitor := &componentMonitor{}
	require.NoError(t, load(t, `
resources:
  site: {type: cloud:Site}
  record: {type: dns:Record, properties: {name: "${site.url}", value: "${site.urn}"}}
`).Run(t.Context(), runContext(), monitor))
	record := monitor.request(t, "record")
	require.Equal(t, `{name: <site inner>"https://x", value: <site>"urn:pulumi:dev::shop::cloud:index:Site::site"}`, showMap(record.Inputs))
}

type componentMonitor struct{ fakeMonitor }

func (m *componentMonitor) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	response, err := m.fakeMonitor.RegisterResource(ctx, request)
	if request.Remote {
		response.State = entries("url", "https://x")
		response.StateDependencies = []abi.PropertyDependency{{Key: "url", URNs: []urn.URN{"urn:pulumi:dev::shop::cloud:index:X::inner"}}}
	}
	return response, err
}

// What is written as a secret is not shown, whatever is wrong beside it.
func TestSecretsAreNotShown(t *testing.T) {
	monitor := &fakeMonitor{fail: map[string]error{"a": &abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "too short", Path: "network"}}}
	err := load(t, `
resources:
  a:
    type: cloud:Server
    properties:
      size: 1
      network: {fn::secret: hunter2}
`).Run(t.Context(), runContext(), monitor)
	require.EqualError(t, err, `Husk.yaml:7:7: "a": network: too short`)
}

func TestConfigProblems(t *testing.T) {
	text := "config:\n  count: {type: integer}\n  pin: {type: integer, secret: true}\n  list: {type: array, items: {type: string}}\n"
	err := load(t, text).Run(t.Context(), runContext(
		abi.ConfigEntry{Key: "shop:count", Value: "many"},
		abi.ConfigEntry{Key: "shop:pin", Value: "hunter2", Secret: true},
		abi.ConfigEntry{Key: "shop:list", Value: "[1]"},
	), &fakeMonitor{})
	require.EqualError(t, err, strings.TrimPrefix(`
Husk.yaml:3:3: the value of the configuration key "count" cannot be used: it must be an integer
    3 |   count: {type: integer}
      |   ^
  set another with: husk config set count <value>
Husk.yaml:4:3: the value of the configuration key "pin" cannot be used: it must be an integer
  set another with: husk config set --secret pin <value>
Husk.yaml:5:3: the value of the configuration key "list" cannot be used: element 0: it must be a string
    5 |   list: {type: array, items: {type: string}}
      |   ^
  set another with: husk config set list <value>`, "\n"))
}

// Check tells warnings too, and a program can be checked and run repeatedly.
func TestCheckThenRun(t *testing.T) {
	p := load(t, "resources:\n  a:\n    type: cloud:Server\n    properties: {size: 1, image: 1.10}\n    options: {pluginDownloadURL: x}\n")
	for range 2 {
		ds, err := p.Check(t.Context(), runContext())
		require.NoError(t, err)
		require.Len(t, ds, 1)
		require.Equal(t, source.Warning, ds[0].Severity)
		monitor := &fakeMonitor{}
		require.NoError(t, p.Run(t.Context(), runContext(), monitor))
		require.Equal(t, `"1.10"`, show(monitor.request(t, "a").Inputs.Get("image")))
	}
}

// Text stands for a number or a truth value where the schema asks for one, and they for text, with what they were
// computed from.
func TestConversions(t *testing.T) {
	program := `
config:
  count: {type: string}
  pin: {type: integer, secret: true}
resources:
  a:
    type: cloud:Server
    properties: {size: "5", image: "${pin}", rules: [{port: "${count}"}]}
  b:
    type: cloud:Server
    properties: {size: "${a.address}", tags: {first: "${a.size}", second: true}}
variables:
  called: {fn::invoke: {function: cloud:findImage, arguments: {name: 1.10, latest: "true"}}}
`
	p := load(t, program)
	run := runContext(abi.ConfigEntry{Key: "shop:count", Value: "80"}, abi.ConfigEntry{Key: "shop:pin", Value: "1234"})
	monitor := &fakeMonitor{state: map[string]property.Map{"a": entries("size", property.Number(5), "address", "42")}}
	monitor.invoke = func(r abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		require.Equal(t, `{latest: true, name: "1.10"}`, showMap(r.Args))
		return abi.MonitorInvokeResponse{Result: entries("id", "x")}, nil
	}
	require.NoError(t, p.Run(t.Context(), run, monitor))
	require.Equal(t, `{apiVersion: "v1", image: secret("1234"), rules: [{port: 80}], size: 5}`, showMap(monitor.request(t, "a").Inputs))
	require.Equal(t, `{apiVersion: "v1", size: <a>42, tags: {first: <a>"5", second: "true"}}`, showMap(monitor.request(t, "b").Inputs))

	// What comes of a resource and is no number, its provider refuses.
	monitor = &fakeMonitor{invoke: monitor.invoke, state: map[string]property.Map{"a": entries("size", property.Number(5), "address", "x")}}
	require.NoError(t, load(t, program).Run(t.Context(), run, monitor))
	require.Equal(t, `<a>"x"`, show(monitor.request(t, "b").Inputs.Get("size")))
}

// The arguments of an action are those of its step: the resource is as the step leaves it or, before an update, as
// it finds it. Resources that an action needs come before those that it runs for.
func TestArgumentsOfActions(t *testing.T) {
	p := load(t, `
actions:
  reboot:
    function: cloud:reboot
    arguments: {address: "${server.address} of ${net.id} for ${server.password}", hard: true}
    options: {provider: "${own}"}
resources:
  server:
    type: cloud:Server
    properties: {size: 1}
    options: {actions: {beforeUpdate: "${reboot}", afterCreate: ["${reboot}", "${reboot}"]}}
  net: {type: cloud:net:Network, properties: {cidr: x}}
  own: {type: pulumi:providers:cloud, properties: {region: here}}
`)
	m := &fakeMonitor{}
	require.NoError(t, p.Run(t.Context(), runContext(), m))
	require.Equal(t, "server", m.names()[2], "after what its actions need")
	server := m.request(t, "server")
	require.Equal(t, []abi.HookBinding{
		{Kind: abi.HookKindBeforeUpdate, Names: []string{"reboot"}},
		{Kind: abi.HookKindAfterCreate, Names: []string{"reboot"}}, {Kind: abi.HookKindAfterCreate, Names: []string{"reboot"}},
	}, server.Options.Hooks)

	require.Len(t, m.actions, 1)
	require.Equal(t, "cloud:index/reboot:reboot", m.actions[0].Function)
	seen := func(address string) *state.Resource {
		return &state.Resource{
			URN: urn.New("dev", "shop", server.Parent, server.Type, "server"), ID: "i",
			Outputs: property.NewMap(
				property.Entry{Key: "address", Value: property.String(address)},
				property.Entry{Key: "password", Value: property.Secret(property.String("p"))}),
		}
	}
	for kind, want := range map[abi.HookKind]string{abi.HookKindBeforeUpdate: "old", abi.HookKindAfterCreate: "new"} {
		call, err := m.actions[0].Call(t.Context(), callback.Step{Kind: kind, Old: seen("old"), New: seen("new")})
		require.NoError(t, err)
		require.Equal(t, `{address: <server net>secret("`+want+` of net-id for p"), hard: true}`, showMap(call.Args))
		require.Contains(t, call.Options.Provider, "pulumi:providers:cloud::own::own-id")
	}

	// What goes wrong is reported where the program says it, and as the action's.
	p = load(t, `
actions: {reboot: {function: cloud:reboot, arguments: {address: "${server.any.of.it}"}}}
resources: {server: {type: cloud:Server, properties: {size: 1}, options: {actions: {afterCreate: "${reboot}"}}}}
`)
	problem := abi.NewError(abi.ErrorKindInvalidArgument, "too far")
	problem.Path = "address"
	m = &fakeMonitor{fail: map[string]error{"server": &callback.ActionError{Name: "reboot", Kind: abi.HookKindAfterCreate, Err: problem}}}
	err := p.Run(t.Context(), runContext(), m)
	require.ErrorContains(t, err, `Husk.yaml:2:56: the after-create action "reboot" failed: address: too far`)
	_, err = m.actions[0].Call(t.Context(), callback.Step{Kind: abi.HookKindAfterCreate, New: seen("new")})
	require.ErrorContains(t, err, "its arguments cannot be computed")
}

// Pulumi takes keys in other capitals. A key that is there in both is not the other one.
func TestKeysInCapitals(t *testing.T) {
	monitor := &fakeMonitor{}
	p := load(t, `
Configuration: {count: {Type: Integer, Default: 3}}
Variables: {image: {Fn::Join: ["-", ["a", "b"]]}}
Resources:
  A: {Type: cloud:Server, Properties: {size: "${count}", image: "${image}"}, Options: {Protect: true}}
Outputs: {Size: "${A.size}"}
`)
	require.NoError(t, p.Run(t.Context(), runContext(), monitor))
	a := monitor.request(t, "A")
	require.Equal(t, `{apiVersion: "v1", image: "a-b", size: 3}`, showMap(a.Inputs))
	require.NotNil(t, a.Options.Protect)
	require.Equal(t, []string{"Size"}, monitor.outputs.Keys())
}

// countedSchemas counts what they are asked for.
type countedSchemas struct {
	schemaFiles
	asked atomic.Int32
}

func (s *countedSchemas) Package(ctx context.Context, pkg program.Package) (*schema.Package, error) {
	s.asked.Add(1)
	return s.schemaFiles.Package(ctx, pkg)
}

// An update goes on with what its preview has compiled: it registers the same, is charged the same, and asks for no schema. Any
// other run compiles the program itself.
func TestAnUpdateGoesOnWithItsPreview(t *testing.T) {
	schemas := &countedSchemas{}
	p, run := loadWithConfig(t, "resources:\n  one: {type: cloud:Server, properties: {size: 1}}\n"+
		"  two: {type: cloud:Server, properties: {size: 2}, options: {dependsOn: [\"${one}\"]}}\n", "config: {}\n", schemas)
	var spent []int64
	p.Limit(budget.Limits{Spent: func(steps, memory int64) { spent = append(spent, steps, memory) }})
	var monitors []*fakeMonitor
	asked := func(run abi.RunContext) int32 {
		before := schemas.asked.Load()
		monitors = append(monitors, &fakeMonitor{})
		require.NoError(t, p.Run(t.Context(), run, monitors[len(monitors)-1]))
		return schemas.asked.Load() - before
	}
	preview, other := run, run
	preview.DryRun, other.Config = true, []abi.ConfigEntry{{Key: "shop:color", Value: "red"}}
	once := asked(preview)
	require.Positive(t, once)
	require.Zero(t, asked(run))
	require.Equal(t, monitors[0].registered, monitors[1].registered)
	require.Equal(t, spent[:2], spent[2:])
	require.Equal(t, once, asked(run), "there was no preview of it")
	require.Equal(t, once, asked(preview))
	require.Equal(t, once, asked(other), "the preview had another configuration")
}
