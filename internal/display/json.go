package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/intake"
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

// ReadEvent returns the event of a line that [JSON] has written. It returns an error for an event that it does not know.
func ReadEvent(line []byte) (engine.Event, error) {
	var typed struct{ Type string }
	if err := intake.AnswerJSON(line, &typed); err != nil {
		return nil, err
	}
	read, is := readers()[typed.Type]
	if !is {
		return nil, fmt.Errorf("the event %.60q is not known", typed.Type)
	}
	return read(line)
}

// readers read events by their types.
var readers = sync.OnceValue(func() map[string]func([]byte) (engine.Event, error) {
	readers := make(map[string]func([]byte) (engine.Event, error))
	for _, add := range []func(map[string]func([]byte) (engine.Event, error)){
		reads[engine.Started], reads[engine.StepStarted], reads[engine.StepDone], reads[engine.StepFailed], reads[engine.ActionStarted],
		reads[engine.ActionDone], reads[engine.ActionFailed], reads[engine.Diagnostic], reads[engine.Preparing], reads[engine.MoveSuggested],
		reads[engine.StackOutputs], reads[engine.ProviderCosts], reads[engine.Summary], reads[engine.PolicyPackLoaded],
		reads[engine.PolicyRemediated], reads[engine.PolicyViolated],
	} {
		add(readers)
	}
	return readers
})

func reads[E engine.Event](readers map[string]func([]byte) (engine.Event, error)) {
	var none E
	readers[none.Type()] = func(line []byte) (engine.Event, error) {
		var e E
		err := intake.AnswerJSON(line, &e)
		return e, err
	}
}
