package port

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// findMain finds the main package that serves a provider: the one that the user names, the one at the module's root, or the only
// one in the module.
func (w *build) findMain(ctx context.Context) error {
	named := w.options.Main
	if named == "" {
		named = w.source.main
	}
	if named != "" {
		if !filepath.IsLocal(filepath.FromSlash(named)) {
			return fmt.Errorf("--main %s: it is not in the module of %s", named, w.source.shown)
		}
		return w.take(ctx, "./"+path.Clean(named), true)
	}
	if err := w.take(ctx, ".", false); err != nil || w.kind != nil {
		return err
	}
	return w.searchMain(ctx)
}

// take takes a main package, unless it is not a provider. It must be one if the user has named it.
func (w *build) take(ctx context.Context, dir string, must bool) error {
	g, err := w.command.graphOf(ctx, w.flags(), dir)
	if err != nil {
		return err
	}
	if g.main.Name != "main" {
		if !must {
			return nil
		}
		if g.main.Error != nil && g.main.Name == "" {
			return fmt.Errorf("%s has no package in %s: %s", w.source.shown, dir, g.main.Error.Err)
		}
		return fmt.Errorf("%s of %s is the package %s, not a main package", dir, w.source.shown, g.main.Name)
	}
	kind := kindOf(g.has)
	if kind == nil && must {
		return unknownKindError(w.source.shown)
	}
	if kind != nil {
		w.main, w.graph, w.kind = dir, g, kind
	}
	return nil
}

// searchMain takes the only main package of the module that serves a provider.
func (w *build) searchMain(ctx context.Context) error {
	packages, err := w.command.list(ctx, append(w.flags(), "./...")...)
	if err != nil {
		return err
	}
	var mains, providers []string
	for _, p := range packages {
		if p.Name != "main" {
			continue
		}
		dir := relative(w.source.root, p.Dir)
		mains = append(mains, dir)
		if kindOf(func(pkg string) bool { return slices.Contains(p.Deps, pkg) }) != nil {
			providers = append(providers, dir)
		}
	}
	switch {
	case len(mains) == 0:
		return fmt.Errorf("%s has no main package, so it is not a provider: a provider's program is the package main", w.source.shown)
	case len(providers) == 0:
		return unknownKindError(w.source.shown)
	case len(providers) > 1:
		return fmt.Errorf("%s has several providers: choose one with --main:\n  %s", w.source.shown, strings.Join(providers, "\n  "))
	}
	return w.take(ctx, "./"+providers[0], true)
}
