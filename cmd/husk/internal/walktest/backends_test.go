package walktest

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// place is where the state is.
type place struct {
	// url is that of a backend, empty for files in the project.
	url         string
	environment []string
	// disk is a directory on a disk of its own, for the files of projects; empty where there is none.
	disk string
}

// openPlace starts what a backend needs: files, s3, postgres, or server, which has SQLite. It skips the test where that is not
// installed.
func openPlace(t *testing.T, name string) place {
	t.Helper()
	switch name {
	case "files":
		return place{}
	case "server":
		return place{url: startServer(t)}
	}
	backends := usertest.StartBackends(t)
	url := map[string]string{"s3": backends.S3, "minio": backends.MinIO, "postgres": backends.PostgreSQL}[name]
	if url == "" {
		t.Skip("there is no " + name)
	}
	return place{url: url, environment: backends.Environment}
}

// startServer starts a server of husk, and returns its URL with a token.
func startServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	server, source := filepath.Join(dir, "husk-server"), filepath.Join(usertest.Directory(t), "..", "husk-server")
	testmodule.DependOn(t, source)
	out, err := exec.Command("go", "build", "-C", source, "-o", server).CombinedOutput()
	require.NoError(t, err, "%s", out)
	token, err := exec.Command(server, "--dir", dir, "token", "team", "walker", "admin").Output()
	require.NoError(t, err)
	cmd := exec.Command(server, "--dir", dir, "--listen", "127.0.0.1:0", "--lease", "1s")
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	serving := regexp.MustCompile(`Serving at (http://\S+),`)
	lines := bufio.NewScanner(errs)
	url := ""
	for url == "" && lines.Scan() {
		if found := serving.FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	require.NotEmpty(t, url, "the server does not serve")
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		<-read
		_ = cmd.Wait() // it was killed
	})
	return strings.Replace(url, "://", "://:"+strings.TrimSpace(string(token))+"@", 1)
}
