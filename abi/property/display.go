package property

import (
	"strconv"
	"strings"
)

// Bounds of what Display shows: a line that fits a terminal.
const (
	// maxShownText is the length in bytes of a string that is shown whole.
	maxShownText = 60
	// maxShownElements is the number of elements shown of an array or object.
	maxShownElements = 4
)

// Display renders v on one line for people. Secrets and what is not known are
// shown as [secret] and [unknown]; long strings and containers are cut; control
// characters are escaped, so that a value cannot draw on a terminal.
func Display(v Value) string {
	var b strings.Builder
	display(&b, v)
	return b.String()
}

func display(b *strings.Builder, v Value) {
	switch v.kind {
	case KindNull:
		b.WriteString("null")
	case KindBool:
		b.WriteString(strconv.FormatBool(v.num != 0))
	case KindNumber:
		b.WriteString(strconv.FormatFloat(v.num, 'g', -1, 64))
	case KindString:
		displayText(b, v.str)
	case KindArray:
		displayArray(b, v.ref.([]Value))
	case KindObject:
		displayObject(b, v.ref.(Map))
	case KindAsset:
		a := v.ref.(*Asset)
		displayBlob(b, "asset", a.Source, a.Path, a.URI, a.Hash)
	case KindArchive:
		a := v.ref.(*Archive)
		displayBlob(b, "archive", a.Source, a.Path, a.URI, a.Hash)
	case KindResourceReference:
		displayText(b, v.ref.(*ResourceReference).URN)
	case KindUnknown:
		b.WriteString("[unknown]")
	case KindSecret:
		b.WriteString("[secret]")
	case KindOutput:
		if o := v.ref.(*Output); o.Secret {
			b.WriteString("[secret]")
		} else {
			display(b, o.Value)
		}
	}
}

func displayText(b *strings.Builder, s string) {
	cut := ""
	if len(s) > maxShownText {
		s, cut = strings.ToValidUTF8(s[:maxShownText], ""), "…"
	}
	quoted := strconv.Quote(s)
	b.WriteString(quoted[:len(quoted)-1] + cut + `"`)
}

func displayArray(b *strings.Builder, elements []Value) {
	b.WriteByte('[')
	for i, e := range elements {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxShownElements {
			displayRest(b, len(elements)-i)
			break
		}
		display(b, e)
	}
	b.WriteByte(']')
}

func displayObject(b *strings.Builder, m Map) {
	b.WriteByte('{')
	for i, k := range m.Keys() {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxShownElements {
			displayRest(b, m.Len()-i)
			break
		}
		b.WriteString(Path{Key(k)}.String() + ": ")
		display(b, m.Get(k))
	}
	b.WriteByte('}')
}

func displayRest(b *strings.Builder, n int) {
	b.WriteString("… " + strconv.Itoa(n) + " more")
}

func displayBlob(b *strings.Builder, what string, source AssetSource, path, uri, hash string) {
	b.WriteString(what)
	switch {
	case source == SourcePath:
		b.WriteByte(' ')
		displayText(b, path)
	case source == SourceURI:
		b.WriteByte(' ')
		displayText(b, uri)
	}
	if len(hash) >= 8 {
		b.WriteString(" (sha256 " + hash[:8] + ")")
	}
}
