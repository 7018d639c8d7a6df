package provider_test

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	local "github.com/husk-dev/husk/examples/providers/local/provider"
	site "github.com/husk-dev/husk/examples/providers/site/provider"
	tlsprovider "github.com/husk-dev/husk/examples/providers/tls/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// A site is made by the real engine, its provider in this program or as a module.
func TestSite(t *testing.T) {
	t.Run("in a program", func(t *testing.T) {
		testSite(t, func() (abi.Provider, error) { return guest.New(site.New()) })
	})
	t.Run("as a module", func(t *testing.T) {
		module := testmodule.Load(t, "..", host.NewConfig())
		testSite(t, func() (abi.Provider, error) {
			return module.NewProvider(t.Context(), host.ProviderOptions{Name: "site"})
		})
	})
}

func testSite(t *testing.T, load func() (abi.Provider, error)) {
	for name, test := range map[string]func(*testing.T, *stack){
		"life":       testLife,
		"parallel":   testParallel,
		"failure":    testFailure,
		"method":     testMethod,
		"refused":    testRefused,
		"unknown":    testUnknown,
		"cancelling": testCancelling,
	} {
		t.Run(name, func(t *testing.T) { test(t, newStack(t, load)) })
	}
}

func testLife(t *testing.T, s *stack) {
	program := s.site(property.String("Hello & welcome"), property.Bool(false))

	_, err := s.preview(program)
	require.NoError(t, err)
	previewed := s.steps()
	require.NoDirExists(t, s.dir, "a preview makes nothing")

	result, err := s.up(program)
	require.NoError(t, err)
	require.ElementsMatch(t, previewed, s.steps(), "an update does what its preview says")
	require.ElementsMatch(t, []string{
		"create proj-dev", "create shop", "create shop-directory", "create shop-index.html", "create shop-cert.pem",
		"create shop-key.pem", "create shop-robots.txt", "create shop-certificate",
		"create shop-certificate-key", "create shop-certificate-cert",
	}, s.steps())

	page, err := os.ReadFile(filepath.Join(s.dir, "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "<h1>Hello &amp; welcome</h1>")
	_, err = tls.LoadX509KeyPair(filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem"))
	require.NoError(t, err)
	url, _ := result.Outputs.Get("url").AsString()
	require.Equal(t, "https://shop.example/", url)

	made := s.resources(t)
	parent := func(name string) string { return made[name].Parent.Name() }
	require.Equal(t, "shop", parent("shop-directory"))
	require.Equal(t, "shop", parent("shop-certificate"))
	require.Equal(t, "shop-certificate", parent("shop-certificate-key"))
	require.Contains(t, made["shop-index.html"].Dependencies, made["shop-directory"].URN)
	require.Contains(t, made["shop-certificate-cert"].PropertyDependencies["privateKeyPem"], made["shop-certificate-key"].URN)
	require.True(t, made["shop-key.pem"].Inputs.Get("content").IsSecret(), "what is made of a secret is one")
	require.False(t, made["shop-cert.pem"].Inputs.Get("content").ContainsSecrets())
	require.True(t, made["shop-certificate"].Outputs.Get("key").IsSecret())
	require.Equal(t, property.Bool(false), made["shop"].Inputs.Get("robots"))
	require.True(t, made["shop-directory"].Protect, "children inherit what the program says of the component")

	_, err = s.up(program)
	require.NoError(t, err)
	require.Empty(t, s.steps(), "nothing has changed")

	program = s.site(property.String("Hello"), property.Bool(false))
	program.protect = false
	_, err = s.up(program)
	require.NoError(t, err)
	require.Equal(t, []string{"update shop-index.html"}, slices.DeleteFunc(s.steps(), func(step string) bool { return step == "update shop" }))

	_, err = s.do(engine.Run, engine.Destroy{})
	require.NoError(t, err)
	require.Empty(t, s.resources(t))
	require.NoDirExists(t, s.dir)
}

// The directory and the key need nothing of each other: each is created only once the
// other has begun to be.
func testParallel(t *testing.T, s *stack) {
	var begun sync.WaitGroup
	begun.Add(2)
	s.create = func(ctx context.Context, name string) error {
		if name != "shop-directory" && name != "shop-certificate-key" {
			return nil
		}
		begun.Done()
		all := make(chan struct{})
		go func() { begun.Wait(); close(all) }()
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := s.up(s.site(property.String("x"), property.Bool(true)))
	require.NoError(t, err)
}

func testFailure(t *testing.T, s *stack) {
	s.create = func(_ context.Context, name string) error {
		if name == "shop-certificate-cert" {
			return errors.New("the pen is out of ink")
		}
		return nil
	}
	program := s.site(property.String("x"), property.Bool(true))
	_, err := s.up(program)
	require.ErrorContains(t, err, "the pen is out of ink")
	require.NotContains(t, slices.Collect(maps.Keys(s.resources(t))), "shop-cert.pem", "what needs the certificate is not made")

	s.create = nil
	_, err = s.up(program)
	require.NoError(t, err)
	require.Contains(t, s.steps(), "create shop-certificate-cert")
	require.NotContains(t, s.steps(), "create shop-certificate-key", "what was made stays")
}

func testMethod(t *testing.T, s *stack) {
	program := s.site(property.String("Hello"), property.Bool(true))
	preview := true
	program.then = func(ctx context.Context, m abi.Monitor, made abi.RegisterResourceResponse) error {
		call := func(name string, file property.Value) (abi.MonitorCallResponse, error) {
			return m.Call(ctx, abi.MonitorCallRequest{
				Token: "site:index:Site/read",
				Args: property.NewMap(
					property.Entry{Key: "__self__", Value: property.Reference(property.ResourceReference{URN: string(made.URN)})},
					property.Entry{Key: name, Value: file},
				),
				ArgDependencies: []abi.PropertyDependency{{Key: "file", URNs: dependencies(made, "files")}},
			})
		}
		files, _ := made.State.Get("files").AsArray()
		response, err := call("file", files[0])
		require.NoError(t, err)
		require.Empty(t, response.Failures)
		require.Equal(t, []abi.PropertyDependency{{Key: "content", URNs: dependencies(made, "files")}}, response.ResultDependencies)
		content := response.Result.Get("content")
		if preview {
			require.Equal(t, property.Unknown, content)
			return nil
		}
		require.Equal(t, property.String("<!doctype html>\n<title>Hello</title>\n<h1>Hello</h1>\n"), content)
		response, err = call("fil", files[0])
		require.NoError(t, err)
		require.Equal(t, "fil", response.Failures[0].Path)
		_, err = call("file", property.String(filepath.ToSlash(s.dir)+"/none.html"))
		require.ErrorContains(t, err, "local:index/getFile:getFile: ")
		return nil
	}
	_, err := s.preview(program)
	require.NoError(t, err)
	preview = false
	_, err = s.up(program)
	require.NoError(t, err)
}

func dependencies(made abi.RegisterResourceResponse, name string) []urn.URN {
	for _, d := range made.StateDependencies {
		if d.Key == name {
			return d.URNs
		}
	}
	return nil
}

func testRefused(t *testing.T, s *stack) {
	_, err := s.up(s.site(property.Number(7), property.String("maybe")))
	require.ErrorContains(t, err, "title: expected string, got number")
	require.ErrorContains(t, err, "robots: expected bool, got string")
	_, err = s.up(s.site(property.String("x"), property.Secret(property.Bool(true))))
	require.ErrorContains(t, err, "robots: the provider cannot keep this input secret")
	require.Equal(t, []string{"proj-dev"}, slices.Collect(maps.Keys(s.resources(t))))
}

// A preview in which the title is not known shows all there is to see; one in which it
// is not known what there will be shows the component alone.
func testUnknown(t *testing.T, s *stack) {
	_, err := s.preview(s.site(property.Unknown, property.Bool(true)))
	require.NoError(t, err)
	require.Contains(t, s.steps(), "create shop-index.html")
	_, err = s.preview(s.site(property.String("x"), property.Unknown))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"create proj-dev", "create shop"}, s.steps())
}

func testCancelling(t *testing.T, s *stack) {
	ctx, cancel := context.WithCancel(t.Context())
	s.ctx = ctx
	s.create = func(ctx context.Context, name string) error {
		if name != "shop-certificate-key" {
			return nil
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	_, err := s.up(s.site(property.String("x"), property.Bool(true)))
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.NotContains(t, slices.Collect(maps.Keys(s.resources(t))), "shop-certificate-cert")
}

// stack is a stack in memory. It loads the packages local and tls natively.
type stack struct {
	t     *testing.T
	ctx   context.Context
	store memstore.Store
	keys  secrets.Keys
	dir   string
	load  func() (abi.Provider, error)
	// create, if set, comes before each creation of a resource.
	create func(ctx context.Context, name string) error

	mu   sync.Mutex
	done []string
}

var stackName = state.StackName{Project: "proj", Name: "dev"}

func newStack(t *testing.T, load func() (abi.Provider, error)) *stack {
	dir := t.TempDir()
	s := &stack{t: t, ctx: t.Context(), dir: filepath.Join(dir, "shop"), load: load, keys: secrets.Keys{
		LookupEnv: func(string) (string, bool) { return "", false },
		ReadFile:  os.ReadFile,
		ConfigDir: func() (string, error) { return dir, nil },
		KeyMade:   func(string) {},
	}}
	require.NoError(t, state.Create(t.Context(), &s.store, stackName, s.keys))
	return s
}

func (s *stack) up(program engine.Program) (*engine.Result, error) {
	return s.do(engine.Run, engine.Up{Program: program})
}

func (s *stack) preview(program engine.Program) (*engine.Result, error) {
	return s.do(engine.Preview, engine.Up{Program: program})
}

func (s *stack) do(run func(context.Context, engine.Deployment, engine.Operation) (*engine.Result, error), operation engine.Operation) (*engine.Result, error) {
	opened, err := state.Open(s.t.Context(), &s.store, stackName, s.keys, state.Holder{})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, opened.Close(context.WithoutCancel(s.t.Context()))) }()
	s.done = nil
	return run(s.ctx, engine.Deployment{
		Project: "proj", Stack: "dev", Providers: s, State: opened,
		Events: func(e engine.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if e, ok := e.(engine.StepDone); ok && !e.Step.DefaultProvider && e.Step.Op != engine.OpSame {
				s.done = append(s.done, string(e.Step.Op)+" "+e.Step.Name)
			}
		},
	}, operation)
}

// steps returns those of the last run that did something.
func (s *stack) steps() []string { return slices.Clone(s.done) }

func (s *stack) resources(t *testing.T) map[string]*state.Resource {
	snapshot, _, err := state.Load(context.WithoutCancel(t.Context()), &s.store, stackName, s.keys.Open)
	require.NoError(t, err)
	found := map[string]*state.Resource{}
	for _, r := range snapshot.Resources() {
		if !strings.HasPrefix(r.Type, "pulumi:providers:") {
			found[r.URN.Name()] = r
		}
	}
	return found
}

func (s *stack) Load(_ context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	switch spec.Name {
	case "site":
		return s.load()
	case "local":
		return s.watched(guest.New(local.New()))
	case "tls":
		return s.watched(guest.New(tlsprovider.New()))
	}
	return nil, errors.New("no package " + spec.Name)
}

func (s *stack) watched(p abi.Provider, err error) (abi.Provider, error) {
	return &watched{p, s}, err
}

type watched struct {
	abi.Provider
	stack *stack
}

func (w *watched) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if w.stack.create != nil && !request.Preview {
		if err := w.stack.create(ctx, request.Name); err != nil {
			return abi.CreateResponse{}, err
		}
	}
	return w.Provider.Create(ctx, request)
}

// site returns a program with one site.
func (s *stack) site(title, robots property.Value) *program {
	return &program{protect: true, inputs: property.NewMap(
		property.Entry{Key: "directory", Value: property.String(filepath.ToSlash(s.dir))},
		property.Entry{Key: "host", Value: property.String("shop.example")},
		property.Entry{Key: "title", Value: title},
		property.Entry{Key: "robots", Value: robots},
	)}
}

type program struct {
	inputs  property.Map
	protect bool
	// then, if set, goes on when the site is made.
	then func(context.Context, abi.Monitor, abi.RegisterResourceResponse) error
}

func (p *program) Run(ctx context.Context, run abi.RunContext, m abi.Monitor) error {
	root, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: urn.RootType, Name: run.Project + "-" + run.Stack})
	if err != nil {
		return err
	}
	made, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: "site:index:Site", Name: "shop", Remote: true, Inputs: p.inputs,
		Options: abi.ResourceOptions{Protect: &p.protect},
	})
	if err != nil {
		return err
	}
	if p.then != nil {
		if err := p.then(ctx, m, made); err != nil {
			return err
		}
	}
	return m.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: root.URN, Outputs: made.State})
}
