package namedtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/named/namedtest"
)

// A variable of Husk that sounds like one with credentials has a row in the table.
func TestEachCredentialIsInTheTable(t *testing.T) {
	name := regexp.MustCompile(`"((?:HUSK|PULUMI|AWS|PG|VAULT|GIT|DOCKER|SSH)_?[A-Z_]*(?:TOKEN|PASS|PASSWORD|PASSPHRASE|PASSPHRASE_FILE|SECRET|KEY|KEY_ID|KEY_COMMAND|CERT|CREDENTIALS_FILE|ASKPASS))"`)
	found := 0
	for _, dir := range []string{"internal", "engine", "host", "cmd/husk", "automation"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../../../..", dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "namedtest"):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			for _, match := range name.FindAllSubmatch(text, -1) {
				found++
				if _, ok := namedtest.Credentials[string(match[1])]; !ok {
					t.Errorf("%s: the variable %s has no row in the table of credentials", path, match[1])
				}
			}
			return err
		}))
	}
	require.NotZero(t, found)
}
