package port

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/module"
	modsemver "golang.org/x/mod/semver"

	"github.com/husk-dev/husk/internal/base/blocking"
)

// build is one build of a source.
type build struct {
	*porter
	source  *sourceTree
	command goCommand
	// place is the directory of the files for the build.
	place string
	// main is the directory of the main package, relative to the module's root.
	main string
	kind *kind
	// replaced are the modules that the build takes from the cache, by path.
	replaced map[string]replacement
	requires map[string]string
	// applied are the shims that are used, by module.
	applied map[string][]*shim
	tags    []string
	// raised are modules with the versions that the build raised them to.
	raised []string
	graph  *graph
	// builder compiles, with the flags overlay for the library of the Go in the directory library, empty if that is not known.
	builder goCommand
	overlay []string
	library string
	// linux are the packages that are built as for Linux.
	linux map[string]bool
	// types are the names of the types that the source registers, if some are chosen.
	types []string
	// sdkTags are the tags that versions of libraries decide.
	sdkTags []string
}

func (b *porter) port(ctx context.Context, s *sourceTree) (*Built, error) {
	w := &build{
		porter: b, source: s, command: b.command.in(s.root),
		replaced: map[string]replacement{}, requires: map[string]string{}, applied: map[string][]*shim{}, linux: map[string]bool{},
	}
	key, err := json.Marshal([]any{s.root, s.main, b.options.Main, b.options.Name, b.options.Version, b.options.Shims, b.options.SDK, b.options.Mapping, b.options.Only})
	if err != nil {
		return nil, err
	}
	w.place = filepath.Join(b.dir, "build", short(string(key)))
	if err := os.MkdirAll(w.place, 0o700); err != nil {
		return nil, err
	}
	unlock, err := blocking.Call(ctx, lockedfile.MutexAt(filepath.Join(w.place, "lock")).Lock, func(unlock func()) { unlock() })
	if err != nil {
		return nil, fmt.Errorf("locking the directory of the build: %w", err)
	}
	defer unlock()
	defer os.RemoveAll(w.chosen())
	b.step("resolving", s.shown)
	if err := w.resolve(ctx); err != nil {
		return nil, w.explain(err)
	}
	return w.compile(ctx)
}

// withoutTrace is the tag for gRPC without its pages for a browser. A module listens nowhere, and their templates, which find methods by
// name, have the linker keep all methods of all types.
const withoutTrace = "grpcnotrace"

// flags are those with which the Go command reads the source. The tags are in place of the user's.
func (w *build) flags() []string {
	return []string{"-mod=mod", "-modfile=" + w.modfile(), "-tags=" + strings.Join(append([]string{withoutTrace}, w.tags...), ",")}
}

func (w *build) modfile() string { return filepath.Join(w.place, "go.mod") }

func (w *build) writeModFile() error {
	var all []replacement
	for _, name := range slices.Sorted(maps.Keys(w.replaced)) {
		all = append(all, w.replaced[name])
	}
	return writeModFile(w.modfile(), w.source, all, w.requires)
}

// resolve finds the main package and its kind, and applies shims until no package needs another.
func (w *build) resolve(ctx context.Context) error {
	if err := w.writeModFile(); err != nil {
		return err
	}
	if err := w.findMain(ctx); err != nil {
		return err
	}
	if w.kind.refusal != "" {
		return fmt.Errorf("%s is a provider of the kind %s: %s%s", w.source.shown, w.kind.Name, w.kind.refusal, w.alternative())
	}
	if err := w.choose(ctx); err != nil {
		return err
	}
	if err := w.raise(ctx); err != nil {
		return err
	}
	if err := w.prepareLibrary(ctx); err != nil {
		return err
	}
	language := oldLanguage
	if file, err := readModFile(w.source.root); err == nil && file.Go != nil {
		language = file.Go.Version
	}
	kit, err := w.prepareSDK(w.kind, language)
	if err != nil {
		return err
	}
	w.replaced[project] = replacement{project, "v0.0.0", kit.husk, true}
	w.replaced[kit.module] = replacement{kit.module, "v0.0.0", kit.adapter, true}
	if err := w.shimAll(ctx, kit.tags); err != nil {
		return err
	}
	if err := w.fetched(); err != nil {
		return err
	}
	if !slices.ContainsFunc(w.kind.served, w.isHanded) {
		return w.unservedError()
	}
	return nil
}

// alternative says what to port instead of a provider that is refused, empty if nothing is known.
func (w *build) alternative() string {
	if w.kind.instead == "" {
		return ""
	}
	var found []string
	for name, m := range w.selected() {
		base, _, _ := module.SplitPathVersion(name)
		if m.Main || !strings.HasPrefix(path.Base(base), w.kind.instead) {
			continue
		}
		if of := m.source(); of.Version != "" { // else a directory of the source
			m = of
		}
		found = append(found, m.Path+"@"+m.Version)
	}
	slices.Sort(found)
	if len(found) == 0 {
		return "\nPort the Terraform provider"
	}
	return "\nPort the Terraform provider: " + strings.Join(found, ", ")
}

