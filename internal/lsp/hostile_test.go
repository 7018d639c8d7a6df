package lsp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2/channel"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/lsp"
)

// wire is a session whose messages are written by hand.
type wire struct {
	*testing.T
	to      io.WriteCloser
	answers chan answered
	ended   chan error
	last    int
}

type answered struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func newWire(t *testing.T) *wire {
	t.Helper()
	fromEditor, toServer := io.Pipe()
	fromServer, toEditor := io.Pipe()
	w := &wire{t, toServer, make(chan answered, 1<<16), make(chan error, 1), 0}
	go func() {
		w.ended <- lsp.Serve(t.Context(), fromEditor, toEditor, lsp.Options{Version: "test", Root: trusted})
		toEditor.Close()
	}()
	go func() {
		c := channel.LSP(fromServer, nopCloser{io.Discard})
		for {
			message, err := c.Recv()
			if err != nil {
				close(w.answers)
				return
			}
			var a answered
			if json.Unmarshal(message, &a) == nil && a.Method == "" {
				w.answers <- a
			}
		}
	}()
	t.Cleanup(func() { _ = toServer.Close() })
	return w
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (w *wire) raw(text string) {
	w.Helper()
	_, err := io.WriteString(w.to, text)
	require.NoError(w, err)
}

func (w *wire) message(text string) {
	w.Helper()
	w.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text))
}

// answer returns the answer of the request that was just sent.
func (w *wire) answer() answered {
	w.Helper()
	a, ok := <-w.answers
	require.True(w, ok, "the server has ended")
	return a
}

// request sends a request, and returns its answer, which is never a failure of the server.
func (w *wire) request(method, params string) answered {
	w.Helper()
	w.last++
	w.message(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.last, method, params))
	a := w.answer()
	for string(a.ID) == "null" { // of a notification that is none
		a = w.answer()
	}
	require.Equal(w, fmt.Sprint(w.last), string(a.ID))
	if a.Error != nil {
		require.NotContains(w, a.Error.Message, "mistake in husk", "%s %s", method, params)
	}
	return a
}

func (w *wire) open(uri, text string) {
	w.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(w, err)
	w.message(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"version":1,"text":%s}}}`, uri, quoted))
}

// end ends the session as an editor does, which the server survived until then.
func (w *wire) end() {
	w.Helper()
	require.Nil(w, w.request("shutdown", "null").Error)
	w.message(`{"jsonrpc":"2.0","method":"exit"}`)
	require.NoError(w, <-w.ended)
}

// positioned are the requests that name a place.
var positioned = []string{
	"textDocument/completion", "textDocument/hover", "textDocument/definition", "textDocument/references",
	"textDocument/prepareRename", "textDocument/rename", "textDocument/documentSymbol", "textDocument/codeAction",
	"textDocument/documentHighlight", "textDocument/signatureHelp", "textDocument/inlayHint",
}

func TestFramesThatAreWrong(t *testing.T) {
	w := newWire(t)
	for text, problem := range map[string]string{
		"Content-Length: 99999999\r\n\r\n" + strings.Repeat("x", 99999999): "the message has 99999999 bytes, and can have 67108864",
		"Content-Length: -1\r\n\r\n":                                       "no header Content-Length that is a number",
		"Content-Length: 1e3\r\n\r\n":                                      "no header Content-Length that is a number",
		"Content-Type: x\r\n\r\n":                                          "no header Content-Length that is a number",
		"no header at all\r\n\r\n":                                         "no header Content-Length that is a number",
		strings.Repeat("long", 100_000) + "\r\n\r\n":                       "no header Content-Length that is a number",
	} {
		w.raw(text)
		a := w.answer()
		require.NotNil(t, a.Error)
		require.Contains(t, a.Error.Message, problem)
	}
	for _, text := range []string{"", "nonsense", "[]", "{}", `{"id":7}`, `{"jsonrpc":"1.0","id":7,"method":"shutdown"}`, `{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":7,"method":""}`, `{"jsonrpc":"2.0","id":{},"method":"shutdown"}`, strings.Repeat("[", 100_000)} {
		w.message(text)
		require.NotNil(t, w.answer().Error, text)
	}
	w.end()
}

