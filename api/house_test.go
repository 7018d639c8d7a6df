package api

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The core has no dependency for the sake of other ecosystems: adapters are modules of their own.
func TestTheCoreIsLean(t *testing.T) {
	for _, pkg := range []string{"abi/...", "host/...", "engine/...", "guest-sdk/..."} {
		out, err := exec.Command("go", "list", "-deps", "../"+pkg).Output()
		require.NoError(t, err)
		for dep := range strings.FieldsSeq(string(out)) {
			for _, foreign := range []string{"hashicorp", "terraform", "pulumi/pulumi", "google.golang.org/grpc", "google.golang.org/protobuf"} {
				require.NotContains(t, dep, foreign, "a dependency of %s", pkg)
			}
		}
	}
}

// maxFiles is the number of files of a package that a reader can still look through, tests included.
const maxFiles = 30

func TestPackagesAreSmall(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("this is no clone")
	}
	files := make(map[string]int)
	for name := range strings.FieldsSeq(string(out)) {
		if !slices.Contains(strings.Split(name, "/"), "testdata") {
			files[filepath.Dir(name)]++
		}
	}
	for dir, count := range files {
		require.LessOrEqual(t, count, maxFiles, "%s has too many files", dir)
	}
}
