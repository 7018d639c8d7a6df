package display

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/redact"
)

func TestCommandsOfServicesAreDefused(t *testing.T) {
	for given, want := range map[string]string{
		"::add-mask::x":                       `\x3a:add-mask::x`,
		"  ::add-mask::x":                     `  \x3a:add-mask::x`,
		"\t\u00a0\u2003::set-env name=A::x\n": "\t\u00a0\u2003\\x3a:set-env name=A::x\n",
		"\u200b\ufeff::x":                     "\u200b\ufeff\\x3a:x",
		"one\n\n  ::x\ntwo ::y\n::":           "one\n\n  \\x3a:x\ntwo ::y\n\\x3a:",
		"\x1b[1m::x\x1b[0m":                   "\x1b[1m\\x3a:x\x1b[0m",
		"urn:pulumi:dev::demo::a:b:C::d":      "urn:pulumi:dev::demo::a:b:C::d",
		"lab | ::add-mask::x":                 "lab | ::add-mask::x",
		"##vso[task.setvariable variable=x]y": `#\x23vso[task.setvariable variable=x]y`,
		"a ##[group]b ##VSO[c] ###[d":         `a #\x23[group]b #\x23VSO[c] ##\x23[d`,
		"##teamcity[message text='x']":        `#\x23teamcity[message text='x']`,
		"## a title [x]":                      "## a title [x]",
		"--- a\n+++ b\n~~~ c\n^^^ +++\n---":   `\x2d-- a` + "\n" + `\x2b++ b` + "\n" + `\x7e~~ c` + "\n" + `\x5e^^ +++` + "\n" + `\x2d--`,
		"-----BEGIN KEY-----\n --- a\n--":     "-----BEGIN KEY-----\n --- a\n--",
		"":                                    "",
	} {
		got, _ := defuse(given, false)
		require.Equal(t, want, got)
		again, _ := defuse(got, false)
		require.Equal(t, got, again, "once is enough")
	}
}

// A command is found however it is written, piece by piece.
func TestCommandsInPieces(t *testing.T) {
	var secrets redact.Secrets
	var written strings.Builder
	out := NewOutput(&written, &secrets)
	for _, piece := range []string{"one\n", "  ", "::x", "\n", ":", ":y\ntwo ", "::z\n", "\n--- a"} {
		n, err := out.Write([]byte(piece))
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
	}
	require.Equal(t, "one\n  \\x3a:x\n\\x3a:y\ntwo ::z\n\n\\x2d-- a", written.String())
}

// Data for programs is as it is, and JSON means the same without the commands in it.
func TestCommandsInData(t *testing.T) {
	var written strings.Builder
	require.NoError(t, NewOutput(&written, nil).WriteData([]byte("::x\n##[y]\n")))
	require.Equal(t, "::x\n##[y]\n", written.String())

	text := "##vso[x] ##[y] ##teamcity[z] ::w"
	plain, err := json.Marshal(text)
	require.NoError(t, err)
	escaped := EscapeJSON(plain)
	require.Equal(t, `"\u0023#vso[x] \u0023#[y] \u0023#teamcity[z] ::w"`, string(escaped))
	var back string
	require.NoError(t, json.Unmarshal(escaped, &back))
	require.Equal(t, text, back)
}

// FuzzDefuse holds that no command is left in any text, written in one piece or in two.
func FuzzDefuse(f *testing.F) {
	for _, text := range []string{"::x", "  ::x", "a\n\u2003::", "##vso[x]", "###[", "--- a", "a\n+++", ":", "\x1b[1m::x", "\x1b::x"} {
		f.Add(text, 1)
	}
	command := regexp.MustCompile(`(?m)^[\s\p{Z}\p{Cf}\x{85}]*::|##[A-Za-z]*\[|^(---|\+\+\+|~~~|\^\^\^)([ \t]|$)`)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		whole, begun := defuse(text, false)
		if at := command.FindString(strings.ToValidUTF8(whole, "?")); at != "" && strings.ToValidUTF8(text, "?") == text {
			t.Fatalf("%q is left of %q in %q", at, text, whole)
		}
		if cut < 0 || cut > len(text) {
			return
		}
		first, within := defuse(text[:cut], false)
		second, end := defuse(text[cut:], within)
		if end != begun && cut < len(text) && !strings.Contains(text, "\x1b") && strings.ToValidUTF8(text[:cut], "?") == text[:cut] {
			t.Fatalf("%q ends in another way than %q and %q", whole, first, second)
		}
	})
}
