package provider

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"
)

// maxContent is the largest content in bytes. Module, engine, and state copy it.
const maxContent = 8 << 20

type content struct {
	Content          *string `husk:"content" doc:"The content, as text."`
	SensitiveContent *string `husk:"sensitiveContent,secret" doc:"The content, as text that nobody should see."`
	ContentBase64    *string `husk:"contentBase64" doc:"The content, in base64 (RFC 4648, section 4). Exactly one of the three must be given."`
}

// bytes returns the content, which is checked.
func (c *content) bytes() []byte {
	switch {
	case c.Content != nil:
		return []byte(*c.Content)
	case c.SensitiveContent != nil:
		return []byte(*c.SensitiveContent)
	case c.ContentBase64 != nil:
		bytes, _ := base64.StdEncoding.DecodeString(*c.ContentBase64)
		return bytes
	}
	return nil
}

// check checks the content. An unknown input is nil, as a missing one.
func (c *content) check(f *failures, known func(string) bool) {
	var given []string
	for _, property := range []struct {
		name  string
		value *string
	}{{"content", c.Content}, {"sensitiveContent", c.SensitiveContent}, {"contentBase64", c.ContentBase64}} {
		if property.value != nil || !known(property.name) {
			given = append(given, property.name)
		}
	}
	const choose = "exactly one of content, sensitiveContent, and contentBase64 must be given"
	switch len(given) {
	case 0:
		f.add("content", choose+`; for an empty file, write content: ""`)
	case 1:
		c.checkForm(f, given[0])
	default:
		f.add(given[1], choose+"; remove "+given[0]+" or this")
	}
}

// checkForm checks the one that is given, and brings base64 into its canonical form.
func (c *content) checkForm(f *failures, name string) {
	if c.ContentBase64 != nil {
		bytes, err := base64.StdEncoding.DecodeString(*c.ContentBase64)
		if err != nil {
			f.add(name, "is not base64 (RFC 4648, section 4)")
			return
		}
		*c.ContentBase64 = base64.StdEncoding.EncodeToString(bytes)
	}
	if size := len(c.bytes()); size > maxContent {
		f.add(name, "has "+strconv.Itoa(size)+" bytes; a file may have at most "+strconv.Itoa(maxContent))
	}
}

// found returns the content of a file in the form that was used before, or else as text if possible. A
// note stands for content that cannot be returned in this form.
func (c *content) found(f foundFile) content {
	text, isText := f.text()
	switch {
	case c.SensitiveContent != nil:
		return content{SensitiveContent: &text}
	case c.Content != nil, c.ContentBase64 == nil && isText, f.tooLarge:
		return content{Content: &text}
	}
	encoded := base64.StdEncoding.EncodeToString(f.content)
	return content{ContentBase64: &encoded}
}

// text returns the content as text, or a note if it is none or too large.
func (f *foundFile) text() (text string, isText bool) {
	switch {
	case f.tooLarge:
		return "(" + strconv.FormatInt(f.size, 10) + " bytes with SHA-256 " + f.digests.ContentSha256 + ")", false
	case !utf8.Valid(f.content):
		return "(not text, with SHA-256 " + f.digests.ContentSha256 + ")", false
	}
	return string(f.content), true
}
