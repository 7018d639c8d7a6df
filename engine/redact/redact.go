// Package redact masks known secrets in text that is shown: logs of providers, errors, differences,
// events. It guards against accidents: a provider can spell a secret in ways that nobody looks for.
package redact

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Mask stands where a secret was.
const Mask = "[secret]"

const (
	// MinLength is the least length in bytes of a secret that is looked for. Shorter ones are parts of
	// many words.
	MinLength = 4
	// minWord is the length from which a plain word is a secret that is looked for, in bytes: "test", "admin", and "prod" occur
	// in texts that reveal no secret.
	minWord = 6
	// minInside is the length from which a secret is also found inside of a word, in bytes.
	minInside = 6
	// minWordInside is the least length of a plain word, such as "server" or "password", in bytes.
	minWordInside = 12
	// minEncoded is the length from which a secret is also looked for in other encodings, in bytes.
	minEncoded = 8
	// minComputed is the length from which a text in computed JSON is taken for a secret, in bytes.
	minComputed = 16
	// leastNumber is the least number that is looked for: others are counts and ports as well.
	leastNumber = 100_000
	// minCut is the least part of a secret that is found in a text that was cut off, in bytes.
	minCut = 6
	// maxSecret is how much of one secret is looked for, in bytes, and maxSecrets how much of all.
	maxSecret  = 64 << 10
	maxSecrets = 16 << 20
)

// Secrets are those known so far. The zero Secrets knows none, and a nil *Secrets hides nothing. It is
// safe for concurrent use.
type Secrets struct {
	// some is set once a secret is known, shown when they are shown on purpose.
	some, shown atomic.Bool

	mu sync.RWMutex
	// known holds the secrets by their text, and size is their length in all.
	known map[string]bool
	size  int
	// fresh are the secrets that pieces lacks.
	fresh  []string
	pieces pieces
}

// Learn adds a secret. The texts in a list or an object in JSON are secrets as well.
func (s *Secrets) Learn(secret string) {
	if s != nil {
		s.learn(secret)
		s.learnPartsOf(secret, MinLength)
	}
}

// learnPartsOf adds the texts in a list or an object in JSON that have at least so many bytes.
func (s *Secrets) learnPartsOf(secret string, least int) {
	if text := strings.TrimSpace(secret); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		var parts any
		if intake.CheckJSON([]byte(text), &parts, intake.Allowance) == nil && json.Unmarshal([]byte(text), &parts) == nil {
			s.learnParts(parts, least)
		}
	}
}

// learnParts adds the texts in decoded JSON.
func (s *Secrets) learnParts(v any, least int) {
	switch v := v.(type) {
	case string:
		if len(v) >= least {
			s.learn(v)
		}
	case []any:
		for _, e := range v {
			s.learnParts(e, least)
		}
	case map[string]any:
		for _, e := range v {
			s.learnParts(e, least)
		}
	}
}

// learn adds a secret as a whole, and reports whether it was not known before.
func (s *Secrets) learn(secret string) (fresh bool) {
	if len(strings.TrimSpace(secret)) < MinLength || isCommon(secret) {
		return true
	}
	secret = secret[:min(len(secret), maxSecret)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[secret] || s.size+len(secret) > maxSecrets {
		return !s.known[secret]
	}
	if s.known == nil {
		s.known = make(map[string]bool)
	}
	s.known[secret] = true
	s.size += len(secret)
	s.fresh = append(s.fresh, secret)
	s.some.Store(true)
	return true
}

// isCommon reports whether a text appears in all output, so it cannot be a secret.
func isCommon(text string) bool {
	return text == "true" || text == "false" || text == "null" || strings.Contains(Mask, text) || len(text) < minWord && isPlainWord(text)
}

// LearnFrom adds the secrets in a value that a provider made, or in a part of it. The texts in JSON are secrets as well, unless
// the same JSON was computed by the program.
func (s *Secrets) LearnFrom(m property.Map) { s.learnMap(m, MinLength) }

// LearnComputed adds the secrets in a value that the program computed. JSON that was made of a secret is secret as a whole, but
// also has names and the like, so only its long texts are secrets by themselves.
func (s *Secrets) LearnComputed(m property.Map) { s.learnMap(m, minComputed) }

func (s *Secrets) learnMap(m property.Map, least int) {
	if s == nil {
		return
	}
	m.EachSecret(func(v property.Value) {
		text, _ := v.AsString()
		if f, ok := v.AsNumber(); ok && v.IsInteger() && math.Abs(f) >= leastNumber {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		} else if a, ok := v.AsAsset(); ok {
			text = a.Text
		}
		if text != "" && s.learn(text) {
			s.learnPartsOf(text, least)
		}
	})
}

// Show ends the hiding: the user has asked to see secrets.
func (s *Secrets) Show() { s.shown.Store(true) }

// hides reports whether there is anything to hide.
func (s *Secrets) hides() bool { return s != nil && s.some.Load() && !s.shown.Load() }

// In returns a text with [Mask] in the place of secrets.
func (s *Secrets) In(text string) string {
	if !s.hides() || len(text) < MinLength {
		return text
	}
	s.addFresh()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.pieces.hide(text)
}

func (s *Secrets) addFresh() {
	s.mu.RLock()
	done := len(s.fresh) == 0
	s.mu.RUnlock()
	if done {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.fresh {
		s.pieces.add(secret)
	}
	s.fresh = nil
}
