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
	return !a.JSON && !a.AsksNothing && display.IsTerminal(a.In) && a.Out.IsTerminal()
}

// Ask asks a question. Only "y" and "yes" confirm, and closing stop declines.
func (a *App) Ask(question string, stop <-chan struct{}) error {
	return a.ask(question, " [y/N] ", nil, stop)
}

// AskWithDetails is Ask for a question to which "d" and "details" answer as well: it then calls show, and asks again.
func (a *App) AskWithDetails(question string, show func(), stop <-chan struct{}) error {
	return a.ask(question, " [yes/No/details] ", show, stop)
}

func (a *App) ask(question, answers string, show func(), stop <-chan struct{}) error {
	for {
		if _, err := fmt.Fprint(a.Out, a.Out.Style().Strong(display.Escape(question))+answers); err != nil {
			return Writing(err)
		}
		reply, err := a.reply(stop)
		if err != nil {
			return err
		}
		switch reply {
		case "y", "yes":
			return nil
		case "d", "details":
			if show == nil {
				return ErrDeclined
			}
			show()
		default:
			return ErrDeclined
		}
	}
}

// reply returns a line of the user in lower case, empty at the end of the input.
func (a *App) reply(stop <-chan struct{}) (string, error) {
	if a.replies == nil {
		a.replies = bufio.NewReader(a.In)
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := a.replies.ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case <-stop:
		return "", ErrDeclined
	case l := <-lines:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("reading the answer: %w", l.err)
		}
		return strings.ToLower(strings.TrimSpace(l.text)), nil
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
