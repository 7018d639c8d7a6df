package test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/guest-sdk/terraform"
)

var featureTag = regexp.MustCompile(`(?m)^//go:build !?plugingo_before_0_(\d+)$`)

// eachFile calls do with the Go files of the adapter.
func eachFile(t *testing.T, do func(path string, data []byte)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		if rel, _ := filepath.Rel("..", path); filepath.Dir(rel) == "test" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			do(path, data)
		}
		return err
	}))
}

func TestTheTableHasTheTagsOfFiles(t *testing.T) {
	var found []int
	eachFile(t, func(_ string, data []byte) {
		for _, match := range featureTag.FindAllSubmatch(data, -1) {
			version, err := strconv.Atoi(string(match[1]))
			require.NoError(t, err)
			found = append(found, version)
		}
	})
	slices.Sort(found)
	require.Equal(t, terraform.PluginGo, slices.Compact(found))
}

// The adapter compiles with each version of terraform-plugin-go at which a feature came, the ones before,
// and the oldest.
func TestOldVersionsOfPluginGo(t *testing.T) {
	if testing.Short() {
		t.Skip("downloads versions of terraform-plugin-go")
	}
	husk, err := filepath.Abs("../../..")
	require.NoError(t, err)
	for _, version := range []string{"0.14.3", "0.21.0", "0.22.0", "0.23.0", "0.25.0", "0.26.0", "0.27.0", "0.29.0", "0.31.0"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			eachFile(t, func(path string, data []byte) {
				rel, err := filepath.Rel("..", path)
				require.NoError(t, err)
				require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(rel)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, rel), data, 0o600))
			})
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, "module github.com/husk-dev/husk/guest-sdk/terraform\n\ngo 1.26\n\n"+
				"require (\n\tgithub.com/hashicorp/terraform-plugin-go v%s\n\tgithub.com/husk-dev/husk v0.0.0\n)\n\nreplace github.com/husk-dev/husk => %s\n", version, husk), 0o600))
			var minor int
			_, err := fmt.Sscanf(version, "0.%d.", &minor)
			require.NoError(t, err)
			tags := "-tags="
			for _, since := range terraform.PluginGo {
				if minor < since {
					tags += fmt.Sprintf("plugingo_before_0_%d,", since)
				}
			}
			vet := exec.Command("go", "vet", "-mod=mod", tags, "./...")
			vet.Dir = dir
			vet.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
			output, err := vet.CombinedOutput()
			require.NoError(t, err, "%s", output)
		})
	}
}
