package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/gobuild"
	"github.com/husk-dev/husk/internal/metaschema"
)

var update = flag.Bool("update", false, "write the golden files of the scripts anew")

func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"husk": main, "killafter": killAfter})
}

// cleaning runs the tests, and removes what they share.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	code := c.M.Run()
	if sharedDir != "" && os.RemoveAll(sharedDir) != nil && code == 0 {
		code = 1
	}
	return code
}

// sharedDir is the directory of what tests share, empty as long as nobody needs it.
var sharedDir string

// TestScripts runs testdata/script: each is a session of a user with the real
// command, real modules, and a directory of its own. Beside the files that it
// brings along, a script finds
//
//	$LAB          the source of the provider for tests, testdata/lab
//	$PROVIDERS    the directory of the providers in examples
//	$POLICIES     the directory of the policy packs in examples
//	lab.wasm      the lab, built
//	$FILES        the URL of a server that has the script's files
//	$ADDRESS      the host and port of that server
//
// and may use the commands of [commands] beside testscript's own.
func TestScripts(t *testing.T) {
	shared := sharedByTests(t)
	params := testscript.Params{
		Setup:               shared.setup,
		Cmds:                commands,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
	}
	for _, name := range raceScripts {
		params.Files = append(params.Files, filepath.Join("testdata", "script", name+".txtar"))
	}
	if params.Files == nil {
		params.Dir = "testdata/script"
	}
	testscript.Run(t, params)
}

// sharedParts are what all scripts use, so that nothing is built or compiled twice.
type sharedParts struct {
	cache string
	// home is the user's directory, with a key for secrets in it: deriving one from
	// a passphrase takes long by design.
	home  string
	lab   string
	goEnv []string
	build func() ([]byte, error)
}

func sharedByTests(t *testing.T) *sharedParts {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var shared = sync.OnceValues(newSharedParts)

func newSharedParts() (*sharedParts, error) {
	lab, err := filepath.Abs("testdata/lab")
	if err != nil {
		return nil, err
	}
	if sharedDir, err = os.MkdirTemp("", "husk-test-"); err != nil {
		return nil, err
	}
	s := &sharedParts{cache: filepath.Join(sharedDir, "cache"), home: filepath.Join(sharedDir, "home"), lab: lab}
	if err := errors.Join(os.Mkdir(s.cache, 0o700), os.Mkdir(s.home, 0o700)); err != nil {
		return nil, err
	}
	keys := secrets.SystemKeys(func(string) {})
	keys.LookupEnv = func(string) (string, bool) { return "", false }
	keys.ConfigDir = func() (string, error) { return configDir(s.home), nil }
	if _, err := keys.New(context.Background()); err != nil {
		return nil, err
	}
	// Scripts have no home directory, which is where the go command keeps its caches.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return nil, fmt.Errorf("go env %s: %w", name, err)
		}
		s.goEnv = append(s.goEnv, name+"="+strings.TrimSpace(string(value)))
	}
	s.build = sync.OnceValues(func() ([]byte, error) {
		builder := &gobuild.Builder{Dir: filepath.Join(s.cache, "built")}
		return builder.Build(context.Background(), lab)
	})
	return s, nil
}

// configDir is the user's directory for configuration (see os.UserConfigDir), in the
// environment of setup.
func configDir(home string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	return home
}

func (s *sharedParts) setup(e *testscript.Env) error {
	providers, err := filepath.Abs("../../examples/providers")
	if err != nil {
		return err
	}
	e.Vars = append(e.Vars, s.goEnv...)
	e.Vars = append(e.Vars,
		"HOME="+s.home, "XDG_CONFIG_HOME="+s.home, "AppData="+s.home,
		"HUSK_CACHE_DIR="+s.cache, "LAB="+s.lab, "PROVIDERS="+providers,
		"POLICIES="+filepath.Join(filepath.Dir(providers), "policies"), "NO_COLOR=1")
	serveFiles(e)
	module, err := s.build()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.WorkDir, "lab.wasm"), module, 0o644)
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
			{`(?m)^(  building|  compiling|\{"type":"preparing").*\n`, ``},
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
	"pack":      pack,
	"manifest":  manifest,
	"printable": printable,
	"unforged":  unforged,
	"hidden":    hidden,
	// truncate FILE SIZE: cuts a file off after so many bytes.
	"truncate": func(ts *testscript.TestScript, _ bool, args []string) {
		size, err := strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
		ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
	},
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
