package edit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/wildcard"
)

// Resolve returns the resources that words of a user name, each once. A word is a URN, a name, TYPE::NAME, or one of them
// with wildcards: * for text without a colon, ** for any text. A pattern of names matches neither providers nor the stack.
func Resolve(s *state.Snapshot, words ...string) ([]urn.URN, error) {
	g := s.Graph()
	var out []urn.URN
	for _, word := range words {
		if _, ok := g.Find(urn.URN(word)); ok {
			out = append(out, urn.URN(word))
			continue
		}
		found := matches(s, word)
		switch {
		case strings.Contains(word, "*") && len(found) == 0:
			return nil, fmt.Errorf("no resource matches %s: husk state ls lists all", word)
		case len(found) == 0:
			return nil, notFound(s, urn.URN(word))
		case !strings.Contains(word, "*") && len(found) > 1:
			return nil, fmt.Errorf("%s is not unique; name one by its URN: %s", word, list(found))
		}
		out = append(out, found...)
	}
	return distinct(out), nil
}

// ResolveOne returns the resource that a word of a user names: see [Resolve].
func ResolveOne(s *state.Snapshot, word string) (urn.URN, error) {
	found, err := Resolve(s, word)
	if err != nil {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s matches %d resources, and must match one: %s", word, len(found), list(found))
	}
	return found[0], nil
}

// matches returns the resources that are not to be deleted and match a name, TYPE::NAME, or a pattern.
func matches(s *state.Snapshot, word string) []urn.URN {
	glob := wildcard.Expression(word, ":")
	qualified := strings.Contains(word, "::")
	if qualified {
		glob = "(?:.*::)?" + glob
	}
	is := regexp.MustCompile("(?s)^(?:" + glob + ")$") // all else is quoted
	var out []urn.URN
	for _, r := range s.Resources() {
		name := r.URN.Name()
		switch {
		case r.Delete:
		case qualified && is.MatchString(string(r.URN)), !qualified && name == word:
			out = append(out, r.URN)
		case !qualified && !r.IsProvider() && r.Type != urn.RootType && is.MatchString(name):
			out = append(out, r.URN)
		}
	}
	return distinct(out)
}

// distinct returns each URN once, in the order of the first.
func distinct(urns []urn.URN) []urn.URN {
	seen := make(map[urn.URN]bool)
	return slices.DeleteFunc(urns, func(u urn.URN) bool {
		before := seen[u]
		seen[u] = true
		return before
	})
}
