package runlog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/host"
)

const (
	// writeEvery is the time between writes, sampleEvery between samples of instances.
	writeEvery  = 200 * time.Millisecond
	sampleEvery = time.Second
	// touchEvery is the time between signs of life of a deployment without events.
	touchEvery = 2 * time.Second
)

// Options are the options of [Begin].
type Options struct {
	// Secrets are left out of the record.
	Secrets *redact.Secrets
	// Instances samples the instances of providers; nil for none.
	Instances func() []Instances
}

// Recorder writes the record of one deployment. It is safe for concurrent use. It never makes its caller wait for
// the disk, but for the last lines.
type Recorder struct {
	id      string
	file    *os.File
	start   time.Time
	options Options
	stop    chan struct{}
	rest    func() // closes stop, and samples once more
	writing sync.WaitGroup

	mu     sync.Mutex
	queue  [][]byte
	size   int  // of all lines, in bytes
	left   bool // the record is full
	closed bool
	last   *engine.Summary  // of the deployment, or of its preview
	steps  map[urn.URN]bool // the running ones
	uses   map[use]*counted
	fresh  []*counted // uses that are not yet written

	sampling sync.Mutex
	sampled  []Instances       // the last recorded ones
	peaks    map[string]uint64 // by module

	disk   sync.Mutex // orders writes
	failed error
}

// Begin makes the record of a deployment in a directory, which is made if there is none. It removes the oldest
// records if there are too many.
func Begin(dir string, h Header, o Options) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("recording the run: %w", err)
	}
	prune(dir)
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	r := &Recorder{id: idOf(h), start: h.Start, options: o, stop: make(chan struct{}), peaks: make(map[string]uint64), steps: make(map[urn.URN]bool)}
	r.rest = sync.OnceFunc(func() {
		close(r.stop)
		r.writing.Wait()
		r.sample()
	})
	name, err := path(dir, r.id)
	if err == nil {
		r.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("recording the run: %w", err)
	}
	r.add(typeHeader, header, true)
	r.write()
	r.writing.Go(r.work)
	return r, nil
}

// ID names the record.
func (r *Recorder) ID() string { return r.id }

// Event records an event. Steps that change nothing are left out, except failed ones.
func (r *Recorder) Event(e engine.Event) {
	essential := false
	switch e := e.(type) {
	case engine.StepStarted:
		if e.Step.Op == engine.OpSame {
			return
		}
		r.open(e.Step.URN, true)
	case engine.StepDone:
		if !r.open(e.Step.URN, false) && e.Step.Op == engine.OpSame {
			return
		}
		r.look()
	case engine.StepFailed, engine.ActionFailed, engine.PolicyViolated, engine.StackOutputs, engine.ProviderCosts:
		essential = true
		r.look()
	case engine.Diagnostic:
		if e.Severity == "debug" || e.Ephemeral {
			return
		}
		essential = e.Severity == "error" && !e.Guest
	case engine.Started:
		essential = true
	case engine.Summary:
		essential = true
		r.mu.Lock()
		r.last = &e
		r.mu.Unlock()
	}
	data, err := json.Marshal(e)
	if err != nil { // an engine's event holds nothing that JSON cannot
		panic(err)
	}
	r.add(e.Type(), data, essential)
}

// use identifies a [Use].
type use struct {
	provider, capability, target string
	allowed                      bool
}

// open notes whether a step of a resource goes on, and reports whether one did.
func (r *Recorder) open(u urn.URN, now bool) (was bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was = r.steps[u]
	if now {
		r.steps[u] = true
	} else {
		delete(r.steps, u)
	}
	return was
}

// counted is a use with whether its count is yet to be written.
type counted struct {
	Use
	fresh bool
}

// Use records the use of a capability. The same use is counted.
func (r *Recorder) Use(e host.AuditEvent) {
	key := use{e.Provider, e.Capability, e.Target, e.Allowed}
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.uses[key]
	if u == nil {
		if len(r.uses) >= maxUses {
			return
		}
		u = &counted{Use: Use{
			Provider: e.Provider, Version: e.Version, Method: e.Method,
			Capability: e.Capability, Target: e.Target, Allowed: e.Allowed, Reason: e.Reason,
		}}
		if r.uses == nil {
			r.uses = make(map[use]*counted)
		}
		r.uses[key] = u
	}
	u.Count++
	if !u.fresh {
		u.fresh = true
		r.fresh = append(r.fresh, u)
	}
}

// addUses records the uses with new counts.
func (r *Recorder) addUses() {
	r.mu.Lock()
	var uses []Use
	for _, u := range r.fresh {
		u.fresh = false
		uses = append(uses, u.Use)
	}
	r.fresh = nil
	r.mu.Unlock()
	if len(uses) == 0 {
		return
	}
	data, err := json.Marshal(uses)
	if err != nil {
		panic(err)
	}
	r.add(typeUses, data, true)
}

// Flush writes the record so far, before something refers to it.
func (r *Recorder) Flush() { r.write() }

// Rest takes the last sample of the instances. Call it before they are closed.
func (r *Recorder) Rest() { r.rest() }

