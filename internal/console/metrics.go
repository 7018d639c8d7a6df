package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/workspace"
)

// metric is a family in the text format of Prometheus.
type metric struct {
	name, help string
	samples    []sample
}

type sample struct {
	labels [][2]string
	value  float64
}

// metrics are families in the order of their declaration.
type metrics struct {
	all []*metric
}

// gauge declares a family. Each value describes the present or the last run: counts start at zero with each run.
func (m *metrics) gauge(name, help string) *metric {
	family := &metric{name: name, help: help}
	m.all = append(m.all, family)
	return family
}

// set adds a sample, with labels as pairs of name and value.
func (f *metric) set(value float64, labels ...string) {
	s := sample{value: value}
	for i := 0; i+1 < len(labels); i += 2 {
		s.labels = append(s.labels, [2]string{labels[i], labels[i+1]})
	}
	f.samples = append(f.samples, s)
}

// labelEscapes are the escapes of the text format, version 0.0.4.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// text returns the families that have samples.
func (m *metrics) text() string {
	var b strings.Builder
	for _, f := range m.all {
		if len(f.samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", f.name, f.help, f.name)
		for _, s := range f.samples {
			b.WriteString(f.name)
			for i, l := range s.labels {
				separator := ","
				if i == 0 {
					separator = "{"
				}
				b.WriteString(separator + l[0] + `="` + labelEscapes.Replace(l[1]) + `"`)
			}
			if len(s.labels) > 0 {
				b.WriteString("}")
			}
			b.WriteString(" " + strconv.FormatFloat(s.value, 'g', -1, 64) + "\n")
		}
	}
	return b.String()
}

// serveMetrics serves what Prometheus reads: each stack, its last run, and the providers of that.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	var m metrics
	m.gauge("husk_build_info", "Always 1; the label is the version of Husk.").set(1, "version", s.options.Version)
	project, err := s.options.Workspace(r.Context())
	readable := m.gauge("husk_project_readable", "Whether the project and the list of its stacks can be read.")
	var stacks []string
	if err == nil {
		stacks, err = project.Stacks(r.Context())
	}
	if err != nil {
		readable.set(0)
	} else {
		readable.set(1)
		s.measure(r, &m, project, stacks)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(s.options.Secrets.In(m.text())))
}

func (s *Server) measure(r *http.Request, m *metrics, w *workspace.Workspace, stacks []string) {
	healthy := m.gauge("husk_stack_readable", "Whether the state of the stack can be read.")
	resources := m.gauge("husk_stack_resources", "Resources in the state, without components and providers.")
	pending := m.gauge("husk_stack_pending_operations", "Operations of interrupted runs whose outcome is not known.")
	written := m.gauge("husk_stack_written_timestamp_seconds", "When the state was last written.")
	running := m.gauge("husk_run_in_progress", "Whether a run goes on.")
	began := m.gauge("husk_last_run_timestamp_seconds", "When the last run began.")
	took := m.gauge("husk_last_run_duration_seconds", "How long the last run took so far.")
	succeeded := m.gauge("husk_last_run_succeeded", "Whether the last run that ended succeeded.")
	changes := m.gauge("husk_last_run_changes", "Changes of the last run that ended.")
	instances := m.gauge("husk_provider_instances", "Instances of a provider in the last run, at its end or now.")
	memory := m.gauge("husk_provider_memory_bytes", "Memory of those instances.")
	peak := m.gauge("husk_provider_peak_memory_bytes", "The most memory of the instances of a provider in the last run.")
	fuel := m.gauge("husk_provider_fuel", "Work of a provider in the last run, in units of fuel.")
	failures := m.gauge("husk_provider_failures", "Failed calls of a provider in the last run, by reason.")
	calls := m.gauge("husk_provider_calls", "Calls of a method of a provider in the last run.")
	seconds := m.gauge("husk_provider_call_seconds", "Time of those calls in all; they may overlap.")
	longest := m.gauge("husk_provider_call_longest_seconds", "The longest of those calls.")
	uses := m.gauge("husk_capability_uses", "Uses and refused uses of capabilities in the last run.")
	ctx := state.Together(r.Context())
	for _, stack := range stacks {
		of := []string{"project", w.Project.Name, "stack", stack}
		with := func(more ...string) []string { return append(append([]string{}, of...), more...) }
		snapshot, _, err := w.Read(ctx, stack, true)
		healthy.set(number(err == nil), of...)
		if err == nil {
			resources.set(float64(workspace.CountResources(snapshot)), of...)
			n := 0
			for range snapshot.Operations() {
				n++
			}
			pending.set(float64(n), of...)
			if t := snapshot.Manifest.Time; !t.IsZero() {
				written.set(float64(t.UnixMilli())/1000, of...)
			}
		}
		runs := s.list(w, stack)
		running.set(number(len(runs) > 0 && runs[0].Running), of...)
		if len(runs) == 0 {
			continue
		}
		last := &runs[0]
		began.set(float64(last.Start.UnixMilli())/1000, with("kind", last.Kind)...)
		took.set(last.Took.Seconds(), with("kind", last.Kind)...)
		for i := range runs {
			if end := runs[i].End; end != nil {
				kind := runs[i].Kind
				succeeded.set(number(end.Result == "succeeded"), with("kind", kind, "result", string(end.Result))...)
				for _, c := range []struct {
					op string
					n  int
				}{{"create", end.Changes.Create}, {"update", end.Changes.Update}, {"replace", end.Changes.Replace}, {"delete", end.Changes.Delete}} {
					changes.set(float64(c.n), with("kind", kind, "change", c.op)...)
				}
				break
			}
		}
		v, err := s.views.get(last.of, &last.Record)
		if err != nil {
			continue // the record was just removed
		}
		for _, i := range v.instances {
			one := with("provider", i.Name, "version", i.Version, "digest", i.Digest)
			instances.set(float64(i.Instances), one...)
			memory.set(float64(i.Memory), one...)
			peak.set(float64(i.Peak), one...)
			fuel.set(float64(i.Fuel), one...)
			for reason, n := range i.Failures {
				failures.set(float64(n), append(one, "reason", reason)...)
			}
		}
		for _, p := range v.costs {
			for _, c := range p.Methods {
				one := with("provider", p.Package, "urn", string(p.URN), "method", c.Method)
				calls.set(float64(c.Calls), one...)
				seconds.set(float64(c.Microseconds)/1e6, one...)
				longest.set(float64(c.LongestMicroseconds)/1e6, one...)
			}
		}
		counts := make(map[[3]string]int)
		for _, u := range v.uses {
			counts[[3]string{u.Provider, u.Capability, fmt.Sprint(u.Allowed)}] += u.Count
		}
		v.mu.Unlock()
		for key, n := range counts {
			uses.set(float64(n), with("provider", key[0], "capability", key[1], "allowed", key[2])...)
		}
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
