// Package sdktest installs Pulumi's published SDKs for tests, once, with npm and pip. Tests of a language that is not there are
// left out, as are all without a network. If the variable CI is set, what cannot be fetched for a language that is there is a
// failure.
package sdktest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/husk-dev/husk/internal/testkit/testcache"
)

// nodePackages and pythonPackages are the packages that programs of tests use.
var (
	nodePackages   = []string{"@pulumi/pulumi@3.276.0", "@pulumi/random@4.21.2", "@pulumi/tls@5.6.1", "@pulumi/policy@1.21.0"}
	pythonPackages = []string{"pulumi==3.272.0", "pulumi_random==4.21.4", "pulumi_policy==1.21.0"}
)

// Node returns a directory node_modules with the SDK, and with more packages.
func Node(t *testing.T, more ...string) string {
	t.Helper()
	packages := slices.Concat(nodePackages, more)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("Node.js is not installed (install the packages nodejs and npm)")
	}
	dir := installed(t, "node"+strings.Join(packages, ""), func(dir string) error {
		return Command(dir, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)...)
	})
	return filepath.Join(dir, "node_modules")
}

// Python returns a virtual environment with the SDK.
func Python(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("Python is not installed (install the packages python3 and python3-venv)")
	}
	return installed(t, "python-"+strings.Join(pythonPackages, "-"), func(dir string) error {
		if err := Command(dir, "python3", "-m", "venv", dir); err != nil {
			return err
		}
		return Command(dir, filepath.Join(dir, "bin", "pip"), append([]string{"install", "--quiet"}, pythonPackages...)...)
	})
}

// installed returns a directory with packages, which install fills if it is not there yet.
func installed(t *testing.T, name string, install func(dir string) error) string {
	t.Helper()
	return testcache.Dir(t, name, func(dir string) error {
		Fetch(t, "the packages of the programs", func() error {
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755), install(dir))
		})
		return nil
	})
}

// attempts is how often what a program needs is fetched before that counts as a failure.
const attempts = 3

// Fetch fetches what a program needs. Without a network the test is left out, but not in CI, which would not notice.
func Fetch(t *testing.T, what string, get func() error) {
	t.Helper()
	var err error
	for range attempts {
		if err = get(); err == nil {
			return
		}
	}
	fail := t.Skipf
	if os.Getenv("CI") != "" {
		fail = t.Fatalf
	}
	fail("%s cannot be had: %v", what, err)
}

// Command runs a command in a directory. Its error has the command's output.
func Command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	return nil
}
