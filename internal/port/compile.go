package port

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	"golang.org/x/mod/module"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/linuxcalls"
	"github.com/husk-dev/husk/internal/build/netoverlay"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// compile builds the module and writes its manifest.
func (w *build) compile(ctx context.Context) (*Built, error) {
	manifest, err := w.manifest(ctx)
	if err != nil {
		return nil, err
	}
	settings, err := w.settings(manifest)
	if err != nil {
		return nil, err
	}
	output := filepath.Join(w.place, "module.wasm")
	var linked []string
	for _, name := range w.stamped() {
		linked = append(linked, "-X", name+"="+manifest.Version)
	}
	linked = append(linked, settings...)
	args := []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=" + quoted(linked), "-o", output, w.main}
	if err := w.compileAll(ctx, args); err != nil {
		return nil, err
	}
	manifest.Origin.Shims = w.changes()
	wasm, err := os.ReadFile(output)
	if err != nil {
		return nil, fmt.Errorf("reading the built module: %w", err)
	}
	if len(wasm) > cmp.Or(w.options.MaxSize, host.NewConfig().ModuleSize()) {
		if wasm, err = wasmfile.WithoutCustom(wasm, wasmfile.NameSection); err != nil {
			return nil, fmt.Errorf("leaving the names of functions out of the module: %w", err)
		}
	}
	if wasm, err = host.AddManifest(wasm, manifest); err != nil {
		return nil, fmt.Errorf("writing the manifest into the module: %w", err)
	}
	return &Built{Wasm: wasm, Manifest: manifest, Types: w.types}, nil
}

// quoted returns arguments of the linker as the Go command splits them. It knows no escapes, and refuses
// a quote at the beginning.
func quoted(args []string) string {
	all := make([]string, len(args))
	for i, a := range args {
		if all[i] = a; i > 0 {
			all[i] = "'" + a + "'"
		}
	}
	return strings.Join(all, " ")
}

// prepareLibrary makes the Go command that builds, and the flags that replace files of its library: the packages net and
// net/http reach the host's network, and package syscall has the names of Linux. A program without net builds with any Go.
func (w *build) prepareLibrary(ctx context.Context) error {
	w.builder = w.command
	network, err := netoverlay.New(ctx, w.command.path, w.source.root, w.place, linuxcalls.Library)
	if _, unknown := errors.AsType[*netoverlay.UnsupportedGoError](err); unknown && !w.graph.has("net") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("building %s: %w", w.source.shown, err)
	}
	data, err := json.Marshal(map[string]any{"Replace": network.Files})
	if err != nil {
		return err
	}
	w.builder.path, w.builder.env = network.Command, network.Env
	file := filepath.Join(w.place, "overlay.json")
	w.overlay, w.library = []string{"-overlay=" + file}, network.Root
	return os.WriteFile(file, data, 0o600)
}

// manifest returns the manifest of the module.
func (w *build) manifest(ctx context.Context) (host.Manifest, error) {
	m := host.Manifest{Name: w.options.Name, Version: w.options.Version}
	if m.Name == "" {
		m.Name = w.packageName()
	}
	if m.Version == "" {
		m.Version = packageVersion(w.source.version)
	}
	if _, err := semver.Parse(m.Version); err != nil {
		return m, fmt.Errorf("the version %q is not a semantic version, such as 1.4.0: give another with --version", m.Version)
	}
	env, err := w.command.goEnv(ctx, "GOVERSION")
	if err != nil {
		return m, err
	}
	licences, err := licencesIn(w.source.root)
	if err != nil {
		return m, err
	}
	m.Origin = &host.Origin{
		Module: w.source.module, Version: w.source.version, Checksum: w.source.sum, Licences: licences,
		Kind: w.kind.Name, Go: env["GOVERSION"], Raised: w.raised, Only: w.options.Only,
	}
	return m, nil
}

// unversioned is the version of a provider in a directory, unless the user gives another.
const unversioned = "0.0.0-dev"

// packageVersion returns the version of a package whose module has that version.
func packageVersion(version string) string {
	if version == "" {
		return unversioned
	}
	return strings.TrimSuffix(strings.TrimPrefix(version, "v"), "+incompatible")
}

// providerPrefix begins the names of programs that are providers.
var providerPrefix = regexp.MustCompile(`^(terraform-provider|pulumi-resource|pulumi)-`)

// packageName returns the name of the package: the program's or the module's name.
func (w *build) packageName() string {
	base := path.Base(w.main)
	if !providerPrefix.MatchString(base) {
		prefix, _, ok := module.SplitPathVersion(w.source.module)
		if !ok {
			prefix = w.source.module
		}
		base = path.Base(prefix)
	}
	return strings.ToLower(providerPrefix.ReplaceAllString(base, ""))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
