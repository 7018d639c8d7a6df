package keyservice_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/keyservice"
)

// startVault starts a server that answers as the transit engine of Vault does, for the key team and the token good.
func startVault(t *testing.T) string {
	fail := func(w http.ResponseWriter, status int, reason string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string][]string{"errors": {reason}})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if r.Header.Get("X-Vault-Token") != "good" {
			fail(w, http.StatusForbidden, "permission denied")
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		data := make(map[string]string)
		switch r.Method + " " + r.URL.Path {
		case "POST /v1/transit/encrypt/team", "POST /v1/kms/eu/encrypt/team":
			data["ciphertext"] = "vault:v1:" + body["plaintext"]
		case "POST /v1/transit/decrypt/team", "POST /v1/kms/eu/decrypt/team":
			data["plaintext"] = body["ciphertext"][len("vault:v1:"):]
		default:
			fail(w, http.StatusNotFound, "no handler for route")
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestVault(t *testing.T) {
	t.Setenv("VAULT_ADDR", startVault(t))
	t.Setenv("VAULT_TOKEN", "good")
	for _, url := range []string{"hashivault://team", "hashivault://team?engine=kms/eu"} {
		service, err := keyservice.Open(url)
		require.NoError(t, err)
		ciphertext, err := service.Encrypt(t.Context(), []byte("key\x00\xff"))
		require.NoError(t, err)
		require.Equal(t, "vault:v1:"+base64.StdEncoding.EncodeToString([]byte("key\x00\xff")), string(ciphertext), "as Pulumi's hashivault provider has it")
		key, err := service.Decrypt(t.Context(), ciphertext)
		require.NoError(t, err)
		require.Equal(t, "key\x00\xff", string(key))
	}
	service, err := keyservice.Open("hashivault://other")
	require.NoError(t, err)
	_, err = service.Encrypt(t.Context(), []byte("key"))
	require.ErrorContains(t, err, "transit/encrypt/other answered 404 Not Found: no handler for route")
	t.Setenv("VAULT_TOKEN", "bad")
	service, err = keyservice.Open("hashivault://team")
	require.NoError(t, err)
	_, err = service.Encrypt(t.Context(), []byte("key"))
	require.ErrorContains(t, err, "permission denied")

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer other.Close()
	t.Setenv("VAULT_ADDR", other.URL)
	service, err = keyservice.Open("hashivault://team")
	require.NoError(t, err)
	_, err = service.Encrypt(t.Context(), []byte("key"))
	require.ErrorContains(t, err, "is not a Vault server")
	t.Setenv("VAULT_ADDR", "")
	t.Setenv("VAULT_SERVER_URL", "")
	_, err = keyservice.Open("hashivault://team")
	require.ErrorContains(t, err, "set VAULT_ADDR")
}

func TestCommand(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	script := filepath.Join(t.TempDir(), "keys")
	write := func(text string) { require.NoError(t, os.WriteFile(script, []byte(text), 0o600)) }
	write(`echo "$1 $2" >> "$0.log"; cat`)
	t.Setenv(keyservice.CommandVariable, "sh "+script)
	service, err := keyservice.Open("command://team")
	require.NoError(t, err)
	ciphertext, err := service.Encrypt(t.Context(), []byte("key"))
	require.NoError(t, err)
	key, err := service.Decrypt(t.Context(), ciphertext)
	require.NoError(t, err)
	require.Equal(t, "key", string(key))
	log, err := os.ReadFile(script + ".log")
	require.NoError(t, err)
	require.Equal(t, "encrypt team\ndecrypt team\n", string(log))
	write("echo no such key >&2; exit 3")
	_, err = service.Encrypt(t.Context(), []byte("key"))
	require.ErrorContains(t, err, "sh encrypt team: exit status 3: no such key")
	write("echo !!")
	_, err = service.Encrypt(t.Context(), []byte("key"))
	require.ErrorContains(t, err, "not base64")
	t.Setenv(keyservice.CommandVariable, "")
	_, err = keyservice.Open("command://team")
	require.ErrorContains(t, err, "set HUSK_KEY_COMMAND")
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"team":                                    "hashivault://KEY, awskms://KEY?region=REGION, or command://KEY",
		"hashivault://":                           "hashivault://KEY, awskms://KEY?region=REGION, or command://KEY",
		"hashivault://a b":                        "hashivault://KEY, awskms://KEY?region=REGION, or command://KEY",
		"hashivault://../x":                       "hashivault://KEY, awskms://KEY?region=REGION, or command://KEY",
		"hashivault://-x":                         "hashivault://KEY, awskms://KEY?region=REGION, or command://KEY",
		"hashivault://team/more":                  "hashivault://KEY, awskms://KEY?region=REGION, or command://KEY",
		"hashivault://team?region=x":              "only parameter",
		"hashivault://team?engine=../..":          `without a ".." in it`,
		"gcpkms://projects/p/team":                "husk knows the key services hashivault://KEY, of HashiCorp Vault, awskms://KEY, of AWS, and command://KEY, a command of yours in HUSK_KEY_COMMAND, which may ask gcpkms",
		"awskms://?region=us-west-2":              "a key of AWS is written as awskms://ID?region=REGION, awskms://alias/NAME?region=REGION, or awskms:///ARN?region=REGION",
		"awskms://--endpoint-url=x":               "a key of AWS is written as",
		"awskms://token@team":                     "a key of AWS is written as",
		"awskms://team#part":                      "a key of AWS is written as",
		"awskms://team?endpoint=http://x":         "the parameters of a key of AWS are region, profile, and context_NAME, and not endpoint",
		"awskms://team?region=--x":                `the region of a key of AWS cannot be "--x"`,
		"azurekeyvault://vault.example/keys/team": "which may ask azurekeyvault",
		"command://team?engine=transit":           "has no parameters",
	} {
		_, err := keyservice.Open(url)
		require.ErrorContains(t, err, want, url)
	}
}
