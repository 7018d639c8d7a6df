package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
	// command is the command line in the example's README. once, serves, fills, and balances are set by its prefix in automation.txt,
	// whose header describes the prefixes.
	command                       []string
	once, serves, fills, balances bool
	// shows is the third column, a description of the example. needs names what the example needs and no stand-in provides. It is empty if
	// the example runs.
	shows, needs string
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
		for prefix, is := range map[string]*bool{"once: ": &e.once, "serves: ": &e.serves, "fills: ": &e.fills, "balances: ": &e.balances} {
			if rest, ok := strings.CutPrefix(command, prefix); ok {
				command, *is = rest, true
			}
		}
		e.command = strings.Fields(command)
		if columns[3] != "runs" {
			var is bool
			if e.needs, is = strings.CutPrefix(columns[3], "needs "); !is {
				return nil, fmt.Errorf("%q is neither \"runs\" nor \"needs TEXT\"", columns[3])
			}
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

// has returns an error if the number of objects is not number.
func (s *websites) has(number int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byPath) != number {
		return fmt.Errorf("there are %d websites, and not %d", len(s.byPath), number)
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
	command := func(args ...string) *exec.Cmd {
		return at.command(ctx, dir, []string{"WEBSITES=" + server.URL, "TS_NODE_TRANSPILE_ONLY=true"}, args...)
	}
	if err := at.translate(ctx, dir); err != nil {
		return err
	}
	switch {
	case e.serves:
		cmd := command(e.command...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			return err
		}
		err := errors.Join(sites.visited(ctx, server.URL), sites.has(0))
		_ = cmd.Cancel()
		if _ = cmd.Wait(); err != nil {
			return fmt.Errorf("%w\n%s", err, out.Bytes())
		}
		return nil
	case e.once:
		return errors.Join(runs(command(e.command...)), sites.has(0))
	case e.balances:
		out, err := command(e.command...).CombinedOutput()
		if err == nil && !bytes.Contains(out, []byte(".elb.example")) {
			err = errors.New("the output has no load balancer")
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return runs(command(append(e.command, "destroy")...))
	case e.fills:
		d, err := serveDatabase(ctx, filepath.Join(root, "database"))
		if err != nil {
			return err
		}
		defer func() { _ = d.stop() }() // its data is removed
		routes.Handle("/databases/", d)
		out, err := command(e.command...).CombinedOutput()
		if err = errors.Join(err, d.filled(ctx)); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return errors.Join(runs(command(append(e.command, "destroy")...)), d.gone(ctx))
	}
	out, err := command(e.command...).CombinedOutput()
	if err = errors.Join(err, sites.has(1)); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return errors.Join(runs(command(append(e.command, "destroy")...)), sites.has(0))
}

// provide lists the provider aws in the project file of Husk above the examples, which have no projects of their own, and in their
// projects.
func (at place) provide(root, url string) error {
	plugins := fmt.Sprintf("\nplugins: {providers: [{name: aws, path: %q, grants: {http: [%q], env: [WEBSITES]}}]}\n", filepath.Join(at.modules, "aws.wasm"), url)
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
