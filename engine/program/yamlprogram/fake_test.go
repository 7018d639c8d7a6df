package yamlprogram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
)

// schemaFiles are the packages of testdata/schemas, and the package "bare",
// which has no schema, and "broken", which cannot be read. With a parameter, a
// source becomes, or is extended with, the package whose schema file the parameter names.
type schemaFiles struct{}

func (schemaFiles) Package(_ context.Context, pkg program.Package) (*schema.Package, error) {
	name, version := pkg.Source, pkg.Version
	if by := cmp.Or(pkg.Extension, pkg.Parameters); by != nil {
		document, err := os.ReadFile(filepath.Join("testdata", "schemas", strings.TrimSuffix(filepath.Base(by.Args[0]), ".json")+".json"))
		if err != nil {
			return nil, fmt.Errorf("parameter 0: %w", err)
		}
		return schemajson.Parse(document)
	}
	switch name {
	case "bare":
		return nil, nil
	case "broken":
		return nil, errors.New("not a WebAssembly module")
	}
	document, err := os.ReadFile(filepath.Join("testdata", "schemas", name+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w %q", ErrUnknownPackage, name)
	}
	if err != nil {
		return nil, err
	}
	p, err := schemajson.Parse(document)
	if err == nil && version != "" && version != p.Version {
		return nil, fmt.Errorf("its version is %s, not %s", p.Version, version)
	}
	return p, err
}

// fakeMonitor records what a program asks for, and answers with what it is told.
// A resource gets the ID "<name>-id" and its inputs as state.
type fakeMonitor struct {
	callback.Monitor
	dryRun bool
	// state adds to the state of resources, by their name.
	state map[string]property.Map
	// fail makes the registration of resources fail, by their name.
	fail map[string]error
	// result tells the registration of resources as not carried out, by their name.
	result map[string]abi.RegistrationResult
	// wait is called in each registration.
	wait func(name string)
	// invoke answers function calls.
	invoke func(request abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error)

	// packageName is the name of every package that is registered, "petstore" if empty.
	packageName string

	// source is where what is foreign is read.
	source contents.Source

	mu         sync.Mutex
	foreign    []string
	packages   []abi.RegisterPackageRequest
	registered []abi.RegisterResourceRequest
	read       []abi.ReadResourceRequest
	invoked    []abi.MonitorInvokeRequest
	outputs    *property.Map
	actions    []callback.Action
}

func (m *fakeMonitor) RegisterAction(a callback.Action) error {
	m.actions = append(m.actions, a)
	return nil
}

// Foreign notes what was called foreign, and what the program wrote of it.
func (m *fakeMonitor) Foreign(_ context.Context, v property.Value, named string) (property.Value, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.foreign = append(m.foreign, show(v)+" "+named)
	return v, nil
}

func (m *fakeMonitor) OpenForeign(_ context.Context, path string) (io.ReadCloser, error) {
	return m.source.OpenForeign(path)
}

func (m *fakeMonitor) RegisterPackage(_ context.Context, request abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	m.packages = append(m.packages, request)
	if err := m.fail[request.Name]; err != nil {
		return abi.RegisterPackageResponse{}, err
	}
	return abi.RegisterPackageResponse{PackageRef: "ref-1", Name: cmp.Or(m.packageName, "petstore"), Version: "3.0.0"}, nil
}

func (m *fakeMonitor) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	m.mu.Lock()
	m.registered = append(m.registered, request)
	m.mu.Unlock()
	if m.wait != nil {
		m.wait(request.Name)
	}
	if err := m.fail[request.Name]; err != nil {
		return abi.RegisterResourceResponse{}, err
	}
	response := abi.RegisterResourceResponse{
		URN:    urn.New("dev", "shop", request.Parent, request.Type, request.Name),
		State:  request.Inputs.Lower(property.KindOutput),
		Result: m.result[request.Name],
	}
	if request.Custom && !m.dryRun {
		response.ID = request.Name + "-id"
	}
	for key, v := range m.state[request.Name].All() {
		response.State = response.State.With(key, v)
	}
	return response, ctx.Err()
}

