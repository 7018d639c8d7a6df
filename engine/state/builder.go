package state

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// builder appends compact JSON. The first error sticks.
type builder struct {
	buf   []byte
	comma bool // a comma is due before the next name or element
	err   error
}

func (b *builder) separate() {
	if b.comma {
		b.buf = append(b.buf, ',')
	}
	b.comma = true
}

func (b *builder) open(bracket byte) {
	b.separate()
	b.buf = append(b.buf, bracket)
	b.comma = false
}

func (b *builder) close(bracket byte) {
	b.buf = append(b.buf, bracket)
	b.comma = true
}

func (b *builder) name(name string) {
	b.string(name)
	b.buf = append(b.buf, ':')
	b.comma = false
}

func (b *builder) string(s string) {
	b.separate()
	var err error
	if b.buf, err = jsontext.AppendQuote(b.buf, s); err != nil && b.err == nil {
		b.err = err // invalid UTF-8
	}
}

func (b *builder) bool(v bool) {
	b.separate()
	b.buf = strconv.AppendBool(b.buf, v)
}

func (b *builder) null() {
	b.separate()
	b.buf = append(b.buf, "null"...)
}

// number appends a finite number as Pulumi writes it.
func (b *builder) number(f float64) {
	b.separate()
	if f == 0 && math.Signbit(f) {
		b.buf = append(b.buf, "-0"...)
		return
	}
	b.buf = jsontext.AppendFloat(b.buf, f, 64)
}

func (b *builder) uint(n uint64) {
	b.separate()
	b.buf = strconv.AppendUint(b.buf, n, 10)
}

func (b *builder) raw(json []byte) {
	b.separate()
	b.buf = append(b.buf, json...)
}

func (b *builder) text(json string) {
	b.separate()
	b.buf = append(b.buf, json...)
}

// line begins the next element on a line of its own: people compare documents by line.
func (b *builder) line() {
	b.separate()
	b.comma = false
	b.buf = append(b.buf, '\n')
}

func (b *builder) optionalString(name, s string) {
	if s != "" {
		b.name(name)
		b.string(s)
	}
}

// stringArray appends an array, null for a nil list.
func stringArray[S ~string](b *builder, list []S) {
	if list == nil {
		b.null()
		return
	}
	b.open('[')
	for _, s := range list {
		b.string(string(s))
	}
	b.close(']')
}
