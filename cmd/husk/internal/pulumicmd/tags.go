package pulumicmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/internal/workspace"
)

// tagsOf names the store of the tags of a stack, beside the stores of its providers. No provider can have the name, and so none
// reads or sets tags.
const tagsOf = "pulumi tags"

// tags returns the tags of a stack: the set ones, and the ones that Pulumi gives to each stack.
func tags(ctx context.Context, w *workspace.Workspace, stack string) (map[string]string, error) {
	if _, _, err := w.Read(ctx, stack, true); err != nil {
		return nil, err
	}
	all := map[string]string{"pulumi:project": w.Project.Name, "pulumi:runtime": w.Project.Runtime}
	if w.Project.Description != "" {
		all["pulumi:description"] = w.Project.Description
	}
	store, err := w.Stores(ctx, stack)(tagsOf)
	if err != nil {
		return nil, err
	}
	keys, err := store.Keys(ctx, "", "", mostTags)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		v, err := store.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		all[key] = string(*v.Value)
	}
	return all, nil
}

// mostTags is more than the store has room for.
const mostTags = 1 << 20

func (a *answers) listTags(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
	all, err := tags(ctx, w, stack)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(all)
	}
	rows := [][]string{{"NAME", "VALUE"}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{name, all[name]})
	}
	return a.Table(rows)
}

func (a *answers) getTag(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
	all, err := tags(ctx, w, stack)
	if err != nil {
		return err
	}
	value, ok := all[args[0]]
	if !ok {
		return fmt.Errorf("the stack %s has no tag %q", stack, args[0])
	}
	return a.Printf("%s\n", value)
}

// putTag sets a tag, or removes it if there is no value.
func putTag(ctx context.Context, w *workspace.Workspace, stack, name string, value *[]byte) (err error) {
	leased, err := w.LeaseExisting(ctx, stack, "stack tag")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leased.Close(context.WithoutCancel(ctx))) }()
	store, err := w.Stores(ctx, stack)(tagsOf)
	if err != nil {
		return err
	}
	old, err := store.Get(ctx, name)
	if err == nil {
		_, err = store.Put(ctx, name, value, old.Revision)
	}
	return err
}
