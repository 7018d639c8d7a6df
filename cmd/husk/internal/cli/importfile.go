package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/importfile"
)

// listing is a preview that can write an import file of what it would create.
type listing struct {
	path   string
	listed importfile.Listed
}

// listening has what a preview would create noted.
func (l *listing) listening(update makeUp) makeUp {
	return func(ctx context.Context, o *opened) (engine.Up, error) {
		events := o.Deployment.Events
		o.Deployment.Events = func(e engine.Event) {
			l.listed.Event(e)
			events(e)
		}
		return update(ctx, o)
	}
}

// addTo adds the flag for the file to a command that previews.
func (l *listing) addTo(cmd *cobra.Command, a *app) {
	cmd.Flags().StringVar(&l.path, "import-file", "", "write the resources that would be created to a file for husk import, with placeholders for IDs")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err != nil || l.path == "" {
			return err
		}
		text, err := l.listed.File().Encode()
		if err == nil {
			err = os.WriteFile(l.path, text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("writing the import file: %w", err)
		}
		a.say("Listed the resources that would be created in %s: fill in the IDs of existing objects, remove the others, and run husk import --file %[1]s.", l.path)
		return nil
	}
}
