package display

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
)

// JSON writes each event as one line of JSON, an object whose "type" is the
// event's. An error becomes a diagnostic, and the last line is the summary, also
// where the deployment did not begin.
type JSON struct {
	mu      sync.Mutex
	out     io.Writer
	held    *bytes.Buffer // what is written only after a failure; nil for none
	secrets *redact.Secrets
	start   time.Time
	summary *engine.Summary
}

// NewJSON returns a display that writes to out.
func NewJSON(out *Output) *JSON { return newJSON(dataOf{out}, out.secrets) }

// NewJSONOfFailures returns a display that writes everything once it is closed with an error, and
// nothing otherwise.
func NewJSONOfFailures(out *Output) *JSON {
	j := NewJSON(out)
	j.held = new(bytes.Buffer)
	return j
}

func newJSON(out io.Writer, secrets *redact.Secrets) *JSON {
	return &JSON{out: out, secrets: secrets, start: time.Now()}
}

// Event implements [Display].
func (j *JSON) Event(e engine.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s, ok := e.(engine.Summary); ok {
		j.summary = &s
		return
	}
	j.write(e)
}

// Close implements [Display].
func (j *JSON) Close(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	summary := engine.Summary{Result: "succeeded", DurationMs: time.Since(j.start).Milliseconds()}
	if j.summary != nil {
		summary = *j.summary
	}
	if err != nil {
		summary.Result = "failed"
	}
	for _, f := range failures(err) {
		text, severity := render(f)
		j.write(engine.Diagnostic{Severity: severity, Message: j.secrets.In(text)})
	}
	j.write(summary)
	if err != nil && j.held != nil {
		_, _ = j.out.Write(j.held.Bytes())
	}
}

func (j *JSON) write(e engine.Event) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteString(`{"type":` + quoted(e.Type()))
	at := b.Len()
	if err := encoder.Encode(e); err != nil { // an engine's event holds nothing that JSON cannot
		panic(err)
	}
	line := b.Bytes()
	if line[at] = ','; bytes.Equal(line[at+1:], []byte("}\n")) { // an event without fields
		line = append(line[:at], "}\n"...)
	}
	out := j.out
	if j.held != nil {
		out = j.held
	}
	_, _ = out.Write(EscapeJSON(line)) // who has the output learns of a reader that went away
}

func quoted(s string) string {
	text, _ := json.Marshal(s) // strings always marshal
	return string(text)
}
