package namedtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/named/namedtest"
)

// ofOthers are the beginnings of variables with credentials that processes of projects and plugins get, and who has a use for
// them there. All others are husk's own.
var ofOthers = map[string]string{
	"AWS_": "providers of AWS", "PG": "providers of PostgreSQL", "MINIO_": "providers of MinIO", "VAULT_": "providers of Vault",
	"PULUMI_ACCESS_TOKEN": "the provider of Pulumi's service, and programs that ask it; husk does not read it",
	"OTEL_":               "programs that send spans", "GIT_": "tools that fetch packages", "SSH_ASKPASS": "the same", "NETRC": "the same", "DOCKER_": "providers of Docker",
}

// Of each credential it is decided whether processes that run code of a project or a plugin get it.
func TestEachCredentialIsDecided(t *testing.T) {
	used := map[string]bool{}
	for name := range namedtest.Credentials {
		others := ""
		for begin := range ofOthers {
			if strings.HasPrefix(name, begin) {
				others, used[begin] = begin, true
			}
		}
		require.Equal(t, others == "", named.IsHusks(name), "%s: say in ofOthers who has a use for it, or in package named that it is husk's", name)
	}
	require.Len(t, used, len(ofOthers), "one of ofOthers is no beginning of a credential")
}

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
