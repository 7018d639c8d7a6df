package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
)

// BackendVariable is the environment variable with the URL of the stacks, which overrides the project's.
const BackendVariable = "HUSK_BACKEND_URL"

// place is where stacks are: a URL, or .husk in the directory base if that is empty. Relative paths begin in base.
type place struct {
	named.URL
	base string
	// nowhere is the error of changes, if nothing has named a place: there are no stacks, and previews need none.
	nowhere error
}

// workerOrigin is the origin of a URL that a worker gives.
const workerOrigin = "the worker"

// operators returns the place that the operator has named with a URL.
func operators(url, origin string) place { return place{URL: named.ByOperator(url, origin), base: "."} }

// chosenByOperator returns the place of the environment, nil if that names none.
func chosenByOperator() *place {
	if url := os.Getenv(BackendVariable); url != "" {
		at := operators(url, BackendVariable)
		return &at
	}
	return nil
}

// backendOf returns where a project's stacks are: the place of the environment, or else of the project file, or else the
// server that a run was sent to, or else the place of husk login, or else .husk beside the project. A project that is not
// trusted has no say in it.
func backendOf(project *program.Project) (place, error) {
	if at := chosenByOperator(); at != nil {
		return *at, nil
	}
	if project.BackendURL != "" {
		own := named.ByProject(project.BackendURL, "backend.url in "+project.File.Name)
		at, err := loggedInTo(own)
		if err == nil && !project.Root.Trusted() && !at.IsOperators() {
			err = untrustedPlace(own.Origin() + " names where its stacks are")
		}
		return place{URL: at, base: project.Dir}, err
	}
	if !project.Root.Trusted() {
		return untrustedBackend(project)
	}
	if at, err := chosenPlace(project); err != nil || at != nil {
		return place{URL: orNone(at), base: "."}, err
	}
	if url, err := loginURL(); err != nil || url != "" {
		return operators(url, loginOrigin), err
	}
	beside := filepath.Join(project.Dir, dataDir)
	if url := os.Getenv(pulumiBackendVariable); url != "" && strings.HasPrefix(project.File.Name, "Pulumi.") {
		if _, err := project.Root.WithState().Stat(beside); errors.Is(err, fs.ErrNotExist) {
			return place{}, fmt.Errorf("%s is %q, and husk does not read the stacks that Pulumi keeps there: "+
				"it would create everything again. Set %s, for example to file://./%s, and import a stack with husk stack import",
				pulumiBackendVariable, url, BackendVariable, dataDir)
		}
	}
	return place{base: project.Dir}, nil
}

func orNone(at *named.URL) named.URL {
	if at == nil {
		return named.URL{}
	}
	return *at
}

// loggedInTo returns the URL of husk login if it is of the same place as one that a project has named: then the operator has
// named it, too, perhaps with credentials. Otherwise it returns the project's.
func loggedInTo(own named.URL) (named.URL, error) {
	if backend.Scheme(own.Text()) == fileScheme {
		return own, nil
	}
	login, err := loginURL()
	if err != nil {
		return own, err
	}
	if at := named.ByOperator(login, own.Origin()); at.IsSamePlace(own) {
		return at, nil
	}
	return own, nil
}

// pulumiBackendVariable is Pulumi's variable with the URL of the stacks.
const pulumiBackendVariable = "PULUMI_BACKEND_URL"

const fileScheme = "file"

// givenURL is the origin of a URL that is an argument of the command.
const givenURL = "the URL"

// open opens the backend of a place.
func (o Options) open(ctx context.Context, at place) (*backend.Backend, error) {
	url, origin := at.Text(), at.Origin()
	scheme := backend.Scheme(url)
	if at.nowhere != nil {
		return backend.Files(filepath.Join(at.base, dataDir), new(memstore.Store)), nil
	}
	if url == "" || scheme == fileScheme {
		dir, err := filepath.Join(at.base, dataDir), error(nil)
		if url != "" {
			dir, err = backendDir(url, origin, at.base)
		}
		if err != nil {
			return nil, err
		}
		if o.Store == nil {
			return backend.Files(dir, filestore.New(dir)), nil
		}
		return backend.Files(dir, o.Store(dir)), nil
	}
	open := o.Backends[scheme]
	if open == nil {
		return nil, o.unknownScheme(at)
	}
	copies, err := copiesDir(url)
	if err != nil {
		return nil, err
	}
	b, err := open(ctx, at.URL, copies)
	if err != nil && origin != givenURL {
		err = fmt.Errorf("%s: %w", origin, err)
	}
	if withheld := at.Withheld(); len(withheld) > 0 && b != nil && o.Remark != nil {
		o.Remark(fmt.Sprintf("%s not for %s, which only %s names: credentials go where you have said yourself that your stacks are. "+
			"If the place is yours, name it with %s or husk login.", isOrAre(withheld), b.Place, origin, BackendVariable))
	}
	return b, err
}

