// Command husk-gen-sdk writes a typed SDK for a package from its schema, with Pulumi's own generators. "husk package gen-sdk"
// starts it, and gives it the schema of a provider.
//
//	husk-gen-sdk -language go|nodejs|python -o DIR < schema.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/blang/semver"
	"github.com/hashicorp/hcl/v2"
	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"golang.org/x/mod/module"
)

// schemaLimit bounds a schema, in bytes. That of the largest published providers has some 100 MB.
const schemaLimit = 512 << 20

func main() {
	language := flag.String("language", "", "go, nodejs, or python")
	dir := flag.String("o", "", "the directory for the SDK, which must be empty or missing")
	flag.Parse()
	if err := run(os.Stdin, *language, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, language, dir string, rest []string) error {
	if len(rest) > 0 || language == "" || dir == "" {
		return errors.New("usage: husk-gen-sdk -language go|nodejs|python -o DIR < schema.json")
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name another directory, or empty it", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(in, schemaLimit+1))
	if err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	if len(text) > schemaLimit {
		return fmt.Errorf("the schema has more than %d bytes", schemaLimit)
	}
	files, err := generate(text, language)
	if err != nil {
		return err
	}
	for name, content := range files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("the generator made the file %q, which is outside of the directory", name)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tool is the name of the generator in the files.
const tool = "husk"

// generate returns the files of an SDK by their names.
func generate(text []byte, language string) (files map[string][]byte, err error) {
	defer func() {
		if problem := recover(); problem != nil { // the generators assert what they expect of a schema
			files, err = nil, fmt.Errorf("the generator of Pulumi for %s does not take the schema: %v", language, problem)
		}
	}()
	var withheld texts
	if text, err = withheld.withhold(text); err != nil {
		return nil, err
	}
	defer func() {
		for name, content := range files {
			files[name] = withheld.put(content)
		}
	}()
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if spec.Name != "" && spec.Version == "" {
		return nil, fmt.Errorf("the schema of %s has no version, which its SDKs need: give the provider one", spec.Name)
	}
	if spec.Meta == nil {
		spec.Meta = &schema.MetadataSpec{}
	}
	if spec.Meta.ModuleFormat == "" {
		spec.Meta.ModuleFormat = moduleFormat
	}
	spec.Meta.SupportPack = true // SDKs that have the version of the schema, and install from their directory
	if err := completeGo(&spec); err != nil {
		return nil, err
	}
	loader := noLoader{}
	pkg, problems, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err == nil && problems.HasErrors() {
		err = problems
	}
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", readable(err))
	}
	switch language {
	case "go":
		return gogen.GeneratePackage(tool, pkg, nil)
	case "nodejs":
		return nodejs.GeneratePackage(tool, pkg, nil, nil, true, loader)
	case "python":
		return python.GeneratePackage(tool, pkg, nil, loader)
	}
	return nil, fmt.Errorf("there is no generator for %q: go, nodejs, or python", language)
}

// moduleFormat finds the module in a token. It matches tokens with the file of the resource, as bridged providers have them
// (random:index/randomPet:RandomPet), and tokens without (web:pages:Page).
const moduleFormat = "^(.*?)(?:/[^/]*)?$"

// goInfo is the part of a schema for Go.
type goInfo map[string]any

// completeGo gives the Go package of an SDK an import path, unless the schema has one, and the name by which its modules
// import it. Its Go module is one folder above it.
func completeGo(spec *schema.PackageSpec) error {
	info := make(goInfo)
	if raw := spec.Language["go"]; raw != nil {
		if err := json.Unmarshal(raw, &info); err != nil {
			return fmt.Errorf("language.go of the schema cannot be read: %w", err)
		}
	}
	base, err := info.text("importBasePath")
	if err != nil {
		return err
	}
	if base == "" {
		base = "example.com/" + spec.Name + "/sdk/go/" + strings.ReplaceAll(spec.Name, "-", "")
		info["importBasePath"] = base
	} else if err := module.CheckImportPath(base); err != nil || !strings.Contains(base, "/") {
		return fmt.Errorf("language.go.importBasePath of the schema is %q: it is an import path such as example.org/acme/sdk/go/acme", base)
	}
	root, err := info.text("rootPackageName")
	if err != nil {
		return err
	}
	if root == "" {
		root = path.Base(base)
	}
	// The generator takes the name of the schema in references from a module to the root.
	if root = strings.ReplaceAll(root, "-", ""); root != spec.Name {
		aliases, ok := info["packageImportAliases"].(map[string]any)
		if !ok && info["packageImportAliases"] != nil {
			return errors.New("language.go.packageImportAliases of the schema is not an object")
		}
		if aliases == nil {
			aliases = make(map[string]any)
		}
		if key := base + "/" + spec.Name; aliases[key] == nil {
			aliases[key] = root
		}
		info["packageImportAliases"] = aliases
	}
	raw, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if spec.Language == nil {
		spec.Language = make(map[string]schema.RawMessage)
	}
	spec.Language["go"] = raw
	return nil
}

// text returns a field that is a string, empty if it is missing.
func (g goInfo) text(name string) (string, error) {
	if g[name] == nil {
		return "", nil
	}
	text, ok := g[name].(string)
	if !ok {
		return "", fmt.Errorf("language.go.%s of the schema is not a string", name)
	}
	return text, nil
}

// readable returns the problems of a schema, one a line.
func readable(err error) error {
	var problems hcl.Diagnostics
	if !errors.As(err, &problems) {
		return errors.New(strings.ReplaceAll(err.Error(), "<nil>: ", "")) // where a problem has no place in a file
	}
	var lines []string
	for _, p := range problems {
		if p.Severity == hcl.DiagError {
			lines = append(lines, strings.TrimSuffix(strings.TrimSpace(p.Summary+"; "+p.Detail), ";"))
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// noLoader refuses the schemas of other packages. The types of a provider's schema are its own, or Pulumi's.
type noLoader struct{}

func (noLoader) refuse(name string) error {
	return fmt.Errorf("it refers to the package %s, and an SDK is made of one schema: declare the types that it uses of %[1]s in it", name)
}

func (l noLoader) LoadPackage(name string, _ *semver.Version) (*schema.Package, error) {
	return nil, l.refuse(name)
}

func (l noLoader) LoadPackageV2(_ context.Context, d *schema.PackageDescriptor) (*schema.Package, error) {
	return nil, l.refuse(d.Name)
}

func (l noLoader) LoadPackageReference(name string, _ *semver.Version) (schema.PackageReference, error) {
	return nil, l.refuse(name)
}

func (l noLoader) LoadPackageReferenceV2(_ context.Context, d *schema.PackageDescriptor) (schema.PackageReference, error) {
	return nil, l.refuse(d.Name)
}
