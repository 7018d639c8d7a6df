package state

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/abi/property"
)

// Pulumi writes the paths of hideDiff as text: in quotes, \" is a quote and any other backslash
// stands for itself, and "*" is a wildcard in any place. Older versions wrote arrays. Both are
// read.

// anyKey is how Pulumi writes the wildcard.
const anyKey = "*"

var hiddenPaths = form[[]property.Path]{
	empty:  func(paths *[]property.Path) bool { return len(*paths) == 0 },
	encode: func(e *encoder, paths *[]property.Path) { e.hideDiff(*paths) },
	decode: reading((*decoder).hideDiff),
}

func (e *encoder) hideDiff(paths []property.Path) {
	e.open('[')
	for _, path := range paths {
		if text := pulumiPath(path); readsAs(text, path) {
			e.string(text)
		} else {
			e.pathArray(path)
		}
	}
	e.close(']')
}

// readsAs reports whether Pulumi reads the text as that path. No text is a key that ends in a
// backslash.
func readsAs(text string, path property.Path) bool {
	parsed, err := parsePulumiPath(text)
	return err == nil && slices.EqualFunc(parsed, path, func(a, b property.Segment) bool {
		_, index := a.Index()
		return a == b || !index && keyOf(a) == keyOf(b)
	})
}

// pathArray appends a path as an array, which only this package reads.
func (e *encoder) pathArray(path property.Path) {
	e.open('[')
	for _, segment := range path {
		if i, ok := segment.Index(); ok {
			e.number(float64(i))
		} else {
			e.string(keyOf(segment))
		}
	}
	e.close(']')
}

func keyOf(segment property.Segment) string {
	if segment.IsWildcard() {
		return anyKey
	}
	key, _ := segment.Key()
	return key
}

func pulumiPath(path property.Path) string {
	var b strings.Builder
	for i, segment := range path {
		if n, ok := segment.Index(); ok {
			b.WriteString("[" + strconv.Itoa(n) + "]")
			continue
		}
		switch key := keyOf(segment); {
		case key == "" || strings.ContainsFunc(key, quotedInPulumi):
			b.WriteString(`["` + strings.ReplaceAll(key, `"`, `\"`) + `"]`)
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

func quotedInPulumi(c rune) bool {
	return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_'
}

// parsePulumiPath reads a path as Pulumi does: a name may hold anything but a dot and a bracket.
func parsePulumiPath(text string) (path property.Path, err error) {
	if strings.HasPrefix(text, ".") {
		return nil, errors.New("a path starts with a name or a bracket")
	}
	for text != "" {
		var key string
		switch {
		case text == ".":
			return nil, errors.New(`a name or a bracket must follow "."`)
		case text[0] == '.':
			text = text[1:]
			continue
		case strings.HasPrefix(text, `["`):
			if key, text, err = quotedKey(text[2:]); err != nil {
				return nil, err
			}
		case text[0] == '[':
			index, rest, closed := strings.Cut(text[1:], "]")
			if !closed {
				return nil, errors.New(`"]" is missing`)
			}
			if text = rest; index != anyKey {
				i, err := strconv.Atoi(index)
				if err != nil || i < 0 {
					return nil, errors.New(`an index (0, 1, ...), a name in quotes, or * must follow "["`)
				}
				path = append(path, property.Index(i))
				continue
			}
			key = anyKey
		default:
			end := strings.IndexAny(text, ".[")
			if end < 0 {
				end = len(text)
			}
			key, text = text[:end], text[end:]
		}
		path = append(path, segmentOf(key))
	}
	return path, nil
}

func segmentOf(key string) property.Segment {
	if key == anyKey {
		return property.Wildcard()
	}
	return property.Key(key)
}

// quotedKey reads a key up to the closing quote, with the bracket behind it.
func quotedKey(text string) (key, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && strings.HasPrefix(text[i+1:], `"`):
			i++
			b.WriteByte('"')
		case text[i] != '"':
			b.WriteByte(text[i])
		case strings.HasPrefix(text[i+1:], "]"):
			return b.String(), text[i+2:], nil
		default:
			return "", "", errors.New(`"]" must follow the closing quote`)
		}
	}
	return "", "", errors.New(`the closing quote (") is missing`)
}

// respelt is a member of a resource's JSON that is kept in another spelling than it has.
type respelt struct {
	// start and end are where its value is in the resource's JSON.
	start, end int64
	json       string
}

func (m *respelt) in(text string) string {
	if m == nil {
		return text
	}
	return text[:m.start] + m.json + text[m.end:]
}

// hideDiff reads the paths of hideDiff. Arrays are kept as text, which every Pulumi reads.
func (d *decoder) hideDiff() (paths []property.Path, err error) {
	at, err := d.section()
	if err != nil {
		return nil, err
	}
	r := at.reader()
	arrays := false
	err = r.array(func(int) error {
		arrays = arrays || r.kind() == jsontext.KindBeginArray
		path, err := r.hiddenPath()
		paths = append(paths, path)
		return err
	})
	if err == nil && arrays {
		var e encoder
		e.hideDiff(paths)
		start := at.offset - d.offset
		d.respelt = &respelt{start, start + int64(len(at.value)), string(e.buf)}
	}
	return paths, err
}

func (r *reader) hiddenPath() (path property.Path, err error) {
	if r.kind() == jsontext.KindString {
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		if path, err = parsePulumiPath(text); err != nil {
			return nil, r.failf("the path %q cannot be read: %v", text, err)
		}
		return path, nil
	}
	err = r.array(func(int) error {
		if r.kind() == jsontext.KindNumber {
			n, err := r.uint()
			path = append(path, property.Index(int(n)))
			return err
		}
		key, err := r.string()
		path = append(path, segmentOf(key))
		return err
	})
	return path, err
}
