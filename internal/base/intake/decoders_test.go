package intake_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/importfile"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/lsp"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/port/tfstate"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

// decoders are those of foreign bytes, each with shapes that would grow, and a bound of what it allocates in all, garbage
// included: so many bytes for each that was sent, or an absolute limit where the decoder makes a value of each byte or two.
var decoders = map[string]struct {
	// bound returns the limit for a text.
	bound  func(text []byte) int64
	decode func(t *testing.T, text []byte) error
	shapes map[string]func() []byte
}{
	// JSON and CBOR of requests and answers are in TestJSONTakesAtMostEightTimes and TestCBORTakesAtMostEightTimes.
	"manifests of OCI": {
		bound: func(text []byte) int64 { return int64(len(text))*(intake.Ratio+1) + constant },
		decode: func(_ *testing.T, text []byte) error {
			return intake.AnswerJSON(text, new(ocispec.Manifest))
		},
		shapes: map[string]func() []byte{
			"layers":         func() []byte { return []byte(`{"layers":[` + list(`{}`, 80_000) + `]}`) },
			"platforms":      func() []byte { return []byte(`{"layers":[` + list(`{"platform":{}}`, 15_000) + `]}`) },
			"annotations":    func() []byte { return []byte(`{"annotations":{` + manyMembers(20_000) + `}}`) },
			"of each layer":  func() []byte { return []byte(`{"layers":[` + list(`{"annotations":{"a":""}}`, 10_000) + `]}`) },
			"URLs":           func() []byte { return []byte(`{"config":{"urls":[` + list(`""`, 80_000) + `]}}`) },
			"what is unread": func() []byte { return []byte(`{"x":[` + list(`{}`, 80_000) + `]}`) },
		},
	},
	// YAML has a value for each byte or two, so that the file has a limit: MaxFileSize bytes, and MaxParts of these.
	"YAML of programs": {
		bound: source.DecodedSize,
		decode: func(_ *testing.T, text []byte) error {
			_, err := source.Parse(source.NewFile("x.yaml", text), text)
			return err
		},
		shapes: map[string]func() []byte{
			"entries":          func() []byte { return []byte("a: [" + strings.Repeat("a,", 100_000) + "a]") },
			"lines":            func() []byte { return []byte("a:\n" + strings.Repeat("- a\n", 60_000)) },
			"nothing":          func() []byte { return []byte("a:\n" + strings.Repeat("-\n", 100_000)) },
			"maps":             func() []byte { return []byte("a: [" + strings.Repeat("{},", 80_000) + "]") },
			"lists":            func() []byte { return []byte("a: [" + strings.Repeat("[],", 80_000) + "]") },
			"keys":             manyKeys,
			"aliases":          func() []byte { return []byte("a: &a x\nb: [" + strings.Repeat("*a,", 80_000) + "]") },
			"anchors":          func() []byte { return []byte("b: [" + strings.Repeat("&a x,", 50_000) + "]") },
			"tags":             func() []byte { return []byte("b: [" + strings.Repeat("!a x,", 50_000) + "]") },
			"merges":           func() []byte { return []byte("a: &a {b: c}\nd: [" + strings.Repeat("{<<: *a},", 25_000) + "]") },
			"comments":         func() []byte { return []byte("a: b\n" + strings.Repeat("#\n", 100_000)) },
			"comments between": func() []byte { return []byte("a:\n" + strings.Repeat("- #\n", 60_000)) },
			"comments below":   func() []byte { return []byte("a:\n" + strings.Repeat("- a\n  #\n", 30_000)) },
			"escapes":          func() []byte { return []byte(`a: "` + strings.Repeat(`\x00`, 60_000) + `"`) },
			"empty lines":      func() []byte { return []byte("a: \"" + strings.Repeat("\n\n", 100_000) + "\"") },
			"only empty lines": func() []byte { return bytes.Repeat([]byte("\n"), 200_000) },
			"documents":        func() []byte { return bytes.Repeat([]byte("---\n"), 60_000) },
			"depth":            func() []byte { return bytes.Repeat([]byte("["), 200_000) },
			"questions":        func() []byte { return bytes.Repeat([]byte("? "), 100_000) },
			"a plain text":     func() []byte { return []byte("a: " + strings.Repeat("x y ", 60_000)) },
			"expanding": func() []byte {
				text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
				for i := range 20 {
					text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
				}
				return []byte(text)
			},
		},
	},
	// Modules have an absolute limit beside: their limits are counts, of which the largest is that of functions.
	"modules": {
		bound: func(text []byte) int64 {
			const counts = 128 << 20
			return int64(len(text))*intake.Ratio + counts
		},
		decode: func(_ *testing.T, text []byte) error {
			_, err := wasmfile.Read(text, wasmfile.DefaultLimits())
			return err
		},
		shapes: map[string]func() []byte{
			"types":   func() []byte { return module(section(1, 10_000, 0x60, 0, 0)) },
			"imports": func() []byte { return module(section(1, 1, 0x60, 0, 0), section(2, 1000, 0, 0, 0, 0)) },
			"functions": func() []byte {
				return module(section(1, 1, 0x60, 0, 0), section(3, 130_000, 0), section(10, 130_000, 2, 0, 0x0b))
			},
			"more functions than there may be": func() []byte { return module(section(1, 1, 0x60, 0, 0), section(3, 5_000_000, 0)) },
			"globals":                          func() []byte { return module(section(6, 10_000, 0x7f, 0, 0x41, 0, 0x0b)) },
			"data":                             func() []byte { return module(section(5, 1, 0, 0), section(11, 200_000, 0, 0x41, 0, 0x0b, 0)) },
			"elements":                         func() []byte { return module(section(4, 1, 0x70, 0, 0), section(9, 200_000, 0, 0x41, 0, 0x0b, 0)) },
			"customs":                          func() []byte { return module(bytes.Repeat([]byte{0, 1, 0}, 1000)) },
			"a count without content":          func() []byte { return module([]byte{3, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}) },
		},
	},
	// Documents of providers and of users may be short and have many parts, for which they have an allowance.
	"schemas of providers": {
		// The model that is made of what was decoded takes three times as much again.
		bound:  func(text []byte) int64 { return 4 * document(text) },
		decode: func(_ *testing.T, text []byte) error { _, err := schemajson.Parse(text); return err },
		shapes: map[string]func() []byte{
			"resources": func() []byte { return []byte(`{"name":"x","resources":{` + members("x:a:b", 80_000, `{}`) + `}}`) },
			"types": func() []byte {
				return []byte(`{"name":"x","types":{` + members("x:a:b", 80_000, `{"type":"object"}`) + `}}`)
			},
			"values": func() []byte {
				return []byte(`{"name":"x","types":{"x:a:B":{"type":"string","enum":[` + list(`{}`, 240_000) + `]}}}`)
			},
			"functions": func() []byte { return []byte(`{"name":"x","functions":{` + members("x:a:b", 130_000, `{}`) + `}}`) },
			"properties": func() []byte {
				return []byte(`{"name":"x","config":{"variables":{` + members("", 80_000, `{"type":"string"}`) + `}}}`)
			},
			"the most properties": func() []byte {
				return []byte(`{"name":"x","config":{"variables":{` + members("", 40_000, `{"type":"string"}`) + `}}}`)
			},
			"alternatives": func() []byte {
				return []byte(`{"name":"x","config":{"variables":{"a":{"oneOf":[` + list(`{}`, 240_000) + `]}}}}`)
			},
			"keywords": func() []byte { return []byte(`{"name":"x","keywords":[` + list(`""`, 240_000) + `]}`) },
			"defaults": func() []byte {
				return []byte(`{"name":"x","config":{"variables":{"a":{"type":"array","items":{"type":"string"},"default":[` + list(`{}`, 240_000) + `]}}}}`)
			},
			"aliases": func() []byte {
				return []byte(`{"name":"x","resources":{"x:a:B":{"aliases":[` + list(`{}`, 240_000) + `]}}}`)
			},
			"what is unread": func() []byte { return []byte(`{"name":"x","language":{"a":[` + list(`{}`, 240_000) + `]}}`) },
			"what does not fit": func() []byte {
				return []byte(`{"name":"x","keywords":[` + list(`{}`, 240_000) + `],"types":[` + list(`{}`, 240_000) + `]}`)
			},
			"types in types": func() []byte {
				return []byte(`{"name":"x","config":{"variables":{"a":` + strings.Repeat(`{"type":"array","items":`, 9000) + `{}` + strings.Repeat(`}`, 9000) + `}}}`)
			},
			"the same name": func() []byte {
				return []byte(`{"name":"x","config":{"variables":{` + list(`"a":{"type":"string"}`, 80_000) + `}}}`)
			},
		},
	},
	"mappings of names": {
		bound:  document,
		decode: func(_ *testing.T, text []byte) error { _, err := tfstate.ParseMapping(text); return err },
		shapes: map[string]func() []byte{
			"resources": func() []byte { return []byte(`{"resources":{` + members("", 130_000, `{}`) + `}}`) },
			"fields":    func() []byte { return []byte(`{"resources":{"a":{"fields":{` + members("", 130_000, `{}`) + `}}}}`) },
		},
	},
	"states of Terraform": {
		bound: func(text []byte) int64 {
			const allowance = 256 << 20
			return int64(len(text))*(intake.Ratio+1) + allowance
		},
		decode: func(_ *testing.T, text []byte) error { _, err := tfstate.Parse(text); return err },
		shapes: map[string]func() []byte{
			"resources":  func() []byte { return []byte(`{"version":4,"resources":[` + list(`{}`, 700_000) + `]}`) },
			"instances":  func() []byte { return terraformState(list(`{}`, 700_000)) },
			"attributes": func() []byte { return terraformState(`{"attributes":{"a":[` + list(`{}`, 240_000) + `]}}`) },
			"numbers":    func() []byte { return terraformState(`{"attributes":{"a":[` + list(`0`, 240_000) + `]}}`) },
			"names":      func() []byte { return terraformState(`{"attributes":{` + members("", 130_000, `0`) + `}}`) },
			"sensitive":  func() []byte { return terraformState(`{"sensitive_attributes":[` + list(`[]`, 240_000) + `]}`) },
			"shown": func() []byte {
				return []byte(`{"format_version":"1.0","values":{"root_module":{"resources":[` + list(`{}`, 700_000) + `]}}}`)
			},
			"modules": func() []byte {
				return []byte(`{"format_version":"1.0","values":{"root_module":{"child_modules":[` + list(`{}`, 240_000) + `]}}}`)
			},
			"a long list": func() []byte { return terraformState(`{"dependencies":[` + list(`""`, 240_000) + `]}`) },
		},
	},
	"import files": {
		bound:  func(text []byte) int64 { return 2 * document(text) },
		decode: func(_ *testing.T, text []byte) error { _, err := importfile.Parse(text); return err },
		shapes: map[string]func() []byte{
			"resources":  func() []byte { return []byte(`{"resources":[` + list(`{}`, 240_000) + `]}`) },
			"names":      func() []byte { return []byte(`{"nameTable":{` + members("", 130_000, `""`) + `}}`) },
			"properties": func() []byte { return []byte(`{"resources":[{"properties":[` + list(`""`, 240_000) + `]}]}`) },
		},
	},
	"plans": {
		bound:  func(text []byte) int64 { return 2 * document(text) },
		decode: func(t *testing.T, text []byte) error { _, err := engine.DecodePlan(t.Context(), text, nil); return err },
		shapes: map[string]func() []byte{
			"resources": func() []byte { return []byte(`{"version":1,"resources":{` + members("", 130_000, `{}`) + `}}`) },
			"one again": func() []byte { return []byte(`{"version":1,"resources":{` + list(`"a":{}`, 130_000) + `}}`) },
			"steps": func() []byte {
				return []byte(`{"version":1,"resources":{"a":{"steps":[` + list(`""`, 240_000) + `]}}}`)
			},
			"goals": func() []byte { return []byte(`{"version":1,"goals":{"x":[` + list(`{}`, 240_000) + `]}}`) },
		},
	},
	"signatures": {
		bound:  func(text []byte) int64 { return int64(len(text))*(intake.Ratio+1) + constant },
		decode: func(_ *testing.T, text []byte) error { _, err := trust.ParseBundle(text); return err },
		shapes: map[string]func() []byte{
			"entries": func() []byte {
				return signature(`"verificationMaterial":{"tlogEntries":[` + list(`{}`, 100_000) + `]}`)
			},
			"certificates": func() []byte {
				return signature(`"verificationMaterial":{"x509CertificateChain":{"certificates":[` + list(`{}`, 100_000) + `]}}`)
			},
			"stamps": func() []byte {
				return signature(`"verificationMaterial":{"timestampVerificationData":{"rfc3161Timestamps":[` + list(`{}`, 100_000) + `]}}`)
			},
			"signatures":     func() []byte { return signature(`"dsseEnvelope":{"signatures":[` + list(`{}`, 100_000) + `]}`) },
			"what is unread": func() []byte { return signature(`"x":[` + list(`{}`, 100_000) + `]`) },
			"a statement": func() []byte {
				return signature(`"verificationMaterial":{"publicKey":{"hint":"x"}},"dsseEnvelope":{"payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AA=="}],"payload":"` +
					base64.StdEncoding.EncodeToString([]byte(`{"subject":[`+list(`{}`, 100_000)+`]}`)) + `"}`)
			},
		},
	},
	"trusted roots": {
		bound:  func(text []byte) int64 { return int64(len(text))*(intake.Ratio+1) + constant },
		decode: func(_ *testing.T, text []byte) error { _, err := trust.ParseRoot(text); return err },
		shapes: map[string]func() []byte{
			"logs":        func() []byte { return trustedRoot(`"tlogs":[` + list(`{}`, 100_000) + `]`) },
			"authorities": func() []byte { return trustedRoot(`"certificateAuthorities":[` + list(`{}`, 100_000) + `]`) },
			"many":        func() []byte { return bytes.Repeat(trustedRoot(`"x":1`), 10_000) },
			"the last": func() []byte {
				return slices.Concat(trustedRoot(`"x":1`), trustedRoot(`"tlogs":[`+list(`{}`, 100_000)+`]`))
			},
		},
	},
	// The protocol takes messages apart twice before it is known what they are.
	"messages of an editor": {
		bound: func(text []byte) int64 { return int64(len(text))*intake.Ratio + 8*constant },
		decode: func(t *testing.T, text []byte) error {
			message := fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(text), text)
			return lsp.Serve(t.Context(), bytes.NewReader(message), nowhere{io.Discard}, lsp.Options{Version: "test", Root: func(dir string) *projectroot.Root {
				return projectroot.New(dir, projectroot.Untrusted)
			}})
		},
		shapes: map[string]func() []byte{
			"requests":      func() []byte { return []byte("[" + list(`{}`, 100_000) + "]") },
			"numbers":       func() []byte { return []byte(" [" + list(`1`, 100_000) + "]") },
			"notifications": func() []byte { return []byte("[" + list(`{"jsonrpc":"2.0","method":"a"}`, 20_000) + "]") },
			"changes": func() []byte {
				return editing("textDocument/didChange", `"contentChanges":[`+list(`{}`, 1_000_000)+`]`)
			},
			"diagnostics": func() []byte {
				return editing("textDocument/codeAction", `"range":{},"context":{"diagnostics":[`+list(`{}`, 100_000)+`]}`)
			},
			"what is unread": func() []byte { return editing("textDocument/hover", `"x":[`+list(`{}`, 1_000_000)+`]`) },
		},
	},
	"lock files": {
		bound: func(text []byte) int64 {
			const part = 320 // an entry that is not as it must be has an error of its own
			return source.DecodedSize(text) + int64(source.Parts(text))*part
		},
		decode: func(_ *testing.T, text []byte) error { _, err := lockfile.Parse(text); return err },
		shapes: map[string]func() []byte{
			"providers": func() []byte { return []byte("version: 1\nproviders:\n" + strings.Repeat("- {}\n", 60_000)) },
			"requests": func() []byte {
				return []byte("version: 1\nproviders:\n- {name: x, source: 'oci://x.y/z', version: 1.0.0, requests: [" + list("{}", 60_000) + "]}\n")
			},
			"aliases": func() []byte {
				return []byte("version: 1\nproviders: [&a {name: x, requests: [{capability: env}]}" + strings.Repeat(", *a", 60_000) + "]\n")
			},
			"signers": func() []byte {
				return []byte("version: 1\nproviders: [{name: x, signer: &a {key: a}}" + strings.Repeat(", {signer: *a}", 60_000) + "]\n")
			},
		},
	},
	// What a provider answers has a limit of items, and is counted as memory of its instance.
	"answers of providers": {
		bound: func(text []byte) int64 {
			const item = 200 // with what lists have grown from
			return int64(min(len(text), property.DefaultItems))*item + int64(len(text)) + constant
		},
		decode: func(_ *testing.T, text []byte) error { _, err := guestcbor.Unmarshal(text); return err },
		shapes: map[string]func() []byte{
			"lists":     func() []byte { return cborList(240_000, 0x80) },
			"maps":      func() []byte { return cborList(240_000, 0xa0) },
			"numbers":   func() []byte { return cborList(240_000, 0xf9, 0, 0) },
			"nulls":     func() []byte { return cborList(240_000, 0xf6) },
			"too many":  func() []byte { return cborList(2_000_000, 0xf6) },
			"names":     func() []byte { return cborList(80_000, 0xa1, 0x61, 'a', 0xf9, 0, 0) },
			"depth":     func() []byte { return append([]byte{0xa1, 0x61, 'a'}, bytes.Repeat([]byte{0x81}, 240_000)...) },
			"no values": func() []byte { return []byte{0xa1, 0x61, 'a', 0x9b, 0, 0, 0, 1, 0, 0, 0, 0} },
		},
	},
	// The directory of a zip file is in memory, and has a limit of its own.
	"zip files": {
		bound:  func(text []byte) int64 { return int64(len(text))*intake.Ratio + streams },
		decode: func(t *testing.T, text []byte) error { return hashArchive(t, "x.zip", text) },
		shapes: map[string]func() []byte{
			"only a list":      func() []byte { return zipList(60_000) },
			"files":            func() []byte { return zipped(20_000, "", nil) },
			"the same":         func() []byte { return zipped(20_000, "a", nil) },
			"directories":      func() []byte { return zipped(20_000, "/", nil) },
			"zeros":            func() []byte { return zipped(1, "", make([]byte, 64<<20)) },
			"a count of a lie": func() []byte { return lying(zipped(1, "", nil), 0xffff) },
			"half":             func() []byte { b := zipped(20_000, "", nil); return b[len(b)/2:] },
		},
	},
	"tar files": {
		bound:  func(text []byte) int64 { return tarBound(text) + streams },
		decode: func(t *testing.T, text []byte) error { return hashArchive(t, "x.tar.gz", text) },
		shapes: map[string]func() []byte{
			"zeros":            func() []byte { return archive(1, 64<<20, nil) },
			"files":            func() []byte { return archive(20_000, 0, nil) },
			"records":          func() []byte { return archive(20, 0, map[string]string{"husk.x": strings.Repeat("x", 500_000)}) },
			"the most records": func() []byte { return archive(1, 0, manyRecords(6_000)) },
		},
	},
	// A state is the user's own, and what was written must be read: it has no ratio but what a value takes. A server counts the values before.
	"states": {
		bound:  func(text []byte) int64 { return backend.DecodedSize(text) },
		decode: func(t *testing.T, text []byte) error { _, _, err := state.Decode(t.Context(), text, nil); return err },
		shapes: map[string]func() []byte{
			"resources":    func() []byte { return ownState(`{}`, 20_000) },
			"lists":        func() []byte { return ownState(`{"a":[`+list(`[]`, 100_000)+`]}`, 1) },
			"numbers":      func() []byte { return ownState(`{"a":[`+list(`0`, 200_000)+`]}`, 1) },
			"names":        func() []byte { return ownState(`{`+members("", 50_000, `0`)+`}`, 1) },
			"objects":      func() []byte { return ownState(`{"a":[`+list(`{"a":0}`, 50_000)+`]}`, 1) },
			"depth":        func() []byte { return ownState(`{"a":`+strings.Repeat("[", 200_000), 1) },
			"dependencies": func() []byte { return ownState(`{},"dependencies":[`+list(`"a"`, 100_000)+`]`, 1) },
			"of inputs":    func() []byte { return ownState(`{},"propertyDependencies":{`+members("", 100_000, `[]`)+`}`, 1) },
		},
	},
	// Archives are written to a disk as they are read: a limit for the archive, of what it has before it is compressed.
	"bundles": {
		bound: tarBound,
		decode: func(t *testing.T, text []byte) error {
			archive, err := os.Create(filepath.Join(t.TempDir(), "archive"))
			require.NoError(t, err)
			defer archive.Close()
			_, err = bundle.Decompress(archive, bytes.NewReader(text), "sha256:x")
			_, seekErr := archive.Seek(0, io.SeekStart)
			require.NoError(t, seekErr)
			return errors.Join(err, bundle.Extract(archive, t.TempDir()))
		},
		shapes: map[string]func() []byte{
			"zeros": func() []byte { return archive(1, 32<<20, nil) },
			"files": func() []byte { return archive(500, 0, nil) },
			"records": func() []byte {
				return archive(20, 0, map[string]string{"husk.x": strings.Repeat("x", 500_000)})
			},
			"many records":     func() []byte { return archive(10, 0, manyRecords(50_000)) },
			"the most records": func() []byte { return archive(1, 0, manyRecords(6_000)) },
		},
	},
}

