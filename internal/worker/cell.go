package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/worker/confine"
)

// Confinement says whether the processes of runs are confined. Those of a worker that trusts all projects are not.
type Confinement int

const (
	// ConfineIfPossible confines them if this machine can.
	ConfineIfPossible Confinement = iota
	// RequireConfinement takes no runs on a machine that cannot.
	RequireConfinement
	// NoConfinement confines none.
	NoConfinement
)

// system are the files that any process reads to look up names, check certificates, and tell the time, and the files in which the
// host and Go's runtime find facts about their process and its memory limit.
var system = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/ld.so.cache",
	// The files among these may be links to anywhere.
	"/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-bundle.crt", "/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/certs", "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
	"/etc/localtime", "/usr/share/zoneinfo", "/dev/urandom", "/dev/random", "/dev/zero",
	"/proc/self/maps", "/proc/self/mem", "/proc/self/pagemap", "/proc/self/cgroup", "/proc/self/mountinfo",
	"/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
}

// checkConfinement decides whether runs are confined, and tells the operator.
func (w *worker) checkConfinement() error {
	if w.Trusted || w.Confinement == NoConfinement {
		return nil
	}
	var missing *confine.MissingError
	switch err := confine.Check(); {
	case err == nil:
	case !errors.As(err, &missing):
		return err
	case w.Confinement == RequireConfinement:
		return err
	default:
		w.Say("warning: %v: only the sandbox is between this machine and the projects that it runs", err)
		return nil
	}
	for _, variable := range w.Environment {
		if name, _, _ := strings.Cut(variable, "="); name == commandVariable {
			return fmt.Errorf("--env %s: the process of a run is confined, and can run no command: add --no-confinement, or use another key service", name)
		}
	}
	w.confined = true
	return nil
}

// cell returns the files that the process of a run keeps, nil if it is not confined.
func (p *process) cell(settings []setting) *confine.Rules {
	if !p.confined {
		return nil
	}
	rules := cellOf(nil, append([]string{p.dir, p.cache}, p.kept...))
	for _, s := range settings {
		rules.Read = append(rules.Read, s.reads...)
	}
	return rules
}

// policyVariable names the operator's trust policy, as in package plugins.
const policyVariable = "HUSK_TRUST_POLICY"

// addPolicy adds the files that the operator's trust policy names. Its mistakes are for the operator, and not for the owner of
// the run.
func (s *setting) addPolicy() error {
	t, err := program.LoadTrust(s.value)
	if err != nil {
		slog.Error("the trust policy cannot be used", "error", err)
		return errors.New("the trust policy of the worker cannot be used: its operator finds the reason in its log")
	}
	s.reads = append(s.reads, t.Roots...)
	for _, rule := range t.Rules {
		for _, signer := range rule.Signers {
			key := signer.Key
			if key == "" || strings.HasPrefix(key, "ed25519:") || strings.HasPrefix(key, "-----BEGIN") {
				continue // it is the key itself
			}
			if !filepath.IsAbs(key) {
				key = filepath.Join(filepath.Dir(s.value), key)
			}
			s.reads = append(s.reads, key)
		}
	}
	return nil
}
