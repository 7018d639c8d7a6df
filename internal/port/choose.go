package port

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/port/prune"
)

// chosen is the directory of the copy that [build.choose] makes.
func (w *build) chosen() string { return filepath.Join(w.place, "chosen") }

// choose makes the build use a copy of the source, without the parts that only types need that are not chosen.
func (w *build) choose(ctx context.Context) error {
	only := w.options.Only
	if len(only) == 0 {
		return nil
	}
	if w.kind.adapter != terraformAdapter {
		return fmt.Errorf("--only chooses types of a provider for Terraform, and %s is a %s", w.source.shown, w.kind.Name)
	}
	w.step("choosing", strings.Join(only, ", "))
	root := w.chosen()
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	if err := copyTree(w.source.root, root, "", nil); err != nil {
		return fmt.Errorf("copying the source: %w", err)
	}
	var packages []prune.Package
	for _, p := range w.graph.packages {
		if p.Module != nil && p.Module.Main {
			packages = append(packages, prune.Package{Path: p.ImportPath, Dir: filepath.Join(root, relative(w.source.root, p.Dir)), Files: p.GoFiles})
		}
	}
	nameOf := func(of string) string {
		if p := w.graph.packages[of]; p != nil {
			return p.Name
		}
		return ""
	}
	found, err := prune.Prune(packages, nameOf, w.packageName(), only)
	if err != nil {
		return fmt.Errorf("--only: reading the source of %s: %w", w.source.shown, err)
	}
	for _, pattern := range only {
		if !found.Unread && !slices.ContainsFunc(found.Names, func(name string) bool { return prune.Chosen([]string{pattern}, name) }) {
			return fmt.Errorf("--only %s: %s has no type of that name%s", pattern, w.source.shown, source.DidYouMean(pattern, like(pattern, found.Names)))
		}
	}
	w.types = found.Names
	if isMixed(found.Names) { // of the chosen ones all may begin with the same word
		if w.mapping == nil {
			w.mapping = &mapping.Mapping{}
		}
		w.mapping.Prefix = cmp.Or(w.mapping.Prefix, new(""))
	}
	of := *w.source
	of.root = root
	w.source, w.command = &of, w.command.in(root)
	return w.regraph(ctx)
}

// like returns names as a pattern could have them: the words of each before the first * of the pattern, and the rest of that.
func like(pattern string, names []string) []string {
	before, _, ok := strings.Cut(pattern, "*")
	if !ok {
		return names
	}
	var all []string
	for _, name := range names {
		words := strings.SplitAfter(name, "_")
		all = append(all, strings.Join(words[:min(len(words), strings.Count(before, "_"))], "")+pattern[strings.LastIndex(before, "_")+1:])
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == pattern })
}

// isMixed reports whether some names begin with another word than the others, so that none loses it.
func isMixed(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		word, _, _ := strings.Cut(name, "_")
		return !strings.HasPrefix(names[0], word+"_")
	})
}
