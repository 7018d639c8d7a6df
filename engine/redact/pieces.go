package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pieces are the byte sequences that texts are searched for. A secret is looked for line by line, since it may be shown indented,
// and a long line in pieces, so that a part of it is found. Adjacent pieces share one mask.
//
// A search for thousands takes a nanosecond or two for each byte: the first bytes of a piece select a
// bit, and pieces are compared only if it is set.
type pieces struct {
	begins [1 << (headBits - 6)]uint64
	// byHead are the pieces by their first bytes, in the order of their texts.
	byHead map[uint32][]piece
}

// headBits is how many bits of a head select a bit.
const headBits = 18

// piece is a text that is looked for.
type piece struct {
	text string
	// alone marks a piece that must not be a part of a longer word or name.
	alone bool
}

// maxPiece is the length of the pieces of a long line, in bytes; the last is up to twice as long.
const maxPiece = 64

func (p *pieces) add(secret string) {
	for line := range strings.SplitSeq(secret, "\n") {
		line = strings.TrimSpace(line)
		if len(line) < MinLength || isCommon(line) || strings.HasPrefix(line, "-----") {
			continue // the armour of a key is not secret
		}
		p.addLine(line, len(line) < minInside || len(line) < minWordInside && isPlainWord(line))
		if len(line) >= minEncoded && strings.ContainsFunc(line, isSpecial) {
			for _, written := range []string{inJSON(line, false), inJSON(line, true), inGo(line), url.QueryEscape(line), url.PathEscape(line)} {
				if written != line {
					p.addLine(written, false)
				}
			}
		}
	}
	if len(secret) < minEncoded {
		return
	}
	for before := range 3 {
		encoded := inBase64(secret, before)
		p.addLine(encoded, false)
		if strings.ContainsAny(encoded, "+/") {
			p.addLine(strings.NewReplacer("+", "-", "/", "_").Replace(encoded), false) // as in URLs
		}
	}
	digits := hex.EncodeToString([]byte(secret))
	p.addLine(digits, false)
	p.addLine(strings.ToUpper(digits), false)
}

func (p *pieces) addLine(text string, alone bool) {
	for len(text) >= 2*maxPiece {
		p.put(piece{text[:maxPiece], false})
		text = text[maxPiece:]
	}
	p.put(piece{text, alone})
}

func (p *pieces) put(one piece) {
	if p.byHead == nil {
		p.byHead = make(map[uint32][]piece)
	}
	h := head(one.text)
	p.begins[bit(h)>>6] |= 1 << (bit(h) & 63)
	list := p.byHead[h]
	at, known := slices.BinarySearchFunc(list, one, func(a, b piece) int { return strings.Compare(a.text, b.text) })
	if !known {
		p.byHead[h] = slices.Insert(list, at, one)
	}
}

// head returns the first bytes of a text, by which pieces are found.
func head(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

// bit returns the place of a head in begins.
func bit(head uint32) uint32 { return head * 0x9e3779b1 >> (32 - headBits) }

// hide returns a text with a mask in the place of pieces.
func (p *pieces) hide(text string) string {
	var b strings.Builder
	written, masked := 0, -1
	for i := 0; i+MinLength <= len(text); {
		h := head(text[i:])
		if p.begins[bit(h)>>6]&(1<<(bit(h)&63)) == 0 {
			i++
			continue
		}
		n := p.longest(text, i, h)
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[written:i])
		if masked != i {
			b.WriteString(Mask)
		}
		i += n
		written, masked = i, i
	}
	if written == 0 {
		return text
	}
	b.WriteString(text[written:])
	return b.String()
}

// longest returns the length of the longest piece at a place, also of one cut off there, or 0.
func (p *pieces) longest(text string, at int, head uint32) int {
	list := p.byHead[head]
	rest := text[at:min(len(text), at+2*maxPiece)]
	longest := 0
	for key := rest; len(key) >= MinLength && longest == 0; {
		// Of the pieces that are not behind it in their order, the last has most in common with it.
		i := sort.Search(len(list), func(i int) bool { return list[i].text > key })
		if i == 0 {
			break
		}
		n := common(list[i-1].text, key)
		if n == len(list[i-1].text) {
			if !list[i-1].alone || !goesOn(text[:at], -1) && !goesOn(text[at+n:], 1) {
				longest = n
			}
			n--
		}
		key = key[:n]
	}
	if cut := rest[:cutAt(rest, at+len(rest) == len(text))]; len(cut) >= minCut && len(cut) > longest {
		i := sort.Search(len(list), func(i int) bool { return list[i].text >= cut })
		if i < len(list) && strings.HasPrefix(list[i].text, cut) {
			longest = len(cut)
		}
	}
	return longest
}

// cutAt returns where a text was cut off, 0 if it was not. ends marks a text that ends there.
func cutAt(text string, ends bool) int {
	at := 0
	if ends {
		at = len(text)
	}
	for _, mark := range []string{"…", "..."} {
		if i := strings.Index(text, mark); i >= 0 && (at == 0 || i < at) {
			at = i
		}
	}
	return at
}

// common returns the length of the common prefix of two texts.
func common(a, b string) int {
	n := min(len(a), len(b))
	if a[:n] == b[:n] {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// isWord reports whether a byte is one of a letter or digit.
func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= utf8.RuneSelf
}

// isPlainWord reports whether a text has lower-case letters only, as names and words of a language have.
func isPlainWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
}

// goesOn reports whether a word or name goes on in a text, forwards from its start or backwards from its end: by a letter
// or digit, or by "-", or "." and another of these.
func goesOn(text string, step int) bool {
	at := func(i int) byte { // 0 outside of the text
		if step < 0 {
			i = len(text) - 1 - i
		}
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	return isWord(at(0)) || (at(0) == '-' || at(0) == '.') && isWord(at(1))
}

// isSpecial reports whether a character may be written in another way in JSON, in Go, or in URLs.
func isSpecial(r rune) bool { return r >= utf8.RuneSelf || !isWord(byte(r)) && r != '-' && r != '.' }

func inJSON(text string, html bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(text); err != nil { // texts can always be encoded
		return text
	}
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

func inGo(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// inBase64 returns the part of base64 that depends on the text alone, after so many other bytes.
func inBase64(text string, before int) string {
	encoded := base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00"[:before] + text))
	return encoded[(before*8+5)/6 : (before+len(text))*8/6]
}
