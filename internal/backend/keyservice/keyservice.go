// Package keyservice encrypts the keys of stacks with a service that keeps its own key to itself: the transit engine of
// HashiCorp Vault and of servers like it, AWS's KMS, or a command of the user.
//
// A stack names only the key. The address of the service, the account, and the command to run come from the user's environment:
// whoever can change a stack must not choose a program that others run, a server that they send their token to, or a key of their own.
package keyservice

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

const (
	vaultScheme   = "hashivault"
	commandScheme = "command"

	// CommandVariable has the command line that encrypts and decrypts keys.
	CommandVariable = "HUSK_KEY_COMMAND"

	maxAnswer = 1 << 16 // bytes
	maxReason = 300     // bytes
)

// The variables of Vault's own client, and the ones that Pulumi knows.
var (
	vaultAddresses = []string{"VAULT_ADDR", "VAULT_SERVER_URL"}
	vaultTokens    = []string{"VAULT_TOKEN", "VAULT_SERVER_TOKEN"}
)

// keyPattern matches the name of a key, which becomes part of a URL and of a command line.
var keyPattern = lazyregexp.Regexp{Syntax: `^[A-Za-z0-9][A-Za-z0-9._-]*$`}

// Open returns the service of a URL: hashivault://KEY, with ?engine=PATH unless that is transit, awskms://KEY?region=REGION, or
// command://KEY.
func Open(text string) (secrets.KeyService, error) {
	u, err := url.Parse(text)
	if err == nil && u.Scheme == awsScheme {
		return openAWS(u)
	}
	if err == nil && u.Scheme != vaultScheme && u.Scheme != commandScheme && u.Scheme != "" {
		return nil, fmt.Errorf("husk knows the key services %s://KEY, of HashiCorp Vault, %s://KEY, of AWS, and %s://KEY, a command of yours in %s, which may ask %s: for a stack that Pulumi has made, run pulumi stack change-secrets-provider passphrase first",
			vaultScheme, awsScheme, commandScheme, CommandVariable, u.Scheme)
	}
	if err != nil || !keyPattern.Get().MatchString(u.Host) || u.Path != "" || u.User != nil {
		return nil, errors.New("a key service is written as hashivault://KEY, awskms://KEY?region=REGION, or command://KEY")
	}
	query := u.Query()
	engine := query.Get("engine")
	query.Del("engine")
	switch {
	case len(query) > 0 || u.Fragment != "":
		return nil, errors.New("the only parameter of a key service is engine, as in hashivault://KEY?engine=transit")
	case u.Scheme == vaultScheme:
		return openVault(u.Host, engine)
	case engine != "":
		return nil, errors.New("the key service command://KEY has no parameters")
	}
	return openCommand(u.Host)
}

// vault is the transit engine of a Vault server.
type vault struct{ address, token, engine, key string }

func openVault(key, engine string) (secrets.KeyService, error) {
	v := vault{address: first(vaultAddresses), token: first(vaultTokens), engine: engine, key: key}
	if v.engine == "" {
		v.engine = "transit"
	}
	if strings.Contains(v.engine, "..") {
		return nil, errors.New("engine must be the path of Vault's transit engine, without a \"..\" in it")
	}
	if v.address == "" || v.token == "" {
		return nil, fmt.Errorf("set %s to the URL of the Vault server, and %s to a token that may use the key %s", vaultAddresses[0], vaultTokens[0], key)
	}
	u, err := url.Parse(v.address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%s must be a URL such as https://vault.example:8200", vaultAddresses[0])
	}
	return v, nil
}

func first(variables []string) string {
	for _, name := range variables {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

func (v vault) Encrypt(ctx context.Context, key []byte) ([]byte, error) {
	out, err := v.call(ctx, "encrypt", map[string]string{"plaintext": base64.StdEncoding.EncodeToString(key)})
	return []byte(out.Ciphertext), err
}

func (v vault) Decrypt(ctx context.Context, ciphertext []byte) ([]byte, error) {
	out, err := v.call(ctx, "decrypt", map[string]string{"ciphertext": string(ciphertext)})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(out.Plaintext)
}

// answer is the part of an answer of Vault that is used.
type answer struct {
	Ciphertext string `json:"ciphertext"`
	Plaintext  string `json:"plaintext"`
}

func (v vault) call(ctx context.Context, operation string, body map[string]string) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	at, err := url.JoinPath(v.address, "v1", v.engine, operation, v.key)
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("X-Vault-Token", v.token)
	req.Header.Set("X-Vault-Request", "true")
	if namespace := os.Getenv("VAULT_NAMESPACE"); namespace != "" {
		req.Header.Set("X-Vault-Namespace", namespace)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, err
	}
	var out struct {
		Data   answer
		Errors []string
	}
	readable := json.Unmarshal(data, &out) == nil
	switch {
	case resp.StatusCode != http.StatusOK:
		reason := strings.Join(out.Errors, "; ")
		return answer{}, fmt.Errorf("%s answered %s: %.*s", path.Join(v.engine, operation, v.key), resp.Status, maxReason, reason)
	case !readable || out.Data == answer{}:
		return answer{}, fmt.Errorf("%s is not a Vault server: its answer has neither a ciphertext nor a plaintext", v.address)
	}
	return out.Data, nil
}

// command is a command line of the user, which gets encrypt or decrypt, and the name of the key, as arguments. It reads
// base64 from its standard input, and writes base64 to its standard output.
type command struct {
	args []string
	key  string
}

func openCommand(key string) (secrets.KeyService, error) {
	args := strings.Fields(os.Getenv(CommandVariable))
	if len(args) == 0 {
		return nil, fmt.Errorf("set %s to the command that encrypts and decrypts keys: it is called with encrypt or decrypt, and %s, and reads and writes base64", CommandVariable, key)
	}
	return command{args, key}, nil
}

func (c command) Encrypt(ctx context.Context, key []byte) ([]byte, error) {
	return c.run(ctx, "encrypt", key)
}

func (c command) Decrypt(ctx context.Context, ciphertext []byte) ([]byte, error) {
	return c.run(ctx, "decrypt", ciphertext)
}

func (c command) run(ctx context.Context, operation string, in []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.args[0], append(c.args[1:len(c.args):len(c.args)], operation, c.key)...)
	cmd.Stdin = strings.NewReader(base64.StdEncoding.EncodeToString(in) + "\n")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s %s: %w: %.*s", c.args[0], operation, c.key, err, maxReason, strings.TrimSpace(said.String()))
	}
	text := strings.TrimSpace(out.String())
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return nil, fmt.Errorf("%s %s %s wrote something that is not base64", c.args[0], operation, c.key)
	}
	return data, nil
}
