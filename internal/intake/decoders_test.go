package intake_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/bundle"
	"github.com/husk-dev/husk/internal/intake"
	"github.com/husk-dev/husk/internal/wasmfile"
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
		bound: func(text []byte) int64 {
			const part, copies = 320, 32 // each line has a header, and is copied by the parser
			return int64(min(source.Parts(text), source.MaxParts))*part + int64(len(text))*copies + constant
		},
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
				return module(section(1, 1, 0x60, 0, 0), section(3, 500_000, 0), section(10, 500_000, 2, 0, 0x0b))
			},
			"more functions than there may be": func() []byte { return module(section(1, 1, 0x60, 0, 0), section(3, 5_000_000, 0)) },
			"globals":                          func() []byte { return module(section(6, 10_000, 0x7f, 0, 0x41, 0, 0x0b)) },
			"data":                             func() []byte { return module(section(5, 1, 0, 0), section(11, 200_000, 0, 0x41, 0, 0x0b, 0)) },
			"elements":                         func() []byte { return module(section(4, 1, 0x70, 0, 0), section(9, 200_000, 0, 0x41, 0, 0x0b, 0)) },
			"customs":                          func() []byte { return module(bytes.Repeat([]byte{0, 1, 0}, 1000)) },
			"a count without content":          func() []byte { return module([]byte{3, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}) },
		},
	},
	// Archives are written to a disk as they are read: a limit for the archive, of what it has before it is compressed.
	"bundles": {
		bound: func(text []byte) int64 {
			r, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return constant
			}
			var n int64
			for buffer := make([]byte, 32<<10); err == nil; {
				var read int
				read, err = r.Read(buffer)
				n += int64(read)
			}
			const headers = 2 // the library reads a header, of at most 1 MiB, as text and as a table
			return n*intake.Ratio*headers + constant
		},
		decode: func(t *testing.T, text []byte) error {
			return bundle.Unpack(bytes.NewReader(text), "sha256:x", t.TempDir())
		},
		shapes: map[string]func() []byte{
			"zeros": func() []byte { return archive(1, 32<<20, nil) },
			"files": func() []byte { return archive(500, 0, nil) },
			"records": func() []byte {
				return archive(20, 0, map[string]string{"husk.x": strings.Repeat("x", 500_000)})
			},
			"many records": func() []byte {
				all := map[string]string{}
				for i := range 5_000 {
					all[fmt.Sprint("husk.", i)] = "x"
				}
				return archive(10, 0, all)
			},
		},
	},
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
		for shape, text := range d.shapes {
			content := text()
			bound := d.bound(content)
			var err error
			took := allocated(func() { err = d.decode(t, content) })
			require.LessOrEqual(t, took, bound, "%s: %s: %d times its %d bytes: %v", name, shape, took/int64(len(content)), len(content), err)
		}
	}
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
