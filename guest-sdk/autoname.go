package guest

import (
	"strconv"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// suffixLength is the number of random characters in a made-up name, as Pulumi's
// providers have it.
const suffixLength = 7

// autoname gives a resource its name where the program gives none.
func (r *resource) autoname(request *abi.CheckRequest, inputs property.Map) (property.Map, []abi.CheckFailure) {
	key, longest := r.inputs.Autoname()
	if key == "" || !inputs.Get(key).Plain().IsNull() {
		return inputs, nil
	}
	if request.Olds != nil && !request.Olds.Get(key).Plain().IsNull() {
		return inputs.With(key, request.Olds.Get(key)), nil
	}
	fail := func(reason string) (property.Map, []abi.CheckFailure) {
		return inputs, []abi.CheckFailure{{Path: key, Reason: reason}}
	}
	name := ""
	if policy := request.Autonaming; policy != nil {
		fits := longest == 0 || utf8.RuneCountInString(policy.ProposedName) <= longest
		switch {
		case policy.Mode == abi.AutonamingModeDisable:
			return fail("required property is missing, since pulumi:autonaming lets no name be made up; expected string")
		case fits:
			name = policy.ProposedName
		case policy.Mode == abi.AutonamingModeEnforce:
			return fail("the name that pulumi:autonaming asks for, " + policy.ProposedName + ", is longer than " + strconv.Itoa(longest) + " characters")
		}
	}
	if name == "" {
		name = madeUp(request, longest)
	}
	v := property.String(name)
	if r.Inputs.Property(key).Secret {
		v = property.Secret(v)
	}
	return inputs.With(key, v), nil
}

// madeUp is the resource's name in the program, as much of it as there is room for,
// with random characters after it.
func madeUp(request *abi.CheckRequest, longest int) string {
	name := request.Name
	if name == "" {
		name = request.URN.Name()
	}
	suffix := "-"
	for _, b := range request.RandomSeed[:min(suffixLength, len(request.RandomSeed))] {
		suffix += string("0123456789abcdef"[b&0xf])
	}
	if room := longest - len(suffix); longest > 0 && utf8.RuneCountInString(name) > room {
		name = string([]rune(name)[:room])
	}
	return name + suffix
}
