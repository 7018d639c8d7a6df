package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/base/printable"
)

// maxErrorText bounds the texts of a guest's error together, in bytes before escaping, and maxErrorParts
// its reasons and missing keys. Error pages of services come to some 100 KiB.
const (
	maxErrorText  = 256 << 10
	maxErrorParts = 1000
)

// Printable returns an error of a guest with texts that are safe to print, and bounded.
func Printable(answered *abi.Error) *abi.Error {
	e := *answered
	left := maxErrorText
	safe := func(text string, as func(string) string) string {
		if cut := len(text) - left; cut > 0 {
			text = strings.ToValidUTF8(text[:left], "") + fmt.Sprintf("… (and %d bytes more)", cut)
		}
		left -= min(left, len(text))
		return as(text)
	}
	e.Path, e.Message = safe(e.Path, printable.Line), safe(e.Message, printable.Text)
	if e.InitFailure != nil {
		failure := *e.InitFailure
		reasons := failure.Reasons[:min(len(failure.Reasons), maxErrorParts)]
		failure.Reasons = make([]string, len(reasons))
		for i, reason := range reasons {
			failure.Reasons[i] = safe(reason, printable.Text)
		}
		e.InitFailure = &failure
	}
	keys := answered.MissingKeys[:min(len(answered.MissingKeys), maxErrorParts)]
	e.MissingKeys = make([]abi.MissingKey, len(keys))
	for i, key := range keys {
		e.MissingKeys[i] = abi.MissingKey{Name: safe(key.Name, printable.Line), Description: safe(key.Description, printable.Text)}
	}
	return &e
}

// PrintableFailures returns a guest's failures of properties, safe to print.
func PrintableFailures(failures []abi.CheckFailure) []abi.CheckFailure {
	out := slices.Clone(failures)
	for i, f := range out {
		out[i] = abi.CheckFailure{Path: printable.Line(f.Path), Reason: printable.Text(f.Reason)}
	}
	return out
}
