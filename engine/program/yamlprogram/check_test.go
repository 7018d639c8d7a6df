package yamlprogram

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
)

var update = flag.Bool("update", false, "rewrite what the files of testdata/check want")

// Each file of testdata/check holds a project file, and what is wrong with it as
// a person reads it; nothing is registered.
func TestCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			dir := t.TempDir()
			require.NoError(t, txtar.Write(archive, dir))
			p, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			monitor := &fakeMonitor{}
			err = New(p, schemaFiles{}).Run(t.Context(), runContext(), monitor)
			require.Error(t, err)
			require.Empty(t, monitor.registered)
			got := err.Error() + "\n"
			want := &archive.Files[len(archive.Files)-1]
			require.Equal(t, "want", want.Name)
			if *update {
				want.Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(want.Data), got)
		})
	}
}

// Whatever a project file holds, it is refused with places that it has, or run
// with one registration for each resource.
func FuzzProgram(f *testing.F) {
	files, err := filepath.Glob("testdata/check/*.txtar")
	require.NoError(f, err)
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		f.Add(archive.Files[0].Data)
	}
	f.Add([]byte("name: shop\n" + chain))
	f.Add([]byte("name: shop\nresources: &a {b: {type: cloud:Server, properties: {size: 1, any: &x [\"${c}\"]}}}\nvariables: {c: 1, d: *x}\n"))
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "missing.txt"), []byte("x"), 0o600))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", text)
		if err != nil {
			return
		}
		monitor := &fakeMonitor{dryRun: len(text)%2 == 0}
		monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			return abi.MonitorInvokeResponse{Result: property.Map{}}, nil
		}
		run := runContext()
		run.DryRun = monitor.dryRun
		program := New(p, schemaFiles{})
		ds, err := program.Check(t.Context(), run)
		require.NoError(t, err)
		for _, d := range ds {
			require.NotEmpty(t, d.Summary)
			require.True(t, d.Line > 0 || d.Column == 0)
		}
		err = program.Run(t.Context(), run, monitor)
		if ds.HasErrors() {
			require.Error(t, err)
			require.Empty(t, monitor.registered)
		}
		if err == nil {
			require.NotNil(t, monitor.outputs)
		}
	})
}

// settingsOf checks a program and the stack's configuration in which the package cloud has settings.
func settingsOf(t *testing.T, text, config string, bySchema bool) (lines []string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.dev.yaml"), []byte(config), 0o644))
	p, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte("name: shop\n"+text))
	require.NoError(t, err)
	stack, err := p.StackConfig("dev")
	require.NoError(t, err)
	entries, err := p.ConfigEntries(stack, func(text string) (string, error) { return text, nil })
	require.NoError(t, err)
	ds, err := New(p, cloudSettings{bySchema}).Check(t.Context(), runContext(entries...))
	require.NoError(t, err)
	for _, d := range ds {
		lines = append(lines, d.Error())
	}
	return lines
}

// cloudSettings has the package cloud with settings, which alone decides what they are if bySchema is set.
type cloudSettings struct{ bySchema bool }

func (c cloudSettings) Package(ctx context.Context, pkg program.Package) (*schema.Package, error) {
	p, err := schemaFiles{}.Package(ctx, pkg)
	if err != nil || p == nil || p.Name != "cloud" {
		return p, err
	}
	text, number := &schema.Type{Kind: schema.KindString}, &schema.Type{Kind: schema.KindInteger}
	frame := &schema.Object{Properties: []schema.Property{{Name: "left", Type: text, Required: true}, {Name: "right", Type: text}}}
	p.Config = schema.Object{Properties: []schema.Property{
		{Name: "frame", Type: &schema.Type{Kind: schema.KindObject, Object: frame}}, {Name: "marks", Type: &schema.Type{Kind: schema.KindArray, Element: text}},
		{Name: "region", Type: text, Required: true}, {Name: "retries", Type: number}, {Name: "token", Type: number, Secret: true},
	}}
	p.SchemaCheckConfig = c.bySchema
	return p, nil
}

