// Package names converts names of Terraform to names in Pulumi packages, by the rules of Pulumi's bridge.
package names

import "strings"

// Camel returns a name with underscores in camel case. Leading underscores, and one at the end, stay.
func Camel(name string) string {
	var b strings.Builder
	begun, upper := false, false
	for i := range len(name) {
		c := name[i]
		if c == '_' && begun {
			upper = true
			continue
		}
		begun = begun || c != '_'
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	if begun && strings.HasSuffix(name, "_") {
		b.WriteByte('_')
	}
	return b.String()
}

// Pascal returns Camel with a capital first letter.
func Pascal(name string) string {
	name = Camel(name)
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// Snake returns a name in camel case with underscores. It reverses Camel for most names.
func Snake(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
