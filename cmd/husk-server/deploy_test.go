package main_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/backend/remote"
)

// requireFlags requires that the program of a service has each of the flags that it gets.
func (s *site) requireFlags(program string, args []string) {
	s.t.Helper()
	help := s.done("", program, "--help")
	flags := 0
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") {
			name, _, _ := strings.Cut(arg, "=")
			require.Regexp(s.t, `(?m)^ +(-\w, )?`+name+`\b`, help)
			flags++
		}
	}
	require.Positive(s.t, flags)
}

// stopTime is the least time that a worker gets to end steps. It is longer than its server waits for one that is silent.
const stopTime = max(10*time.Minute, 2*server.DefaultLease)

// The units of systemd are whole, start programs with flags that these have, and give them few rights.
func TestUnits(t *testing.T) {
	s := newSite(t)
	for unit, program := range map[string]string{"husk-server.service": "husk-server", "husk-worker.service": "husk"} {
		text, err := os.ReadFile(filepath.Join("deploy", "systemd", unit))
		require.NoError(t, err)
		setting := func(name string) string {
			found := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindSubmatch(text)
			require.NotNil(t, found, "%s has no %s", unit, name)
			return string(found[1])
		}
		words := strings.Fields(setting("ExecStart"))
		require.Equal(t, "/usr/bin/"+program, words[0])
		if program == "husk" {
			s.requireFlags(words[1], words[2:])
			seconds, err := strconv.Atoi(setting("TimeoutStopSec"))
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Duration(seconds)*time.Second, stopTime)
			require.Equal(t, "mixed", setting("KillMode"), "systemd would interrupt the runs as well")
		} else {
			s.requireFlags("server", words[1:])
		}
		users, err := os.ReadFile(filepath.Join("deploy", "systemd", "husk.conf"))
		require.NoError(t, err)
		require.Contains(t, string(users), "\nu "+setting("User")+" - ")
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			continue
		}
		here := filepath.Join(t.TempDir(), unit)
		require.NoError(t, os.WriteFile(here, bytes.ReplaceAll(text, []byte("/usr/bin/"), []byte(bin+"/")), 0o600))
		for _, check := range [][]string{{"verify", "--man=no"}, {"security", "--offline=true", "--no-pager", "--threshold=20"}} { // of 100
			said, err := exec.Command("systemd-analyze", append(check, here)...).CombinedOutput()
			require.NoError(t, err, "%s", said)
			if check[0] == "verify" {
				require.Empty(t, string(said))
			}
		}
	}
}

// manifest has what is checked of an object of Kubernetes.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Ports    []struct{ Port int }
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args  []string
					Env   []struct{ Name string }
					Ports []struct {
						ContainerPort int `yaml:"containerPort"`
					}
					Startup      probe                   `yaml:"startupProbe"`
					Liveness     probe                   `yaml:"livenessProbe"`
					Readiness    probe                   `yaml:"readinessProbe"`
					VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port, Scheme string } `yaml:"httpGet"`
}

