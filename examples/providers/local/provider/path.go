package provider

import (
	"path"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// cleanPath returns the shortest form of a path. reason is the fault of the path, if it has one.
func cleanPath(p string) (cleaned, reason string) {
	switch {
	case p == "":
		return p, "it is empty; expected a path, such as out/site"
	case strings.IndexByte(p, 0) >= 0:
		return p, "it holds a zero byte, which no path may"
	}
	return path.Clean(p), ""
}

// usable refuses a path that has not passed Check, because systems differ in their treatment of it.
func usable(p string) error {
	if _, reason := cleanPath(p); reason != "" {
		return guest.InvalidArgument("path", reason)
	}
	return nil
}

// cleanFilePath is cleanPath for a path that must not be a directory.
func cleanFilePath(p string) (cleaned, reason string) {
	cleaned, reason = cleanPath(p)
	if reason != "" {
		return cleaned, reason
	}
	if last := path.Base(cleaned); strings.HasSuffix(p, "/") || last == "." || last == ".." || last == "/" {
		return cleaned, show(p) + " names a directory, not a file"
	}
	return cleaned, ""
}

// show returns a path for messages, in quotes if it would be misread.
func show(p string) string {
	quoted := strconv.Quote(p)
	if quoted[1:len(quoted)-1] == p && !strings.ContainsAny(p, " ,;:") {
		return p
	}
	return quoted
}
