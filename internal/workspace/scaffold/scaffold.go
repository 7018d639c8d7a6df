// Package scaffold begins projects, providers, components, and policy packs with templates.
package scaffold

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	guestsdk "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/packed"
	"github.com/husk-dev/husk/internal/build/husksource"
)

// archive has the files of each template, with the ending .tmpl. A test holds it to them.
//
//go:embed templates.zip.gz
var archive []byte

// ending is the suffix of files in a template. Without it, the Go command would take them for packages and modules.
const ending = ".tmpl"

// Template is the beginning of a project.
type Template struct {
	Name  string
	Title string
	// Language tells templates of the same name apart, and is empty for Go. SDK is the directory for the language's SDK.
	Language, SDK string
	// Modules are providers of Husk's own, by the path under which the template expects each.
	Modules map[string]string
	// Projects are the directories with a project file.
	Projects []string
	// Next are commands to go on with.
	Next []string
	// Dir is the directory of a template of Pulumi, empty for one of Husk. Config has its defaults of configuration, a line for each key.
	Dir, Config string
}

// All returns the templates, projects first.
func All() []Template {
	random, local, tls := "examples/providers/random", "examples/providers/local", "examples/providers/tls"
	return []Template{
		{Name: "empty", Title: "a project without resources", Projects: []string{"."}, Next: []string{"husk preview"}},
		{
			Name: "quickstart", Title: "a project with two providers", Projects: []string{"."},
			Modules: map[string]string{"providers/random.wasm": random, "providers/local.wasm": local},
			Next:    []string{"husk preview", "husk up"},
		},
		{
			Name: "website", Title: "the files of a website, and a certificate", Projects: []string{"."},
			Modules: map[string]string{"providers/local.wasm": local, "providers/tls.wasm": tls},
			Next:    []string{"husk preview", "husk up"},
		},
		{
			Name: "dynamic", Title: "a project with a provider of its own, in Go", Projects: []string{"."},
			Next: []string{"go test -C greet ./...", "husk preview", "husk up"},
		},
		{
			Name: "program", Title: "a project whose program is a module, in Go", Projects: []string{"."},
			Modules: map[string]string{"providers/random.wasm": random},
			Next:    []string{"husk preview", "husk up"},
		},
		{
			Name: "program", Title: "a project whose program is a module, in Rust", Language: "rust", SDK: "program/husk-provider", Projects: []string{"."},
			Modules: map[string]string{"providers/random.wasm": random},
			Next:    []string{"husk preview", "husk up"},
		},
		{
			Name: "program", Title: "a project whose program is a module, in TypeScript", Language: "typescript", Projects: []string{"."},
			Modules: map[string]string{"providers/random.wasm": random},
			Next:    []string{"npm install --prefix program", "husk preview", "husk up"},
		},
		{
			Name: "provider", Title: "a provider in Go, with tests and CI", Projects: []string{"example"},
			Next: []string{"go test ./...", "husk provider test .", "husk preview -C example"},
		},
		{
			Name: "provider", Title: "a provider in C", Language: "c", SDK: ".", Projects: []string{"example"},
			Next: []string{"husk provider test .", "husk preview -C example"},
		},
		{
			Name: "provider", Title: "a provider in Rust", Language: "rust", SDK: "husk-provider", Projects: []string{"example"},
			Next: []string{"husk provider test .", "husk preview -C example"},
		},
		{
			Name: "provider", Title: "a provider in TypeScript", Language: "typescript", Projects: []string{"example"},
			Next: []string{"npm install", "husk provider test .", "husk preview -C example"},
		},
		{
			Name: "provider", Title: "a provider in Python", Language: "python", Projects: []string{"example"},
			Next: []string{"python3 -m venv .venv", ".venv/bin/pip install .", "husk provider test .", "husk preview -C example"},
		},
		{
			Name: "component", Title: "a component in Go: a resource that is made of others", Projects: []string{"example"},
			Modules: map[string]string{"example/providers/random.wasm": random},
			Next:    []string{"husk preview -C example"},
		},
		{
			Name: "policy", Title: "a policy pack in Go", Projects: []string{"example"},
			Modules: map[string]string{"example/providers/random.wasm": random},
			Next:    []string{"husk preview -C example"},
		},
	}
}

// Named returns the templates with a name, one for each language, Go first.
func Named(name string) []Template {
	return slices.DeleteFunc(All(), func(t Template) bool { return t.Name != name })
}

// nameSyntax matches names that are valid for projects, packages, and Go modules alike.
var nameSyntax = lazyregexp.Regexp{Syntax: `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`}

// CheckName returns an error for a name that a project or package cannot have.
func CheckName(name string) error {
	if !nameSyntax.Get().MatchString(name) || len(name) > 50 {
		return fmt.Errorf("%q cannot be the name: it must begin with a lowercase letter, and have lowercase letters, digits, and single dashes only", name)
	}
	return nil
}

// NameFor returns a name derived from a directory's name, empty if there is none.
func NameFor(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(abs)), "-"), "-")
	if CheckName(name) != nil {
		return ""
	}
	return name
}

// Source is where modules and templates have Husk's own code from: a checkout, or a version that the module proxy serves.
type Source struct{ Dir, Version string }

