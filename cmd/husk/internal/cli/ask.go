package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/internal/display"
)

// ErrDeclined is the error if the user did not confirm.
var ErrDeclined = errors.New("not confirmed: nothing was changed")

// IsInteractive reports whether a person can answer a question.
func (a *App) IsInteractive() bool {
	return !a.JSON && display.IsTerminal(a.In) && a.Out.IsTerminal()
}

// Ask asks a question. Only "y" and "yes" confirm, and closing stop declines.
func (a *App) Ask(question string, stop <-chan struct{}) error {
	if _, err := fmt.Fprintf(a.Out, "%s [y/N] ", a.Out.Style().Strong(display.Escape(question))); err != nil {
		return Writing(err)
	}
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		text, err := bufio.NewReader(a.In).ReadString('\n')
		replies <- reply{text, err}
	}()
	select {
	case <-stop:
		return ErrDeclined
	case r := <-replies:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return fmt.Errorf("reading the answer: %w", r.err)
		}
		switch strings.ToLower(strings.TrimSpace(r.text)) {
		case "y", "yes":
			return nil
		default:
			return ErrDeclined
		}
	}
}

// Agree asks for confirmation, unless yes is set.
func (a *App) Agree(yes bool, command, question string) error {
	if yes {
		return nil
	}
	if !a.IsInteractive() {
		return Usagef("husk %s needs a terminal to ask for confirmation: add --yes", command)
	}
	return a.Ask(question, nil)
}

// AddYes adds the flag of commands that ask for confirmation.
func AddYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "proceed without confirmation")
}
