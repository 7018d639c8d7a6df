//go:build unix

package consolecmd

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/consoleserver"
)

// run runs husk console in a directory, and returns what it writes and its exit code.
func run(t *testing.T, dir string, args ...string) (out, errs *bufio.Reader, code <-chan int) {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	readErrs, writeErrs, err := os.Pipe()
	require.NoError(t, err)
	a := cli.NewApp(os.Stdin, write, writeErrs)
	a.Parts = &cli.Parts{ServeConsole: consoleserver.Serve}
	root := &cobra.Command{Use: "husk", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "")
	root.AddCommand(Commands(a)...)
	a.Dir = dir
	ended := make(chan int, 1)
	go func() {
		ended <- a.Run(root, append([]string{"console"}, args...))
		_ = write.Close()
		_ = writeErrs.Close()
	}()
	return bufio.NewReader(read), bufio.NewReader(readErrs), ended
}

func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: shop\n"), 0o600))
	return dir
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// The console tells its address, serves on this machine alone, and ends well with an interrupt.
func TestConsole(t *testing.T) {
	out, _, ended := run(t, project(t), "--json")
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	var told struct {
		URL, Token, Metrics string
		AllowWrites         bool
	}
	require.NoError(t, json.Unmarshal([]byte(line), &told))
	require.Regexp(t, `^http://127\.0\.0\.1:[0-9]+/\?token=[A-Z2-7]{26}$`, told.URL)
	require.False(t, told.AllowWrites)
	status, body := get(t, told.Metrics, told.Token)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "husk_project_readable 1")
	status, _ = get(t, told.Metrics, "guess")
	require.Equal(t, http.StatusUnauthorized, status)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	require.Zero(t, <-ended)
}

// The token of a file is that of the console, for a program that has no way to read the address.
func TestConsoleWithATokenOfAFile(t *testing.T) {
	dir := project(t)
	const token = "0123456789abcdef0123456789abcdef"
	file := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	out, errs, ended := run(t, dir, "--token-file", file, "--allow-writes")
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	_, url, _ := strings.Cut(strings.TrimSpace(line), " is at ")
	require.True(t, strings.HasSuffix(url, "/?token="+token), line)
	warned, err := errs.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "Whoever opens this address can change the stacks.\n", warned)
	status, body := get(t, strings.TrimSuffix(url, "?token="+token), token)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "writes allowed")
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	require.Zero(t, <-ended)
}

func TestWrongUsesOfTheConsole(t *testing.T) {
	dir := project(t)
	short := filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(short, []byte("swordfish\n"), 0o600))
	words := filepath.Join(dir, "words")
	require.NoError(t, os.WriteFile(words, []byte("a token that has several words\n"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--port", "99999"}, cli.ExitUsage, "--port 99999: must be between 0 and 65535"},
		{[]string{"--token-file", short}, cli.ExitUsage, "the token has 9 characters, and must have at least 26: openssl rand -hex 16 makes one"},
		{[]string{"--token-file", words}, cli.ExitUsage, "must be one word"},
		{[]string{"--token-file", filepath.Join(dir, "none")}, cli.ExitFailed, "no such file"},
	} {
		_, errs, ended := run(t, dir, c.args...)
		said, err := io.ReadAll(errs)
		require.NoError(t, err)
		require.Contains(t, string(said), c.says)
		require.Equal(t, c.code, <-ended, c.says)
	}
	_, errs, ended := run(t, t.TempDir())
	said, err := io.ReadAll(errs)
	require.NoError(t, err)
	require.Contains(t, string(said), "no project in")
	require.Equal(t, cli.ExitFailed, <-ended)
}
