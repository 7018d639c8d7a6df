package display

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
)

// JSON writes each event as one line of JSON, an object whose "type" is the
// event's. An error becomes a diagnostic, and the last line is the summary, also
// where the deployment did not begin.
type JSON struct {
	mu      sync.Mutex
	out     io.Writer
	start   time.Time
	summary *engine.Summary
}

// NewJSON returns a display that writes to out.
func NewJSON(out io.Writer) *JSON { return &JSON{out: out, start: time.Now()} }

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
		j.write(engine.Diagnostic{Severity: severity, Message: text})
	}
	j.write(summary)
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
	_, _ = j.out.Write(EscapeJSON(line)) // a reader that went away does not stop a deployment
}

func quoted(s string) string {
	text, _ := json.Marshal(s) // strings always marshal
	return string(text)
}
