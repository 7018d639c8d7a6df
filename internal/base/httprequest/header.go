package httprequest

import (
	"net/http"
	"slices"
	"strings"
)

// FoldHeader returns a header's name as gateways pass it to programs (RFC 3875, 4.1.18), which loses case and
// the difference between characters other than letters and digits.
func FoldHeader(name string) string {
	return http.CanonicalHeaderKey(strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, name))
}

// isAbout reports whether a header, by its folded name, overrides a part of the request for gateways:
// X-Original-Url overrides "Url", X-Callback-Url nothing. The names differ between gateways, but have the
// same words.
func isAbout(name string, parts ...string) bool {
	found := false
	for word := range strings.SplitSeq(name, "-") {
		if slices.Contains(parts, word) {
			found = true
		} else if !gatewayWords[word] {
			return false
		}
	}
	return found
}

// isPathHeader reports whether a header names another path: the real one, or the source or target of a copy.
func isPathHeader(name string) bool {
	return isAbout(name, "Url", "Uri", "Path", "Destinationurl") || name == "X-Forwarded-Prefix" ||
		name == "Destination" || // of WebDAV
		strings.HasSuffix(name, "-Copy-Source") || strings.HasSuffix(name, "-Rename-Source")
}

// IsHostHeader reports whether a header names the host that the request is for.
func IsHostHeader(name string) bool {
	return isAbout(name, "Host", "Hostname") || name == "X-Forwarded-Server"
}

// gatewayWords are the words in names of headers that override a part of a request.
var gatewayWords = map[string]bool{
	"": true, "X": true, "Http": true, "Original": true, "Originating": true, "Rewrite": true, "Forwarded": true, "Request": true,
	"Proxy": true, "Override": true, "Replaced": true, "Base": true, "Envoy": true, "Real": true, "Raw": true, "Info": true, "Tunneled": true,
}

// IsToken reports whether text can be a method or the name of a header (RFC 9110, 5.6.2).
func IsToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// IsConnectionHeader reports whether a header, folded, is about the connection, which only the host knows.
func IsConnectionHeader(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Http2-Settings", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// HasControl reports whether the value of a header has a control character.
func HasControl(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
