package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed automation.txt
var automation string

// example is a line of automation.txt: a program that drives Pulumi's command by its Automation API.
type example struct {
	// dir and copied have the same meaning as in a program.
	dir, copied string
	// way is the prefix of the command in automation.txt, whose header describes the prefixes, and text what follows the prefix's name.
	way, text string
	// command is the command line in the example's README.
	command []string
	// shows is the third column, a description of the example. needs names a program that the example needs and PATH does not have, and
	// refusal is a text of the error that refuses it. Both are empty if the example runs.
	shows, needs, refusal string
}

func parseExamples(text string) (all []example, err error) {
	table, err := rows(text, 4)
	if err != nil {
		return nil, err
	}
	for _, columns := range table {
		e := example{shows: columns[2]}
		e.copied, e.dir = copiedAndDir(columns[0])
		command := columns[1]
		if way, rest, is := strings.Cut(command, ": "); is {
			command = rest
			e.way, e.text, _ = strings.Cut(way, " ")
		}
		e.command = strings.Fields(command)
		kind, of, _ := strings.Cut(columns[3], " ")
		switch kind {
		case "runs":
			if with, is := strings.CutPrefix(of, "with "); is {
				if _, err := exec.LookPath(with); err != nil {
					e.needs = "the program " + with
				}
			}
		case "refused:":
			e.refusal = of
		default:
			return nil, fmt.Errorf("%q is none of \"runs\", \"runs with PROGRAM\", and \"refused: TEXT\"", columns[3])
		}
		all = append(all, e)
	}
	return all, nil
}

// websites is a web server: the provider aws uploads objects with PUT, and removes them with DELETE. GET of a path without an object
// returns index.html below the path, if there is one.
type websites struct {
	mu     sync.Mutex
	byPath map[string][]byte
}

func (s *websites) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.byPath[r.URL.Path] = body
	case http.MethodDelete:
		delete(s.byPath, r.URL.Path)
	default:
		for _, path := range []string{r.URL.Path, strings.TrimSuffix(r.URL.Path, "/") + "/index.html"} {
			if body, is := s.byPath[path]; is {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write(body) // the client is gone
				return
			}
		}
		http.NotFound(w, r)
	}
}

// has returns an error if the number of websites with objects is not number.
func (s *websites) has(number int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sites := map[string]bool{}
	for path := range s.byPath {
		site, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		sites[site] = true
	}
	if len(sites) != number {
		return fmt.Errorf("there are %d websites, and not %d", len(sites), number)
	}
	return nil
}

