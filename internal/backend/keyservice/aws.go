package keyservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/base/jsonerror"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

const (
	awsScheme = "awskms"

	// AccountsVariable lists the accounts of AWS, besides the user's own, whose keys a stack may name by their ARN.
	AccountsVariable = "HUSK_KEY_ACCOUNTS"

	contextPrefix = "context_"
)

// What becomes an argument of the command aws: a key by its ID, alias, or ARN, and a name of a region or profile.
var (
	awsKeyPattern  = lazyregexp.Regexp{Syntax: `^[A-Za-z0-9][A-Za-z0-9:/_-]*$`}
	awsNamePattern = lazyregexp.Regexp{Syntax: `^[A-Za-z0-9][A-Za-z0-9._-]*$`}
)

// aws is a key in AWS's KMS. AWS's own command asks for it, since it knows all ways to credentials.
type aws struct {
	key string
	// options are arguments of each call, and of those with the key.
	options, keyOptions []string
}

// openAWS returns the key of a URL of Pulumi's: awskms://KEY?region=REGION.
func openAWS(u *url.URL) (secrets.KeyService, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("AWS's command can be given a key only in a file on Windows, where others could read it: see command://KEY in docs/secrets.md")
	}
	a := aws{key: strings.TrimPrefix(u.Host+u.Path, "/")}
	if !awsKeyPattern.Get().MatchString(a.key) || u.User != nil || u.Fragment != "" {
		return nil, errors.New("a key of AWS is written as awskms://ID?region=REGION, awskms://alias/NAME?region=REGION, or awskms:///ARN?region=REGION")
	}
	encryptionContext := make(map[string]string)
	for name, values := range u.Query() {
		value := values[len(values)-1]
		about, isContext := strings.CutPrefix(name, contextPrefix)
		switch {
		case isContext:
			encryptionContext[about] = value
		case name == "awssdk": // which of AWS's libraries Pulumi asks with
		case name != "region" && name != "profile":
			return nil, fmt.Errorf("the parameters of a key of AWS are region, profile, and %sNAME, and not %s", contextPrefix, name)
		case !awsNamePattern.Get().MatchString(value):
			return nil, fmt.Errorf("the %s of a key of AWS cannot be %q", name, value)
		default:
			a.options = append(a.options, "--"+name+"="+value)
		}
	}
	slices.Sort(a.options)
	if len(encryptionContext) > 0 {
		text, _ := json.Marshal(encryptionContext) // of texts, it does not fail
		a.keyOptions = []string{"--encryption-context=" + string(text)}
	}
	return a, nil
}

func (a aws) Encrypt(ctx context.Context, key []byte) ([]byte, error) {
	answer, err := a.ask(ctx, "encrypt", "plaintext", key)
	return answer.CiphertextBlob, err
}

func (a aws) Decrypt(ctx context.Context, ciphertext []byte) ([]byte, error) {
	answer, err := a.ask(ctx, "decrypt", "ciphertext-blob", ciphertext)
	return answer.Plaintext, err
}

// awsAnswer is the part of the answers of AWS's command that is used.
type awsAnswer struct {
	CiphertextBlob, Plaintext []byte
	Account                   string
}

func (a aws) ask(ctx context.Context, operation, argument string, in []byte) (awsAnswer, error) {
	if err := a.checkAccount(ctx); err != nil {
		return awsAnswer{}, err
	}
	answer, err := a.run(ctx, in, slices.Concat([]string{"kms", operation, "--key-id=" + a.key, "--" + argument + "=fileb:///dev/stdin"}, a.keyOptions)...)
	if err == nil && len(answer.CiphertextBlob)+len(answer.Plaintext) == 0 {
		err = errors.New("aws kms " + operation + " wrote neither a ciphertext nor a plaintext")
	}
	return answer, err
}

// checkAccount returns an error for a key of an account that is neither the user's nor one that they name: whoever can change a
// stack could have its new secrets encrypted with a key of their own.
func (a aws) checkAccount(ctx context.Context) error {
	parts := strings.Split(a.key, ":") // arn:aws:kms:REGION:ACCOUNT:key/ID
	if parts[0] != "arn" {
		return nil // a key of the user's account
	}
	if len(parts) != 6 || parts[2] != "kms" {
		return fmt.Errorf("%s is not the ARN of a key, as in arn:aws:kms:us-west-2:111122223333:key/ID", a.key)
	}
	account := parts[4]
	if slices.Contains(strings.Fields(strings.ReplaceAll(os.Getenv(AccountsVariable), ",", " ")), account) {
		return nil
	}
	own, err := a.run(ctx, nil, "sts", "get-caller-identity")
	if err != nil || own.Account == account {
		return err
	}
	return fmt.Errorf("the key %s belongs to the account %s, and your credentials to %s: if that is right, set %s=%[2]s", a.key, account, own.Account, AccountsVariable)
}

// run calls AWS's command with the user's environment.
func (a aws) run(ctx context.Context, in []byte, args ...string) (answer awsAnswer, err error) {
	cmd := exec.CommandContext(ctx, "aws", slices.Concat(args, a.options, []string{"--output=json"})...)
	cmd.Stdin = bytes.NewReader(in)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	called := "aws " + strings.Join(args[:2], " ")
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return answer, fmt.Errorf("a key of AWS needs AWS's command aws, which is not installed: install it, or see command://KEY in docs/secrets.md: %w", err)
	case err != nil:
		return answer, fmt.Errorf("%s: %w: %.*s", called, err, maxReason, strings.Join(strings.Fields(said.String()), " "))
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return answer, fmt.Errorf("the answer of %s: %w", called, jsonerror.Explain(out.Bytes(), err))
	}
	return answer, nil
}
