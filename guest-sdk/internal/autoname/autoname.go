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

// For returns a name for a resource, or why there is none. It has at most longest characters; 0 stands for any number.
func For(request *abi.CheckRequest, separator string, longest int) (name, refused string) {
	if policy := request.Autonaming; policy != nil {
		fits := longest == 0 || utf8.RuneCountInString(policy.ProposedName) <= longest
		switch {
		case policy.Mode == abi.AutonamingModeDisable:
			return "", "required property is missing, since pulumi:autonaming lets no name be made up; expected string"
		case fits && policy.ProposedName != "":
			return policy.ProposedName, ""
		case !fits && policy.Mode == abi.AutonamingModeEnforce:
			return "", "the name that pulumi:autonaming asks for, " + policy.ProposedName + ", is longer than " + strconv.Itoa(longest) + " characters"
		}
	}
	return madeUp(request, separator, longest), ""
}

// madeUp returns the resource's name in the program, cut to the longest length, with a random suffix.
func madeUp(request *abi.CheckRequest, separator string, longest int) string {
	name, suffix := inProgram(request), separator
	for _, b := range request.RandomSeed[:min(suffixLength, len(request.RandomSeed))] {
		suffix += string(hexadecimal[b&0xf])
	}
	if room := longest - utf8.RuneCountInString(suffix); longest > 0 && utf8.RuneCountInString(name) > room {
		name = string([]rune(name)[:room])
	}
	return name + suffix
}

// LooksMadeUp reports whether a name equals the one that [For] returns for the resource without a policy, except for the random
// characters.
func LooksMadeUp(request *abi.CheckRequest, separator, name string) bool {
	at := len(name) - suffixLength
	if at < 0 || strings.Trim(name[at:], hexadecimal) != "" {
		return false
	}
	prefix, separated := strings.CutSuffix(name[:at], separator)
	return separated && prefix != "" && strings.HasPrefix(inProgram(request), prefix)
}

// inProgram returns the name that the program gives the resource.
func inProgram(request *abi.CheckRequest) string {
	if request.Name != "" {
		return request.Name
	}
	return request.URN.Name()
}
