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
	"github.com/husk-dev/husk/engine/program/source"
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
	p, run := loadWithConfig(t, text, config, cloudSettings{bySchema})
	ds, err := p.Check(t.Context(), run)
	require.NoError(t, err)
	for _, d := range ds {
		lines = append(lines, d.Error())
	}
	return lines
}

// loadWithConfig returns a program, and a run of it with the configuration of a stack.
func loadWithConfig(t *testing.T, text, config string, schemas Schemas) (*Program, abi.RunContext) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.dev.yaml"), []byte(config), 0o644))
	p, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte("name: shop\n"+text))
	require.NoError(t, err)
	stack, err := p.StackConfig("dev")
	require.NoError(t, err)
	entries, err := p.ConfigEntries(stack, func(text string) (string, error) { return text, nil })
	require.NoError(t, err)
	return New(p, schemas), runContext(entries...)
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

// A key that the schema does not have is told once: as the error of the provider, or else as a warning.
func TestSettingsOfWhichTheProviderDecides(t *testing.T) {
	p, run := loadWithConfig(t, "resources: {one: {type: cloud:Server, properties: {size: 1}}}\n", "config:\n  cloud:regoin: north\n", cloudSettings{})
	var told []string
	p.OnWarning(func(d source.Diagnostic) { told = append(told, d.Error()) })
	refused := source.Diagnostic{File: "Husk.dev.yaml", Line: 2, Column: 3, Summary: "cloud:regoin: there is no such thing"}
	err := p.Run(t.Context(), run, &fakeMonitor{fail: map[string]error{"one": source.Diagnostics{refused}}})
	require.ErrorContains(t, err, "Husk.dev.yaml:2:3: cloud:regoin: there is no such thing")
	require.Empty(t, told)

	p, run = loadWithConfig(t, "resources: {one: {type: cloud:Server, properties: {size: 1}}}\n", "config:\n  cloud:regoin: north\n", cloudSettings{})
	p.OnWarning(func(d source.Diagnostic) { told = append(told, d.Error()) })
	for range 2 { // a preview, and the update
		require.NoError(t, p.Run(t.Context(), run, &fakeMonitor{}))
	}
	require.Equal(t, []string{`Husk.dev.yaml:2:3: warning: cloud:regoin: no such configuration key; did you mean "region"?`}, told)
}

// deprecating has the package cloud, of which something of each kind is deprecated.
type deprecating struct{}

func (deprecating) Package(ctx context.Context, pkg program.Package) (*schema.Package, error) {
	p, err := cloudSettings{true}.Package(ctx, pkg)
	if err != nil || p == nil || p.Name != "cloud" {
		return p, err
	}
	p.Config.Property("region").Deprecation = "Set the\nzone."
	server, site := p.ResolveResource("cloud:Server"), p.ResolveResource("cloud:index:Site")
	server.Inputs.Property("image").Deprecation = "Build one."
	server.Inputs.Property("rules").Type.Element.Object.Property("protocol").Deprecation = "It is TCP."
	site.Deprecation = "Sites are gone."
	for i := range p.Functions {
		if f := p.Functions[i]; f.Token == "cloud:index/findImage:findImage" {
			f.Deprecation, f.Args.Property("latest").Deprecation = "Know it.", "It is the latest."
		}
	}
	return p, nil
}

// What is deprecated is told at its line, and a provider that says so again is known to repeat it.
func TestDeprecations(t *testing.T) {
	p, run := loadWithConfig(t, `variables:
  found:
    fn::invoke:
      function: cloud:findImage
      arguments: {name: a, latest: true}
resources:
  p:
    type: pulumi:providers:cloud
    properties: {region: south}
  one:
    type: cloud:Server
    properties:
      size: 1
      image: a
      rules: [{port: 1, protocol: udp}]
  site:
    type: cloud:index:Site
`, "config:\n  cloud:region: north\n", deprecating{})
	ds, err := p.Check(t.Context(), run)
	require.NoError(t, err)
	var lines []string
	for _, d := range ds {
		lines = append(lines, d.Error())
	}
	require.Equal(t, []string{
		"Husk.dev.yaml:2:3: warning: cloud:region is deprecated: Set the zone.",
		"Husk.yaml:5:17: warning: cloud:findImage is deprecated: Know it.",
		`Husk.yaml:6:28: warning: property "latest" of cloud:findImage is deprecated: It is the latest.`,
		`Husk.yaml:10:18: warning: property "region" of "p" is deprecated: Set the zone.`,
		`Husk.yaml:15:7: warning: property "image" of "one" is deprecated: Build one.`,
		`Husk.yaml:16:25: warning: property "protocol" of "one" is deprecated: It is TCP.`,
		"Husk.yaml:18:11: warning: cloud:Site is deprecated: Sites are gone.",
	}, lines)
	for warning, typ := range map[string]string{
		"image: Attribute Deprecated: Build one.":               "cloud:index/server:Server",
		"region: Argument is deprecated: Set the\nzone.":        "pulumi:providers:cloud",
		"rules[0].protocol: Attribute Deprecated: It is TCP.\n": "cloud:index/server:Server",
	} {
		require.True(t, p.Repeats(typ, warning), warning)
		require.False(t, p.Repeats("cloud:net/network:Network", warning), warning)
		require.False(t, p.Repeats(typ, "another warning"))
	}
}