// What the stack's configuration says to a default provider is held against the schema, at its line.
func TestSettingsOfDefaultProviders(t *testing.T) {
	const uses = "resources: {one: {type: cloud:Server, properties: {size: 1}}}\n"
	for _, test := range []struct {
		name, program, config string
		want                  []string
	}{
		{"all right", uses, "config:\n  cloud:region: north\n  cloud:retries: '3'\n  cloud:frame: {left: a}\n  cloud:marks: [a]\n  cloud:version: 1.0.0\n", nil},
		{"as JSON", uses, "config:\n  cloud:frame: '{\"left\": \"a\"}'\n", nil},
		{"nothing, though one is required", uses, "config: {}\n", nil},
		{"a type", uses, "config:\n  cloud:region: north\n  cloud:retries: many\n", []string{"Husk.dev.yaml:3:3: cloud:retries: expected integer, got string"}},
		{"a part", uses, "config:\n  cloud:frame:\n    left: a\n    rihgt: b\n", []string{`Husk.dev.yaml:4:5: cloud:frame.rihgt: no such property; did you mean "right"?`}},
		{"an element", uses, "config:\n  cloud:marks:\n    - a\n    - [b]\n", []string{"Husk.dev.yaml:4:7: cloud:marks[1]: expected string, got array"}},
		{"a missing part", uses, "config:\n  cloud:frame:\n    right: b\n", []string{"Husk.dev.yaml:2:3: cloud:frame.left: required property is missing; expected string"}},
		{"a key", uses, "config:\n  cloud:regoin: north\n", []string{`Husk.dev.yaml:2:3: cloud:regoin: no such configuration key; did you mean "region"?`}},
		{"a secret", uses, "config:\n  cloud:token: {secure: opened}\n", []string{"Husk.dev.yaml:2:3: cloud:token: expected integer, got string"}},
		{"a default of the project", "config:\n  cloud:retries: {default: many}\n" + uses, "config: {}\n", []string{"Husk.yaml:3:3: cloud:retries: expected integer, got string"}},
		{"a number for text", "config:\n  cloud:region: {type: integer}\n" + uses, "config:\n  cloud:region: 5\n", nil},
		{"another package", uses, "config:\n  aws:regoin: north\n", nil},
		{"not used", "variables: {a: 1}\n", "config:\n  cloud:regoin: north\n", nil},
		{"a function", "variables: {a: {fn::invoke: {function: cloud:findImage, arguments: {name: a}}}}\n", "config:\n  cloud:regoin: north\n",
			[]string{`Husk.dev.yaml:2:3: cloud:regoin: no such configuration key; did you mean "region"?`}},
		{"a provider of the program", "resources: {p: {type: pulumi:providers:cloud, properties: {region: a}}, one: {type: cloud:Server, properties: {size: 1}, options: {provider: \"${p}\"}}}\n",
			"config:\n  cloud:regoin: north\n", nil},
		{"a default provider of the program", "resources: {p: {type: pulumi:providers:cloud, defaultProvider: true, properties: {region: a}}, one: {type: cloud:Server, properties: {size: 1}}}\n",
			"config:\n  cloud:regoin: north\n", nil},
	} {
		require.Equal(t, test.want, settingsOf(t, test.program, test.config, true), test.name)
	}
	require.Equal(t, []string{`Husk.dev.yaml:2:3: warning: cloud:regoin: no such configuration key; did you mean "region"?`},
		settingsOf(t, uses, "config:\n  cloud:regoin: north\n", false), "the provider decides whether it takes it")
	require.Equal(t, []string{"Husk.dev.yaml:2:3: cloud:retries: expected integer, got string"}, settingsOf(t, uses, "config:\n  cloud:retries: many\n", false))
}

// What validation does not know may be anything.
func TestSettingsThatAreNotKnown(t *testing.T) {
	p := load(t, "resources: {one: {type: cloud:Server, properties: {size: 1}}}\n")
	p.schemas = cloudSettings{true}
	ds, err := p.Validate(t.Context(), runContext(abi.ConfigEntry{Key: "cloud:region", Value: "a"}), []string{"cloud:retries"})
	require.NoError(t, err)
	require.Empty(t, ds)
}
