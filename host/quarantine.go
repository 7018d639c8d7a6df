package host

import (
	"fmt"
	"time"
)

// QuarantineError is a provider or policy pack that crashed too often to be called again.
// [Provider.Readmit] has it called again; so does making another one of its module.
type QuarantineError struct {
	// Crashes is how often it crashed within Window.
	Crashes int
	Window  time.Duration
	// Last is what the last crash was.
	Last string
	// Advice says how to have more crashes forgiven, see [Config.WithAdvice]; empty for what
	// this package offers.
	Advice string
}

func (e *QuarantineError) Error() string {
	advice := e.Advice
	if advice == "" {
		advice = "make it anew or Readmit it to try again"
	}
	return fmt.Sprintf("it crashed %d times within %s and is in quarantine, so that it is not called any more; %s; the last crash: %s",
		e.Crashes, e.Window, advice, e.Last)
}

// WithQuarantine sets how many crashes within a time put a provider in quarantine. See
// [DefaultQuarantineCrashes] and [DefaultQuarantineWindow].
func (c Config) WithQuarantine(crashes int, window time.Duration) Config {
	c.most.crashes, c.most.crashWindow = crashes, window
	return c
}

// Readmit ends a quarantine (see [QuarantineError]), and forgets the crashes that led to it.
func (s *sandbox) Readmit() { s.health.Readmit() }
