package port

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/build/linuxcalls"
)

// unixPackage is the package of system calls beside the one of Go's library.
const unixPackage = "golang.org/x/sys/unix"

// compileAll runs the Go command. Packages that do not build are then built as for Linux, until all build: what they call
// is there, and fails.
func (w *build) compileAll(ctx context.Context, args []string) error {
	for {
		w.step("compiling", plural(len(w.graph.packages), "package"))
		_, err := w.builder.run(ctx, slices.Concat(args[:1], w.flags(), w.overlay, args[1:])...)
		if err == nil {
			return nil
		}
		changed, taking := w.takeFailed(err)
		if taking != nil {
			return taking
		}
		if !changed {
			return w.explain(err)
		}
		if err := w.regraph(ctx); err != nil {
			return err
		}
		if err := w.shimAll(ctx, w.sdkTags); err != nil {
			return err
		}
	}
}

// regraph reads the packages of the program again, after a change of modules.
func (w *build) regraph(ctx context.Context) error {
	w.tags = w.versionTags(w.sdkTags)
	if err := w.writeModFile(); err != nil {
		return err
	}
	var err error
	w.graph, err = w.command.graphOf(ctx, w.flags(), w.main)
	return err
}

// takeFailed has the packages that an error of the Go command is about be built as for Linux, and reports whether that changes one.
// A package whose own files are the same may use a name that another one has only on Linux.
func (w *build) takeFailed(err error) (bool, error) {
	failed, ok := errors.AsType[*goError](err)
	if !ok || w.library == "" {
		return false, nil
	}
	var packages, used []string
	for name, output := range outputs(failed.output) {
		packages = append(packages, name)
		if p := w.graph.packages[name]; p != nil {
			for _, imported := range p.Imports {
				if q := w.graph.packages[imported]; q != nil && regexp.MustCompile(`\b`+regexp.QuoteMeta(q.Name)+`\.`).MatchString(output) {
					used = append(used, imported)
				}
			}
		}
	}
	for name, p := range w.graph.packages {
		if p.Error != nil && strings.Contains(p.Error.Err, "build constraints exclude all Go files") {
			packages = append(packages, name)
		}
	}
	changed, err := w.takeLinux(packages)
	if err == nil && !changed {
		changed, err = w.takeLinux(used)
	}
	return changed, err
}

// takeUnix gives the package of system calls its names, and reports whether the program has just come to need that.
func (w *build) takeUnix() (bool, error) {
	if w.library == "" {
		return false, nil
	}
	return w.takeLinux([]string{unixPackage})
}

// takeLinux has packages of other modules be built as for Linux, and reports whether that changes one.
func (w *build) takeLinux(packages []string) (changed bool, err error) {
	revision, err := linuxcalls.Revision()
	if err != nil {
		return false, err
	}
	dirs := map[*goModule][]string{}
	selected := w.selected()
	slices.Sort(packages)
	for _, name := range packages {
		p := w.graph.packages[name]
		if w.linux[name] || p == nil || p.Module == nil || p.Module.Main || p.Dir == "" || name == project || strings.HasPrefix(name, project+"/") {
			continue
		}
		differs, err := linuxcalls.Differs(p.Dir)
		if err != nil {
			return false, fmt.Errorf("reading the files of %s: %w", name, err)
		}
		if differs {
			w.linux[name] = true
			m := selected[p.Module.Path]
			dirs[m] = append(dirs[m], strings.TrimPrefix(strings.TrimPrefix(name, m.Path), "/"))
		}
	}
	for m, names := range dirs {
		key := strings.Join(append(names, "linux", revision), "\n")
		change := func(dir string) error {
			for _, name := range names {
				at := filepath.Join(dir, filepath.FromSlash(name))
				var err error
				if path.Join(m.Path, name) == unixPackage {
					err = linuxcalls.Unix(at, w.library)
				} else {
					err = linuxcalls.Choose(at)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
		if err := w.patch(m, key, change); err != nil {
			return false, fmt.Errorf("building %s@%s as for Linux: %w", m.Path, m.Version, err)
		}
	}
	return len(dirs) > 0, nil
}

// changes names the changes of modules that the build uses.
func (w *build) changes() (names []string) {
	for _, shims := range w.applied {
		for _, s := range shims {
			names = append(names, s.Name)
		}
	}
	for name := range w.linux {
		if name != unixPackage {
			names = append(names, "linux:"+name)
		}
	}
	slices.Sort(names)
	return names
}
