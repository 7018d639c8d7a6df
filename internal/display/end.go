package display

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// Close implements [Display].
func (t *Text) Close(err error) {
	close(t.stop)
	t.ticking.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.running)
	t.status = ""
	t.print("") // pending output, in place of the live lines

	showOutputs := t.outputs != nil && err == nil
	if showOutputs {
		t.print(t.showOutputs(t.outputs))
	}
	told := ""
	for _, f := range failures(err) {
		told += t.errs.secrets.In(writeError(t.errs, f)) + "\n" // events have it without secrets, too
	}
	// Failures that the error does not mention follow, so each failure is shown exactly once.
	for _, f := range t.failed {
		if !tells(told, f.Error) {
			text := subject(f.Step.Resource, f.Step.Name) + ": " + f.Error
			told += writeError(t.errs, errors.New(text)) + "\n"
		}
	}
	if t.summary != nil {
		gap := ""
		if t.told && !showOutputs {
			gap = "\n"
		}
		t.print(gap + t.policies(t.summary.Policies) + t.conclusion(*t.summary, err) + "\n")
		if t.options.Timings {
			t.print(t.timings.show(t.style))
		}
	}
}

// tells reports whether a text has the message. Only its first line counts, because excerpts of files
// may separate the others.
func tells(text, message string) bool {
	first, _, _ := strings.Cut(message, "\n")
	return strings.Contains(flat(text), flat(first))
}

// flat removes line ends and indentation, which rendering may change.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// conclusion returns the last line.
func (t *Text) conclusion(s engine.Summary, err error) string {
	style, took := t.style, milliseconds(s.DurationMs)
	counts := count(s, t.started, len(t.failed))
	failed := style.bad("Failed")
	if len(t.failed) == 0 && errors.Is(err, engine.ErrStopped) {
		failed = style.warning("Stopped")
	}
	switch {
	case err != nil && counts == "":
		return failed + " after " + took + "."
	case err != nil:
		return failed + " after " + took + ": " + counts + "."
	case t.started.DryRun && s.Changes.Total()+s.Actions == 0:
		return "Preview done in " + took + ": nothing would change" + unchanged(s.Changes) + "."
	case t.started.DryRun:
		return "Preview done in " + took + ": " + counts + "."
	case s.Changes.Total()+s.Actions == 0:
		return style.good("Done") + " in " + took + ": nothing changed" + unchanged(s.Changes) + "."
	default:
		return style.good("Done") + " in " + took + ": " + counts + "."
	}
}

func unchanged(c engine.Changes) string {
	if c.Same == 0 {
		return ""
	}
	return fmt.Sprintf(", %d up to date", c.Same)
}

// count lists the changes in words: 3 created, 1 replaced, 7 unchanged.
func count(s engine.Summary, started engine.Started, failed int) string {
	c := s.Changes
	refresh := started.Operation == "refresh"
	form := func(op engine.Op) string {
		words := wordsOf(op, refresh)
		if started.DryRun && !refresh {
			return "to " + words.planned
		}
		return words.done
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(c.Create, form(engine.OpCreate))
	add(c.Update, form(engine.OpUpdate))
	add(c.Replace, form(engine.OpReplace))
	add(c.Delete, form(engine.OpDelete))
	add(c.Read, form(engine.OpRead))
	ran := "run"
	if started.DryRun {
		ran = "to run"
	}
	if s.Actions == 1 {
		add(1, "action "+ran)
	} else {
		add(s.Actions, "actions "+ran)
	}
	add(failed, "failed")
	add(c.Same, "unchanged")
	return strings.Join(parts, ", ")
}

// showOutputs shows the outputs of the stack, in a preview with the former ones.
func (t *Text) showOutputs(o *engine.StackOutputs) string {
	if len(o.Changes) == 0 || !t.started.DryRun {
		return properties(t.style, "Outputs", o.Outputs)
	}
	changes := make(map[string][]engine.PropertyChange)
	all := maps.Clone(o.Outputs)
	for _, c := range o.Changes {
		name := c.Path
		if path, err := property.ParsePath(c.Path); err == nil && len(path) > 0 {
			name, _ = path[0].Key()
		}
		changes[name] = append(changes[name], c)
		if _, ok := all[name]; !ok {
			all[name] = nil // it is gone
		}
	}
	var b strings.Builder
	b.WriteString("\n" + t.style.Strong("Outputs") + "\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if of := changes[name]; of != nil {
			b.WriteString(differencesBelow(t.style, of, "  "))
		} else {
			b.WriteString("    " + t.style.note(Escape(name)+":") + value(all[name], "      ") + "\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}

// properties shows values under a title, sorted by name.
func properties(style Style, title string, all map[string]any) string {
	return "\n" + style.Strong(title) + "\n" + values(style, all) + "\n"
}

// values shows values, sorted by name.
func values(style Style, all map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("  " + style.note(Escape(name)+":") + value(all[name], "    ") + "\n")
	}
	return b.String()
}

// WriteProperties shows values to people, under a title.
func WriteProperties(out *Output, title string, all map[string]any) error {
	_, err := fmt.Fprintln(out, strings.TrimSpace(properties(out.Style(), title, all)))
	return err
}

// value returns one output behind its name: text as it is, in a block if it has lines, else JSON.
func value(v any, indent string) string {
	text, ok := v.(string)
	if !ok {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil { // outputs are plain JSON values
			return " " + Escape(fmt.Sprint(v))
		}
		return " " + Escape(strings.TrimSuffix(b.String(), "\n"))
	}
	text = EscapeLines(strings.TrimRight(text, "\n"))
	if !strings.Contains(text, "\n") {
		return " " + text
	}
	// No line passes for one of husk.
	return "\n" + indent + abi.Citation + strings.ReplaceAll(text, "\n", "\n"+indent+abi.Citation)
}
