package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Words is the value of a flag that takes one of a few words. The flag accepts, errors list, and shells complete the same.
type Words interface {
	pflag.Value
	// Words returns what the flag takes.
	Words() []string
}

// choice is a [Words] that keeps the word in a variable.
type choice struct {
	value *string
	words []string
}

// Choice returns the value of a flag that takes one of a few words, which a variable gets.
func Choice(value *string, words ...string) Words { return &choice{value, words} }

// String implements [pflag.Value].
func (c *choice) String() string { return *c.value }

// Type implements [pflag.Value].
func (c *choice) Type() string { return "string" }

// Words implements [Words].
func (c *choice) Words() []string { return c.words }

// Set implements [pflag.Value].
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return errors.New("must be " + AnyOf(c.words)) // [FlagError] names the flag, too
	}
	*c.value = word
	return nil
}

// AnyOf lists alternatives: a, b, or c.
func AnyOf(words []string) string {
	switch last := len(words) - 1; last {
	case 0:
		return words[0]
	case 1:
		return words[0] + " or " + words[1]
	default:
		return strings.Join(words[:last], ", ") + ", or " + words[last]
	}
}
