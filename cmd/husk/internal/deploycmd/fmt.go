package deploycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/workspace"
	"github.com/husk-dev/husk/internal/workspace/yamlformat"
)

func (a commands) format() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use: "fmt [FILE...]", Short: "Format project files",
		Long: "Writes project files in one form: two spaces of indentation, one blank line at most, no spaces at the ends of\n" +
			"lines. Comments, the order of keys, and the style of texts, lists, and mappings stay. Without FILE, it formats the\n" +
			"project file, the program, and the configuration of stacks. A file whose meaning would change stays as it is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, files := projectroot.New(".", projectroot.Trusted), args // the user names them
			if len(files) == 0 {
				var err error
				if root, files, err = a.projectFiles(cmd.Context()); err != nil {
					return err
				}
			}
			return a.formatFiles(root, files, check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only list the files that are not in that form, and exit with 1 if there are some")
	return cmd
}

// projectFiles returns the files in YAML of the project.
func (a commands) projectFiles(ctx context.Context) (*projectroot.Root, []string, error) {
	project, err := a.Project(ctx)
	if err != nil {
		return nil, nil, err
	}
	files := []string{filepath.Join(project.Dir, project.File.Name)}
	if name := project.Template.File.Name; name != project.File.Name {
		files = append(files, filepath.Join(project.ProgramDir, filepath.Base(name)))
	}
	entries, err := project.Root.ReadDir(project.StackConfigDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, entry := range entries {
		if _, ok := workspace.StackOfFile(entry.Name()); ok && !entry.IsDir() {
			files = append(files, filepath.Join(project.StackConfigDir, entry.Name()))
		}
	}
	slices.Sort(files)
	return project.Root, slices.Compact(files), nil
}

// shown returns the path of a file as it is shown: from the current directory, if it is below.
func shown(name string) string {
	wd, err := os.Getwd()
	if err != nil || !filepath.IsAbs(name) {
		return name
	}
	if short, err := filepath.Rel(wd, name); err == nil && filepath.IsLocal(short) {
		return short
	}
	return name
}

func (a commands) formatFiles(root *projectroot.Root, files []string, check bool) error {
	var changed []string
	var failed []error
	for _, path := range files {
		text, err := root.ReadFile(path, source.MaxFileSize)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		name := shown(path)
		formatted, err := yamlformat.Format(text)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s cannot be formatted: %w", name, err))
			continue
		case bytes.Equal(text, formatted):
			continue
		case !check:
			if err := root.WriteFile(path, formatted, 0o644); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		changed = append(changed, name)
		if !a.JSON {
			if err := a.Printf("%s\n", name); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		if err := a.WriteJSON(map[string]any{"changed": append([]string{}, changed...)}); err != nil {
			return err
		}
	}
	if check && len(changed) > 0 {
		failed = append(failed, fmt.Errorf("%s not formatted: husk fmt writes them", cli.Plural(len(changed), "file")))
	}
	return errors.Join(failed...)
}
