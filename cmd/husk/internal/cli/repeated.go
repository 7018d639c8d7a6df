package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// repeated keeps each value of a flag that can be repeated. Each one of pflag's would begin with a CSV writer for its default.
type repeated []string

// Repeated returns the value of a flag that can be repeated, whose values the variable gets in their order.
func Repeated(values *[]string) pflag.Value { return (*repeated)(values) }

// String implements [pflag.Value].
func (r *repeated) String() string { return "[" + strings.Join(*r, ",") + "]" }

// Type implements [pflag.Value].
func (r *repeated) Type() string { return "stringArray" }

// Set implements [pflag.Value].
func (r *repeated) Set(value string) error { return r.Append(value) }

// Append implements [pflag.SliceValue].
func (r *repeated) Append(value string) error {
	*r = append(*r, value)
	return nil
}

// Replace implements [pflag.SliceValue].
func (r *repeated) Replace(values []string) error {
	*r = values
	return nil
}

// GetSlice implements [pflag.SliceValue].
func (r *repeated) GetSlice() []string { return *r }