// tarBound is the limit for a gzipped tar file, by what it has before it is compressed, and for the headers of one file.
func tarBound(text []byte) int64 {
	const headers = 2 << 20
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return constant
	}
	n, _ := io.Copy(io.Discard, r)
	return n*intake.Ratio + headers + constant
}

// manyRecords are records that are as short as they can be.
func manyRecords(n int) map[string]string {
	all := make(map[string]string)
	for i := range n {
		all[fmt.Sprintf("%x", i)] = "x"
	}
	return all
}

// document is the limit for a document of a provider or a user.
func document(text []byte) int64 { return int64(len(text))*(intake.Ratio+1) + intake.Allowance }

// streams is what hashing an archive takes, whatever is in it: buffers, and the file that it is.
const streams = 1 << 20

// members are those of an object, with different names.
func members(prefix string, n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%s%d":%s,`, prefix, i, value)
	}
	return b.String() + `"` + prefix + `x":` + value
}

func terraformState(instances string) []byte {
	return []byte(`{"version":4,"resources":[{"mode":"managed","type":"a_b","name":"c","provider":"provider[\"x/y/z\"]","instances":[` + instances + `]}]}`)
}

func ownState(inputs string, resources int) []byte {
	var b bytes.Buffer
	for i := range resources {
		fmt.Fprintf(&b, `,{"urn":"urn:pulumi:a::b::c:d:E::f%d","type":"c:d:E","inputs":%s}`, i, inputs)
	}
	return slices.Concat([]byte(`{"version":3,"deployment":{"resources":[`), b.Bytes()[1:], []byte(`]}}`))
}

