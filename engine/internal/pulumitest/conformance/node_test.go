package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/pkg/v3/testing/pulumi-test-language/tests"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// schemas are those of the providers of a test.
type schemas []func() plugin.Provider

func (s schemas) LoadPackage(name string, version *semver.Version) (*schema.Package, error) {
	return s.LoadPackageV2(context.Background(), &schema.PackageDescriptor{Name: name, Version: version})
}

func (s schemas) LoadPackageV2(ctx context.Context, d *schema.PackageDescriptor) (*schema.Package, error) {
	r, err := s.LoadPackageReferenceV2(ctx, d)
	if err != nil {
		return nil, err
	}
	return r.Definition()
}

func (s schemas) LoadPackageReference(name string, version *semver.Version) (schema.PackageReference, error) {
	return s.LoadPackageReferenceV2(context.Background(), &schema.PackageDescriptor{Name: name, Version: version})
}

func (s schemas) LoadPackageReferenceV2(ctx context.Context, d *schema.PackageDescriptor) (schema.PackageReference, error) {
	if d.Name == schema.DefaultPulumiPackage.Name {
		return schema.DefaultPulumiPackage.Reference(), nil
	}
	var p plugin.Provider
	var newest semver.Version
	for _, start := range s {
		one := start()
		name, text, err := nameOf(ctx, one)
		if err != nil {
			return nil, err
		}
		version, err := semver.Parse(text)
		if err != nil {
			return nil, err
		}
		if name == d.Name && (d.Version == nil || d.Version.EQ(version)) && (p == nil || version.GT(newest)) {
			p, newest = one, version
		}
	}
	if p == nil {
		return nil, fmt.Errorf("no provider of the test has the package %s %v", d.Name, d.Version)
	}
	request := plugin.GetSchemaRequest{}
	if with := d.Parameterization; with != nil {
		if _, err := p.Parameterize(ctx, plugin.ParameterizeRequest{Parameters: &plugin.ParameterizeValue{
			Name: with.Name, Version: with.Version, Value: with.Value,
		}}); err != nil {
			return nil, err
		}
		request.SubpackageName, request.SubpackageVersion = with.Name, &with.Version
	}
	answer, err := p.GetSchema(ctx, request)
	if err != nil {
		return nil, err
	}
	var spec schema.PartialPackageSpec
	if err := json.Unmarshal(answer.Schema, &spec); err != nil {
		return nil, err
	}
	if spec.Meta == nil {
		spec.Meta = &schema.MetadataSpec{}
	}
	spec.Meta.SupportPack = true // as Pulumi's runner of these tests has it
	return schema.ImportPartialSpecWithContext(ctx, spec, nil, s)
}

// transpile has the JavaScript of each file in TypeScript beside it, without a look at its types.
const transpile = `
const fs = require("fs"), path = require("path"), ts = require("typescript");
for (const entry of fs.readdirSync(process.argv[1], { recursive: true })) {
  const file = path.join(process.argv[1], entry);
  if (!file.endsWith(".ts") || file.includes("node_modules")) continue;
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: false };
  fs.writeFileSync(file.slice(0, -2) + "js", ts.transpileModule(fs.readFileSync(file, "utf8"), { compilerOptions }).outputText);
}`

// inNode generates programs for Node.js.
type inNode struct {
	// dir has node_modules, and sdks with the generated ones.
	dir string
	// made has a function for each of these, which makes it once.
	made *sync.Map
}

func (inNode) runtime() string { return "nodejs" }

func (n inNode) transpile(dir string) error {
	return sdktest.Command(n.dir, "node", "-e", transpile, dir)
}