// The base of Kustomize starts programs with flags, ports, paths, and variables that these have.
func TestKustomize(t *testing.T) {
	s := newSite(t)
	read := func(name string) (objects map[string]manifest) {
		text, err := os.ReadFile(filepath.Join("deploy", "kustomize", name))
		require.NoError(t, err)
		objects = make(map[string]manifest)
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var one manifest
			err := decoder.Decode(&one)
			if errors.Is(err, io.EOF) {
				return objects
			}
			require.NoError(t, err)
			objects[one.Kind] = one
		}
	}
	for name, variables := range map[string][]string{
		"server": {"HUSK_SERVER_DATABASE", server.KeyVariable}, "worker": {"HUSK_CACHE_DIR", "SSL_CERT_DIR", remote.TokenVariable},
	} {
		objects := read(name + ".yaml")
		pod := objects["Deployment"].Spec.Template
		require.NotEmpty(t, pod.Metadata.Labels)
		require.Equal(t, pod.Metadata.Labels, objects["PodDisruptionBudget"].Spec.Selector.MatchLabels)
		require.Equal(t, pod.Metadata.Labels, objects["Deployment"].Spec.Selector.MatchLabels)
		container := pod.Spec.Containers[0]
		var have, mounted, known []string
		for _, one := range pod.Spec.Volumes {
			have = append(have, one.Name)
		}
		for _, one := range container.VolumeMounts {
			mounted = append(mounted, one.Name)
		}
		require.Equal(t, have, mounted)
		for _, one := range container.Env {
			known = append(known, one.Name)
		}
		require.Equal(t, variables, known)
		if name == "worker" {
			require.Equal(t, "worker", container.Args[0])
			s.requireFlags("worker", container.Args[1:])
			require.Contains(t, container.Args, "--server=https://husk-server:"+strconv.Itoa(read("server.yaml")["Service"].Spec.Ports[0].Port))
			require.GreaterOrEqual(t, time.Duration(pod.Spec.Grace)*time.Second, stopTime)
			continue
		}
		s.requireFlags("server", container.Args)
		port := func(i int) string { return ":" + strconv.Itoa(container.Ports[i].ContainerPort) }
		require.Contains(t, container.Args, "--listen="+port(0))
		require.Contains(t, container.Args, "--metrics="+port(1))
		require.Equal(t, container.Ports[0].ContainerPort, objects["Service"].Spec.Ports[0].Port)
		require.Equal(t, port(1), ":"+pod.Metadata.Annotations["prometheus.io/port"])

		// The same flags, here.
		trusting, cert, key := certificates(t)
		here := map[string]string{"--dir": filepath.Join(s.dir, "server"), "--listen": "127.0.0.1:0", "--metrics": "127.0.0.1:0", "--tls-cert": cert, "--tls-key": key}
		args := slices.Clone(container.Args)
		for i, arg := range args {
			flag, _, _ := strings.Cut(arg, "=")
			require.Contains(t, here, flag)
			args[i] = flag + "=" + here[flag]
		}
		out := s.start(s.command("", "server", args))
		url := out.wait(t, regexp.MustCompile(`Serving at (https://\S+),`))[1]
		metrics := out.wait(t, regexp.MustCompile(`Metrics at (\S+)`))[1] + pod.Metadata.Annotations["prometheus.io/path"]
		for _, at := range []string{url + container.Startup.HTTPGet.Path, url + container.Liveness.HTTPGet.Path, url + container.Readiness.HTTPGet.Path, metrics} {
			resp, err := trusting.Get(at)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode, at)
		}
		for _, p := range []probe{container.Startup, container.Liveness, container.Readiness} {
			require.Equal(t, "HTTPS", p.HTTPGet.Scheme)
			require.Equal(t, "https", p.HTTPGet.Port)
			require.NotEmpty(t, p.HTTPGet.Path)
		}
	}
	if _, err := exec.LookPath("kubectl"); err == nil {
		said, err := exec.Command("kubectl", "kustomize", filepath.Join("deploy", "kustomize")).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
}

// Who operates a server takes all of it to another place, where users log in as before.
func TestExportAndImport(t *testing.T) {
	s := newSite(t)
	token := s.token("acme", "ann", "admin")
	file, other := filepath.Join(s.dir, "husk.export"), filepath.Join(s.dir, "other")
	require.Contains(t, s.done("", append([]string{"server", "export", file}, s.place...)...), "but for its key")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	out, err := s.husk("", append([]string{"server", "export", file}, s.place...)...)
	require.Error(t, err, "what is there is not replaced")
	require.Contains(t, out, "file exists")

	move := []string{"server", "import", file, "--dir", other}
	out, err = s.husk("", move...)
	require.Error(t, err)
	require.Contains(t, out, "is encrypted with the key of another server: start this one with the same server.key")
	key, err := os.ReadFile(filepath.Join(s.dir, "server", "server.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(other, "server.key"), key, 0o600))

	// A server that has its database elsewhere leaves only its key here.
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "server.key"), key, 0o600))
	out, err = s.husk("", "server", "--dir", elsewhere, "token", "acme", "bob", "read")
	require.Error(t, err)
	require.Contains(t, out, "has its database elsewhere: name that with --database")
	s.done("", move...)
	out, err = s.husk("", move...)
	require.Error(t, err)
	require.Contains(t, out, "the database is not empty")
	s.place = []string{"--dir", other}
	s.serve("127.0.0.1:0")
	s.done("ann", "login", strings.Replace(s.url, "://", "://:"+token+"@", 1))
	require.Contains(t, s.done("ann", "remote", "token", "ls"), "ann")
}

// Each alarm is of metrics that servers have, and the page for who is on call has what to do.
func TestAlarms(t *testing.T) {
	read := func(names ...string) string {
		text, err := os.ReadFile(filepath.Join(names...))
		require.NoError(t, err)
		return string(text)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read("deploy", "prometheus", "husk.rules.yaml")), &rules))
	metrics := read("..", "..", "docs", "runners.md") // TestMetricsAreDescribed compares it with what servers send
	var alarms, described []string
	for _, rule := range rules.Groups[0].Rules {
		alarms = append(alarms, rule.Alert)
		names := regexp.MustCompile(`\b(husk|go|http|process|db)_[a-z_]+\b`).FindAllString(regexp.MustCompile(`\{.*?\}|by \(.*?\)`).ReplaceAllString(rule.Expr, ""), -1)
		require.NotEmpty(t, names, rule.Expr)
		for _, name := range names {
			if strings.HasPrefix(name, "http_") {
				name = strings.TrimSuffix(name, "_count") // of a histogram
			}
			require.True(t, strings.Contains(metrics, "| `"+name+"` |"), "%s: there is no metric %s", rule.Alert, name)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(read("..", "..", "docs", "operations.md"), -1) {
		described = append(described, heading[1])
	}
	require.Equal(t, alarms, described)
}
