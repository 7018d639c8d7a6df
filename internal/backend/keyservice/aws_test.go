//go:build unix

package keyservice_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/keyservice"
)

// TestMain is AWS's command, too, if the program has its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "aws" {
		os.Exit(beAWS(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// beAWS answers as AWS's command does for the keys of the account 111122223333. It appends its arguments to the file $AWS_LOG.
func beAWS(args []string) int {
	log, err := os.OpenFile(os.Getenv("AWS_LOG"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(log, strings.Join(args, " "))
	in, err := io.ReadAll(os.Stdin)
	answer := map[string]any{}
	switch {
	case err != nil:
		return 1
	case os.Getenv("AWS_ANSWERS") != "":
		fmt.Println(os.Getenv("AWS_ANSWERS"))
		return 0
	case slices.Equal(args[:2], []string{"sts", "get-caller-identity"}):
		answer["Account"] = "111122223333"
	case strings.HasSuffix(args[2], "none"):
		fmt.Fprint(os.Stderr, "\nAn error occurred (NotFoundException):\n  no such key\n")
		return 254
	case args[1] == "encrypt" && args[3] == "--plaintext=fileb:///dev/stdin":
		answer["CiphertextBlob"] = append([]byte(args[2]), in...)
	case args[1] == "decrypt" && args[3] == "--ciphertext-blob=fileb:///dev/stdin":
		answer["Plaintext"] = in[len(args[2]):]
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}

func TestAWS(t *testing.T) {
	dir := t.TempDir()
	program, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "aws")))
	log := filepath.Join(dir, "log")
	t.Setenv("AWS_LOG", log)
	t.Setenv("PATH", dir)
	t.Setenv(keyservice.AccountsVariable, "")
	called := func() string {
		t.Helper()
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		require.NoError(t, os.Remove(log))
		return string(text)
	}
	turn := func(url string) error {
		t.Helper()
		service, err := keyservice.Open(url)
		require.NoError(t, err)
		ciphertext, err := service.Encrypt(t.Context(), []byte("key\x00\xff"))
		if err != nil {
			return err
		}
		require.NotContains(t, string(ciphertext[:3]), "key")
		key, err := service.Decrypt(t.Context(), ciphertext)
		require.NoError(t, err)
		require.Equal(t, "key\x00\xff", string(key))
		return nil
	}
	const encrypt, decrypt = "kms encrypt --key-id=%s --plaintext=fileb:///dev/stdin %s--output=json\n", "kms decrypt --key-id=%s --ciphertext-blob=fileb:///dev/stdin %s--output=json\n"
	const identity = "sts get-caller-identity --region=eu-west-1 --output=json\n"
	both := func(format, key, more string) string {
		return fmt.Sprintf(strings.ReplaceAll(format, "E", encrypt), key, more) + fmt.Sprintf(strings.ReplaceAll(format, "E", decrypt), key, more)
	}

	require.NoError(t, turn("awskms://1234-ab?region=us-west-2&awssdk=v2"))
	require.Equal(t, both("E", "1234-ab", "--region=us-west-2 "), called())
	require.NoError(t, turn("awskms://alias/team/eu?profile=p&region=eu-west-1&context_app=a,b"))
	require.Equal(t, both("E", "alias/team/eu", `--encryption-context={"app":"a,b"} --profile=p --region=eu-west-1 `), called())

	// A key of another account may be of whoever has changed the stack.
	const arn, other = "arn:aws:kms:eu-west-1:111122223333:key/1", "arn:aws:kms:eu-west-1:444455556666:key/1"
	require.NoError(t, turn("awskms:///"+arn+"?region=eu-west-1"))
	require.Equal(t, both(identity+"E", arn, "--region=eu-west-1 "), called())
	require.ErrorContains(t, turn("awskms:///"+other+"?region=eu-west-1"), "belongs to the account 444455556666, and your credentials to 111122223333: if that is right, set HUSK_KEY_ACCOUNTS=444455556666")
	require.Equal(t, identity, called())
	t.Setenv(keyservice.AccountsVariable, "777788889999,444455556666")
	require.NoError(t, turn("awskms:///"+other+"?region=eu-west-1"))
	require.Equal(t, both("E", other, "--region=eu-west-1 "), called())
	require.ErrorContains(t, turn("awskms:///arn:aws:s3:::bucket"), "is not the ARN of a key")

	require.ErrorContains(t, turn("awskms://alias/none"), "aws kms encrypt: exit status 254: An error occurred (NotFoundException): no such key")
	t.Setenv("AWS_ANSWERS", "{}")
	require.ErrorContains(t, turn("awskms://team"), "aws kms encrypt wrote neither a ciphertext nor a plaintext")
	t.Setenv("AWS_ANSWERS", "<html>")
	require.ErrorContains(t, turn("awskms://team"), "the answer of aws kms encrypt")
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, turn("awskms://team"), "which is not installed")
}
