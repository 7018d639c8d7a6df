package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
)

// Find returns the directory of the project that dir lies in: the nearest at or above it that has a project file.
// It is dir itself if there is none, or if dir has a state without a project.
//
// A project file says which modules run with which rights. So the error refuses a file above dir that another user
// owns, such as one that somebody left in a directory for everybody.
func Find(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(filepath.Join(start, dataDir)); err == nil && info.IsDir() {
		return dir, nil
	}
	for at := start; ; at = filepath.Dir(at) {
		file := program.FindFile(projectroot.New(at, projectroot.Untrusted))
		switch {
		case file != "" && at == start:
			return dir, nil
		case file != "":
			if owned, err := isOwned(file); err != nil || !owned {
				return "", errors.Join(err, fmt.Errorf("the project file %s belongs to another user: name its directory with -C if you trust it", file))
			}
			return at, nil
		case at == filepath.Dir(at):
			return dir, nil
		}
	}
}