func signature(members string) []byte {
	return []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json",` + members + `}`)
}

func trustedRoot(members string) []byte {
	return []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1",` + members + `}`)
}

// editing is a message about a document.
func editing(method, members string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"textDocument":{"uri":"file:///a"},%s}}`, method, members)
}

// nowhere is where answers go.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// cborList is an object with a list of elements that are all the same.
func cborList(n uint32, element ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0xa1, 0x61, 'a', 0x9a}, n), bytes.Repeat(element, int(n))...)
}

// zipped returns a zip file of files with the same content, and one name or names of their own.
func zipped(files int, name string, content []byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range files {
		this := name
		if name == "" || name == "/" {
			this = fmt.Sprint(i) + name
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: this, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			panic(err)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

// zipList returns a zip file that has nothing but a list of files, in as few bytes as it can.
func zipList(files uint16) []byte {
	entry := append([]byte{'P', 'K', 1, 2}, make([]byte, 43)...)
	entry[28], entry[46] = 1, 'a' // the length of the name, and the name
	all := bytes.Repeat(entry, int(files))
	end := append([]byte{'P', 'K', 5, 6}, make([]byte, 18)...)
	binary.LittleEndian.PutUint16(end[8:], files)
	binary.LittleEndian.PutUint16(end[10:], files)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(all)))
	return append(all, end...)
}

// lying has a zip file say that it has another number of files.
func lying(file []byte, files uint16) []byte {
	const end, count = 22, 10 // the size of the last record, and where it has the number of files
	binary.LittleEndian.PutUint16(file[len(file)-end+count:], files)
	return file
}

// hashArchive reads an archive as the engine does.
func hashArchive(t *testing.T, name string, content []byte) error {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	_, err := contents.Source{Dir: dir}.HashArchive(t.Context(), property.Archive{Source: property.SourceAssets, Assets: property.MapOf(map[string]property.Value{
		"x": property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: name}),
	})})
	return err
}

func manyKeys() []byte {
	var b bytes.Buffer
	for i := range 50_000 {
		fmt.Fprintf(&b, "%d:\n", i)
	}
	return b.Bytes()
}

// section returns one of a module with elements that are all the same.
func section(id byte, n int, element ...byte) []byte {
	content := append(binary.AppendUvarint(nil, uint64(n)), bytes.Repeat(element, n)...)
	return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
}

func module(sections ...[]byte) []byte {
	return append([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, bytes.Join(sections, nil)...)
}

// archive returns one of files of a size, each with records.
func archive(files int, size int64, records map[string]string) []byte {
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	for i := range files {
		format := tar.FormatUnknown
		if records != nil {
			format = tar.FormatPAX
		}
		err := w.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeReg, Mode: 0o600, Size: size, PAXRecords: records, Format: format})
		if err == nil {
			_, err = w.Write(make([]byte, size))
		}
		if err != nil {
			panic(err)
		}
	}
	_ = w.Close()
	_ = compressed.Close()
	return b.Bytes()
}

// TestDecodersStayWithinTheirBounds decodes each shape. Most are refused.
func TestDecodersStayWithinTheirBounds(t *testing.T) {
	for name, d := range decoders {
		for i, shape := range slices.Sorted(maps.Keys(d.shapes)) {
			if i > 0 && testing.Short() {
				break
			}
			text := d.shapes[shape]
			content := text()
			bound := d.bound(content)
			var err error
			took := allocated(func() { err = d.decode(t, content) })
			require.LessOrEqual(t, took, bound, "%s: %s: %d times its %d bytes: %v", name, shape, took/int64(len(content)), len(content), err)
		}
	}
}

// TestWhatProvidersWriteIsTaken has a schema of the size of a large provider's decoded.
func TestWhatProvidersWriteIsTaken(t *testing.T) {
	property := `{"type":"string","description":"` + strings.Repeat("x", 100) + `"}`
	_, err := schemajson.Parse([]byte(`{"name":"x","config":{"variables":{` + members("property", 60_000, property) + `}}}`))
	require.NoError(t, err)
	_, err = schemajson.Parse([]byte(`{"name":"x","config":{"variables":{` + members("", 10_000, `{"type":"string"}`) + `}}}`))
	require.NoError(t, err)
}

// TestFilesOfTooManyParts has a file of which the parser would make too much be refused before it is parsed.
func TestFilesOfTooManyParts(t *testing.T) {
	for _, text := range []string{"a: [" + strings.Repeat("a,", source.MaxParts) + "a]", "a:\n" + strings.Repeat("-\n", source.MaxParts/2+1), "a: b\n" + strings.Repeat("#\n", source.MaxParts/5+1)} {
		var err error
		took := allocated(func() { _, err = source.Parse(source.NewFile("x.yaml", []byte(text)), []byte(text)) })
		require.ErrorContains(t, err, "more than 1500000 lines, entries, and comments")
		require.Less(t, took, int64(len(text))*32)
	}
	program, err := json.Marshal(map[string]any{"resources": strings.Repeat("x", 1000)})
	require.NoError(t, err)
	require.Less(t, source.Parts(program), 10)
}
