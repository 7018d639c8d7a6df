package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// attempts is how often tests run again that ended differently. What goes by the time, or by random
// numbers, may end differently without being rewritten.
const attempts = 3

// tests compares the tests of a package of the standard library by how each of them ends.
func (c *comparison) tests(ctx context.Context, pkg string) {
	if ctx.Err() != nil {
		return
	}
	suite, err := build(ctx, pkg)
	if err != nil {
		c.failed(pkg, err)
		return
	}
	defer suite.remove()
	before, err := suite.results(ctx, suite.wasm, "")
	if err != nil {
		c.failed(pkg, err)
		return
	}
	rewritten, copied, err := rewritten(suite.wasm)
	if err != nil {
		c.failed(pkg, err)
		return
	}
	after, err := suite.results(ctx, rewritten, "")
	if err != nil {
		c.failed(pkg, err)
		return
	}
	different := before.different(after)
	for range attempts {
		if len(different) == 0 || ctx.Err() != nil {
			break
		}
		if different, err = suite.again(ctx, rewritten, different); err != nil {
			c.failed(pkg, err)
			return
		}
	}
	for _, test := range different {
		c.differs(pkg, "%s %s, and %s when rewritten", test, cmp.Or(before[test], didNotRun), cmp.Or(after[test], didNotRun))
	}
	c.tell(pkg, "%d tests, %d functions rewritten", len(before), copied)
}

// suite is a module with the tests of a package.
type suite struct {
	wasm    []byte
	command command
	remove  func()
}

func build(ctx context.Context, pkg string) (_ *suite, err error) {
	dir, remove, err := temporaryDir()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	file := filepath.Join(dir, "tests.wasm")
	var said bytes.Buffer
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-o", file, pkg)
	compile.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	compile.Stdout, compile.Stderr = &said, &said
	if err := compile.Run(); err != nil {
		return nil, fmt.Errorf("building the tests: %w\n%s", err, said.Bytes())
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	root := strings.TrimSpace(string(goroot))
	return &suite{wasm, command{
		env:    []string{"PWD", filepath.Join(root, "src", filepath.FromSlash(pkg)), "GOROOT", root, "TMPDIR", dir},
		mounts: []string{root}, temporary: dir,
	}, remove}, nil
}

// results are the tests of a suite, and how they ended.
type results map[string]string

// verdict is a line by which a test tells how it has ended, and how long it took.
var verdict = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(`)

// results runs the tests that have one of the names, which are separated by |; all for none.
func (s *suite) results(ctx context.Context, wasm []byte, names string) (results, error) {
	c := s.command
	c.args = []string{"tests", "-test.v", "-test.short"}
	if names != "" {
		c.args = append(c.args, "-test.run=^("+names+")$")
	}
	d, err := c.run(ctx, wasm)
	if err != nil {
		return nil, err
	}
	ended := results{"the program": fmt.Sprintf("exited with %d", d.code)}
	if d.trapped != "" {
		ended["the program"] = d.trapped
	}
	for lines := bufio.NewScanner(strings.NewReader(d.output)); lines.Scan(); {
		if found := verdict.FindStringSubmatch(lines.Text()); found != nil {
			ended[found[2]] = map[string]string{"PASS": "passed", "FAIL": "failed", "SKIP": "was skipped"}[found[1]]
		}
	}
	return ended, nil
}

// didNotRun is what a test ended with that has no result.
const didNotRun = "did not run"

// different are the tests that did not end in the same way.
func (r results) different(other results) (tests []string) {
	for test := range maps.Keys(r) {
		if r[test] != other[test] {
			tests = append(tests, test)
		}
	}
	for test := range maps.Keys(other) {
		if _, known := r[test]; !known {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return tests
}

// again runs those tests in both modules once more, and returns those that still end differently.
func (s *suite) again(ctx context.Context, rewritten []byte, tests []string) (different []string, err error) {
	var names []string
	for _, test := range tests {
		if name, _, _ := strings.Cut(test, "/"); strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") {
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	pattern := strings.Join(slices.Compact(names), "|") // the tests are sorted
	before, err := s.results(ctx, s.wasm, pattern)
	if err != nil {
		return nil, err
	}
	after, err := s.results(ctx, rewritten, pattern)
	if err != nil {
		return nil, err
	}
	return before.different(after), nil
}
