package display

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
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
	t.screen.print("", nil)

	showOutputs := t.outputs != nil && err == nil
	if showOutputs {
		t.print(outputs(t.options.Style, t.outputs.Outputs))
	}
	told := ""
	for _, f := range failures(err) {
		told += t.options.Secrets.In(writeError(t.options.Errors, t.options.ErrorsStyle, f)) + "\n" // as events have it
	}
	// What the error as a whole does not tell is told here, so that each failure
	// is read exactly once.
	for _, f := range t.failed {
		if !tells(told, f.Error) {
			text := subject(f.Step.Resource, f.Step.Name) + ": " + f.Error
			told += writeError(t.options.Errors, t.options.ErrorsStyle, errors.New(text)) + "\n"
		}
	}
	if t.summary != nil {
		gap := ""
		if t.told && !showOutputs {
			gap = "\n"
		}
		t.print(gap + t.policies(t.summary.Policies) + t.conclusion(*t.summary, err) + "\n")
		if t.options.Timings {
			t.print(t.timings.show(t.options.Style))
		}
	}
}

// tells reports whether a text has the message. Messages of several lines may
// have been taken apart, into what comes before an excerpt and after it.
func tells(text, message string) bool {
	first, _, _ := strings.Cut(message, "\n")
	return strings.Contains(flat(text), flat(first))
}

// flat removes what rendering may change in a message: its line ends and indentation.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// conclusion is the last line.
func (t *Text) conclusion(s engine.Summary, err error) string {
	style, took := t.options.Style, milliseconds(s.DurationMs)
	counts := count(s.Changes, t.started, len(t.failed))
	failed := style.bad("Failed")
	if len(t.failed) == 0 && errors.Is(err, engine.ErrStopped) {
		failed = style.warning("Stopped")
	}
	switch {
	case err != nil && counts == "":
		return failed + " after " + took + "."
	case err != nil:
		return failed + " after " + took + ": " + counts + "."
	case t.started.DryRun && s.Changes.Total() == 0:
		return "Preview done in " + took + ": nothing would change" + unchanged(s.Changes) + "."
	case t.started.DryRun:
		return "Preview done in " + took + ": " + counts + "."
	case s.Changes.Total() == 0:
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
func count(c engine.Changes, started engine.Started, failed int) string {
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
	add(failed, "failed")
	add(c.Same, "unchanged")
	return strings.Join(parts, ", ")
}

// outputs shows the outputs of a stack.
func outputs(style Style, all map[string]any) string { return properties(style, "Outputs", all) }

// properties shows values under a title, sorted by name.
func properties(style Style, title string, all map[string]any) string {
	var b strings.Builder
	b.WriteString("\n" + style.Strong(title) + "\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("  " + style.note(Escape(name)+":") + value(all[name], "    ") + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// WriteOutputs shows the outputs of a stack to people.
func WriteOutputs(out io.Writer, style Style, all map[string]any) error {
	return WriteProperties(out, style, "Outputs", all)
}

// WriteProperties shows values to people, under a title.
func WriteProperties(out io.Writer, style Style, title string, all map[string]any) error {
	_, err := io.WriteString(out, strings.TrimSpace(strings.TrimPrefix(properties(style, title, all), "\n"))+"\n")
	return err
}

// value shows one output behind its name: text as it is, in a block of its own where it has
// several lines, and anything else as JSON.
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
	return "\n" + indent + citation + strings.ReplaceAll(text, "\n", "\n"+indent+citation)
}

// citation begins each line of a text of several, so that none passes for the command's.
const citation = abi.Citation
