package display

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// words are how an operation is shown.
type words struct {
	// symbol is at most two characters.
	symbol string
	// running says what goes on, done what happened, planned what a preview says.
	running, done, planned string
	paint                  func(Style, string) string
}

// wordsOf returns the words for an operation. refresh is set for what a refresh
// found out, which is no change that Husk made.
func wordsOf(op engine.Op, refresh bool) words {
	if refresh {
		switch op {
		case engine.OpUpdate:
			return words{"~", "reading", "drifted", "drifted", Style.warning}
		case engine.OpDelete:
			return words{"-", "reading", "is gone", "is gone", Style.bad}
		}
	}
	switch op {
	case engine.OpSame:
		return words{"=", "checking", "unchanged", "unchanged", Style.faint}
	case engine.OpCreate:
		return words{"+", "creating", "created", "create", Style.good}
	case engine.OpUpdate:
		return words{"~", "updating", "updated", "update", Style.warning}
	case engine.OpReplace, engine.OpCreateReplacement:
		return words{"+-", "replacing", "replaced", "replace", Style.note}
	case engine.OpDeleteReplaced:
		return words{"--", "deleting the old copy", "deleted the old copy", "delete the old copy", Style.bad}
	case engine.OpDelete:
		return words{"-", "deleting", "deleted", "delete", Style.bad}
	case engine.OpRead:
		return words{">", "reading", "read", "read", Style.note}
	case engine.OpReadReplacement:
		return words{">-", "reading", "read in its place", "read in its place", Style.note}
	case engine.OpRefresh:
		return words{"~", "reading", "read", "read", Style.faint}
	case engine.OpImport:
		return words{"<", "importing", "imported", "import", Style.good}
	case engine.OpDiscard:
		return words{"<", "forgetting", "forgotten", "forget", Style.faint}
	default:
		return words{"*", string(op), string(op), string(op), Style.faint}
	}
}

// quiet reports whether a step that ended well is left out of the text, where it
// would say nothing new.
func quiet(op engine.Op) bool {
	return op == engine.OpSame || op == engine.OpRemovePendingReplace || op == engine.OpRefresh ||
		op == engine.OpExtendParameterize
}

// subject names a resource for people: tls:PrivateKey caKey.
func subject(typ, name string) string { return Escape(shortType(typ) + " " + name) }

// shortType shortens a type token whose module only repeats the type:
// tls:index/privateKey:PrivateKey is tls:PrivateKey.
func shortType(typ string) string {
	if typ == urn.RootType {
		return "stack"
	}
	parts := strings.Split(typ, ":")
	if len(parts) != 3 {
		return typ
	}
	pkg, module, name := parts[0], parts[1], parts[2]
	first, size := utf8.DecodeRuneInString(name)
	if own := "/" + string(unicode.ToLower(first)) + name[size:]; strings.HasSuffix(module, own) {
		module = strings.TrimSuffix(module, own)
	}
	if module == "index" || module == "" {
		return pkg + ":" + name
	}
	return pkg + ":" + module + ":" + name
}

// duration shows a time in the precision that matters to people: 0.3s, 12s, 2m05s.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	default:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}

func milliseconds(ms int64) string { return duration(time.Duration(ms) * time.Millisecond) }

// operations are the words for whole deployments.
var operations = map[string]struct{ doing, previewing, command string }{
	"preview": {"Previewing", "Previewing an update of", "up"},
	"up":      {"Updating", "Previewing an update of", "up"},
	"refresh": {"Refreshing", "Previewing a refresh of", "refresh"},
	"destroy": {"Destroying", "Previewing the destruction of", "destroy"},
	"import":  {"Importing into", "Previewing an import into", "import"},
}
