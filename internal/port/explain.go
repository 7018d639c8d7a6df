package port

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// BuildError is the error for packages that do not build for WebAssembly.
type BuildError struct {
	// Source is the provider in the user's words.
	Source   string
	Packages []FailedPackage
}

// FailedPackage is a package that does not build.
type FailedPackage struct {
	Path string
	// Module is its module with the version, empty for the provider's own packages.
	Module string
	// Output is the output of the Go command, a line each.
	Output []string
	// Chain are the imports by which the main package needs it, from the main package on.
	Chain []string
	// Reason says in words why it does not build, empty if the output has to do.
	Reason string
	// Shim is a shim for other versions of the module, empty if there is none.
	Shim string
}

// maxOutput is the number of lines of one package's output, or of packages that are not fetched, that an error shows.
const maxOutput = 5

func (e *BuildError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s does not build for WebAssembly", e.Source)
	var others, ours bool
	for _, p := range e.Packages {
		of := ""
		if p.Module != "" {
			of = " of " + p.Module
		}
		others = others || p.Module != ""
		ours = ours || strings.HasPrefix(p.Path, project+"/")
		fmt.Fprintf(&b, "\nThe package %s%s fails", p.Path, of)
		if p.Reason != "" {
			fmt.Fprintf(&b, ": %s", p.Reason)
		}
		for _, line := range p.Output[:min(len(p.Output), maxOutput)] {
			b.WriteString("\n  " + line)
		}
		if more := len(p.Output) - maxOutput; more > 0 {
			fmt.Fprintf(&b, "\n  and %s more", plural(more, "line"))
		}
		if len(p.Chain) > 1 {
			b.WriteString("\nIt is needed by " + strings.Join(p.Chain[:len(p.Chain)-1], " → "))
		}
		if p.Shim != "" {
			b.WriteString("\nThe shim " + p.Shim + " is for other versions of the module")
		}
	}
	switch {
	case ours:
		b.WriteString("\nThe adapter of this husk does not fit the libraries that the provider selects: report it with the provider's name and version")
	case others:
		b.WriteString("\nA shim can change a package in the copy that the build uses: docs/porting.md describes how to write one, and --shim DIR names it")
	default:
		b.WriteString("\nThese packages are the provider's own: exclude from wasip1 what needs another system, as docs/porting.md describes")
	}
	return b.String()
}

// RefusedError is the error for a module that a proxy does not hand out, though it may have it.
type RefusedError struct {
	// URL is the module at the proxy, Status and Reason are the answer.
	URL, Status, Reason string
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("the module proxy refuses %s: %s", e.URL, e.Status)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text + "\nname another proxy in GOPROXY, or take what this one refuses from its repository: GOPROXY='PROXY|direct', with | in place of a comma"
}

// FetchError is the error for packages of other modules that the Go command cannot fetch.
type FetchError struct {
	// Source is the provider in the user's words.
	Source   string
	Packages []FailedPackage
}

func (e *FetchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "building %s: the Go command cannot get packages of other modules", e.Source)
	for _, p := range e.Packages[:min(len(e.Packages), maxOutput)] {
		fmt.Fprintf(&b, "\n  %s: %s", p.Path, strings.Join(p.Output, " "))
		if len(p.Chain) > 1 {
			b.WriteString("\n    needed by " + strings.Join(p.Chain[:len(p.Chain)-1], " → "))
		}
	}
	if more := len(e.Packages) - maxOutput; more > 0 {
		fmt.Fprintf(&b, "\n  and %s more", plural(more, "package"))
	}
	b.WriteString("\nCheck GOPROXY and the network, or port a version of the provider whose go.mod requires modules that exist")
	return b.String()
}

// refused finds the answer of a proxy that has rules, or that fails. Answers 404 and 410 mean that the version does not exist.
var refused = regexp.MustCompile(`reading (https?://\S+?)/@\S+: ((?:40[0-35-9]|42\d|451|5\d\d)\b[^\n]*)(?:\n\s*server response: ([^\n]*))?`)

// refusal returns the refusal of a proxy that is in the output of the Go command, nil if there is none.
func refusal(output string) error {
	found := refused.FindStringSubmatch(output)
	if found == nil {
		return nil
	}
	return &RefusedError{URL: found[1], Status: found[2], Reason: strings.TrimSuffix(found[3], ".")}
}

// newerGo finds the complaint of the Go command about a module that needs a newer one.
var newerGo = regexp.MustCompile(`(\S+) requires go >= (\S+) \(running go (\S+?);? `)

