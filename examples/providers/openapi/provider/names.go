package provider

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// wordsOf splits a name into lower-case words, at other characters and before capital letters.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// upperCamel returns the name of a type, lowerCamel the name of a function or property.
func upperCamel(words []string) string {
	var b strings.Builder
	for _, word := range words {
		first := []rune(word)[0]
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(word[len(string(first)):])
	}
	name := b.String()
	if name != "" && unicode.IsDigit([]rune(name)[0]) {
		return "N" + name
	}
	return name
}

func lowerCamel(words []string) string {
	name := upperCamel(words)
	if name == "" {
		return ""
	}
	first := []rune(name)[0]
	return string(unicode.ToLower(first)) + name[len(string(first)):]
}

// singular returns the singular of a customary plural.
func singular(word string) string {
	for _, ending := range []struct{ many, one string }{
		{"series", "series"}, {"statuses", "status"}, {"ies", "y"}, {"sses", "ss"}, {"shes", "sh"}, {"ches", "ch"}, {"xes", "x"},
		{"ss", "ss"}, {"us", "us"}, {"is", "is"}, {"s", ""},
	} {
		if stem, ok := strings.CutSuffix(word, ending.many); ok && stem+ending.one != "" {
			return stem + ending.one
		}
	}
	return word
}

// isVersion reports whether a segment is like v1, v2.1, or 2026-04-01.
func isVersion(segment string) bool {
	if _, err := time.Parse(time.DateOnly, segment); err == nil {
		return true
	}
	rest, ok := strings.CutPrefix(segment, "v")
	return ok && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' })
}

// names gives out names, each once.
type names map[string]bool

// take returns the first of the proposals that is not taken, or the last with a number.
func (n names) take(proposals ...string) string {
	name := proposals[len(proposals)-1]
	if i := slices.IndexFunc(proposals, func(p string) bool { return !n[p] }); i >= 0 {
		name = proposals[i]
	}
	for i := 2; n[name]; i++ {
		name = proposals[len(proposals)-1] + strconv.Itoa(i)
	}
	n[name] = true
	return name
}

// sameName reports whether two names are of the same words, such as pet_id and petId.
func sameName(a, b string) bool {
	return slices.Equal(wordsOf(a), wordsOf(b)) || strings.EqualFold(strings.Join(wordsOf(a), ""), strings.Join(wordsOf(b), ""))
}
