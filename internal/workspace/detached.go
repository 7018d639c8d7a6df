package workspace

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/state"
)

// detachedURL returns the URL of the stacks if there is no project file.
func detachedURL(none *program.NoProjectError) (namedURL, error) {
	if url := os.Getenv(BackendVariable); url != "" {
		return namedURL{url, BackendVariable, "."}, nil
	}
	place := filepath.Join(none.Dir, dataDir)
	if info, err := os.Stat(place); err == nil && info.IsDir() {
		return namedURL{base: none.Dir}, nil
	}
	if url, err := loginURL(); err != nil || url != "" {
		return namedURL{url, loginOrigin, "."}, err
	}
	return namedURL{}, none
}

// openDetached opens the state of a stack without a project file, in the backend of [BackendVariable],
// or else in .husk, or else in that of husk login. The project has only the name that the state records. The error is none if there is no
// state either.
func openDetached(ctx context.Context, none *program.NoProjectError, o Options) (*Workspace, error) {
	url, err := detachedURL(none)
	if err != nil {
		return nil, err
	}
	b, err := o.open(ctx, url)
	if err != nil {
		return nil, err
	}
	place, store := b.Place, b.State
	stacks, err := store.List(ctx)
	if len(stacks) == 0 {
		return nil, cmp.Or(err, error(none))
	}
	project, stack := splitStack(o.Stack)
	if project == "" {
		if project, err = onlyProject(stacks, stack, place); err != nil {
			return nil, err
		}
	}
	w := newWorkspace(&program.Project{
		Name: project, Dir: none.Dir, ProgramDir: none.Dir, StackConfigDir: none.Dir,
		File: source.NewFile("Husk.yaml", nil),
	}, b, url, o)
	w.Detached = none
	return w, w.finishRenaming(ctx)
}

// splitStack splits a name of a stack, [[organization/]project/]stack.
func splitStack(given string) (project, stack string) {
	parts := strings.Split(given, "/")
	if len(parts) == 3 && parts[0] == state.Organization {
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
