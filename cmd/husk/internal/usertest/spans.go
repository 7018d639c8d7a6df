package usertest

import (
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// within INNER OUTER FILE: in the trace in the file, some span of the one name is directly within one of the other.
func within(ts *testscript.TestScript, neg bool, args []string) {
	type span struct{ SpanID, ParentSpanID, Name string }
	names := map[string]string{}
	var inner []span
	for line := range strings.Lines(ts.ReadFile(args[2])) {
		var batch struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
		}
		ts.Check(json.Unmarshal([]byte(line), &batch))
		for _, s := range batch.ResourceSpans[0].ScopeSpans[0].Spans {
			names[s.SpanID] = s.Name
			if s.Name == args[0] {
				inner = append(inner, s)
			}
		}
	}
	found := false
	for _, s := range inner {
		found = found || names[s.ParentSpanID] == args[1]
	}
	if found == neg {
		ts.Fatalf("spans %q within %q: %v", args[0], args[1], found)
	}
}