// sdk returns the directory of a package's SDK, and the name of its package for npm.
func (n inNode) sdk(p *schema.Package, loader schema.ReferenceLoader) (dir, name string, err error) {
	dir = filepath.Join(n.dir, "sdks", p.Name+"-"+p.Version.String())
	made, _ := n.made.LoadOrStore(dir, sync.OnceValues(func() (string, error) {
		text, err := p.MarshalJSON()
		if err != nil {
			return "", err
		}
		var spec schema.PackageSpec
		if err := json.Unmarshal(text, &spec); err != nil {
			return "", err
		}
		whole, problems, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
		if err != nil {
			return "", err
		}
		if problems.HasErrors() {
			return "", problems
		}
		files, err := nodejs.GeneratePackage("husk", whole, nil, nil, false, loader)
		if err != nil {
			return "", err
		}
		var manifest map[string]any
		if err := json.Unmarshal(files["package.json"], &manifest); err != nil {
			return "", err
		}
		delete(manifest, "main") // index.js, beside its source
		if files["package.json"], err = json.Marshal(manifest); err != nil {
			return "", err
		}
		for name, text := range files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
				return "", err
			}
		}
		return manifest["name"].(string), n.transpile(dir)
	}))
	name, err = made.(func() (string, error))()
	return dir, name, err
}

func (n inNode) write(_ context.Context, r runner, run tests.TestRun, project string) (sdks map[string]string, err error) {
	loader := schemas(r.test.Providers)
	program, problems, err := pcl.BindDirectory(filepath.Join(project, run.Main), loader, pcl.PreferOutputVersionedInvokes)
	if err != nil {
		return nil, err
	}
	if problems.HasErrors() {
		return nil, problems
	}
	if err := nodejs.GenerateProject(project, workspace.Project{Name: tokens.PackageName(r.name), Main: run.Main}, program, nil, true, ""); err != nil {
		return nil, err
	}
	newest := map[string]schema.PackageReference{} // which resources without a version are of
	for _, r := range program.PackageReferences() {
		if before := newest[r.Name()]; r.Name() != schema.DefaultPulumiPackage.Name && (before == nil || before.Version().LT(*r.Version())) {
			newest[r.Name()] = r
		}
	}
	sdks = map[string]string{}
	for _, r := range newest {
		p, err := r.Definition()
		if err != nil {
			return nil, err
		}
		dir, name, err := n.sdk(p, loader)
		if err != nil {
			return nil, err
		}
		sdks[p.Name+"-"+p.Version.String()] = dir
		link := filepath.Join(project, "node_modules", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(dir, link)); err != nil {
			return nil, err
		}
	}
	return sdks, n.transpile(project)
}

// Each program of Pulumi's conformance tests, as Pulumi generates it for Node.js, runs on Husk, and leaves what Pulumi's tests demand,
// but for those that are listed with the reason.
func TestConformanceInNode(t *testing.T) {
	n := inNode{dir: t.TempDir(), made: &sync.Map{}}
	require.NoError(t, os.Symlink(sdktest.Node(t, "typescript@5.9.3"), filepath.Join(n.dir, "node_modules")))
	husk, programs := program(t)
	var passed, all atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d of %d conformance tests of Pulumi pass as programs for Node.js", passed.Load(), all.Load())
	})
	for _, name := range slices.Sorted(maps.Keys(tests.LanguageTests)) {
		if strings.HasPrefix(name, "internal-") || strings.HasPrefix(name, "policy-") || strings.HasPrefix(name, "provider-") {
			continue // the policy packs and providers of these are no programs, and come with each language
		}
		if !nightly.Enabled() && !slices.Contains(often, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(n.dir, "tests", name)
			require.NoError(t, os.MkdirAll(dir, 0o700))
			r := runner{language: n, name: name, dir: dir, husk: husk, programs: programs, test: tests.LanguageTests[name]}
			all.Add(1)
			problem := r.all(t.Context())
			if reason, ok := differentInNode[name]; ok {
				require.NotEmpty(t, problem, "the test passes: take it out of the list, where it is because %s", reason)
				return
			}
			require.Empty(t, problem)
			passed.Add(1)
		})
	}
}
