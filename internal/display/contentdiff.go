package display

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/listdiff"
)

// maxStructure is the size in bytes up to which texts are compared by their structure.
const maxStructure = 1 << 20

// maxYAML is the size in bytes up to which a text is read as YAML, which takes some hundred times as much.
const maxYAML = 256 << 10

// inside compares the contents of two texts: JSON, YAML, or base64 of one of them or of text. It returns the kind of contents,
// and a line for each difference; an empty kind if they do not hold the same kind of thing.
func inside(style Style, old, new string) (kind string, lines []string) {
	if len(old) > maxStructure || len(new) > maxStructure {
		return "", nil
	}
	was, oldIsJSON := asJSON(old)
	is, newIsJSON := asJSON(new)
	if oldIsJSON && newIsJSON {
		return "JSON", compared(style, was, is)
	}
	before, oldIsBase64 := asBase64(old)
	after, newIsBase64 := asBase64(new)
	if oldIsBase64 && newIsBase64 {
		kind, lines := inside(style, before, after)
		if kind == "" {
			kind = "text"
			if lines = comparedLines(style, before, after); lines == nil {
				lines = []string{style.bad("- " + Escape(strconv.Quote(before))), style.good("+ " + Escape(strconv.Quote(after)))}
			}
		}
		return "base64 of " + kind, lines
	}
	was, oldIsYAML := asYAML(old)
	is, newIsYAML := asYAML(new)
	if oldIsYAML && newIsYAML {
		return "YAML", compared(style, was, is)
	}
	return "", nil
}

// asJSON returns the list or object that a text holds.
func asJSON(text string) (any, bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	var v any
	if intake.CheckJSON([]byte(trimmed), &v, intake.Allowance) != nil {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(trimmed))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return v, err == io.EOF
}

// asYAML returns the list or mapping that a text of several lines holds. Documents with anchors, and several in a text,
// are compared by line.
func asYAML(text string) (any, bool) {
	if len(text) > maxYAML || !strings.Contains(strings.TrimSpace(text), "\n") || strings.ContainsAny(text, "&*") {
		return nil, false
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	if decoder.Decode(&document) != nil || decoder.Decode(new(yaml.Node)) != io.EOF || len(document.Content) != 1 {
		return nil, false
	}
	v, ok := valueOf(document.Content[0])
	switch v.(type) {
	case map[string]any, []any:
		return v, ok
	}
	return nil, false
}

// valueOf returns the value of a node, in which other keys than text are texts. It refuses a mapping that has a key twice: the library would
// compare each key with all others, and have a message for each two that are the same.
func valueOf(n *yaml.Node) (v any, ok bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		err := n.Decode(&v)
		return v, err == nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, element := range n.Content {
			v, ok := valueOf(element)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case yaml.MappingNode:
		all := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, isScalar := valueOf(n.Content[i])
			name, isText := key.(string)
			if !isText {
				name = shownJSON(key)
			}
			if _, twice := all[name]; twice || !isScalar || n.Content[i].ShortTag() == "!!merge" {
				return nil, false
			}
			if all[name], ok = valueOf(n.Content[i+1]); !ok {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}

// leastBase64 is the length from which on a text may be taken for base64.
const leastBase64 = 16

// asBase64 returns the readable text that a text encodes.
func asBase64(text string) (string, bool) {
	text = strings.NewReplacer("\n", "", "\r", "").Replace(text)
	if len(text) < leastBase64 {
		return "", false
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		decoded, err := encoding.Strict().DecodeString(text)
		if err == nil && readable(decoded) {
			return string(decoded), true
		}
	}
	return "", false
}

// readable reports whether bytes are text that people write.
func readable(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && !unicode.IsPrint(r) })
}

// compared returns a line for each difference between two values of JSON or YAML.
func compared(style Style, old, new any) []string {
	c := comparison{style: style}
	c.compare("", old, new)
	if len(c.lines) == 0 {
		return []string{style.faint("only the way in which it is written differs")}
	}
	return c.lines
}

type comparison struct {
	style Style
	lines []string
}

func (c *comparison) compare(path string, old, new any) {
	oldMap, _ := old.(map[string]any)
	newMap, _ := new.(map[string]any)
	oldList, oldIsList := old.([]any)
	newList, newIsList := new.([]any)
	switch {
	case oldMap != nil && newMap != nil:
		keys := slices.Collect(maps.Keys(oldMap))
		for key := range newMap {
			if _, both := oldMap[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			was, existed := oldMap[key]
			is, exists := newMap[key]
			switch at := joinKey(path, key); {
			case !existed:
				c.add(at, is)
			case !exists:
				c.remove(at, was)
			default:
				c.compare(at, was, is)
			}
		}
	case oldIsList && newIsList:
		c.compareLists(path, oldList, newList)
	case !reflect.DeepEqual(old, new):
		c.line(c.style.warning("~ "+Escape(path)+":") + " " + Escape(shownJSON(old)) + " => " + Escape(shownJSON(new)))
	}
}

func (c *comparison) compareLists(path string, old, new []any) {
	for _, e := range listdiff.Compare(len(old), len(new), func(i, j int) bool { return reflect.DeepEqual(old[i], new[j]) }) {
		at := func(i int) string { return path + "[" + strconv.Itoa(i) + "]" }
		switch e.Kind {
		case listdiff.Moved:
			c.line(c.style.note("> "+Escape(at(e.New))+":") + " " + Escape(shownJSON(new[e.New])) + c.style.faint(" (was "+Escape(at(e.Old))+")"))
		case listdiff.Changed:
			c.compare(at(e.New), old[e.Old], new[e.New])
		case listdiff.Added:
			c.add(at(e.New), new[e.New])
		case listdiff.Deleted:
			c.remove(at(e.Old), old[e.Old])
		}
	}
}

func (c *comparison) add(path string, v any) {
	c.line(c.style.good("+ " + Escape(path) + ": " + Escape(shownJSON(v))))
}

func (c *comparison) remove(path string, v any) {
	c.line(c.style.bad("- " + Escape(path) + ": " + Escape(shownJSON(v))))
}

func (c *comparison) line(text string) { c.lines = append(c.lines, text) }

// joinKey appends a key to a path, as property paths write it.
func joinKey(path, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' })
	switch {
	case !plain:
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

// shownJSON returns a value of JSON or YAML in one line.
func shownJSON(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return "?" // an infinite number of YAML
	}
	return strings.TrimSpace(b.String())
}
