// Package words has what the greeter has in another package.
package words

import "context"

// Tone is how a greeting sounds.
type Tone struct {
	// Loud says that it is loud.
	Loud bool `husk:"loud,optional"`
}

// Whisper says it so that nobody hears.
func Whisper(context.Context, Tone) (Tone, error) { return Tone{}, nil }
