package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/display"
)

// lookOf returns the class of a word's colour. The word says the same.
func lookOf(word any) string {
	switch fmt.Sprint(word) {
	case "succeeded", "done", "create", "import", "read":
		return "done"
	case "failed", "cancelled", "rejected", "cut off", "error", "delete", "delete-replaced", "discard":
		return "failed"
	case "waiting for confirmation", "waiting for approval", "warning", "update", "replace", "create-replacement", "read-replacement":
		return "warn"
	case "running", "refresh":
		return "busy"
	}
	return "plain"
}

// symbolOf returns the sign of a step, as in the terminal.
func symbolOf(r *row) string {
	switch {
	case r.State == "failed":
		return "!"
	case r.Op == engine.OpCreate, r.Op == engine.OpImport:
		return "+"
	case r.Op == engine.OpUpdate:
		return "~"
	case r.Op == engine.OpDelete, r.Op == engine.OpDeleteReplaced, r.Op == engine.OpDiscard:
		return "−"
	case r.Op == engine.OpCreateReplacement, r.Op == engine.OpReplace:
		return "±"
	case r.Op == engine.OpRead, r.Op == engine.OpRefresh:
		return "?"
	}
	return "·"
}

// changed counts the properties of a step.
func changed(changes []engine.PropertyChange) string {
	for _, c := range changes {
		if c.Old != "" && c.New != "" || c.Kind == "update" || c.Kind == "move" {
			return plural(len(changes), "difference")
		}
	}
	if len(changes) == 1 {
		return "1 property"
	}
	return fmt.Sprintf("%d properties", len(changes))
}

func kindWord(kind string) string {
	switch kind {
	case "add":
		return "added"
	case "delete":
		return "removed"
	case "move":
		return "moved"
	}
	return "changed"
}

// meanOf returns the mean time of the calls of a method.
func meanOf(m engine.MethodCost) string {
	if m.Calls == 0 {
		return ""
	}
	return display.Brief(time.Duration(m.Microseconds/int64(m.Calls)) * time.Microsecond)
}

// shortDigest returns enough of a digest to tell modules apart.
func shortDigest(digest string) string {
	_, hex, found := strings.Cut(digest, ":")
	if !found {
		hex = digest
	}
	return hex[:min(12, len(hex))]
}
