// Package autoname makes up the names of resources that programs leave unnamed, as Pulumi's providers do. The SDK uses it
// for inputs with the tag autoname, and the adapter for Terraform for attributes that are names.
package autoname

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi"
)

// suffixLength is the number of random characters in a made-up name, as in Pulumi's providers.
const suffixLength = 7

const hexadecimal = "0123456789abcdef"

// Shortest is the least length that made-up names can be bounded by: a character, the separator, and the random ones.
func Shortest(separator string) int { return 1 + utf8.RuneCountInString(separator) + suffixLength }

// Form is what names of a type look like.
type Form struct {
	// Separator stands before the random characters.
	Separator string
	// Longest is how many characters a name has at most, 0 for any number.
	Longest int
	// Lower makes capital letters small, but those of a name that pulumi:autonaming enforces.
	Lower bool
}

// For returns a name for a resource, or why there is none.
func For(request *abi.CheckRequest, f Form) (name, refused string) {
	if policy := request.Autonaming; policy != nil {
		fits := f.Longest == 0 || utf8.RuneCountInString(policy.ProposedName) <= f.Longest
		switch {
		case policy.Mode == abi.AutonamingModeDisable:
			return "", "required property is missing, since pulumi:autonaming lets no name be made up; expected string"
		case fits && policy.ProposedName != "" && policy.Mode == abi.AutonamingModeEnforce:
			return policy.ProposedName, ""
		case fits && policy.ProposedName != "":
			return f.cased(policy.ProposedName), ""
		case !fits && policy.Mode == abi.AutonamingModeEnforce:
			return "", "the name that pulumi:autonaming asks for, " + policy.ProposedName + ", is longer than " + strconv.Itoa(f.Longest) + " characters"
		}
	}
	return f.madeUp(request), ""
}

func (f Form) cased(name string) string {
	if f.Lower {
		return strings.ToLower(name)
	}
	return name
}

// madeUp returns the resource's name in the program, cut to the longest length, with a random suffix.
func (f Form) madeUp(request *abi.CheckRequest) string {
	name, suffix := f.cased(inProgram(request)), f.Separator
	for _, b := range request.RandomSeed[:min(suffixLength, len(request.RandomSeed))] {
		suffix += string(hexadecimal[b&0xf])
	}
	if room := f.Longest - utf8.RuneCountInString(suffix); f.Longest > 0 && utf8.RuneCountInString(name) > room {
		name = string([]rune(name)[:room])
	}
	return name + suffix
}

// LooksMadeUp reports whether a name equals the one that [For] returns for the resource without a policy, except for the random
// characters.
func LooksMadeUp(request *abi.CheckRequest, f Form, name string) bool {
	at := len(name) - suffixLength
	if at < 0 || strings.Trim(name[at:], hexadecimal) != "" {
		return false
	}
	prefix, separated := strings.CutSuffix(name[:at], f.Separator)
	return separated && prefix != "" && strings.HasPrefix(f.cased(inProgram(request)), prefix)
}

// inProgram returns the name that the program gives the resource.
func inProgram(request *abi.CheckRequest) string {
	if request.Name != "" {
		return request.Name
	}
	return request.URN.Name()
}
