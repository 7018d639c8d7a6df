package provider

import (
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
)

// maxMessage is the longest message of a service, in bytes.
const maxMessage = 500

// messageOf returns the message in the body of an error: the problem details of RFC 9457, or a
// customary form; else the body.
func messageOf(body []byte) string {
	text := strings.TrimSpace(string(body))
	if v, err := decodeJSON(body); err == nil {
		if message := messageText(v, 0); message != "" {
			text = message
		}
	} else if strings.HasPrefix(text, "<") {
		return "" // a page for a browser
	}
	if text == "null" || text == "{}" || text == "[]" {
		return ""
	}
	if len(text) > maxMessage {
		text = text[:maxMessage]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		text += "..."
	}
	return text
}

// maxNested is how deep a message may be inside of others.
const maxNested = 4

func messageText(v property.Value, depth int) string {
	if depth > maxNested {
		return ""
	}
	if text, ok := v.AsString(); ok {
		return text
	}
	if list, ok := v.AsArray(); ok {
		var parts []string
		for _, e := range list {
			if part := messageText(e, depth+1); part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, "; ")
	}
	m, ok := v.AsObject()
	if !ok {
		return ""
	}
	var parts []string
	add := func(part string) {
		if part != "" && !strings.Contains(strings.Join(parts, ": "), part) {
			parts = append(parts, part)
		}
	}
	for _, name := range [...]string{"title", "message", "error", "error_description", "detail", "details", "reason", "errors"} {
		add(messageText(m.Get(name), depth+1))
	}
	for _, name := range [...]string{"field", "param"} {
		if where, ok := m.Get(name).AsString(); ok && where != "" && len(parts) > 0 {
			return where + ": " + strings.Join(parts, ": ")
		}
	}
	return strings.Join(parts, ": ")
}
