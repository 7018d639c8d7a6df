package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.bytecodealliance.org/wit"
)

const root = "../../.."

// TestGeneratedFilesAreCurrent fails where a file does not follow from the WIT any more.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate(root)
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s is not current: run go generate ./abi", name)
	}
	// Nothing else claims to be generated.
	for _, pattern := range []string{"abi/*_gen.go", "abi/canon/*_gen.go", "abi/canon/*/*_gen.go", "guest-sdk/internal/bindings/*_gen.go", "guest-sdk/internal/bindings/*/*_gen.go"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			require.Contains(t, files, filepath.ToSlash(name))
		}
	}
}

// TestRefused has contracts that the generator must not pass over in silence.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct{ provider, want string }{
		"a type that nothing describes": {
			`record lonely { x: u32 }  f: func() -> result<_, error>;`,
			"lonely: the type needs a doc comment in the WIT"},
		"a comment that no Go comment can begin with": {
			`/// Makes things.
			 record maker { x: u32 }`,
			"the WIT comment of Maker should begin with an article or a question word"},
		"cases that differ when flat": {
			`/// A choice.
			 variant choice { a(u64), b(f64) }
			 f: func(c: choice) -> result<_, error>;`,
			"a variant whose cases have different flat values at one place cannot be passed flat"},
		"nine flags": {
			`/// The flags.
			 flags many { a, b, c, d, e, f, g, h, i }
			 f: func(m: many) -> result<_, error>;`,
			"more than eight flags"},
		"a list of numbers": {
			`/// The numbers.
			 record numbers { all: list<u32> }
			 f: func(n: numbers) -> result<_, error>;`,
			"no way to lift a list of wit.U32"},
		"a method that is of no kind": {
			`/// @about package
			 f: func() -> result<_, error>;`,
			"provider#f needs the annotation @kind in its WIT comment: one of asks, reads, changes, sets-up"},
		"a method that is about nothing": {
			`/// @kind asks
			 f: func() -> result<_, error>;`,
			"provider#f needs the annotation @about"},
		"a kind that there is not": {
			`/// @kind works
			 f: func() -> result<_, error>;`,
			`there is no annotation "@kind works"`},
		"a property map without a role": {
			request("properties", "", ""),
			"Request.Inputs needs the annotation @role in its WIT comment: one of new, old-inputs, old-state, checked, inputs, state, result"},
		"a property map of a response in a request": {
			request("properties", "/// @role state", ""),
			"Request.Inputs cannot have the role state: it is one of new, old-inputs, old-state"},
		"property maps that nothing would see": {
			request("part", "", ""),
			"Request.Inputs has property maps inside of it"},
		"a request about an unknown kind of resource": {
			request("properties", "/// @role new", "x"),
			"Request: a request about a resource needs a field type or token"},
		"a field with an annotation of methods": {
			request("properties", "/// @role new\n/// @kind asks", ""),
			"Request.Inputs has annotations that are not for it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := generateText(test.provider)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// request is a method about a resource, whose request has the field inputs.
func request(inputs, comment, suffix string) string {
	return `type properties = list<u8>;
		/// A part of a request.
		record part { inputs: properties }
		record request {
			%type` + suffix + `: string,
			` + comment + `
			inputs: ` + inputs + `,
		}
		/// @kind asks
		/// @about resource
		f: func(request: request) -> result<_, error>;`
}

func generateText(provider string) (map[string][]byte, error) {
	var text strings.Builder
	text.WriteString("package husk:provider@0.2.0;\n")
	text.WriteString("interface types {\n/// A failure.\nrecord error { message: string } }\n")
	text.WriteString("/// What a provider does.\ninterface provider {\nuse types.{error};\n" + provider + "\n}\n")
	for iface := range interfaceNames {
		if iface != "types" && iface != "provider" {
			text.WriteString("/// The " + iface + ".\ninterface " + iface + " {}\n")
		}
	}
	resolve, err := wit.DecodeWIT(strings.NewReader(text.String()))
	if err != nil {
		return nil, err
	}
	return generateFrom(resolve)
}

func TestGoName(t *testing.T) {
	for witName, want := range map[string]string{
		"urn": "URN", "id": "ID", "timeout-ms": "TimeoutMs", "type": "Type", "parent-urn": "ParentURN",
		"not-found": "NotFound", "http": "HTTP", "sdk": "SDK", "check-config": "CheckConfig", "identity": "Identity",
	} {
		require.Equal(t, want, goName(witName))
	}
}

// The C header has every export of its worlds, with what frees its answer, and refuses what C cannot pass.
func TestCHeader(t *testing.T) {
	text, err := generateCHeader(root, "provider", "program")
	require.NoError(t, err)
	c, err := contractOf(root)
	require.NoError(t, err)
	for _, i := range c.interfaces("provider", "program") {
		for _, f := range c.functions(i) {
			require.Contains(t, string(text), `EXPORT("`+moduleOf(i)+"#"+f.Name+`")`)
			require.Contains(t, string(text), `EXPORT("cabi_post_`+moduleOf(i)+"#"+f.Name+`")`)
		}
	}
	require.Contains(t, string(text), `static const struct type t_provider_list_response = {RECORD, 4, 2, 16, 0, t_provider_list_response_parts, NULL};`)
	require.Contains(t, string(text), `{{"kvGet", &t_string, &t_result_of_kv_item}, c_kv_get},`)
}
