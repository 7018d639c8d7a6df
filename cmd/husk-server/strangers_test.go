package main_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/worker/confine"
)

// stranger is a project that looks for something.
type stranger struct {
	name  string
	files [][2]string
	// operation is preview if it is empty, and stack that of a team that is not the stranger's own.
	operation string
	options   []string
	directory string
	// refused has what the server says of a run that it does not even take.
	refused string
	// stack is one of its own, for what makes something; empty for one that others use as well.
	stack string
	// says has what its log says, so that it has come that far.
	says string
	// always is set for one that is never left out, and large for one that compiles a large module.
	always, large bool
}

// place is something that a stranger would like to read, write, or reach.
type place struct{ what, path string }

// strangers returns projects of all kinds that look in places for what is not theirs. inside is an address in the worker's network.
func strangers(places []place, inside string) (all []stranger) {
	lock := func(source, from string) [2]string {
		return [2]string{"husk.lock", "version: 1\nproviders:\n  - name: x\n    source: " + source + from + "\n    version: 1.0.0\n    digest: sha256:" +
			strings.Repeat("0", 64) + "\n    size: 8\n    manifest: sha256:" + strings.Repeat("1", 64) + "\n"}
	}
	add := func(name, text string, more ...[2]string) *stranger {
		all = append(all, stranger{name: name, files: append([][2]string{{"Husk.yaml", "name: b\nruntime: yaml\n" + text}}, more...)})
		return &all[len(all)-1]
	}
	up := func(s *stranger) { s.operation = "up" }
	for i, p := range places {
		path, above := strconv.Quote(p.path), strconv.Quote("../../../../../../../../../../.."+p.path)
		// What leads there, in turn: a place by itself is refused or not whatever names it, and each name is tried with several places.
		for j, one := range []func(){
			func() { add("main: "+p.what, "main: "+path+"\n") },
			func() { add("main above: "+p.what, "main: "+above+"\n") },
			func() {
				add("stackConfigDir: "+p.what, "stackConfigDir: "+strconv.Quote(filepath.Dir(p.path))+"\nresources: {}\n")
			},
			func() {
				up(add("readFile: "+p.what, "variables: {x: {fn::readFile: "+path+"}}\noutputs: {x: \"${x}\"}\n"))
			},
			func() {
				up(add("readFile above: "+p.what, "variables: {x: {fn::readFile: "+above+"}}\noutputs: {x: \"${x}\"}\n"))
			},
			func() { up(add("fileAsset: "+p.what, "outputs: {x: {fn::fileAsset: "+path+"}}\n")) },
			func() {
				up(add("fileArchive: "+p.what, "outputs: {x: {fn::fileArchive: "+strconv.Quote(filepath.Dir(p.path))+"}}\n"))
			},
			func() {
				up(add("remoteAsset: "+p.what, "outputs: {x: {fn::remoteAsset: "+strconv.Quote("file://"+p.path)+"}}\n"))
			},
			func() {
				add("path of a module: "+p.what, "plugins: {providers: [{name: x, path: "+path+"}]}\nresources: {a: {type: x:Y}}\n")
			},
			func() { add("path of a policy: "+p.what, "policies: ["+path+"]\nresources: {}\n") },
			func() {
				add("vendor: "+p.what, "plugins: {vendor: "+path+", providers: [{name: x, source: oci://registry.example/x, version: \"1\"}]}\nresources: {a: {type: x:Y}}\n")
			},
			func() {
				add("roots of trust: "+p.what, "plugins: {trust: {roots: ["+path+"], rules: [{source: \"**\", unsigned: true}]}}\nresources: {}\n")
			},
			func() {
				add("key of trust: "+p.what, "plugins: {trust: {rules: [{source: \"**\", signers: [{key: "+path+"}]}]}}\nresources: {}\n")
			},
			func() {
				add("package in a directory: "+p.what, "packages: {x: "+path+"}\nresources: {a: {type: x:Y}}\n")
			},
			func() {
				add("grant of a directory: "+p.what, "plugins: {providers: [{name: lab, path: lab.wasm, grants: {fs: ["+path+"]}}]}\nresources: {a: {type: lab:Thing, properties: {key: k, name: x}}}\n", [2]string{"lab.wasm", "\x00asm"})
			},
			func() {
				add("backend: "+p.what, "backend: {url: "+strconv.Quote("file://"+p.path)+"}\nresources: {}\n")
			},
			func() {
				add("lock: "+p.what, "plugins: {providers: [{name: x, source: "+strconv.Quote("oci-layout:"+p.path)+", version: \"1\"}]}\nresources: {a: {type: x:Y}}\n", lock(strconv.Quote("oci-layout:"+p.path), ""))
			},
			func() {
				add("link as configuration: "+p.what, "resources: {}\n", [2]string{"Husk.STACK.yaml", "-> " + p.path})
			},
			func() {
				add("link as program: "+p.what, "main: Main.yaml\n", [2]string{"Main.yaml", "-> ../../../../../../.." + p.path})
			},
			func() {
				add("native: "+p.what, "plugins: {providers: [{name: x, path: "+path+", native: true}]}\nresources: {a: {type: x:Y}}\n")
			},
		} {
			if (i+j)%len(places) == 0 || j < 3 {
				one()
			}
		}
	}
	for name, text := range map[string]string{
		"another team's stack":  "resources: {x: {type: pulumi:pulumi:StackReference, properties: {name: acme/a/dev}}}\noutputs: {x: \"${x.outputs}\"}\n",
		"another stack":         "resources: {x: {type: pulumi:pulumi:StackReference, properties: {name: a/dev}}}\noutputs: {x: \"${x.outputs}\"}\n",
		"another team's output": "resources: {x: {type: pulumi:pulumi:StackReference, properties: {name: acme/a/prod}}}\noutputs: {x: \"${x.outputs}\"}\n",
		"another output":        "resources: {x: {type: pulumi:pulumi:StackReference, properties: {name: a/prod}}}\noutputs: {x: \"${x.outputs}\"}\n",
		"a registry inside":     "plugins: {providers: [{name: x, source: oci://" + inside + "/x, version: \"1\"}]}\nresources: {a: {type: x:Y}}\n",
		"registries inside":     "plugins: {registries: [oci://" + inside + "/x], providers: [{name: x, source: x/x, version: \"1\"}]}\nresources: {a: {type: x:Y}}\n",
		"a repository":          "plugins: {providers: [{name: x, source: git+http://" + inside + "/x.git, version: \"1\"}]}\nresources: {a: {type: x:Y}}\n",
		"a server as a backend": "backend: {url: http://" + inside + "}\nresources: {}\n",
		"a database":            "backend: {url: \"postgres://" + inside + "/x?passfile=/etc/passwd\"}\nresources: {}\n",
		"an asset inside":       "outputs: {x: {fn::remoteAsset: http://" + inside + "/asset}}\n",
		"a program of Node.js":  "runtime: {name: nodejs}\nmain: /proc/self/environ\n",
	} {
		s := add(name, text)
		switch {
		case strings.Contains(text, "runtime:"):
			s.files[0][1] = "name: b\n" + text
		case strings.Contains(name, "registr"):
			source, from := "oci://"+inside+"/x", ""
			if name == "registries inside" {
				source, from = "x/x", "\n    from: "+source
			}
			s.files = append(s.files, lock(source, from))
		}
	}
	add("salt and secrets of another", "config: {x: {type: string, secret: true}}\noutputs: {x: \"${x}\"}\n",
		[2]string{"Husk.STACK.yaml", "encryptionsalt: v1:AAAAAAAAAAA=:v1:AAAAAAAAAAAAAAAA:AAAA\nconfig:\n  b:x:\n    secure: v1:AAAA:AAAA\n"})
	add("a key service inside", "config: {x: {type: string, secret: true}}\noutputs: {x: \"${x}\"}\n",
		[2]string{"Husk.STACK.yaml", "secretsprovider: hashivault://x\nencryptedkey: AAAA\nconfig:\n  b:x:\n    secure: v1:AAAA:AAAA\n"})
	add("of another project", "resources: {}\n").files[0][1] = "name: a\nresources: {}\n"
	add("a directory above", "resources: {}\n").directory = "../home"
	add("an absolute directory", "resources: {}\n").directory = "/"
	add("no project", "resources: {}\n").files[0][0] = "Other.yaml"
	for _, option := range []string{"--policy-pack=/etc/passwd", "--log-file=/tmp/x", "--trace=/tmp/x", "--plan=/etc/passwd", "--grant=x:env=WORKER_SECRET", "--untrusted-project=false"} {
		s := add(option, "resources: {}\n")
		s.options, s.refused = []string{option}, "cannot have the option"
	}
	return all
}

