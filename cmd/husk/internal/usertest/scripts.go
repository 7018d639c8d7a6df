package usertest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/fakeservice"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
	"github.com/husk-dev/husk/internal/testkit/miniotest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

var update = flag.Bool("update", false, "write the golden files of the scripts anew")

// Kind is the kind of user that a script is about. The packages that run them have one or two kinds.
type Kind int

// The kinds of users.
const (
	Operator Kind = iota
	// Author is an author of providers or policies.
	Author
	// Porter is somebody who ports providers of others.
	Porter
	// Publisher is somebody who publishes providers, or installs them.
	Publisher
	// Keeper is somebody who looks after stacks and their states.
	Keeper
	// Loader is somebody with modules of one kind or another.
	Loader
	// Team are people who keep their stacks on a server.
	Team
)

// kept are the scripts about stacks and their states.
var kept = []string{
	"config", "damage", "elsewhere", "encryption", "ephemeral", "foreign", "forged", "import", "journal", "keys", "locked", "noted", "plan", "planfirst", "projectlookup", "repair", "secrets", "secretsprovider",
	"select", "stack", "stackreference", "state", "tfstate", "untrustedbackend", "whole", "withheld",
}

// travelling are the scripts about modules that travel.
var travelling = []string{"claimed", "gensdk", "gitsource", "identities", "installfaults", "names", "publish", "registry", "signatures", "travels"}

// loaded are the scripts about modules. Those whose names begin with provider are about authors.
var loaded = []string{
	"badmodule", "cache", "capabilities", "detached", "extensions", "identity", "image", "modules", "new", "packages", "policies", "precompiled", "schema", "trust",
	"understood", "versions",
}

func kindOf(script string) Kind {
	switch {
	case slices.Contains(travelling, script):
		return Publisher
	case strings.HasPrefix(script, "port"):
		return Porter
	case strings.HasPrefix(script, "provider"):
		return Author
	case strings.HasPrefix(script, "team"):
		return Team
	case slices.Contains(loaded, script):
		return Loader
	case slices.Contains(kept, script):
		return Keeper
	}
	return Operator
}

// Scripts runs the scripts in cmd/husk/testdata/script about a kind of user: each is a session with the real command, real
// modules, and a directory of its own. Beside the files that it brings along, a script finds
//
//	$LAB          the source of the provider for tests, testdata/lab
//	$PROGRAM      the source of the program for tests, testdata/program
//	$PROVIDERS    the directory of the providers in examples
//	$POLICIES     the directory of the policy packs in examples
//	lab.wasm      the lab, built
//	$PORTED       the directory of the providers for Terraform in testdata/ported
//	$FILES        the URL of a server that has the script's files
//	$ADDRESS      the host and port of that server
//	$S3           a team's: the URL of a bucket of a server like S3
//	$MINIO        a team's: the URL of a bucket of MinIO, where that is installed
//	$POSTGRESQL   a team's: the URL of a database, where PostgreSQL is installed
//
// and may use the commands of this package beside testscript's own.
func Scripts(t *testing.T, kind Kind) {
	files := chosen(t, kind)
	user := newUser(t)
	if kind == Team {
		b := StartBackends(t)
		user.Environment = append(append(user.Environment, b.Environment...), "S3="+b.S3, "MINIO="+b.MinIO, "POSTGRESQL="+b.PostgreSQL)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		Setup:               user.setup,
		Cmds:                commands,
		Condition:           condition,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
	})
}

// inShort are the scripts that run if tests are to be short: one for most kinds of users.
var inShort = []string{"providershow", "stack", "up"}

// chosen returns the scripts about a kind of user. The test is skipped if none of them is to run.
func chosen(t *testing.T, kind Kind) (files []string) {
	all, err := filepath.Glob(filepath.Join(Directory(t), "testdata", "script", "*.txtar"))
	require.NoError(t, err)
	for _, file := range all {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if kindOf(name) == kind && inRace(name) && (!testing.Short() || slices.Contains(inShort, name)) {
			files = append(files, file)
		}
	}
	if files == nil {
		t.Skip("none of the scripts runs under the race detector, or with -short")
	}
	return files
}

