package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/program"
)

// BackendVariable is the environment variable with the URL of the stacks, which overrides the project's.
const BackendVariable = "HUSK_BACKEND_URL"

// backendPlace returns the directory of a project's stacks, from the environment, or else from the project
// file, or else .husk beside that.
func backendPlace(project *program.Project) (string, error) {
	if url := os.Getenv(BackendVariable); url != "" {
		return backendDir(url, BackendVariable, ".")
	}
	if url := project.BackendURL; url != "" {
		return backendDir(url, "backend.url in "+project.File.Name, project.Dir)
	}
	place := filepath.Join(project.Dir, dataDir)
	if url := os.Getenv(pulumiBackendVariable); url != "" && strings.HasPrefix(project.File.Name, "Pulumi.") {
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is %q, and husk does not read the stacks that Pulumi keeps there: "+
				"it would create everything again. Set %s, for example to file://./%s, and import a stack with husk stack import",
				pulumiBackendVariable, url, BackendVariable, dataDir)
		}
	}
	return place, nil
}

// pulumiBackendVariable is Pulumi's variable with the URL of the stacks.
const pulumiBackendVariable = "PULUMI_BACKEND_URL"

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