func isOrAre(variables []string) string {
	if len(variables) == 1 {
		return variables[0] + " is"
	}
	last := len(variables) - 1
	return strings.Join(variables[:last], ", ") + " and " + variables[last] + " are"
}

func (o Options) unknownScheme(at place) error {
	shown := at.Text()
	if scheme := backend.Scheme(shown); scheme != "" {
		shown = scheme + "://…" // the rest may have a password
	}
	if len(o.Backends) == 0 {
		return fmt.Errorf("%s is %q, but stacks can only be stored in a directory: write it as file:///path/to/directory", at.Origin(), shown)
	}
	known := append(slices.Sorted(maps.Keys(o.Backends)), fileScheme)
	slices.Sort(known)
	return fmt.Errorf("%s is %q, and stacks can only be stored in a directory, written as file:///path/to/directory, or in a backend with one of the schemes %s",
		at.Origin(), shown, strings.Join(known, ", "))
}

// cacheVariable is the variable with the directory of caches, as in package plugins.
const cacheVariable = "HUSK_CACHE_DIR"

// CopiesVariable is the variable with the directory of copies of a backend's files. A worker, whose runs share caches,
// sets it: these copies are of one team.
const CopiesVariable = "HUSK_COPIES_DIR"

// copiesDir returns the directory for copies of files of a backend.
func copiesDir(url string) (string, error) {
	if dir := os.Getenv(CopiesVariable); dir != "" {
		return filepath.Abs(dir)
	}
	cache := os.Getenv(cacheVariable)
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no directory for copies of modules: set %s: %w", cacheVariable, err)
		}
		cache = filepath.Join(dir, "husk")
	}
	sum := sha256.Sum256([]byte(url))
	const enough = 16 // hexadecimal digits, for all backends of a user to differ
	return filepath.Abs(filepath.Join(cache, "backends", hex.EncodeToString(sum[:])[:enough]))
}

// checkOverlooked returns an error if the project has stacks beside its file that the backend of husk login
// would hide: an update would create everything again.
func (w *Workspace) checkOverlooked(ctx context.Context, at place, o Options) error {
	var choice string
	switch at.Origin() {
	case loginOrigin:
		choice = "husk login chose"
	case chosenOrigin:
		choice = chosenOrigin + " names"
	default:
		return nil
	}
	if _, err := w.Project.Root.WithState().Stat(filepath.Join(dataDir, "stacks", w.Project.Name)); err != nil {
		return nil
	}
	beside, err := o.open(ctx, place{base: w.Project.Dir})
	if err != nil {
		return err
	}
	all, err := beside.State.List(ctx)
	if err != nil || !slices.ContainsFunc(all, func(n state.StackName) bool { return n.Project == w.Project.Name }) {
		return err
	}
	return fmt.Errorf("this project has stacks in %s, and %s %s, where an update would create everything again: "+
		"move them there with %s=file://./%s husk stack migrate URL --all, or keep them with backend.url: file://./%s in %s",
		beside.Dir, choice, w.Place, BackendVariable, dataDir, dataDir, w.Project.File.Name)
}

// backendDir returns the directory of file:///var/state, file://./state (in base), or file://~/state.
func backendDir(url, origin, base string) (string, error) {
	path, ok := strings.CutPrefix(url, "file://")
	if !ok || path == "" {
		return "", fmt.Errorf("%s is %q, but stacks can only be stored in a directory: write it as file:///path/to/directory", origin, url)
	}
	path = filepath.FromSlash(path)
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%s is %q, but there is no home directory: %w", origin, url, err)
		}
		return filepath.Join(home, rest), nil
	}
	// On Windows, file:///C:/state has a separator before the drive.
	if rest := strings.TrimPrefix(path, string(filepath.Separator)); filepath.VolumeName(rest) != "" {
		path = rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Abs(path)
}
