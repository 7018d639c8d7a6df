package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/worker/confine"
)

// ofSigning are variables that continuous integration sets for signed builds, tokens among them.
const ofSigning = "what continuous integration says of a build that is signed"

// OwnCell returns how a process of husk confines itself for a project that is not trusted: to files that it reads and writes, the
// files that each process needs, the files that variables of its environment name, and to the variables that husk reads.
func OwnCell(read, write []string) (*confine.Rules, []string, error) {
	rules := cellOf(read, write)
	var environment []string
	for _, one := range os.Environ() {
		name, value, _ := strings.Cut(one, "=")
		_, k, known := find(name)
		if !known || isOfSigning(name) {
			continue
		}
		environment = append(environment, one)
		s, err := settingOf(name, value, k)
		if err != nil {
			return nil, nil, err
		}
		if name == policyVariable && value != "" {
			if err := s.addPolicy(); err != nil {
				return nil, nil, err
			}
		}
		rules.Read = append(rules.Read, s.reads...)
	}
	return rules, environment, nil
}

// isOfSigning reports whether a variable is for signing a build, and not that which says where husk runs.
func isOfSigning(name string) bool {
	for _, v := range variables {
		if v.why == ofSigning {
			return name != "GITHUB_ACTIONS" && slices.ContainsFunc(strings.Fields(v.names), func(one string) bool {
				begin, isBegin := strings.CutSuffix(one, "*")
				return isBegin && strings.HasPrefix(name, begin)
			})
		}
	}
	return false
}

// cellOf returns the files that a confined process keeps, beside the ones that each process needs.
func cellOf(read, write []string) *confine.Rules {
	rules := &confine.Rules{Read: slices.Concat(system, read), Write: append(slices.Clone(write), os.DevNull)}
	// It is often a link to a file that is replaced by another one while a run goes on.
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && filepath.Dir(real) != "/etc" {
		rules.Read = append(rules.Read, filepath.Dir(real))
	}
	return rules
}