// modules are strangers with a module that looks in places, at an address, and in the memory of a process: one with what it may
// have, which ends well, and one that is to be granted all of that.
func modules(spy []byte, places, process, inside string) (all []stranger) {
	const canary = "canary-secret"
	text := []byte(canary)
	slices.Reverse(text) // it is in no file of the stranger's
	for _, one := range []stranger{
		{name: "a module", stack: "modules", options: []string{`".", "work:rw"`, ""}, says: `work/own: "of eve"`},
		{name: "a module that is granted another process", options: []string{strconv.Quote(process), ""}, says: "the project is not trusted"},
		{name: "a module that is granted an address", options: []string{`"."`, fmt.Sprintf(", http: [%q]", "http://"+inside)}, says: "the project is not trusted"},
	} {
		one.files = [][2]string{{"spy.wasm", string(spy)}, {"work/own", "of eve"}, {"Husk.yaml", fmt.Sprintf(`name: b
runtime: yaml
plugins: {providers: [{name: spy, path: spy.wasm, grants: {fs: [%s], kv: true%s}}]}
resources:
  look: {type: spy:Look, properties: {paths: [".", "..", "/", %s, "/proc/self/environ", "/proc", "/etc"], urls: [%q, "http://169.254.169.254/latest"], texts: [], processes: [%q, /proc/self], text: %q}}
outputs: {found: "${look.found}"}
`, one.options[0], one.options[1], places, "http://"+inside, process, text)}}
		one.operation, one.options, one.always = "up", nil, true
		all = append(all, one)
	}
	return all
}

