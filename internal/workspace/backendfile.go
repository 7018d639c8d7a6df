package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// notedFile is a file beside the project file, to be committed, with the places that have stacks of the project. Whoever
// has not logged in, or not any more, would else deploy everything a second time.
const notedFile = "husk.backend.json"

// maxNoted bounds the file, in bytes.
const maxNoted = 64 << 10

// noted is the content of the file. The places have no passwords.
type noted struct {
	Places []string `json:"places"`
}

// notes reports whether the workspace keeps the file: the project is a trusted one that leaves the place to others.
func (w *Workspace) notes() bool {
	return w.Detached == nil && !w.untrusted() && w.Origin != workerOrigin && w.Project.BackendURL == ""
}

func (w *Workspace) readNoted() (n noted, err error) {
	data, err := w.Project.Root.ReadFile(w.Project.Path(notedFile), maxNoted)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = jsonerror.Unmarshal(data, &n)
	}
	if err != nil {
		return n, fmt.Errorf("reading where the stacks of this project are: %s: %w", notedFile, err)
	}
	return n, nil
}

// NotedElsewhere returns an error if the place of the stacks is one that nobody named for them, while others are noted: no
// stack may be made there. HUSK_BACKEND_URL names any place.
func (w *Workspace) NotedElsewhere() error {
	if !w.notes() || w.Origin == BackendVariable {
		return nil
	}
	n, err := w.readNoted()
	if err != nil || len(n.Places) == 0 || slices.Contains(n.Places, w.Place) {
		return err
	}
	here := urlOf(w.Place)
	if w.Place == filepath.Join(w.Project.Dir, dataDir) {
		here = "file://./" + dataDir
	}
	return fmt.Errorf("the stacks of this project are in %s, as %s says, and not in %s, where an update would create everything again: "+
		"use husk login %s (with the credentials it needs) or %s; to begin anew here, set %s=%s",
		strings.Join(n.Places, " and "), notedFile, w.Place, urlOf(n.Places[0]), BackendVariable, BackendVariable, here)
}

// urlOf returns the URL of a place, without credentials.
func urlOf(place string) string {
	if backend.Scheme(place) != "" {
		return place
	}
	return "file://" + filepath.ToSlash(place)
}

// noteBackend notes the place of a stack that was made or is updated, if it is not the one that every project begins with.
func (w *Workspace) noteBackend() {
	if w.Origin != loginOrigin && w.Origin != chosenOrigin && (w.Origin != BackendVariable || !w.backend.Remote) {
		return
	}
	if err := w.note(w.Place, ""); err != nil {
		w.remark("Warning: " + err.Error())
	}
}

// noteMove notes a place that stacks were moved to, and forgets the one that they were in if none is left there.
func (w *Workspace) noteMove(ctx context.Context, to *backend.Backend) error {
	left, err := w.Stacks(ctx)
	if err != nil {
		return err
	}
	place, gone := to.Place, ""
	if to.Dir == filepath.Join(w.Project.Dir, dataDir) {
		place = ""
	}
	if len(left) == 0 {
		gone = w.Place
	}
	return w.note(place, gone)
}

// note adds a place to the file and removes another; an empty one stands for none.
func (w *Workspace) note(place, gone string) error {
	if !w.notes() {
		return nil
	}
	path := w.Project.Path(notedFile)
	return w.Project.Root.Alone(path, func() error {
		n, err := w.readNoted()
		if err != nil {
			return err
		}
		was := slices.Clone(n.Places)
		n.Places = slices.DeleteFunc(n.Places, func(p string) bool { return p == gone })
		if place != "" && !slices.Contains(n.Places, place) {
			n.Places = append(n.Places, place)
		}
		if slices.Equal(was, n.Places) {
			return nil
		}
		if len(n.Places) == 0 {
			return w.Project.Root.Remove(path)
		}
		data, err := json.MarshalIndent(n, "", "  ")
		if err == nil {
			err = w.Project.Root.WriteFile(path, append(data, '\n'), 0o644)
		}
		if err != nil {
			return fmt.Errorf("noting in %s where the stacks of this project are: %w", notedFile, err)
		}
		if place != "" {
			w.remark(fmt.Sprintf("Noted in %s that the stacks are in %s. Commit the file: without it, somebody who has not logged in would create everything again.", notedFile, place))
		}
		return nil
	})
}
