package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
)

// detachedBackend returns where the stacks are if there is no project file.
func detachedBackend(root *projectroot.Root, none *program.NoProjectError) (place, error) {
	if at := chosenByOperator(); at != nil {
		return *at, nil
	}
	if info, err := root.WithState().Stat(dataDir); err == nil && info.IsDir() && root.Trusted() {
		return place{base: none.Dir}, nil
	}
	if url, err := loginURL(); err != nil || url != "" {
		return operators(url, loginOrigin), err
	}
	return place{}, none
}

// openDetached opens the state of a stack without a project file, in the backend of [BackendVariable], or else in .husk, or else
// in the one of husk login. The project has only the name that the state records. The error is none if there is no state either.
func openDetached(ctx context.Context, root *projectroot.Root, none *program.NoProjectError, o Options) (*Workspace, error) {
	at, err := detachedBackend(root, none)
	if err != nil {
		return nil, err
	}
	b, err := o.openFor(ctx, at, root)
	if err != nil {
		return nil, err
	}
	store := b.State
	stacks, err := store.List(ctx)
	project, stack := splitStack(o.Stack)
	if len(stacks) == 0 && (err != nil || project == "") {
		return nil, cmp.Or(err, error(none))
	}
	if project == "" {
		if project, err = onlyProject(stacks, stack, b.Place); err != nil {
			return nil, err
		}
	}
	w := newWorkspace(&program.Project{
		Name: project, Root: root, Dir: none.Dir, ProgramDir: none.Dir, StackConfigDir: none.Dir,
		File: source.NewFile("Husk.yaml", nil),
	}, b, at, o)
	w.Detached = none
	if w.untrusted() {
		return w, nil
	}
	return w, w.finishRenaming(ctx)
}

// splitStack splits a name of a stack, [[organization/]project/]stack. In Pulumi, a user is an organization, too.
func splitStack(given string) (project, stack string) {
	parts := strings.Split(given, "/")
	if len(parts) == 3 && (parts[0] == state.Organization || parts[0] == holder("").User) {
		parts = parts[1:]
	}
	if len(parts) == 2 {
		return parts[0], parts[1]
	}
	return "", given
}

// onlyProject returns the only project with a stack of the name, or with any stack if that is empty.
func onlyProject(stacks []state.StackName, stack, place string) (string, error) {
	var names, projects []string
	for _, n := range stacks {
		if stack == "" || n.Name == stack {
			names = append(names, n.String())
			projects = append(projects, n.Project)
		}
	}
	projects = slices.Compact(projects)
	switch len(projects) {
	case 1:
		return projects[0], nil
	case 0:
		for _, n := range stacks {
			names = append(names, n.String())
		}
		return "", &NoStackError{Stack: stack, Place: place, Others: names, Err: state.ErrStackNotFound}
	}
	return "", fmt.Errorf("%s has stacks of several projects, and there is no project here: choose one with --stack: %s", place, strings.Join(names, ", "))
}