// documents are strangers with the provider openapi, whose document is elsewhere, refers to what is elsewhere, or is of a service
// inside. above is a path from the document to a file of another run.
func documents(openapi []byte, above, elsewhere, inside string) (all []stranger) {
	const document = `openapi: 3.0.0
info: {title: api, version: "1"}
servers: [{url: "http://%s"}]
paths:
  /things:
    post:
      requestBody: {content: {application/json: {schema: {$ref: %q}}}}
      responses: {"201": {description: made, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: found, content: {application/json: {schema: {type: object, properties: {id: {type: string}, name: {type: string}}}}}}}}
    delete: {responses: {"204": {description: gone}}}
`
	for _, one := range []struct{ name, document, refers, grants, says string }{
		{"a document that refers to another run", "./api/api.yaml", above, "fs: [api]", "kept"},
		{"a document that refers to a file", "./api/api.yaml", "file://" + elsewhere, "fs: [api]", "secret.yaml"},
		{"a document that refers to an address", "./api/api.yaml", "http://" + inside + "/schema.yaml", "fs: [api]", "schema.yaml"},
		{"a document elsewhere", elsewhere, "#/x", "fs: [api]", "secret.yaml"},
		{"a document of a service inside", "./api/api.yaml", "own.yaml", "fs: [api], http: ['http://" + inside + "']", "the project is not trusted"},
		{"a document of a service inside that is not granted", "./api/api.yaml", "own.yaml", "fs: [api]", inside},
	} {
		all = append(all, stranger{name: one.name, operation: "up", stack: "documents", says: one.says, large: true, files: [][2]string{
			{"openapi.wasm", string(openapi)}, {"api/api.yaml", fmt.Sprintf(document, inside, one.refers)}, {"api/own.yaml", "{type: object, properties: {name: {type: string}}}\n"},
			{"Husk.yaml", fmt.Sprintf("name: b\nruntime: yaml\nplugins: {providers: [{name: openapi, path: openapi.wasm, grants: {%s}}]}\npackages: {api: {source: openapi, parameters: [%q, api]}}\nresources: {thing: {type: api:Thing, properties: {name: x}}}\n",
				one.grants, one.document)},
		}})
	}
	return all
}