// FindSource returns the source of a checkout that the user names, or else the source of this program.
func FindSource(named string) (Source, error) {
	const file = "guest-sdk/guest/doc.go"
	if named != "" {
		dir, err := filepath.Abs(named)
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, filepath.FromSlash(file)))
		}
		if err != nil {
			return Source{}, fmt.Errorf("--sdk %s is not a checkout of Husk: %w", named, err)
		}
		return Source{Dir: dir}, nil
	}
	if dir, ok := husksource.Checkout(file); ok {
		return Source{Dir: dir}, nil
	}
	if version := husksource.Version(); version != "" {
		return Source{Version: version}, nil
	}
	return Source{}, errors.New("this husk was built from a checkout that is gone, so it cannot find the source of its SDK: name a checkout with --sdk")
}

// require returns the lines of a go.mod that require the SDK.
func (s Source) require() string {
	if s.Dir == "" {
		return "require " + husksource.Module + " " + s.Version
	}
	dir := s.Dir
	if strings.ContainsAny(dir, " \t\"'`") {
		dir = fmt.Sprintf("%q", dir)
	}
	return "require " + husksource.Module + " v0.0.0\n\n// The SDK in this checkout. Require a version in its place once it is published.\nreplace " + husksource.Module + " => " + dir
}

// npm returns the version of the SDK in a package.json.
func (s Source) npm() string {
	if s.Dir == "" {
		return "^" + strings.TrimPrefix(s.Version, "v")
	}
	return "file:" + filepath.ToSlash(filepath.Join(s.Dir, "guest-sdk", "js"))
}

// pip returns the requirement of the SDK in a pyproject.toml.
func (s Source) pip() string {
	if s.Dir == "" {
		return "husk-provider~=" + strings.TrimPrefix(s.Version, "v")
	}
	return "husk-provider @ " + (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(s.Dir, "guest-sdk", "python"))}).String()
}

// goVersion returns the version of Go that built this program. The SDK needs it at most.
func goVersion() string {
	if v := regexp.MustCompile(`^go(\d+\.\d+(\.\d+)?)`).FindStringSubmatch(runtime.Version()); v != nil {
		return v[1]
	}
	return "1.26"
}

// Options are the options of [Create].
type Options struct {
	// Name is the name of the project or package.
	Name string
	// Description is that of the project, and Stack its first stack, for a template of Pulumi.
	Description, Stack string
	// Source finds Husk's own code, for a template that requires its SDK or has modules.
	Source func() (Source, error)
	// Build returns the module that is built of a directory of source.
	Build func(ctx context.Context, dir string) ([]byte, error)
	// Fetch returns the directory of the source of a version of Husk.
	Fetch func(ctx context.Context, version string) (dir string, err error)
}

// Create writes a template to a directory, which it makes. It returns the files that it wrote. No file is overwritten: the error
// names existing ones, and then nothing was written.
func Create(ctx context.Context, t Template, dir string, o Options) ([]string, error) {
	if err := CheckName(o.Name); err != nil {
		return nil, err
	}
	files, err := t.files(o)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, name := range append(files.names(), slices.Collect(maps.Keys(t.Modules))...) {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			there = append(there, name)
		}
	}
	if len(there) > 0 {
		slices.Sort(there)
		return nil, fmt.Errorf("%s has %s already: name another directory", dir, strings.Join(there, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Modules)) {
		text, err := t.module(ctx, t.Modules[name], o)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, text})
	}
	for _, f := range files {
		to := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := writeNew(to, f.text); err != nil {
			return nil, err
		}
	}
	return files.names(), nil
}

func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return cmp.Or(err, f.Close())
}

type file struct {
	name string
	text []byte
}

type files []file

func (f files) names() []string {
	names := make([]string, len(f))
	for i, one := range f {
		names[i] = one.name
	}
	return names
}

// files returns the files of a template without modules, sorted.
func (t Template) files(o Options) (files, error) {
	if t.Dir != "" {
		return t.filesOfPulumi(o)
	}
	fill := strings.NewReplacer("{{name}}", o.Name, "{{go}}", goVersion())
	var out files
	templates, root := packed.Open(archive), t.Name
	if t.Language != "" {
		root += "-" + t.Language
	}
	err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(templates, name)
		if err != nil {
			return err
		}
		filled, err := o.requireSDK(fill.Replace(string(text)))
		out = append(out, file{strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ending), []byte(filled)})
		return err
	})
	if err != nil {
		return nil, err
	}
	if t.Language != "" {
		sdk := guestsdk.In(t.Language)
		err = fs.WalkDir(sdk, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(sdk, name)
			out = append(out, file{path.Join(t.SDK, name), text})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	ignored, err := fs.ReadFile(templates, "gitignore"+ending)
	for _, dir := range t.Projects {
		out = append(out, file{path.Join(dir, ".gitignore"), ignored})
	}
	return out, err
}

// requireSDK fills in the SDK that a file of a template requires.
func (o Options) requireSDK(text string) (string, error) {
	for place, required := range map[string]func(Source) string{"{{require}}": Source.require, "{{npm}}": Source.npm, "{{pip}}": Source.pip} {
		if !strings.Contains(text, place) {
			continue
		}
		s, err := o.Source()
		if err != nil {
			return "", err
		}
		text = strings.ReplaceAll(text, place, required(s))
	}
	return text, nil
}

// module builds a provider of Husk's own.
func (t Template) module(ctx context.Context, source string, o Options) ([]byte, error) {
	s, err := o.Source()
	if err != nil {
		return nil, err
	}
	dir := s.Dir
	if dir == "" {
		if dir, err = o.Fetch(ctx, s.Version); err != nil {
			return nil, fmt.Errorf("fetching the source of the provider %s: %w\nname a checkout of Husk with --sdk", path.Base(source), err)
		}
	}
	return o.Build(ctx, filepath.Join(dir, filepath.FromSlash(source)))
}
