package gobuild_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/gobuild"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

// schemaOf is what a module says that it offers.
func schemaOf(t *testing.T, module []byte) *schema.Package {
	t.Helper()
	h, err := host.New(t.Context(), host.NewConfig().WithInterpreter())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	m, err := h.LoadBytes(t.Context(), module)
	require.NoError(t, err)
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "greeter"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.NoError(t, metaschema.Validate([]byte(response.Schema)))
	pkg, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	return pkg
}

// descriptions are all that a schema says in words.
func descriptions(pkg *schema.Package) map[string]string {
	all := map[string]string{}
	add := func(name, text string) {
		if text != "" {
			all[name] = text
		}
	}
	object := func(name string, o *schema.Object) {
		add(name, o.Description)
		for i := range o.Properties {
			add(name+"."+o.Properties[i].Name, o.Properties[i].Description)
		}
	}
	object("config", &pkg.Config)
	for _, r := range pkg.Resources {
		add(r.Token, r.Description)
		object(r.Token, &r.Inputs)
	}
	for _, f := range pkg.Functions {
		add(f.Token, f.Description)
	}
	for _, o := range pkg.Types {
		object(o.Token, o)
	}
	return all
}

func TestDocCommentsDescribeTheSchema(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module twice")
	}
	const dir = "testdata/greeter"
	before := listing(t, dir)
	b := &gobuild.Builder{Dir: t.TempDir()}
	documented, err := b.BuildDocumented(t.Context(), dir)
	require.NoError(t, err)
	const name = "Name is who is greeted: everybody, where it is empty.\n\n\tname: you\n\nSee Greeting."
	require.Equal(t, map[string]string{
		"config":                       "Config says how all greetings are made.",
		"config.language":              "Language is that of the greetings.",
		"greeter:index:Greeting":       `Greeting is a "greeting" in words.`,
		"greeter:index:Greeting.name":  name,
		"greeter:index:Greeting.mark":  "The tag says it.",
		"greeter:index:Greeting.tone":  "Tone is how it sounds.",
		"greeter:index:Other":          "The option says it.",
		"greeter:index:Other.name":     name,
		"greeter:index:Other.mark":     "The tag says it.",
		"greeter:index:Other.tone":     "Tone is how it sounds.",
		"greeter:index:shout":          "shout says it loudly.",
		"greeter:index:whisper":        "Whisper says it so that nobody hears.",
		"greeter:index:repeat":         "repeat says it again.",
		"greeter:index/tone:Tone":      "Tone is how a greeting sounds.",
		"greeter:index/tone:Tone.loud": "Loud says that it is loud.",
	}, descriptions(schemaOf(t, documented)))
	require.Equal(t, before, listing(t, dir), "nothing is written beside the source")

	again, err := (&gobuild.Builder{Dir: t.TempDir()}).BuildDocumented(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, documented, again, "the same source gives the same module")

	plain, err := b.Build(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"greeter:index:Greeting.mark": "The tag says it.",
		"greeter:index:Other":         "The option says it.",
		"greeter:index:Other.mark":    "The tag says it.",
	}, descriptions(schemaOf(t, plain)), "plain go build has no comments, and works")
}

// A provider that is not made with the SDK, or whose source is broken, is built all the same.
func TestDocCommentsOfOthers(t *testing.T) {
	b := &gobuild.Builder{Dir: t.TempDir()}
	_, err := b.BuildDocumented(t.Context(), sources(t, map[string]string{
		"go.mod": goMod, "main.go": mainGo, "n.go": "package main\n\n// n is the answer.\nvar n int32 = 42\n",
	}))
	require.NoError(t, err)
	_, err = b.BuildDocumented(t.Context(), sources(t, map[string]string{"go.mod": goMod, "main.go": "package main\n\nfunc {\n"}))
	require.ErrorContains(t, err, "main.go:3:6: ")
}

func listing(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, path, string(content))
		return err
	}))
	return files
}