// condition reports whether a condition of the scripts holds. [nightly] is for the scripts that wait for .ci/nightly, which
// package nightly lists. [postgresql] and [minio] are for scripts that need such a server, where it is installed.
func condition(name string) (bool, error) {
	switch name {
	case "nightly":
		return nightly.Enabled(), nil
	case "minio":
		return miniotest.Installed(), nil
	case "postgresql":
		return postgrestest.Installed(), nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

func (u *User) setup(e *testscript.Env) error {
	root := filepath.Dir(filepath.Dir(u.directory))
	examples := filepath.Join(root, "examples")
	e.Vars = append(append(e.Vars, u.Environment...),
		"LAB="+filepath.Join(u.directory, "testdata", "lab"), "PROGRAM="+filepath.Join(u.directory, "testdata", "program"), "PROVIDERS="+filepath.Join(examples, "providers"),
		"POLICIES="+filepath.Join(examples, "policies"), "PORTED="+filepath.Join(root, "testdata", "ported"))
	e.Values[registriesKey{}] = registries{}
	serveFiles(e)
	return os.WriteFile(filepath.Join(e.WorkDir, "lab.wasm"), u.Lab, 0o644)
}

// linkCode links the code of modules in a cache into another one. Code that cannot be linked is compiled again.
func linkCode(from, to string) error {
	from, to = filepath.Join(from, "compiled"), filepath.Join(to, "compiled")
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if f.Type().IsRegular() {
			_ = os.Link(filepath.Join(from, f.Name()), filepath.Join(to, f.Name()))
		}
	}
	return nil
}

var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	// expand FILE...: replaces $NAME in files by the environment's.
	"expand": func(ts *testscript.TestScript, _ bool, args []string) {
		for _, name := range args {
			text := os.Expand(ts.ReadFile(name), func(key string) string {
				if value := ts.Getenv(key); value != "" {
					return value
				}
				return "$" + key
			})
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
		}
	},
	// config DIR: the user's configuration is in a directory from now on. The cache of all tests counts for it.
	"config": func(ts *testscript.TestScript, _ bool, args []string) {
		dir := ts.MkAbs(args[0])
		shared, err := testmodule.Cache()
		ts.Check(err)
		ts.Check(testmodule.ShareCache(shared, dir))
		ts.Setenv("XDG_CONFIG_HOME", dir)
	},
	// machine NAME: husk's cache is the one of another machine from now on, which has fetched and built nothing. Modules that all
	// tests share are compiled there, because that takes long and other tests cover it.
	"machine": func(ts *testscript.TestScript, _ bool, args []string) {
		cache := filepath.Join(ts.Getenv("WORK"), args[0])
		shared, err := testmodule.Cache()
		ts.Check(err)
		ts.Check(linkCode(shared, cache))
		ts.Setenv("HUSK_CACHE_DIR", cache)
	},
	// replace OLD NEW FILE: replaces text or bytes in a file, which must have them.
	"replace": func(ts *testscript.TestScript, _ bool, args []string) {
		old, path := []byte(args[0]), ts.MkAbs(args[2])
		data, err := os.ReadFile(path)
		ts.Check(err)
		if !bytes.Contains(data, old) {
			ts.Fatalf("%s does not contain %q", args[2], old)
		}
		ts.Check(os.WriteFile(path, bytes.ReplaceAll(data, old, []byte(args[1])), 0o644))
	},
	// frame FROM TO: writes each line of a file as a message to a language server, with $NAME replaced.
	"frame": func(ts *testscript.TestScript, _ bool, args []string) {
		var session strings.Builder
		for line := range strings.Lines(ts.ReadFile(args[0])) {
			line = os.Expand(strings.TrimSpace(line), ts.Getenv)
			fmt.Fprintf(&session, "Content-Length: %d\r\n\r\n%s", len(line), line)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(session.String()), 0o644))
	},
	// append FROM TO: adds the text of a file to another.
	"append": func(ts *testscript.TestScript, _ bool, args []string) {
		text := ts.ReadFile(args[1]) + ts.ReadFile(args[0])
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
	},
	// normalize FROM TO: copies stdout, stderr, or a file without what differs from
	// run to run.
	"normalize": func(ts *testscript.TestScript, _ bool, args []string) {
		text := ts.ReadFile(args[0])
		for _, n := range []struct{ what, by string }{
			{`(?m)^((?:  )?(?:building|compiling|waiting for another process)|\{"type":"preparing").*\n`, ``},
			{`(?m)^  .*… \d+(\.\d+)?m?s\n`, ``}, // what takes long on a busy machine
			{`"(durationMs|microseconds|longestMicroseconds|fuel|bytesIn|bytesOut)":\d+`, `"$1":0`},
			{` \(\d+(\.\d+)?s\)`, ``},
			{`\d+(\.\d+)?s\b`, `TIME`},
			{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `UUID`},
			{`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*`, `DATE`},
			{regexp.QuoteMeta(ts.Getenv("WORK")), `$$WORK`},
		} {
			text = regexp.MustCompile(n.what).ReplaceAllString(text, n.by)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
	},
	// metaschema FILE: the file, or stdout, is a package schema that Pulumi's metaschema allows.
	"metaschema": func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(metaschema.Validate([]byte(ts.ReadFile(args[0]))))
	},
	"pack":        pack,
	"manifest":    manifest,
	"registry":    startRegistry,
	"fault":       fault,
	"lock-module": lockModule,
	"plant":       plant,
	"printable":   printable,
	"unforged":    unforged,
	"absent":      absent,
	"hidden":      hidden,
	// truncate FILE SIZE: cuts a file off after so many bytes.
	"truncate": func(ts *testscript.TestScript, _ bool, args []string) {
		size, err := strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
		ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
	},
	"within": within,
	// age DAYS DIR: makes the files of a directory so old.
	"age": func(ts *testscript.TestScript, _ bool, args []string) {
		days, err := strconv.Atoi(args[0])
		ts.Check(err)
		then := time.Now().AddDate(0, 0, -days)
		files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[1]), "*"))
		ts.Check(err)
		for _, file := range files {
			ts.Check(os.Chtimes(file, then, then))
		}
	},
	// service NAME KIND [tls]: starts a service of internal/testkit/fakeservice, over TLS if that is asked for. $NAME is its
	// host and port.
	"service": func(ts *testscript.TestScript, _ bool, args []string) {
		server := httptest.NewUnstartedServer(fakeservice.Services[args[1]]())
		if len(args) > 2 {
			server.StartTLS()
		} else {
			server.Start()
		}
		ts.Defer(server.Close)
		ts.Setenv(args[0], strings.Replace(server.Listener.Addr().String(), "127.0.0.1", "localhost", 1))
	},
	// request METHOD URL [BODY]: sends a request to a service, which must succeed.
	"request": func(ts *testscript.TestScript, neg bool, args []string) {
		body := strings.Join(args[2:], "")
		request, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
		ts.Check(err)
		request.SetBasicAuth(fakeservice.User, fakeservice.Password)
		response, err := http.DefaultClient.Do(request)
		ts.Check(err)
		ts.Check(response.Body.Close())
		if succeeded := response.StatusCode < 300; succeeded == neg {
			ts.Fatalf("%v: %s", args, response.Status)
		}
	},
	// status CODE COMMAND...: runs a command that must exit with the code.
	"status": func(ts *testscript.TestScript, _ bool, args []string) {
		code := 0
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				ts.Fatalf("%v: %v", args[1:], err)
			}
			code = exit.ExitCode()
		}
		if strconv.Itoa(code) != args[0] {
			ts.Fatalf("%v exited with %d, not %s", args[1:], code, args[0])
		}
	},
	// await FILE: waits until the file exists.
	"await": func(ts *testscript.TestScript, _ bool, args []string) {
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
				return
			}
			if time.Now().After(deadline) {
				ts.Fatalf("%s did not appear", args[0])
			}
		}
	},
}
