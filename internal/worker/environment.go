package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fate says whether and how an environment variable gets into the process of a run.
type fate int

const (
	// never: a run does not get it from the environment of the worker. All that the table does not have is never.
	never fate = iota
	// passed: a run gets the worker's value, in its standard input.
	passed
	// early: a run gets the worker's value, in its environment, because the process reads it as it begins. Anybody may know it.
	early
	// given: the worker says what the run gets.
	given
)

// kind is the kind of thing that a variable's value names.
type kind int

const (
	text kind = iota
	// path is a file or a directory that the run reads, relative to the directory of the worker.
	path
	// paths are several of them.
	paths
)

// variables is the table of all environment variables that husk and its libraries read on any system: whether a run at a worker
// gets each of them, and why. TestVariables looks in the sources for others. A name that ends in * stands for all that begin so.
var variables = []struct {
	fate  fate
	kind  kind
	why   string
	names string
}{
	{early, text, "how texts and times are written, and where programs are", `PATH LANG LC_ALL TZ PATHEXT SYSTEMROOT SystemRoot COMSPEC ComSpec`},
	{early, path, "how times are written", `ZONEINFO`},

	{passed, path, "the operator's policy", `HUSK_TRUST_POLICY HUSK_VENDOR_DIR HUSK_PRECOMPILED_DIR`},
	{passed, text, "the operator's policy", `HUSK_OFFLINE HUSK_REGISTRIES HUSK_REGISTRY_MIRRORS HUSK_REGISTRY_REALMS`},
	{passed, text, "the way to the network", `HTTPS_PROXY https_proxy HTTP_PROXY http_proxy NO_PROXY no_proxy RES_OPTIONS LOCALDOMAIN HUSK_PLAIN_HTTP`},
	{passed, path, "whose certificates are right", `SSL_CERT_FILE`},
	{passed, paths, "whose certificates are right", `SSL_CERT_DIR`},
	{passed, text, "what spans say of their service", `OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_SDK_DISABLED`},

	{given, text, "how the worker and the run begin", `HUSK_RUN`},
	{given, text, "the stacks of the run: their URL and its token are in its standard input", `HUSK_BACKEND_URL HUSK_ACCESS_TOKEN HUSK_SERVER_KNOWN HUSK_UNRECORDED`},
	{given, text, "directories of the run, and of its team", `HOME home USERPROFILE PWD XDG_CONFIG_HOME XDG_CACHE_HOME AppData APPDATA LocalAppData LOCALAPPDATA
		TMPDIR TEMP TMP HUSK_CACHE_DIR HUSK_COPIES_DIR`},
	{given, text, "the span of the run", `TRACEPARENT`},

	{never, text, "the worker sends spans itself, with the credentials of the collector", `OTEL_*`},
	{never, text, "a key of secrets", `HUSK_CONFIG_PASSPHRASE PULUMI_CONFIG_PASSPHRASE HUSK_NEW_CONFIG_PASSPHRASE HUSK_KEY_PASSPHRASE
		HUSK_SERVER_KEY`},
	{never, path, "a key of secrets", `HUSK_CONFIG_PASSPHRASE_FILE PULUMI_CONFIG_PASSPHRASE_FILE HUSK_NEW_CONFIG_PASSPHRASE_FILE`},
	{never, text, "a program of the operator's, which gives keys", commandVariable},
	{never, text, "credentials of a key service", `VAULT_* HUSK_KEY_ACCOUNTS`},
	{never, path, "credentials of a backend", `PGPASSFILE PGSERVICEFILE PGSSLCERT PGSSLKEY PGSSLROOTCERT AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
		AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE MINIO_SHARED_CREDENTIALS_FILE`},
	{never, text, "credentials of a backend", `PG* AWS_* MINIO_* HUSK_SERVER_DATABASE`},
	{never, path, "credentials of registries", `DOCKER_CONFIG REGISTRY_AUTH_FILE XDG_RUNTIME_DIR`},
	{never, text, "which stack: the run says it", `HUSK_STACK PULUMI_STACK`},
	{never, text, "where Pulumi has stacks, and how it runs", `PULUMI_*`},
	{never, text, "where the packages of a program are: the project says it", `UV_PROJECT_ENVIRONMENT`},
	{never, text, "how a terminal shows something", `TERM CI CI_* NO_COLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS STY TMUX XTERM_VERSION EDITOR VISUAL`},
	{never, text, ofSigning, `GITHUB_* GITLAB_CI`},
	{never, text, "who is logged in", `USER LOGNAME USERNAME`},
	{never, text, "how programs are built, and Go's runtime is debugged", `GO* CARGO_HOME CC GCCGO CGO_ENABLED LD_LIBRARY_PATH GIT_* SSH_ASKPASS BASH_COMP_DEBUG_FILE FSNOTIFY_DEBUG FSNOTIFY_BUFFER
		DEBUG_HTTP2_GOROUTINES NODE_PATH VIRTUAL_ENV WAZEROCLI NoDefaultCurrentDirectoryInExePath HOSTALIASES`},
	{never, text, "what other systems than those of husk read", `REQUEST_METHOD ASR_CONFIG`},
	{never, text, "how a shell completes commands", `COMPLETION_DESCRIPTIONS ACTIVE_HELP COBRA_* HUSK_COMPLETION_DESCRIPTIONS HUSK_ACTIVE_HELP`},
	{never, text, "where SQLite keeps what is temporary", `SQLITE_TMPDIR`},
	{never, text, "the queue of husk-server and its driver, for their own tests and debugging", `DATABASE_URL TEST_DATABASE_URL RIVER_DEBUG PQGO_DEBUG`},
	{never, text, "a provider that is a process", `HUSK_NATIVE_PROVIDER`},
	{never, text, "whose place a husk-full has taken, which no run does", `HUSK_CONTINUED`},
	{never, text, "tests", `HUSK_TEST_* HUSK_SCREENSHOTS`},
}

