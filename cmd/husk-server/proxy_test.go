package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

// proxies are the configurations in deploy/proxy, with what makes them one for this test.
var proxies = []struct {
	program, file string
	// command starts the program with a configuration in a directory.
	command []string
	// around has the configuration within it, as %s, and DIR for the directory.
	around string
	// replace are texts of the configuration and what they become, with ADDRESS for the one to listen at.
	replace []string
}{
	{"nginx", "nginx.conf", []string{"-c", "CONFIG", "-p", "DIR", "-e", "stderr"}, "daemon off; pid DIR/pid; events {} http { access_log off; client_body_temp_path DIR/a; proxy_temp_path DIR/b; fastcgi_temp_path DIR/c; uwsgi_temp_path DIR/d; scgi_temp_path DIR/e;\n%s }",
		[]string{"listen 443 ssl", "listen ADDRESS ssl"}},
	{"haproxy", "haproxy.cfg", []string{"-db", "-f", "CONFIG"}, "%s", []string{"bind :443", "bind ADDRESS"}},
	{"caddy", "Caddyfile", []string{"run", "--adapter", "caddyfile", "--config", "CONFIG"}, "{\n\tadmin off\n\tauto_https disable_redirects\n\tgrace_period 1s\n\tstorage file_system DIR\n}\n%s", []string{"husk.example.com {", "https://ADDRESS {"}},
}

// A proxy with the configuration that we give passes on large bodies, logs line by line, what marks the answers of the server, and the
// addresses of clients.
func TestProxies(t *testing.T) {
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("deploy", "proxy", p.file))
			require.NoError(t, err)
			for _, found := range regexp.MustCompile(`(?m)^ *(?:proxy_(?:read|send)_timeout|timeout (?:client|server)) (\d+)s`).FindAllSubmatch(text, -1) {
				seconds, err := strconv.Atoi(string(found[1]))
				require.NoError(t, err)
				const wait = 55 // of workers for a run
				require.Greater(t, seconds, wait)
			}
			program, err := exec.LookPath(p.program)
			if err != nil {
				t.Skip(p.program + " is not installed")
			}
			s := begin(t, "--behind-proxy", "127.0.0.1")
			trusting, url := s.behind(p.program, program, string(text))
			token, admin := s.token("acme", "ann", "request"), s.token("acme", "root", "admin")
			ask := func(token, method, path string, body []byte) *http.Response {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				t.Cleanup(cancel)
				r, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(body))
				require.NoError(t, err)
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("X-Forwarded-For", "192.0.2.1") // which is not true
				resp, err := trusting.Do(r)
				require.NoError(t, err)
				t.Cleanup(func() { resp.Body.Close() })
				require.Equal(t, backend.Answered, resp.Header.Get(backend.AnswerHeader), path)
				return resp
			}
			content := make([]byte, 24<<20)
			_, _ = rand.NewChaCha8([32]byte{}).Read(content)
			sum := sha256.Sum256(content)
			digest := "sha256:" + hex.EncodeToString(sum[:])
			require.Less(t, ask(token, http.MethodPut, "/v1/bundles/"+digest, content).StatusCode, 300)

			asked, err := json.Marshal(runapi.NewRun{Project: "shop", Stack: "dev", Operation: "up", Bundle: digest})
			require.NoError(t, err)
			var run runapi.Run
			require.NoError(t, json.NewDecoder(ask(token, http.MethodPost, "/v1/runs", asked).Body).Decode(&run))
			log := bufio.NewReader(ask(token, http.MethodGet, "/v1/runs/"+run.ID+"/log", nil).Body)
			first, err := log.ReadString('\n') // while the run waits, and the answer goes on
			require.NoError(t, err)
			require.Equal(t, "event: run\n", first)

			require.Equal(t, http.StatusForbidden, ask(token, http.MethodGet, "/v1/tokens", nil).StatusCode)
			audit, err := io.ReadAll(ask(admin, http.MethodGet, "/v1/audit", nil).Body)
			require.NoError(t, err)
			require.Contains(t, string(audit), `"from":"127.0.0.2","action":"refused"`)
		})
	}
}

// behind starts a proxy before the server, and returns a client at another address of this machine.
func (s *site) behind(name, program, text string) (*http.Client, string) {
	t := s.t
	trusting, cert, key := certificates(t)
	dir := t.TempDir()
	both, err := os.ReadFile(cert)
	require.NoError(t, err)
	private, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.pem"), append(both, private...), 0o600))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	config := filepath.Join(dir, "config")
	for _, p := range proxies {
		if p.program != name {
			continue
		}
		for i := 0; i < len(p.replace); i += 2 {
			require.Contains(t, text, p.replace[i])
			text = strings.ReplaceAll(text, p.replace[i], p.replace[i+1])
		}
		require.Contains(t, text, "127.0.0.1:8470")
		text = strings.NewReplacer("ADDRESS", address, "/etc/husk/tls.crt", cert, "/etc/husk/tls.key", key, "/etc/husk/tls.pem", filepath.Join(dir, "tls.pem"),
			"127.0.0.1:8470", strings.TrimPrefix(s.url, "http://")).Replace(text)
		text = strings.ReplaceAll(fmt.Sprintf(p.around, text), "DIR", dir)
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		var args []string
		for _, arg := range p.command {
			args = append(args, strings.NewReplacer("CONFIG", config, "DIR", dir).Replace(arg))
		}
		s.start(exec.Command(program, args...))
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	trusting.Transport.(*http.Transport).DialContext = from.DialContext
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := trusting.Get("https://" + address + "/livez")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return trusting, "https://" + address
			}
		}
		require.True(t, time.Now().Before(end), "%s does not answer: %v", name, err)
	}
}