func (m *fakeMonitor) RegisterOutputs(_ context.Context, request abi.RegisterOutputsRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outputs = &request.Outputs
	return nil
}

func (m *fakeMonitor) ReadResource(_ context.Context, request abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = append(m.read, request)
	if err := m.fail[request.Name]; err != nil {
		return abi.ReadResourceResponse{}, err
	}
	return abi.ReadResourceResponse{
		URN:   urn.New("dev", "shop", request.Parent, request.Type, request.Name),
		State: m.state[request.Name],
	}, nil
}

func (m *fakeMonitor) Invoke(_ context.Context, request abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	m.mu.Lock()
	m.invoked = append(m.invoked, request)
	m.mu.Unlock()
	return m.invoke(request)
}

// names returns the names of the registered resources in their order, without
// that of the stack.
func (m *fakeMonitor) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, request := range m.registered[1:] {
		names = append(names, request.Name)
	}
	return names
}

// request returns the registration of a resource.
func (m *fakeMonitor) request(t *testing.T, name string) abi.RegisterResourceRequest {
	t.Helper()
	for _, request := range m.registered {
		if request.Name == name {
			return request
		}
	}
	require.Fail(t, "not registered: "+name)
	return abi.RegisterResourceRequest{}
}

// runContext is that of the stack dev of the project shop.
func runContext(config ...abi.ConfigEntry) abi.RunContext {
	return abi.RunContext{Project: "shop", Stack: "dev", Organization: "org", Config: config}
}

// load returns the program of a project file; "name: shop" is put before it.
func load(t testing.TB, text string) *Program {
	t.Helper()
	return loadIn(t, "/work", text)
}

func loadIn(t testing.TB, dir, text string) *Program {
	t.Helper()
	p, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte("name: shop\n"+strings.TrimPrefix(text, "\n")))
	require.NoError(t, err)
	return New(p, schemaFiles{})
}

// show writes a value with what it was computed from: secret(v), {urns} v.
func show(v property.Value) string {
	switch v.Kind() {
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return "secret(" + show(inner) + ")"
	case property.KindOutput:
		o, _ := v.AsOutput()
		names := make([]string, len(o.Dependencies))
		for i, u := range o.Dependencies {
			names[i] = urn.URN(u).Name()
		}
		inner := show(o.Value)
		if o.Secret {
			inner = "secret(" + inner + ")"
		}
		return "<" + strings.Join(names, " ") + ">" + inner
	case property.KindUnknown:
		return "?"
	case property.KindArray:
		elements, _ := v.AsArray()
		shown := make([]string, len(elements))
		for i, e := range elements {
			shown[i] = show(e)
		}
		return "[" + strings.Join(shown, ", ") + "]"
	case property.KindObject:
		m, _ := v.AsObject()
		return showMap(m)
	case property.KindResourceReference:
		ref, _ := v.AsReference()
		return "reference(" + urn.URN(ref.URN).Name() + " " + ref.ID + ")"
	case property.KindAsset:
		a, _ := v.AsAsset()
		return fmt.Sprintf("asset(%s%s%s)", a.Text, a.Path, a.URI)
	case property.KindArchive:
		a, _ := v.AsArchive()
		if a.Source == property.SourceAssets {
			return "archive" + showMap(a.Assets)
		}
		return fmt.Sprintf("archive(%s%s)", a.Path, a.URI)
	case property.KindNull:
		return "null"
	case property.KindString:
		s, _ := v.AsString()
		return fmt.Sprintf("%q", s)
	case property.KindNumber:
		f, _ := v.AsNumber()
		return fmt.Sprint(f)
	}
	b, _ := v.AsBool()
	return fmt.Sprint(b)
}

func showMap(m property.Map) string {
	shown := make([]string, 0, m.Len())
	for _, key := range m.Keys() {
		shown = append(shown, key+": "+show(m.Get(key)))
	}
	return "{" + strings.Join(shown, ", ") + "}"
}