// What a length announces is not there yet, and takes no memory.
func TestALengthWithoutAMessage(t *testing.T) {
	w := newWire(t)
	for _, length := range []string{"4611686018427387904", "9223372036854775807", "99999999999999999999999999"} {
		w := newWire(t)
		w.raw("Content-Length: " + length + "\r\n\r\n")
		require.Contains(t, w.answer().Error.Message, "and can have 67108864")
		require.NoError(t, w.to.Close())
		require.Error(t, <-w.ended)
	}
	w.end()
}

func TestParametersThatAreWrong(t *testing.T) {
	dir := t.TempDir()
	uri := "file://" + dir + "/Husk.yaml"
	w := newWire(t)
	w.open(uri, "name: demo\nruntime: yaml\n")
	documents := []string{
		fmt.Sprintf(`{"uri":%q}`, uri), fmt.Sprintf(`{"uri":%q}`, "file://"+dir+"/Other.yaml"), `{"uri":"file:///"}`, `{"uri":"untitled:1"}`,
		`{"uri":""}`, `{"uri":"%zz"}`, `{"uri":"file:///a\u0000b"}`, `{"uri":7}`, `{}`, `null`, `[]`,
	}
	places := []string{
		`{"line":0,"character":0}`, `{"line":2,"character":0}`, `{"line":999999,"character":999999}`, `{"line":0,"character":2147483648}`,
		`{"line":9223372036854775807,"character":9223372036854775807}`, `{"line":9223372036854775808,"character":1e300}`,
		`{"line":-1,"character":0}`, `{"line":0,"character":-1}`, `{"line":-9223372036854775808,"character":-5}`, `{"line":1.5,"character":0}`,
		`{"line":"0","character":0}`, `{"line":null,"character":null}`, `{}`, `null`, `[]`, `7`, `"x"`,
	}
	for _, method := range append(whole, positioned...) {
		for _, d := range documents {
			for _, p := range places {
				w.request(method, fmt.Sprintf(`{"textDocument":%s,"position":%s,"range":{"start":%s,"end":%s},"newName":"x"}`, d, p, p, places[0]))
				w.request(method, fmt.Sprintf(`{"textDocument":%s,"position":%s,"range":{"start":%s,"end":%s},"newName":7,"context":7}`, d, p, places[0], p))
			}
		}
		for _, params := range []string{"null", "[]", "[1,2]", "{}", `{"textDocument":null}`, strings.Repeat(`{"textDocument":`, 9000) + "1" + strings.Repeat("}", 9000)} {
			w.request(method, params)
		}
	}
	for _, p := range places[6:] {
		a := w.request("textDocument/completion", fmt.Sprintf(`{"textDocument":%s,"position":%s}`, documents[0], p))
		require.NotNil(t, a.Error, p)
		require.Equal(t, -32602, a.Error.Code, p)
	}
	require.NotNil(t, w.request("textDocument/unknown", "{}").Error)
	for _, method := range []string{"textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave", "$/cancelRequest", "workspace/didChangeWatchedFiles", "initialized", "unknown"} {
		for _, params := range append(append([]string{"null", "7", "[]"}, documents...), `{"textDocument":7}`, `{"id":{}}`, `{"id":99999999999999999999}`) {
			w.message(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
			if strings.HasPrefix(params, "{\"uri\"") {
				w.message(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"textDocument":%s,"contentChanges":[{"range":{"start":{"line":1,"character":0},"end":{"line":0,"character":0}},"text":"x"}]}}`, method, params))
			}
		}
	}
	for _, id := range []string{"99999999999999999999999999", "1e400", "-1", "1.5", `"` + strings.Repeat("x", 100_000) + `"`} {
		w.message(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"textDocument/hover","params":{}}`, id))
		a := w.answer()
		for string(a.ID) == "null" {
			a = w.answer()
		}
		require.Equal(t, id, string(a.ID))
	}
	w.end()
}

