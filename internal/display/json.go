package display

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
)

// JSON writes each event as one line of JSON, an object with the member "type". An error becomes a
// diagnostic. The last line is always the summary, even if the deployment did not begin.
type JSON struct {
	mu      sync.Mutex
	out     *Output
	held    *bytes.Buffer // events that are written after a failure only; nil to write all
	start   time.Time
	summary *engine.Summary
}

// NewJSON returns a display that writes to out.
func NewJSON(out *Output) *JSON { return &JSON{out: out, start: time.Now()} }

// NewJSONOfFailures returns a display that writes all events if it is closed with an error, else none.
func NewJSONOfFailures(out *Output) *JSON {
	j := NewJSON(out)
	j.held = new(bytes.Buffer)
	return j
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
	for _, d := range Diagnostics(j.out, err) {
		j.write(d)
	}
	j.write(summary)
	if err != nil && j.held != nil {
		_ = j.out.WriteData(j.held.Bytes())
	}
}

// Diagnostics returns an error as an output shows it to programs, each of its parts once.
func Diagnostics(out *Output, err error) (ds []engine.Diagnostic) {
	for _, f := range failures(err) {
		text, severity := render(f)
		ds = append(ds, engine.Diagnostic{Severity: severity, Message: out.secrets.In(text)})
	}
	return ds
}

func (j *JSON) write(e engine.Event) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteString(`{"type":` + strconv.Quote(e.Type()))
	at := b.Len()
	if err := encoder.Encode(e); err != nil { // an engine's event holds nothing that JSON cannot
		panic(err)
	}
	line := b.Bytes()
	if line[at] = ','; bytes.Equal(line[at+1:], []byte("}\n")) { // an event without fields
		line = append(line[:at], "}\n"...)
	}
	if line = EscapeJSON(line); j.held != nil {
		j.held.Write(line)
	} else {
		_ = j.out.WriteData(line) // OnGone handles a reader that went away
	}
}
