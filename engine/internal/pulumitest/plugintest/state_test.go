package plugintest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/resource/deploy"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	pulumisecrets "github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

const statePassphrase = "correct horse"

// pulumiReads reads an export as pulumi stack import does.
func pulumiReads(t *testing.T, file string) *deploy.Snapshot {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var untyped apitype.UntypedDeployment
	require.NoError(t, json.Unmarshal(text, &untyped))
	known := (&pulumisecrets.MockProvider{}).Add(passphrase.Type, passphrase.NewPromptingPassphraseSecretsManagerFromState)
	snapshot, err := stack.DeserializeUntypedDeployment(t.Context(), &untyped, known)
	require.NoError(t, err)
	require.NoError(t, snapshot.VerifyIntegrity())
	return snapshot
}

// pulumiWrites writes an export as pulumi stack export does: with the secrets encrypted anew.
func pulumiWrites(t *testing.T, snapshot *deploy.Snapshot, file string) {
	t.Helper()
	deployment, version, features, err := stack.SerializeDeploymentWithMetadata(t.Context(), snapshot, false)
	require.NoError(t, err)
	text, err := json.Marshal(deployment)
	require.NoError(t, err)
	whole, err := json.Marshal(apitype.UntypedDeployment{Version: version, Features: features, Deployment: text})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, whole, 0o600))
}

// plain is a snapshot with its secrets in plain text, in which nothing depends on how they were encrypted.
func plain(t *testing.T, snapshot *deploy.Snapshot) string {
	t.Helper()
	deployment, _, _, err := stack.SerializeDeploymentWithMetadata(t.Context(), snapshot, true)
	require.NoError(t, err)
	text, err := json.MarshalIndent(deployment.Resources, "", " ")
	require.NoError(t, err)
	return string(text)
}

// A stack with secrets goes from Husk to Pulumi, from there to another directory of Husk, in which nothing is to
// do, and back.
func TestAStackGoesBothWays(t *testing.T) {
	testmodule.Skip(t)
	run := husk(t)
	t.Setenv("HUSK_CONFIG_PASSPHRASE", statePassphrase)
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", statePassphrase)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	random, err := filepath.Abs(filepath.Join(repository, "examples/providers/random"))
	require.NoError(t, err)
	program := "name: shop\nplugins: {providers: [{name: random, path: " + random + "}]}\n" + `
config: {salt: {type: string, secret: true}}
resources:
  pet:
    type: random:RandomPet
    properties: {length: 2, keepers: {salt: "${salt}", "": "empty"}}
    options: {protect: true, aliases: [{name: older}], customTimeouts: {create: 5m}}
  password:
    type: random:RandomPassword
    properties: {length: 16}
    options: {dependsOn: ["${pet}"], additionalSecretOutputs: [length], ignoreChanges: [special]}
outputs:
  all: ["${password.result}", {pet: "${pet.id}"}, 1e300]
`
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(program), 0o600))
	}
	run("-C", first, "stack", "init", "dev")
	run("-C", first, "config", "set", "--secret", "salt", "sea")
	run("-C", first, "up", "--yes")
	file := filepath.Join(t.TempDir(), "state.json")
	run("-C", first, "stack", "export", "--passphrase", "--file", file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"sea"`)

	atPulumi := pulumiReads(t, file)
	require.Len(t, atPulumi.Resources, 4)
	require.Contains(t, plain(t, atPulumi), "sea", "Pulumi decrypts what Husk has encrypted")
	pulumiWrites(t, atPulumi, file)

	run("-C", second, "stack", "init", "dev")
	run("-C", second, "config", "set", "--secret", "salt", "sea")
	run("-C", second, "stack", "import", "--file", file)
	require.Contains(t, run("-C", second, "up", "--yes"), "nothing changed")
	run("-C", second, "stack", "export", "--passphrase", "--file", file)
	require.Equal(t, plain(t, atPulumi), plain(t, pulumiReads(t, file)))
}
