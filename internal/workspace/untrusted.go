package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/internal/backend"
)

// A project that is not trusted has no say in where its stacks are. A state names modules, objects, and keys, and its
// author would otherwise bring one along, or have this machine write and connect wherever the author likes.

// untrusted reports whether somebody else chose what the project says.
func (w *Workspace) untrusted() bool { return !w.Project.Root.Trusted() }

// untrustedPlace returns the error for a project that is not trusted, with the reason why nobody has named a backend.
func untrustedPlace(reason string) error {
	return fmt.Errorf("the project is not trusted, and %s: name the place yourself, with husk login or %s, "+
		"such as %[2]s=file:///path/to/a/directory outside of the project", reason, BackendVariable)
}

// untrustedBackend returns the place of husk login for a project that is not trusted and whose file names none.
func untrustedBackend(project *program.Project) (place, error) {
	if _, err := project.Root.WithState().Lstat(filepath.Join(dataDir, chosenFile)); err == nil {
		return place{}, untrustedPlace(chosenOrigin + " in it names where its stacks are")
	}
	url, err := loginURL()
	if err != nil || url != "" {
		return operators(url, loginOrigin), err
	}
	if _, err := project.Root.WithState().Lstat(dataDir); !errors.Is(err, fs.ErrNotExist) {
		return place{}, untrustedPlace("whatever is in " + dataDir + " beside it may be its author's")
	}
	return place{base: project.Dir, nowhere: untrustedPlace("nobody has named a place for its stacks")}, nil
}

// openFor is open for the project in a directory. The author of a project that is not trusted has also made the files in its
// directory, so no backend is there.
func (o Options) openFor(ctx context.Context, at place, root *projectroot.Root) (*backend.Backend, error) {
	b, err := o.open(ctx, at)
	if err != nil || root.Trusted() || b.Remote || at.nowhere != nil {
		return b, err
	}
	project, err := real(root.Dir())
	if err != nil {
		return nil, err
	}
	stacks, err := real(b.Dir)
	if err != nil {
		return nil, err
	}
	if isBelow(project, stacks) {
		return nil, untrustedPlace(fmt.Sprintf("%s is a directory in it (%s)", at.Origin(), b.Dir))
	}
	for _, name := range append(filestore.Names(), "modules", "runs") {
		if isBelow(filepath.Join(stacks, name), project) {
			return nil, untrustedPlace(fmt.Sprintf("it is among the files of the stacks that %s names (%s)", at.Origin(), b.Dir))
		}
	}
	return b, nil
}

// isBelow reports whether a path is a directory or in it.
func isBelow(dir, path string) bool {
	rest, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rest)
}

// real returns a path without links. The end of the path need not exist.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	is, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return is, err
	}
	above, err := real(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}

// mayOpen returns an error for an existing stack that may belong to another project than the untrusted one. Its author chooses
// the project's name, and could so get the objects and secrets of another project of that name.
func (w *Workspace) mayOpen(ctx context.Context, stack string) error {
	if !w.untrusted() || w.confirmed {
		return nil
	}
	all, err := w.store.List(ctx)
	if err != nil || !slices.Contains(all, w.name(stack)) {
		return err
	}
	return fmt.Errorf("the project is not trusted, and calls itself %[1]s, and %[3]s has a stack %[2]s of that name: if the stack is this project's, name both, with --stack %[1]s/%[2]s",
		w.Project.Name, stack, w.Place)
}

// ownStacks are the stacks of a project that is not trusted. There are none before the operator has named the project.
type ownStacks struct {
	state.Store
	w *Workspace
}

func (s ownStacks) isOwn(name state.StackName) bool {
	return s.w.confirmed && name.Project == s.w.Project.Name
}

// List implements [state.Store].
func (s ownStacks) List(ctx context.Context) ([]state.StackName, error) {
	all, err := s.Store.List(ctx)
	return slices.DeleteFunc(all, func(n state.StackName) bool { return !s.isOwn(n) }), err
}

// Load implements [state.Store].
func (s ownStacks) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	if !s.isOwn(name) {
		return nil, fmt.Errorf("the project is not trusted, and may refer to stacks of its own only, once whoever runs it has named it, with --stack %s/STACK", s.w.Project.Name)
	}
	return s.Store.Load(ctx, name)
}

// checkKey returns an error if the file of a project that is not trusted names another key than the stack's state has: otherwise
// it could have this user's passphrase, key, or key service decrypt somebody else's secrets.
func (c *Config) checkKey(ctx context.Context) error {
	typ, named, err := c.key()
	if !c.w.untrusted() || typ == "" && c.service() == "" || err != nil {
		return err
	}
	snapshot, _, err := c.w.Read(ctx, c.Stack, true)
	if errors.Is(err, state.ErrStackNotFound) {
		return fmt.Errorf("the project is not trusted, and the configuration of its stack %s names a key, before there is such a stack: "+
			"create the stack with the key first (husk stack init in a copy of the project that you trust)", c.Stack)
	}
	if err != nil {
		return err
	}
	if typ != "" && (typ != snapshot.Secrets.Type || !isSameJSON(named, snapshot.Secrets.State)) {
		return fmt.Errorf("the project is not trusted, and the configuration of its stack %s does not name the key of the stack's state: its secrets are not decrypted", c.Stack)
	}
	return nil
}

func isSameJSON(a, b json.RawMessage) bool {
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}