// raise raises modules to the oldest versions that the adapter builds with.
func (w *build) raise(ctx context.Context) error {
	for name, m := range w.selected() {
		oldest := w.kind.oldest[name]
		if oldest == "" || m.Replace != nil || modsemver.Compare(m.Version, oldest) >= 0 {
			continue
		}
		w.step("raising", fmt.Sprintf("%s from %s to %s", name, m.Version, oldest))
		w.requires[name] = oldest
		w.raised = append(w.raised, name+" "+oldest)
	}
	if len(w.raised) == 0 {
		return nil
	}
	slices.Sort(w.raised)
	if err := w.writeModFile(); err != nil {
		return err
	}
	var err error
	w.graph, err = w.command.graphOf(ctx, w.flags(), w.main)
	return err
}

// isHanded reports whether a shim hands what a module serves to the adapter.
func (w *build) isHanded(by serving) bool {
	_, shimmed := w.replaced[by.module]
	return shimmed && (by.shim == "" || slices.ContainsFunc(w.applied[by.module], func(s *shim) bool { return s.Name == by.shim }))
}

// unservedError is the error for a provider whose server no shim fits.
func (w *build) unservedError() error {
	served := w.kind.served[0].module
	selected := "no " + served
	if m := w.selected()[served]; m != nil {
		selected = m.Path + " " + m.Version
		if m.Replace != nil {
			selected += ", replaced by " + strings.TrimSpace(m.Replace.Path+" "+m.Replace.Version)
		}
	}
	return fmt.Errorf("%s cannot be ported: it selects %s, and no shim takes its server out of it\n"+
		"Port a newer version of the provider, or update it: go get %s@%s", w.source.shown, selected, served, cmp.Or(w.kind.oldest[served], "latest"))
}

// shimAll applies shims until no package needs another. tags are the build tags that versions of libraries decide.
func (w *build) shimAll(ctx context.Context, tags []string) error {
	w.sdkTags = tags
	for {
		shimmed, err := w.applyShims()
		if err != nil {
			return err
		}
		linux, err := w.takeUnix()
		if err != nil || !shimmed && !linux {
			return err
		}
		if err := w.regraph(ctx); err != nil {
			return err
		}
	}
}

// libraryTags are the beginnings of build tags for versions of a library before the one that follows.
var libraryTags = map[string]string{pluginGo: "plugingo_before_"}

// versionTags returns the tags that hold for the versions of libraries that the provider selects.
func (w *build) versionTags(tags []string) (set []string) {
	for name, m := range w.selected() {
		prefix := libraryTags[name]
		selected, err := semver.Parse(strings.TrimPrefix(m.Version, "v"))
		if prefix == "" || err != nil {
			continue
		}
		for _, tag := range tags {
			rest, ok := strings.CutPrefix(tag, prefix)
			if !ok {
				continue
			}
			major, minor, _ := strings.Cut(rest, "_")
			if before, err := semver.Parse(major + "." + minor + ".0"); err == nil && selected.LT(before) {
				set = append(set, tag)
			}
		}
	}
	return set
}

// selected returns the modules of the program by path.
func (w *build) selected() map[string]*goModule {
	modules := map[string]*goModule{}
	for _, p := range w.graph.packages {
		if p.Module != nil {
			modules[p.Module.Path] = p.Module
		}
	}
	return modules
}

// applyShims makes the patched copies that the program needs, and reports whether there is a new one.
func (w *build) applyShims() (changed bool, err error) {
	modules := w.selected()
	var lack []*shim
	for _, s := range w.shims {
		if slices.Contains(w.applied[s.Module], s) || !s.wanted(w.graph) {
			continue
		}
		lack = append(lack, s)
		w.applied[s.Module] = append(w.applied[s.Module], s)
	}
	for _, s := range lack {
		m := modules[s.Module]
		sum, err := s.sum()
		if err == nil {
			err = w.patch(m, sum, s.apply)
		}
		if err != nil {
			return false, fmt.Errorf("the shim %s for %s@%s: %w", s.Name, m.Path, m.Version, err)
		}
		for name, version := range s.Require {
			w.requires[name] = version
		}
	}
	return len(lack) > 0, nil
}

// patch has the build use a changed copy of a module. The key identifies the change.
func (w *build) patch(m *goModule, key string, change func(dir string) error) error {
	if before, ok := w.replaced[m.Path]; ok {
		m = &goModule{Path: before.path, Version: before.version, Dir: before.dir}
	}
	from := m.source().Dir
	if from == "" {
		from = m.Dir
	}
	dir, err := w.keep("patched", strings.Join([]string{m.Path, m.Version, from, key}, "\n"), func(to string) error {
		if err := copyTree(from, to, "", nil); err != nil {
			return err
		}
		file := filepath.Join(to, "go.mod")
		if _, err := os.Stat(file); missing(err) { // from the time before modules
			if err := os.WriteFile(file, []byte("module "+m.Path+"\n"), 0o644); err != nil {
				return err
			}
		}
		return change(to)
	})
	if err == nil {
		w.replaced[m.Path] = replacement{path: m.Path, version: m.Version, dir: dir}
	}
	return err
}