// commandVariable names a program that gives keys, as in package keyservice.
const commandVariable = "HUSK_KEY_COMMAND"

// find returns the fate of a variable, and the kind of its value. A whole name goes before the beginning of one.
func find(name string) (f fate, k kind, known bool) {
	for _, whole := range []bool{true, false} {
		for _, v := range variables {
			if slices.ContainsFunc(strings.Fields(v.names), func(one string) bool {
				begin, isBegin := strings.CutSuffix(one, "*")
				return one == name && whole || isBegin && !whole && strings.HasPrefix(name, begin)
			}) {
				return v.fate, v.kind, true
			}
		}
	}
	return never, text, false
}

// setting is a variable that a run gets.
type setting struct {
	name, value string
	// early has it in the environment of the process, where others can read it.
	early bool
	// reads are the paths that its value names.
	reads []string
}

// inherited returns the settings that a run gets from the worker's environment.
func inherited() (all []setting, err error) {
	for _, one := range os.Environ() {
		name, value, _ := strings.Cut(one, "=")
		f, k, _ := find(name)
		if name == "" || f != passed && f != early {
			continue
		}
		s, err := settingOf(name, value, k)
		if err != nil {
			return nil, err
		}
		s.early = f == early
		all = append(all, s)
	}
	return all, nil
}

// settingOf returns a variable whose paths do not depend on the working directory, because a run's is its project.
func settingOf(name, value string, k kind) (setting, error) {
	s := setting{name: name, value: value}
	if k == text || value == "" {
		return s, nil
	}
	list := []string{value}
	if k == paths {
		list = filepath.SplitList(value)
	}
	for _, one := range list {
		if one == "" {
			continue
		}
		absolute, err := filepath.Abs(one)
		if err != nil {
			return s, fmt.Errorf("the environment variable %s: %w", name, err)
		}
		s.reads = append(s.reads, absolute)
	}
	s.value = strings.Join(s.reads, string(os.PathListSeparator))
	return s, nil
}

// named returns variables that the operator gives to all runs, as NAME=VALUE. They are secret.
func named(list []string) (all []setting, err error) {
	for _, one := range list {
		name, value, _ := strings.Cut(one, "=")
		_, k, _ := find(name)
		s, err := settingOf(name, value, k)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// ParseVariables returns variables of this process by their names, as NAME=VALUE, for [Options.Environment].
func ParseVariables(names []string) (all []string, err error) {
	for _, name := range names {
		if f, _, _ := find(name); f == given {
			return nil, fmt.Errorf("the worker itself says what runs get as %s", name)
		}
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s is not set", name)
		}
		all = append(all, name+"="+value)
	}
	return all, nil
}