// Two teams share a worker, with a run of the first under way that has secrets, and secrets of the worker's operator everywhere.
// Sixty and more projects of the second look for them. Nothing of that is in a log, an answer, a state, or a request that they
// cause, whether their processes are confined or not: neither barrier hides the other.
func TestSixtyStrangersFindNothing(t *testing.T) {
	for _, mode := range []struct {
		flag string
		// each is which of the projects are tried.
		each int
	}{{"--require-confinement", 1}, {"--no-confinement", 3}} {
		t.Run(mode.flag[2:], func(t *testing.T) {
			if err := confine.Check(); err != nil && mode.flag == "--require-confinement" {
				t.Skip(err)
			}
			each := mode.each
			if nightly.Enabled() {
				each = 1
			}
			strangersAt(t, mode.flag, each)
		})
	}
}

func strangersAt(t *testing.T, flag string, each int) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	eve := s.login("evil", "eve", "admin")
	fleet := s.token("*", "fleet", "work")
	inside := newListener(t)

	operator := filepath.Join(s.dir, "home-worker-w")
	for _, file := range []string{".docker/config.json", ".aws/credentials", "secret.yaml", "husk/credentials"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(operator, file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(operator, file), []byte("canary: of-the-operator\n"), 0o600))
	}
	worker := filepath.Join(s.dir, "worker-w")
	for name, value := range map[string]string{"WORKER_SECRET": "canary-of-the-worker", "AWS_SECRET_ACCESS_KEY": "canary-of-aws", "PGPASSWORD": "canary-of-postgres",
		"VAULT_TOKEN": "canary-of-vault", "OF_ALL_TEAMS": "canary-of-all-teams", "VAULT_ADDR": "http://" + inside.address, "HTTPS_PROXY": "http://user:canary-of-the-proxy@127.0.0.1:1"} {
		t.Setenv(name, value)
	}
	shared, _ := s.worker(fleet, "w", flag, "--slots", "3", "--env", "OF_ALL_TEAMS")

	// A stack of the first team that was deployed.
	deployed := s.project(map[string]string{"Husk.yaml": "name: a\nconfig: {password: {type: string, secret: true}}\noutputs: {plain: canary-output, secret: \"${password}\"}\n"})
	s.done("ann", "stack", "init", "prod", "-C", deployed)
	s.done("ann", "config", "set", "password", "canary-secret", "--secret", "-C", deployed)
	s.done("ann", "up", "--yes", "-C", deployed)

	// A run of the first team that goes on all the while.
	victim := s.project(map[string]string{"Husk.yaml": `name: a
runtime: yaml # canary-program
plugins: {providers: [{name: spy, path: spy.wasm, grants: {fs: ["work:rw"], kv: true}}]}
config: {password: {type: string, secret: true}}
resources: {kept: {type: spy:Keep, properties: {secret: "${password}", text: canary-text, dir: work}}}
outputs: {secret: "${kept.secret}"}
`, "work/note": "canary-file"})
	spy := testmodule.Build(t, "testdata/spy")
	require.NoError(t, os.WriteFile(filepath.Join(victim, "spy.wasm"), spy, 0o600))
	s.done("ann", "stack", "init", "dev", "-C", victim)
	s.done("ann", "config", "set", "password", "canary-secret", "--secret", "-C", victim)
	up := s.command("ann", "up", "-C", victim, "--remote", "--yes")
	said := s.start(up)
	var kept string
	require.Eventually(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(worker, "runs", "*", "files", "work", "kept"))
		if len(found) == 1 {
			kept = found[0]
		}
		return kept != ""
	}, 3*time.Minute, 20*time.Millisecond, "%s", said)
	release := sync.OnceFunc(func() { _ = os.WriteFile(filepath.Join(filepath.Dir(kept), "until"), nil, 0o600) })
	t.Cleanup(release)
	run := filepath.Dir(filepath.Dir(filepath.Dir(kept)))

	pid, ofRun := strconv.Itoa(shared.Process.Pid), ""
	// What others can read of the process of the run.
	processes := 0
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, command := range commands {
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(command), "status"))
		if !strings.Contains(string(status), "\nPPid:\t"+pid+"\n") {
			continue
		}
		processes++
		ofRun = filepath.Dir(command)
		arguments, err := os.ReadFile(command)
		require.NoError(t, err)
		environment, err := os.ReadFile(filepath.Join(filepath.Dir(command), "environ"))
		require.NoError(t, err)
		require.NotRegexp(t, "canary|husk_|"+fleet, string(arguments)+string(environment))
	}
	require.Equal(t, 1, processes, "that of the run")
	all := strangers([]place{
		{"the memory of another run", ofRun + "/mem"}, {"the environment of another run", ofRun + "/environ"}, {"another run by its process", ofRun + "/root" + kept},
		{"the environment of the worker", "/proc/" + pid + "/environ"}, {"its own environment", "/proc/self/environ"}, {"another run", kept},
		{"the project of another run", filepath.Join(run, "files", "Husk.yaml")}, {"the operator's", filepath.Join(operator, "secret.yaml")},
		{"the key of the server", filepath.Join(s.dir, "server", "server.key")}, {"the home of the operator", filepath.Join(operator, ".docker", "config.json")},
	}, inside.address)
	all = append(all, modules(spy, fmt.Sprintf("%q, %q, %q, %q, %q, %q", kept, filepath.Join("../..", filepath.Base(run), "files/work/kept"), worker, operator, ofRun+"/environ", ofRun+"/root"+kept), ofRun, inside.address)...)
	all = append(all, documents(testmodule.Build(t, "../../examples/providers/openapi"), filepath.Join("../../..", filepath.Base(run), "files/work/kept"), filepath.Join(operator, "secret.yaml"), inside.address)...)
	require.GreaterOrEqual(t, len(all), 60)

	// That there is something to be found shows a user's own project.
	for _, one := range all {
		if one.name == "readFile: the operator's" || one.name == "main: the operator's" {
			own := s.project(map[string]string{"Husk.yaml": one.files[0][1]})
			begun, _ := s.husk("ann", "stack", "init", "control", "-C", own)
			out, _ := s.husk("ann", "preview", "--stack", "control", "-C", own)
			require.Contains(t, begun+out, "canary", one.name)
		}
	}

	mine := s.project(map[string]string{"Husk.yaml": "name: b\nresources: {}\n"})
	shares := []string{"dev", "s1", "s2", "s3"} // a stack has one run at a time
	stacks := append(shares, "modules", "documents")
	for _, stack := range stacks {
		s.done("eve", "stack", "init", stack, "-C", mine)
	}
	client, err := runapi.NewClient(s.url, eve)
	require.NoError(t, err)
	var told strings.Builder
	asked := map[string]stranger{}
	var order []string
	tried := 0
	for i, one := range all {
		if i%each != 0 && !one.always || each > 1 && one.large {
			continue
		}
		tried++
		stack := cmp.Or(one.stack, shares[tried%len(shares)])
		files := slices.Clone(one.files)
		for i := range files {
			files[i][0] = strings.Replace(files[i][0], "STACK", stack, 1)
		}
		content, digest := bundleOf(t, files)
		require.NoError(t, client.SendBundle(t.Context(), digest, content))
		n := runapi.NewRun{ID: rand.Text(), Project: "b", Stack: stack, Operation: one.operation, Bundle: digest, Options: one.options, Directory: one.directory}
		if n.Operation == "" {
			n.Operation = "preview"
		}
		var refused *runapi.StatusError
		_, err := client.Call(t.Context(), http.MethodPost, "/v1/runs", n, nil)
		switch {
		case err == nil:
			require.Empty(t, one.refused, one.name)
			asked[n.ID], order = one, append(order, n.ID)
		default:
			require.ErrorAs(t, err, &refused, one.name)
			fmt.Fprintln(&told, one.name, err)
			require.True(t, one.refused != "" || one.directory != "", "%s: %v", one.name, err)
			require.Contains(t, err.Error(), one.refused, one.name)
		}
	}
	if each == 1 {
		require.GreaterOrEqual(t, tried, 60)
	}
	// Schedules have files as well.
	content, digest := bundleOf(t, all[0].files)
	require.NoError(t, client.SendBundle(t.Context(), digest, content))
	schedule := runapi.Schedule{Name: "all", Cron: "* * * * *", Run: runapi.NewRun{Project: "b", Stack: "dev", Operation: "preview", Bundle: digest}}
	_, err = client.Call(t.Context(), http.MethodPut, "/v1/schedules/all", schedule, nil)
	if err != nil {
		fmt.Fprintln(&told, err)
	}

	found := regexp.MustCompile("canary|of-the-operator|" + regexp.QuoteMeta(fleet))
	for _, id := range order {
		var log strings.Builder
		var last runapi.Run
		require.NoError(t, client.Follow(t.Context(), id, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
			if l != nil {
				fmt.Fprintln(&log, l.Text)
				return true, nil
			}
			last = *r
			return !r.State.IsFinal(), nil
		}))
		require.NotRegexp(t, found, log.String()+last.Reason, asked[id].name)
		require.NotContains(t, log.String(), "panic", asked[id].name)
		require.Contains(t, log.String(), asked[id].says, asked[id].name)
		told.WriteString(log.String())
	}
	for _, path := range []string{"/v1/runs?limit=1000", "/v1/status", "/v1/schedules", "/v1/tokens", "/v1/whoami"} {
		text, err := client.Send(t.Context(), 0, http.MethodGet, path, "", nil)
		require.NoError(t, err, path)
		told.Write(text)
	}
	for _, stack := range stacks {
		text, err := s.husk("eve", "stack", "export", "--show-secrets", "--stack", stack, "-C", mine)
		require.NoError(t, err)
		told.WriteString(text)
	}
	require.NotRegexp(t, found, told.String())
	require.Empty(t, inside.requests(), "nobody inside was asked")

	release()
	require.NoError(t, up.Wait(), "%s", said)
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(filepath.Join(worker, "runs"))
		return err == nil && len(left) == 0
	}, time.Minute, 20*time.Millisecond, "the directories of runs are gone")
	teams, err := os.ReadDir(filepath.Join(s.cache, "teams"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(teams), 2, "each team has a cache of its own")
}

// listener is a service inside, which nobody may reach.
type listener struct {
	address string
	mu      sync.Mutex
	asked   []string
}

func newListener(t *testing.T) *listener {
	l := &listener{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked = append(l.asked, fmt.Sprintf("%s %s %v", r.Method, r.URL, r.Header))
	}))
	t.Cleanup(server.Close)
	l.address = strings.TrimPrefix(server.URL, "http://")
	return l
}

func (l *listener) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}