// drive runs an example: it makes a website, or a database, and deletes it.
func (at place) drive(ctx context.Context, e example, root string) error {
	if err := os.CopyFS(filepath.Join(root, "example"), os.DirFS(filepath.Join(at.in, e.copied))); err != nil {
		return err
	}
	sites := &websites{byPath: map[string][]byte{}}
	routes := http.NewServeMux()
	routes.Handle("/", sites)
	server := httptest.NewServer(routes)
	defer server.Close()
	dir := filepath.Join(root, "example", strings.TrimPrefix(e.dir, e.copied))
	if err := at.provide(root, server.URL); err != nil {
		return err
	}
	web, err := serveInternet(filepath.Join(at.in, "examples"), at.husk)
	if err != nil {
		return err
	}
	defer web.Close()
	certificates := filepath.Join(root, "certificates.pem")
	if err := os.WriteFile(certificates, web.certificates, 0o644); err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	home, keyLog := filepath.Join(root, "home"), filepath.Join(root, "kms.log") // some examples keep their stacks in the user's home
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	command := func(args ...string) *exec.Cmd {
		cmd := at.command(ctx, dir, []string{
			"HOME=" + home, "XDG_CACHE_HOME=" + cache, "GOPATH=" + build.Default.GOPATH,
			"WEBSITES=" + server.URL, "TS_NODE_TRANSPILE_ONLY=true", "HTTPS_PROXY=" + web.URL, "SSL_CERT_FILE=" + certificates, "GIT_SSL_CAINFO=" + certificates,
			"KMS_KEY=1234", kmsLog + "=" + keyLog, "AWS_REGION=us-west-2", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=token",
		}, args...)
		if e.way == "deploys" {
			cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "PULUMI_CONFIG_PASSPHRASE=") }) // the server has a key
		}
		return cmd
	}
	if err := at.translate(ctx, dir); err != nil {
		return err
	}
	// step runs the command, which must print a text, and a check. The error has what it prints.
	step := func(args []string, text string, check func() error) error {
		out, err := command(args...).CombinedOutput()
		if err == nil && !bytes.Contains(out, []byte(text)) {
			err = fmt.Errorf("the output does not have %q", text)
		}
		if err = errors.Join(err, check()); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	unchecked := func() error { return nil }
	with := func(args ...string) []string {
		if e.command[0] == "mvn" { // whose own arguments follow the command
			args = []string{"-Dexec.args=" + strings.Join(args, " ")}
		}
		return slices.Concat(e.command, args)
	}
	destroy := with("destroy")
	if e.way == "deploys" {
		s, err := serveDeployments(root, func(args ...string) *exec.Cmd { return command(append([]string{"pulumi"}, args...)...) })
		if err != nil {
			return err
		}
		defer s.stop()
	}
	switch e.way {
	case "serves":
		cmd := command(e.command...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := during(cmd, func() error { return errors.Join(sites.visited(ctx, server.URL), sites.has(0)) }); err != nil {
			return fmt.Errorf("%w\n%s", err, out.Bytes())
		}
		return nil
	case "once":
		return errors.Join(runs(command(e.command...)), sites.has(0))
	case "prints":
		return errors.Join(step(e.command, e.text, unchecked), step(destroy, "", unchecked))
	case "fills":
		d, err := serveDatabase(ctx, filepath.Join(root, "database"))
		if err != nil {
			return err
		}
		defer func() { _ = d.stop() }() // its data is removed
		routes.Handle("/databases/", d)
		return errors.Join(step(e.command, "", func() error { return d.filled(ctx) }), step(destroy, "", func() error { return d.gone(ctx) }))
	case "tunnels":
		p, err := servePostgres(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = p.stop() }() // likewise
		routes.Handle("/instances/", p)
		key := filepath.Join(root, "key.pub")
		if err := os.WriteFile(key, []byte("ssh-ed25519 AAAA"), 0o644); err != nil {
			return err
		}
		// The provider of this repository wants to know the server otherwise.
		if err := os.WriteFile(filepath.Join(dir, "database", "Pulumi.dev.yaml"), []byte("config: {postgresql:sslmode: require}\n"), 0o644); err != nil {
			return err
		}
		for _, project := range []string{"vpc", "database"} { // in which it would run npm install
			if err := os.Symlink(filepath.Join(at.in, "node_modules"), filepath.Join(dir, project, "node_modules")); err != nil {
				return err
			}
		}
		tunnel := func(number int, args ...string) error {
			return step(with(args...), "Stopping tunnel", func() error { return p.has(ctx, number) })
		}
		// It does not wait for the commands that set the configuration of its two stacks, so that the first deployment of each may not have it.
		for range 2 {
			_ = command(with("up", "dev", key)...).Run()
		}
		return errors.Join(tunnel(3, "up", "dev", key), tunnel(3, "refresh", "dev"), tunnel(0, "destroy", "dev"))
	case "works":
		return work(ctx, command, e.command)
	case "adds":
		cron := command(with("cron", "0s")...)
		return errors.Join(step(with("add"), "deployed server running at public IP 192.0.2.1", unchecked), reaps(cron))
	}
	err = errors.Join(step(e.command, "", func() error { return sites.has(1) }), step(destroy, "", func() error { return sites.has(0) }))
	if e.way == "encrypts" {
		err = errors.Join(err, asked(keyLog))
	}
	return err
}

// reaps runs a command until it says that it has destroyed one stack, and nothing else.
func reaps(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	var said bytes.Buffer
	return during(cmd, func() error {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&said, lines.Text())
			if lines.Text() == "finished reaping stacks" {
				break
			}
		}
		if !strings.Contains(said.String(), "destroyed 1 stack(s)\nfinished") {
			return fmt.Errorf("it destroys no stack:\n%s", said.Bytes())
		}
		return nil
	})
}

