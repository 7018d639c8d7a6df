package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The generators write most texts of a schema between quotes without escaping them. A module writes its own schema, so a quote in a text
// would let it write code that runs in the user's programs. The generators get a word in place of such a text. Each word in the files
// becomes the text again, with escapes that mean the same in strings of Go, Python, TypeScript, JSON, and TOML.

var (
	// harmless are texts that end neither a string nor a comment in any of the languages.
	harmless = regexp.MustCompile(`^[^\x00-\x1f\x7f"'\\` + "`" + `{}()*;\x{85}\x{2028}\x{2029}]*$`)
	// isKey are names of properties, tokens, and packages.
	isKey = regexp.MustCompile(`^[\pL\pN_$.:/@#%^~<>=,|!&+? -]*$`)
	// notOfName are characters that no identifier has.
	notOfName = regexp.MustCompile(`[^\pL\pN_]+`)
	word      = regexp.MustCompile(`HuskText[0-9]{6,}Text`)
)

// prose are the keys of texts that the generators escape themselves, or write into documents alone.
var prose = map[string]bool{"description": true, "readme": true, "packageDescription": true, "moduleFormat": true}

// isProse reports whether the text at a path in the schema is prose. Objects in the settings of a language have names as their keys,
// such as the packages that an SDK depends on.
func isProse(path []string) bool {
	const ofSetting = 2 // language and setting
	if at := slices.Index(path, "language"); at >= 0 && len(path)-1-at > ofSetting {
		return false
	}
	return prose[path[len(path)-1]]
}

// texts are the texts of a schema that the generators do not get.
type texts struct {
	all []string
	at  map[string]int
}

// withhold returns a schema with words in place of texts.
func (t *texts) withhold(schema []byte) ([]byte, error) {
	if word.Match(schema) {
		return nil, errors.New("the schema cannot be used: it has a word that stands for a text here: HuskText and a number")
	}
	from := json.NewDecoder(bytes.NewReader(schema))
	from.UseNumber()
	var all any
	if err := from.Decode(&all); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	t.at = make(map[string]int)
	all, err := t.without(all, []string{""})
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return json.Marshal(all)
}

// without returns a value without texts. path has the keys of the objects around it, the innermost last.
func (t *texts) without(value any, path []string) (_ any, err error) {
	switch value := value.(type) {
	case map[string]any:
		if text, is := value["value"].(string); is && value["name"] == nil && !harmless.MatchString(text) {
			value["name"] = text // which the generators would make of the word
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !isKey.MatchString(name) {
				return nil, fmt.Errorf("%.100q is not a name that SDKs can have", name)
			}
			if value[name], err = t.without(value[name], append(slices.Clip(path), name)); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range value {
			if value[i], err = t.without(value[i], path); err != nil {
				return nil, err
			}
		}
	case string:
		switch key := path[len(path)-1]; {
		case isProse(path) || harmless.MatchString(value):
			return value, nil
		case key == "deprecationMessage":
			return plain(value), nil
		case key == "name":
			return notOfName.ReplaceAllString(value, "_"), nil
		}
		i, known := t.at[value]
		if !known {
			i = len(t.all)
			t.at[value], t.all = i, append(t.all, value)
		}
		return fmt.Sprintf("HuskText%06dText", i), nil
	}
	return value, nil
}

// plain returns what somebody reads, without what means something to a language.
func plain(text string) string {
	text = strings.NewReplacer("'", "’", `"`, "’", "`", "’", `\`, "/", "*/", "* /", "/*", "/ *", "{", "(", "}", ")", "\u0085", " ", "\u2028", " ", "\u2029", " ").Replace(text)
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}

// put returns a file with the texts in place of their words.
func (t *texts) put(file []byte) []byte {
	return word.ReplaceAllFunc(file, func(word []byte) []byte {
		i, err := strconv.Atoi(strings.Trim(string(word), "HuskText"))
		if err != nil || i >= len(t.all) {
			return word
		}
		var b []byte
		for _, r := range t.all[i] {
			if r < 0x80 && !harmless.MatchString(string(r)) || r == '$' || r == 0x85 || r == 0x2028 || r == 0x2029 {
				b = fmt.Appendf(b, `\u%04x`, r)
			} else {
				b = append(b, string(r)...)
			}
		}
		return b
	})
}