// Content returns the record up to now, with an end, without ending it.
func (r *Recorder) Content(end End) ([]byte, error) {
	r.Rest()
	r.addUses()
	r.write()
	data, err := json.Marshal(end)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(r.file.Name())
	if err := cmp.Or(r.failed, err); err != nil {
		return nil, incomplete(err)
	}
	return append(text, r.options.Secrets.InJSON(r.line(typeEnd, data))...), nil
}

func incomplete(err error) error { return fmt.Errorf("the record of this run is incomplete: %w", err) }

// Close ends the record. The error is the first that lost a line.
func (r *Recorder) Close(end End) error {
	data, err := json.Marshal(end)
	if err != nil {
		return err
	}
	r.Rest()
	r.addUses()
	r.add(typeEnd, data, true)
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.write()
	if err := cmp.Or(r.failed, r.file.Close()); err != nil {
		return incomplete(err)
	}
	return nil
}

// line returns a line of the record, as of now.
func (r *Recorder) line(kind string, data []byte) []byte {
	at := max(0, time.Since(r.start).Milliseconds())
	text := make([]byte, 0, len(data)+64)
	text = fmt.Appendf(text, `{"at":%d,"type":%q,"data":`, at, kind) // as line: encoding it would read the data again
	return append(append(text, data...), "}\n"...)
}

// add adds a line. When the record is full, only essential ones are added.
func (r *Recorder) add(kind string, data []byte, essential bool) {
	text := r.line(kind, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	most := maxRecord
	if essential {
		most += maxEssential
	}
	switch {
	case r.closed:
	case len(text) > maxLine || r.size+len(text) > most && kind != typeEnd:
		if !r.left {
			r.left = true
			r.queue = append(r.queue, r.line(typeLeft, []byte("null")))
		}
	default:
		r.size += len(text)
		r.queue = append(r.queue, text)
	}
}

// work writes additions until stop is closed.
func (r *Recorder) work() {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	sampled, touched := time.Now(), time.Now()
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticker.C:
			if now.Sub(sampled) >= sampleEvery {
				sampled = now
				r.addUses()
				r.sample()
			}
			switch {
			case r.write():
				touched = now
			case now.Sub(touched) >= touchEvery:
				touched = now
				_ = os.Chtimes(r.file.Name(), now, now) // a reader that finds no sign of life says so
			}
		}
	}
}

// measure returns the instances with the most memory that was found. The caller holds the lock of samples.
func (r *Recorder) measure() []Instances {
	found := r.options.Instances()
	for i := range found {
		key := found[i].Name + " " + found[i].Digest
		r.peaks[key] = max(r.peaks[key], found[i].Memory)
		found[i].Peak = r.peaks[key]
	}
	return found
}

// look measures the memory while providers have it: they are closed when the deployment ends.
func (r *Recorder) look() {
	if r.options.Instances != nil && r.sampling.TryLock() {
		r.measure()
		r.sampling.Unlock()
	}
}

// sample records the instances if they differ from the last sample.
func (r *Recorder) sample() {
	if r.options.Instances == nil {
		return
	}
	r.sampling.Lock()
	defer r.sampling.Unlock()
	found := r.measure()
	if len(found) == 0 || reflect.DeepEqual(found, r.sampled) {
		return
	}
	r.sampled = found
	data, err := json.Marshal(found)
	if err != nil {
		panic(err)
	}
	r.add(typeInstances, data, false)
}

// write writes the queue without secrets, and reports whether there was anything.
func (r *Recorder) write() bool {
	r.disk.Lock()
	defer r.disk.Unlock()
	r.mu.Lock()
	queue := r.queue
	r.queue = nil
	r.mu.Unlock()
	var all []byte
	for _, text := range queue {
		all = append(all, r.options.Secrets.InJSON(text)...)
	}
	if len(all) > 0 && r.failed == nil {
		_, r.failed = r.file.Write(all)
	}
	return len(all) > 0
}

// prune removes the oldest records. Records that cannot be removed stay.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	kept, size := 0, int64(0)
	for i := len(entries) - 1; i >= 0; i-- { // they are sorted by name, which begins with the time
		id, ok := strings.CutSuffix(entries[i].Name(), suffix)
		info, err := entries[i].Info()
		if !ok || !idPattern.Get().MatchString(id) || err != nil {
			continue
		}
		kept++
		size += info.Size()
		if kept > 1 && (kept >= keptRecords || size > keptBytes) {
			_ = os.Remove(filepath.Join(dir, entries[i].Name()))
		}
	}
}

// EndOf returns the end of a deployment that ended with an error or none. executed reports whether it was more
// than planned.
func (r *Recorder) EndOf(executed bool, failed error) End {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	end := End{Result: Succeeded}
	if last != nil {
		end.Changes = last.Changes
	}
	if failed != nil {
		end.Error = failed.Error()
	}
	switch {
	case failed != nil || last != nil && last.Result == "failed":
		end.Result = Failed
	case !executed:
		end.Result = Declined
	}
	return end
}

// ErrNoRecord is the error for a record that does not exist.
var ErrNoRecord = errors.New("there is no such record: it may have been removed because it is old")