// during runs a command while do does its work, and ends it then.
func during(cmd *exec.Cmd, do func() error) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	err := do()
	_ = cmd.Cancel()
	_ = cmd.Wait() // which says that it was ended
	return err
}

// grants are the providers that the project files list, with what they may do. aws, azure, and azure-native are the stand-ins of this
// directory, and postgresql is the one in examples/providers.
const grants = `
plugins:
  providers:
    - {name: aws, path: %[1]s/aws.wasm, grants: {http: ["%[2]s"], env: [WEBSITES]}}
    - {name: azure, path: %[1]s/azure.wasm}
    - {name: azure-native, path: %[1]s/azure-native.wasm}
    - {name: postgresql, path: %[1]s/postgresql.wasm, grants: {tcp: ["localhost:5432"]}}
    - {name: random, path: %[1]s/random.wasm}
`

// provide lists the providers in the project file of Husk above the examples, which have no projects of their own, and in their projects.
func (at place) provide(root, url string) error {
	plugins := fmt.Sprintf(grants, at.modules, url)
	err := os.WriteFile(filepath.Join(root, "Husk.yaml"), []byte("name: examples\nruntime: nodejs"+plugins), 0o644)
	return errors.Join(err, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "Pulumi.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, append(text, plugins...), 0o644)
	}))
}

// request sends a request, and returns the status and the body of the answer.
func request(ctx context.Context, method, url, body string) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// visited has a server at port 1337 make a website at an address, show and change it, and delete it.
func (s *websites) visited(ctx context.Context, address string) error {
	const at = "http://127.0.0.1:1337/sites"
	until := time.Now().Add(2 * time.Minute)
	for {
		_, _, err := request(ctx, http.MethodGet, at, "")
		if err == nil {
			break
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		time.Sleep(time.Second)
	}
	website := address + "/shop-s3-website-bucket"
	shown := strings.TrimPrefix(website, "http://")
	for _, step := range []struct {
		method, url, body string
		// status is the expected status. Any 2xx satisfies 200.
		status int
		// text is a substring of the answer.
		text string
	}{
		{http.MethodPost, at, `{"id": "shop", "content": "hello"}`, http.StatusOK, shown},
		{http.MethodPost, at, `{"id": "shop", "content": "hello"}`, http.StatusConflict, "exists"},
		{http.MethodGet, website, "", http.StatusOK, "hello"},
		{http.MethodGet, at, "", http.StatusOK, `"shop"`},
		{http.MethodGet, at + "/shop", "", http.StatusOK, shown},
		{http.MethodGet, at + "/store", "", http.StatusNotFound, "store"},
		{http.MethodPut, at + "/shop", `{"id": "shop", "content": "goodbye"}`, http.StatusOK, ""},
		{http.MethodDelete, at + "/shop", "", http.StatusOK, ""},
		{http.MethodGet, website, "", http.StatusNotFound, ""},
		{http.MethodGet, at, "", http.StatusOK, `"ids"`}, // an empty list, or null in Go
	} {
		status, answer, err := request(ctx, step.method, step.url, step.body)
		if err != nil {
			return err
		}
		if step.method == http.MethodPut && status == http.StatusMethodNotAllowed {
			continue // the example for Flask takes another method for that, and reads its body wrong
		}
		if status != step.status && status/100*100 != step.status || !strings.Contains(answer, step.text) {
			return fmt.Errorf("%s %s: %d %s", step.method, step.url, status, answer)
		}
	}
	return nil
}
