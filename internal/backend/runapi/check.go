package runapi

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

var (
	idForm     = lazyregexp.Regexp{Syntax: `^[A-Z0-9]{26}$`}
	digestForm = lazyregexp.Regexp{Syntax: `^sha256:[0-9a-f]{64}$`}
)

// IsID reports whether a text can be the ID of a run.
func IsID(text string) bool { return idForm.Get().MatchString(text) }

// IsDigest reports whether a text is the digest of a bundle.
func IsDigest(text string) bool { return digestForm.Get().MatchString(text) }

const (
	// maxOptions bounds the options of a run, and maxOptionBytes all of their texts, in bytes.
	maxOptions, maxOptionBytes = 256, 256 << 10
	// maxVariableBytes bounds the sealed variables of a run, in bytes.
	maxVariableBytes = 64 << 10
)

// Check returns an error for an invalid run, whoever asks for it: a server checks clients' requests, and a worker checks the
// server's. The ID may be chosen later.
func (n *NewRun) Check() error {
	if n.ID != "" && !IsID(n.ID) {
		return fmt.Errorf("the ID of a run has 26 upper-case letters and digits")
	}
	if err := (state.StackName{Project: n.Project, Name: n.Stack}).Validate(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(Operations, n.Operation):
		return fmt.Errorf("the operation %.60q: it is one of %s", n.Operation, strings.Join(Operations, ", "))
	case len(n.Directory) > MaxMessage:
		return fmt.Errorf("the directory %.60q… has more than %d bytes", n.Directory, MaxMessage)
	case n.Directory != "" && (path.IsAbs(n.Directory) || path.Clean(n.Directory) != n.Directory || strings.HasPrefix(n.Directory, "..") || strings.ContainsAny(n.Directory, "\\\x00")):
		return fmt.Errorf("the directory %.60q is none in a bundle", n.Directory)
	case !IsDigest(n.Bundle):
		return fmt.Errorf("the bundle %.80q: its digest has the form sha256:…", n.Bundle)
	case len(n.Variables) > maxVariableBytes:
		return fmt.Errorf("the variables of a run have more than %d KiB", maxVariableBytes>>10)
	case len(n.Options) > maxOptions || len(n.Message) > MaxMessage:
		return fmt.Errorf("a run has at most %d options, and a message of at most %d bytes", maxOptions, MaxMessage)
	}
	bytes := 0
	for _, option := range n.Options {
		if bytes += len(option); len(option) > MaxMessage || bytes > maxOptionBytes {
			return fmt.Errorf("an option has more than %d bytes, or all of them have more than %d KiB", MaxMessage, maxOptionBytes>>10)
		}
		if err := CheckOption(n.Operation, option); err != nil {
			return err
		}
	}
	return nil
}

// teamForm matches the name of a team.
var teamForm = lazyregexp.Regexp{Syntax: `^[a-z][a-z0-9_]{0,39}$`}

// IsTeam reports whether a text can be the name of a team.
func IsTeam(text string) bool { return teamForm.Get().MatchString(text) }

// Check returns an error for an invalid run of a server: its names become file names at the worker, and its options flags.
func (c *Claim) Check() error {
	if err := c.NewRun.Check(); err != nil {
		return err
	}
	const longest = 24 * 3600 // seconds
	switch {
	case c.ID == "" || c.Token == "" || c.Next < 1:
		return errors.New("it has no ID, no token, or no place in its log")
	case c.Team != "" && !IsTeam(c.Team):
		return fmt.Errorf("the team %.60q is none", c.Team)
	case !(c.BeatSeconds > 0 && c.BeatSeconds <= longest):
		return fmt.Errorf("it is to be heard of every %v seconds", c.BeatSeconds)
	}
	return nil
}
