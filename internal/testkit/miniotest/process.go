package miniotest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startTime is how long a server may take until it serves, and pollPause the time between looks.
const (
	startTime = time.Minute
	pollPause = 10 * time.Millisecond
)

// process is a shell, and the server that it runs.
type process struct {
	shell   *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

// script runs the server, and sends it the signals whose names it reads. It confirms each. When there is nothing left to
// read, also because the test was killed, it kills the server.
const script = `
size=$1; dir=$2; shift 2
if [ "$size" != 0 ]; then
	mount -t tmpfs -o "size=$size" tmpfs "$dir" || { echo FATAL >&2; exit 1; }
fi
"$@" >&2 &
while read -r signal; do
	kill "-$signal" $!
	echo "$signal"
done
kill -KILL $!
wait
`

// run runs the server, and waits until it serves. If it does not, run returns its log.
func (s *Server) run(t *testing.T) (said string) {
	t.Helper()
	shell := exec.Command("/bin/sh", "-c", script, "sh", fmt.Sprint(s.settings.DiskSize), s.data(),
		s.program, "server", "--address", s.Address, "--certs-dir", s.certificates(), s.data())
	shell.Dir, shell.Env = s.dir, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TZ=UTC", "MINIO_ROOT_USER=" + s.User, "MINIO_ROOT_PASSWORD=" + s.Password,
		"MINIO_REGION=" + Region, "MINIO_BROWSER=off", "MINIO_UPDATE=off",
	}
	if s.settings.DiskSize != 0 {
		ownMounts(shell)
	}
	p := &process{shell: shell}
	var err error
	p.orders, err = shell.StdinPipe()
	require.NoError(t, err)
	answers, err := shell.StdoutPipe()
	require.NoError(t, err)
	p.answers = bufio.NewScanner(answers)
	log, err := os.Create(filepath.Join(s.dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	shell.Stderr = log
	if err := shell.Start(); err != nil {
		return err.Error()
	}
	scheme := "http"
	if s.settings.Certificate != nil {
		scheme = "https"
	}
	client := &http.Client{Timeout: startTime, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // nothing is sent
	}}
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(pollPause) {
		text, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		said = string(text)
		if strings.Contains(said, "FATAL") {
			break
		}
		answer, err := client.Get(scheme + "://" + s.Address + "/minio/health/ready")
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			s.running = p
			return ""
		}
	}
	p.kill()
	return said + "it does not serve"
}

// signal sends the server a signal, and returns when it was sent.
func (p *process) signal(name string) {
	_, _ = fmt.Fprintln(p.orders, name) // if the shell has ended, it does not answer either
	p.answers.Scan()
}

// kill ends the server at once, and waits for its end.
func (p *process) kill() {
	p.orders.Close()
	_ = p.shell.Wait() // the status is the signal's
}
