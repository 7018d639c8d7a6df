package provider

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// The characters that strings and passwords are made of.
const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits    = "0123456789"
	special   = "!@#$%&*()-_=+[]{}<>:?"
)

type textInputs struct {
	keepers
	Length          int     `husk:"length,min=1,max=65536" doc:"How many characters."`
	Lower           bool    `husk:"lower,default=true" doc:"Whether lower-case letters may occur."`
	Upper           bool    `husk:"upper,default=true" doc:"Whether upper-case letters may occur."`
	Numeric         *bool   `husk:"numeric,computed" doc:"Whether digits may occur; true where not given."`
	Number          *bool   `husk:"number,computed" doc:"The same as numeric." deprecated:"Use numeric instead."`
	Special         bool    `husk:"special,default=true" doc:"Whether the characters of overrideSpecial may occur."`
	OverrideSpecial *string `husk:"overrideSpecial" doc:"The special characters, in place of !@#$%&*()-_=+[]{}<>:?"`
	MinLower        int     `husk:"minLower,default=0,min=0" doc:"How many lower-case letters occur at least, even if lower is false."`
	MinUpper        int     `husk:"minUpper,default=0,min=0" doc:"How many upper-case letters occur at least, even if upper is false."`
	MinNumeric      int     `husk:"minNumeric,default=0,min=0" doc:"How many digits occur at least, even if numeric is false."`
	MinSpecial      int     `husk:"minSpecial,default=0,min=0" doc:"How many special characters occur at least, even if special is false."`
}

type text struct{}

// Check completes numeric and number, which are synonyms, and compares the length with the minima.
func (text) Check(_ context.Context, r guest.CheckRequest[textInputs]) ([]guest.CheckFailure, error) {
	in := r.Inputs
	if in.OverrideSpecial != nil && *in.OverrideSpecial == "" {
		in.OverrideSpecial = nil
	}
	if r.Known("numeric") && r.Known("number") {
		if in.Numeric != nil && in.Number != nil && *in.Numeric != *in.Number {
			return []guest.CheckFailure{{Path: "number", Reason: "must be the same as numeric, or be left out"}}, nil
		}
		numeric := in.numeric()
		in.Numeric, in.Number = &numeric, &numeric
	}
	for _, name := range [...]string{"length", "minLower", "minUpper", "minNumeric", "minSpecial", "lower", "upper", "numeric", "number", "special"} {
		if !r.Known(name) {
			return nil, nil
		}
	}
	switch minima := in.MinLower + in.MinUpper + in.MinNumeric + in.MinSpecial; {
	case in.Length < minima:
		return []guest.CheckFailure{{Path: "length", Reason: "must be at least " + strconv.Itoa(minima) +
			", the sum of minLower, minUpper, minNumeric, and minSpecial"}}, nil
	case in.Length > minima && len(in.alphabet()) == 0:
		return []guest.CheckFailure{{Path: "length", Reason: "there are no characters to make it of: one of lower, upper, numeric, and special must be true"}}, nil
	}
	return nil, nil
}

func (in *textInputs) numeric() bool {
	switch {
	case in.Numeric != nil:
		return *in.Numeric
	case in.Number != nil:
		return *in.Number
	}
	return true
}

func (in *textInputs) specials() string {
	if in.OverrideSpecial != nil && *in.OverrideSpecial != "" {
		return *in.OverrideSpecial
	}
	return special
}

func (in *textInputs) alphabet() []rune {
	all := ""
	if in.Lower {
		all += lowerCase
	}
	if in.Upper {
		all += upperCase
	}
	if in.numeric() {
		all += digits
	}
	if in.Special {
		all += in.specials()
	}
	return []rune(all)
}

// generate draws a string: the required characters and the rest, in random order.
func (in *textInputs) generate() (string, error) {
	var result []rune
	add := func(characters []rune, n int) error {
		for range n {
			c, err := pick(characters)
			if err != nil {
				return err
			}
			result = append(result, c)
		}
		return nil
	}
	for _, minimum := range [...]struct {
		characters string
		n          int
	}{{lowerCase, in.MinLower}, {upperCase, in.MinUpper}, {digits, in.MinNumeric}, {in.specials(), in.MinSpecial}} {
		if err := add([]rune(minimum.characters), minimum.n); err != nil {
			return "", err
		}
	}
	if err := add(in.alphabet(), in.Length-len(result)); err != nil {
		return "", err
	}
	err := shuffle(result)
	return string(result), err
}

// imported returns the inputs to record for a string that was made elsewhere.
func imported(result string) textInputs {
	yes := true
	return textInputs{Length: len([]rune(result)), Lower: true, Upper: true, Numeric: &yes, Number: &yes, Special: true}
}
