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
	"github.com/husk-dev/husk/internal/backend"
)

// BackendVariable is the environment variable with the URL of the stacks, which overrides the project's.
const BackendVariable = "HUSK_BACKEND_URL"

// namedURL is the URL of a backend, and what names it. An empty URL stands for .husk in base, in which
// relative paths begin.
type namedURL struct{ url, origin, base string }

// backendURL returns the URL of a project's stacks: from the environment, or else from the project file, or else of the
// server that a run was sent to, or else of husk login, or else of .husk beside the project.
func backendURL(project *program.Project) (namedURL, error) {
	if url := os.Getenv(BackendVariable); url != "" {
		return namedURL{url, BackendVariable, "."}, nil
	}
	if url := project.BackendURL; url != "" {
		return namedURL{url, "backend.url in " + project.File.Name, project.Dir}, nil
	}
	if url, err := chosenURL(project); err != nil || url != "" {
		return namedURL{url, chosenOrigin, "."}, err
	}
	if url, err := loginURL(); err != nil || url != "" {
		return namedURL{url, loginOrigin, "."}, err
	}
	place := filepath.Join(project.Dir, dataDir)
	if url := os.Getenv(pulumiBackendVariable); url != "" && strings.HasPrefix(project.File.Name, "Pulumi.") {
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return namedURL{}, fmt.Errorf("%s is %q, and husk does not read the stacks that Pulumi keeps there: "+
				"it would create everything again. Set %s, for example to file://./%s, and import a stack with husk stack import",
				pulumiBackendVariable, url, BackendVariable, dataDir)
		}
	}
	return namedURL{base: project.Dir}, nil
}

// pulumiBackendVariable is Pulumi's variable with the URL of the stacks.
const pulumiBackendVariable = "PULUMI_BACKEND_URL"

const fileScheme = "file"

// givenURL is the origin of a URL that is an argument of the command.
const givenURL = "the URL"

// open opens the backend of a URL.
func (o Options) open(ctx context.Context, url namedURL) (*backend.Backend, error) {
	scheme := backend.Scheme(url.url)
	if url.url == "" || scheme == fileScheme {
		dir, err := filepath.Join(url.base, dataDir), error(nil)
		if url.url != "" {
			dir, err = backendDir(url.url, url.origin, url.base)
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
		return nil, o.unknownScheme(url)
	}
	copies, err := copiesDir(url.url)
	if err != nil {
		return nil, err
	}
	b, err := open(ctx, url.url, copies)
	if err != nil && url.origin != givenURL {
		err = fmt.Errorf("%s: %w", url.origin, err)
	}
	return b, err
}

func (o Options) unknownScheme(url namedURL) error {
	shown := url.url
	if scheme := backend.Scheme(shown); scheme != "" {
		shown = scheme + "://…" // the rest may have a password
	}
	if len(o.Backends) == 0 {
		return fmt.Errorf("%s is %q, but stacks can only be stored in a directory: write it as file:///path/to/directory", url.origin, shown)
	}
	known := append(slices.Sorted(maps.Keys(o.Backends)), fileScheme)
	slices.Sort(known)
	return fmt.Errorf("%s is %q, and stacks can only be stored in a directory, written as file:///path/to/directory, or in a backend with one of the schemes %s",
		url.origin, shown, strings.Join(known, ", "))
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
func (w *Workspace) checkOverlooked(ctx context.Context, url namedURL, o Options) error {
	var choice string
	switch url.origin {
	case loginOrigin:
		choice = "husk login chose"
	case chosenOrigin:
		choice = chosenOrigin + " names"
	default:
		return nil
	}
	if _, err := os.Stat(filepath.Join(w.Project.Dir, dataDir, "stacks", w.Project.Name)); err != nil {
		return nil
	}
	beside, err := o.open(ctx, namedURL{base: w.Project.Dir})
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