// packageHeader begins the compiler's output for a package.
var packageHeader = regexp.MustCompile(`(?m)^# (\S+)$`)

// outputs returns the packages that do not compile, with the compiler's errors for each.
func outputs(output string) iter.Seq2[string, string] {
	return func(yield func(name, output string) bool) {
		headers := packageHeader.FindAllStringSubmatchIndex(output, -1)
		for i, h := range headers {
			end := len(output)
			if i+1 < len(headers) {
				end = headers[i+1][0]
			}
			if !yield(output[h[2]:h[3]], strings.TrimSpace(output[h[1]:end])) {
				return
			}
		}
	}
}

// explain returns an error of the Go command in the user's words.
func (w *build) explain(err error) error {
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return fmt.Errorf("building %s: %w", w.source.shown, err)
	}
	failed, ok := errors.AsType[*goError](err)
	if !ok {
		return err
	}
	if found := newerGo.FindStringSubmatch(failed.output + " "); found != nil {
		return fmt.Errorf("%s needs Go %s, and the go command here is Go %s: install a newer Go, "+
			"or set GOTOOLCHAIN=auto to have the go command fetch it", w.source.shown, found[2], found[3])
	}
	e := &BuildError{Source: w.source.shown}
	for name, output := range outputs(failed.output) {
		e.Packages = append(e.Packages, w.failedPackage(name, strings.Split(output, "\n")))
	}
	if len(e.Packages) == 0 && w.graph != nil {
		if err := w.fetched(); err != nil {
			return err
		}
		e.Packages = w.unloadable(func(*goPackage) bool { return true })
	}
	if len(e.Packages) == 0 {
		return fmt.Errorf("building %s: %w", w.source.shown, err)
	}
	return e
}

// unloadable returns the packages of the program that the Go command cannot load and for which is returns true.
func (w *build) unloadable(is func(*goPackage) bool) (all []FailedPackage) {
	for _, name := range slices.Sorted(maps.Keys(w.graph.packages)) {
		if p := w.graph.packages[name]; p.Error != nil && !p.Standard && is(p) {
			all = append(all, w.failedPackage(name, strings.Split(strings.TrimSpace(p.Error.Err), "\n")))
		}
	}
	return all
}

// fetched returns an error if the Go command could not fetch all modules of the program.
func (w *build) fetched() error {
	missing := w.unloadable(func(p *goPackage) bool {
		first, _, _ := strings.Cut(p.ImportPath, "/")
		own := w.graph.main.Module != nil && strings.HasPrefix(p.ImportPath, w.graph.main.Module.Path+"/")
		return p.Module == nil && !own && strings.Contains(first, ".") // else of Go's library
	})
	if len(missing) == 0 {
		return nil
	}
	return &FetchError{Source: w.source.shown, Packages: missing}
}

func (w *build) failedPackage(path string, output []string) FailedPackage {
	f := FailedPackage{Path: path, Output: output, Reason: reasonOf(strings.Join(output, "\n"))}
	if w.graph == nil {
		return f
	}
	f.Chain = w.graph.chain(path)
	p := w.graph.packages[path]
	if p == nil || p.Module == nil || p.Module.Main {
		return f
	}
	f.Module = p.Module.Path + "@" + p.Module.Version
	for _, s := range w.shims {
		if s.Module == p.Module.Path && slices.Contains(s.Packages, path) && !s.fitsVersion(p.Module.Version) {
			f.Shim = s.Name + " (" + s.Versions + ")"
		}
	}
	return f
}

// reasons explain outputs of the Go command, the most telling first.
var reasons = []struct {
	output *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`build constraints exclude all Go files`), "it has no file for GOOS=wasip1, or only files with cgo; what imports it has to do without"},
	{regexp.MustCompile(`undefined: (syscall|unix|windows)\.\w+`), "it calls the operating system, and WebAssembly has no such call"},
	{regexp.MustCompile(`missing function body`), "a function is written in the assembly of other processors"},
	{regexp.MustCompile(`relocation target \S+ not defined|invalid reference to`), "it takes a function out of the Go runtime, which has none with that name here"},
	{regexp.MustCompile(`is not in std`), "it needs a package of a newer Go"},
	{regexp.MustCompile(`no required module provides|missing go.sum entry|cannot find module`), "its module is not required by go.mod, or the proxy does not serve it"},
	{regexp.MustCompile(`undefined: \w+`), "what it uses is declared only in files for other systems"},
}

func reasonOf(output string) string {
	for _, r := range reasons {
		if r.output.MatchString(output) {
			return r.reason
		}
	}
	return ""
}
