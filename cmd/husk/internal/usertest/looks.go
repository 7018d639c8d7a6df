package usertest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/husk-dev/husk/host"
)

// manifest MODULE JSON: gives a module the manifest, or another one.
func manifest(ts *testscript.TestScript, _ bool, args []string) {
	var m host.Manifest
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &m))
	module, err := host.AddManifest([]byte(ts.ReadFile(args[0])), m)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), module, 0o644))
}

// known are the secrets in the script secrets, in all ways in which its provider spells them.
var known = regexp.MustCompile(`hunter2|is-the-key|aHVudGVyM|h1bnRlcj|odW50ZXIy|68756e74657232|iguration[ +]token|nested-token|another|credential-in`)

// hidden FILE...: none of the known secrets is in the files, stdout, or stderr.
func hidden(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		for line := range strings.Lines(ts.ReadFile(name)) {
			if known.MatchString(line) {
				ts.Fatalf("%s tells a secret: %q", name, line)
			}
		}
	}
}

// forgery is a line that passes for one of the command's own, or for a command to a service that runs
// it. The lines that providers forge in scripts have the word forged.
var forgery = regexp.MustCompile(`^[\s\p{Z}\p{Cf}]*(::|(Done|Failed|Stopped|Preview|error:|warning:|advice:).*forged)|##[A-Za-z]*\[|^(---|\+\+\+|~~~|\^\^\^)\s`)

// unforged FILE...: nothing in the files, stdout, or stderr is a forgery.
func unforged(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := ts.ReadFile(name)
		if !strings.Contains(text, "forged") {
			ts.Fatalf("%s has nothing in it that was forged", name)
		}
		for line := range strings.Lines(text) {
			if forgery.MatchString(line) {
				ts.Fatalf("%s has a forged line: %q", name, line)
			}
		}
	}
}

// printable FILE...: nothing in the files, stdout, or stderr could do anything to a
// terminal, or be read in another order than it is written.
func printable(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := ts.ReadFile(name)
		if !utf8.ValidString(text) {
			ts.Fatalf("%s is not UTF-8: %q", name, text)
		}
		for at, r := range text {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') {
				line := text[strings.LastIndexByte(text[:at], '\n')+1:]
				line, _, _ = strings.Cut(line, "\n")
				ts.Fatalf("%s has %s in it: %q", name, strconv.QuoteRuneToASCII(r), line)
			}
		}
	}
}

// absent TEXT DIR: the text is in no file of the directory, which has some.
func absent(ts *testscript.TestScript, _ bool, args []string) {
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(args[0])) {
			ts.Fatalf("%s contains %q", path, args[0])
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("%s has no files", args[1])
	}
}
