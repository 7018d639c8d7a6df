package main

import (
	"encoding/json"
	"os"
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