// hostileTexts are documents in which each place is tried.
var hostileTexts = []string{
	"", "\n", "\r\n", "a", "${", "name: 'x", "- ", "{", "[", "}", "name: demo\nruntime: yaml\nresources:\n  r:\n    type: a:b:C\n    properties: {x: \"${r.y[0]}\", y: [\"${r}\", {fn::",
	"name: demo\nvariables:\n  𝒳: \"${𝒳.é𝒴}\"\n  b: {fn::invoke: {function: , arguments: {}}}\n  c: {fn::invoke: }\n  d: {fn::select: [0, [${]}\n",
	"name: demo\nruntime: yaml\nresources: {r: {type: , options: {dependsOn: [\"${\n  parent: ${r}\nactions: {a: {function: \n",
	"name: demo\n? [a, b]\n: c\nresources: &a\n  *a : *a\n  <<: *a\noutputs: *a\n",
	"resources:\n  r:\n    options:\n      actions: {afterCreate: [\"${\"]}\n      aliases:\n\t- x\nconfig:\n  a: {type: }\nplugins:\n  providers:\n    - {name: p, \n",
}

// whole are the requests about a document as a whole.
var whole = []string{"textDocument/formatting", "textDocument/foldingRange", "textDocument/semanticTokens/full", "textDocument/documentLink"}

func TestEachPlaceOfATextIsAnswered(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	w := newWire(t)
	dir := t.TempDir()
	for i, text := range hostileTexts {
		for _, name := range []string{"Husk.yaml", "Husk.dev.yaml"} {
			uri := fmt.Sprintf("file://%s/%d/%s", dir, i, name)
			if name == "Husk.dev.yaml" {
				w.open(fmt.Sprintf("file://%s/%d/Husk.yaml", dir, i), "name: demo\nconfig: {a: {type: string}}\n")
			}
			w.open(uri, text)
			for _, method := range whole {
				w.request(method, fmt.Sprintf(`{"textDocument":{"uri":%q}}`, uri))
			}
			w.request("workspace/symbol", fmt.Sprintf(`{"query":%q}`, name))
			for line, content := range strings.Split(text+"\n", "\n") {
				for character := 0; character < len(content)+2; character += step { // bytes, which are more than UTF-16 has
					place := fmt.Sprintf(`{"line":%d,"character":%d}`, line, character)
					for _, method := range positioned {
						w.request(method, fmt.Sprintf(`{"textDocument":{"uri":%q},"position":%s,"range":{"start":%s,"end":%s},"newName":"renamed","context":{"includeDeclaration":true}}`, uri, place, place, place))
					}
				}
			}
		}
	}
	w.end()
}

// A document that becomes shorter has no places for what was found in it before.
func TestADocumentThatShrinks(t *testing.T) {
	w := newWire(t)
	uri := "file://" + t.TempDir() + "/Husk.yaml"
	w.open(uri, "name: demo\nruntime: yaml\n                                             resorces: {}\nresources: {a: {tipe: x}}\n")
	action := fmt.Sprintf(`{"textDocument":{"uri":%q},"range":{"start":{"line":0,"character":0},"end":{"line":99,"character":99}}}`, uri)
	for _, text := range []string{"x", "", "name: demo\nresources: {a: {tipe: x}}\n", "\n\n\n\n", "resources: {b: {tipe: x}}"} {
		w.request("textDocument/codeAction", action)
		w.message(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":%q,"version":2},"contentChanges":[{"text":%q}]}}`, uri, text))
		w.request("textDocument/codeAction", action)
	}
	w.end()
}

// A document that is as large as no file of a project can be is not parsed.
func TestALargeDocument(t *testing.T) {
	w := newWire(t)
	uri := "file://" + t.TempDir() + "/Husk.yaml"
	w.open(uri, "name: demo\nx-a: ["+strings.Repeat("a,", 5<<20)+"]\n")
	a := w.request("textDocument/completion", fmt.Sprintf(`{"textDocument":{"uri":%q},"position":{"line":1,"character":4}}`, uri))
	require.Nil(t, a.Error)
	w.request("textDocument/documentSymbol", fmt.Sprintf(`{"textDocument":{"uri":%q}}`, uri))
	w.end()
}
