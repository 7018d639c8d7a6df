package guesttest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// updateFlag is the flag of a test that rewrites its golden files. Another package may have defined it.
const updateFlag = "update"

func init() {
	if flag.Lookup(updateFlag) == nil {
		flag.Bool(updateFlag, false, "rewrite the golden files")
	}
}

// Golden compares the difference between a resource and new inputs with the file testdata/NAME.golden:
//
//	notes:index:Note "it" is updated
//	  text update: "empty" -> "two words"
//
// go test -update writes the files.
func (p *Provider) Golden(r *Resource, inputs Props, name string) {
	p.t.Helper()
	news, response := p.diff(r, inputs)
	got := diffText(r, news, response)
	file := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if flag.Lookup(updateFlag).Value.String() == "true" {
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte(got), 0o644)
		}
		if err != nil {
			p.t.Fatalf("writing a golden file: %v", err)
		}
		return
	}
	want, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		p.t.Fatalf("%s: there is no %s to compare the difference with: go test -update writes it\n%s", r, file, got)
	case err != nil:
		p.t.Fatalf("%s: %v", r, err)
	case strings.ReplaceAll(string(want), "\r\n", "\n") != got:
		p.t.Fatalf("%s: the difference is not the one in %s: if it is right, go test -update writes it\nwant:\n%sgot:\n%s", r, file, want, got)
	}
}

// diffText is the text of a golden file.
func diffText(r *Resource, news property.Map, response abi.DiffResponse) string {
	all := differences(response)
	replaces := func(d abi.PropertyDiff) bool { return strings.HasSuffix(d.Kind.String(), "-replace") }
	text := r.String() + " is "
	switch {
	case len(all) == 0:
		return text + "unchanged\n"
	case !slices.ContainsFunc(all, replaces):
		text += "updated\n"
	case response.DeleteBeforeReplace:
		text += "deleted and created anew\n"
	default:
		text += "replaced\n"
	}
	slices.SortStableFunc(all, func(a, b abi.PropertyDiff) int { return strings.Compare(a.Path, b.Path) })
	for _, d := range all {
		text += "  " + d.Path + " " + d.Kind.String()
		if path, err := property.ParsePath(d.Path); err == nil && d.Path != "*" {
			olds := r.State
			if d.InputDiff {
				olds = r.Inputs
			}
			text += ": " + at(path, olds) + " -> " + at(path, news)
		}
		text += "\n"
	}
	return text
}
