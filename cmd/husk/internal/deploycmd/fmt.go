package deploycmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/atomicfile"
	"github.com/husk-dev/husk/internal/yamlformat"
)

func (a commands) format() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use: "fmt [FILE...]", Short: "Format project files",
		Long: "Writes project files in one form: two spaces of indentation, one blank line at most, no spaces at the ends of\n" +
			"lines. Comments, the order of keys, and the style of texts, lists, and mappings stay. Without FILE, it formats the\n" +
			"project file, the program, and the configuration of stacks. A file whose meaning would change stays as it is.",
		RunE: func(_ *cobra.Command, args []string) error {
			files := args
			if len(files) == 0 {
				var err error
				if files, err = a.projectFiles(); err != nil {
					return err
				}
			}
			return a.formatFiles(files, check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only list the files that are not in that form, and exit with 1 if there are some")
	return cmd
}

// projectFiles returns the files in YAML of the project.
func (a commands) projectFiles() ([]string, error) {
	project, err := a.Project()
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(project.Dir, project.File.Name)}
	if name := project.Template.File.Name; name != project.File.Name {
		files = append(files, filepath.Join(project.ProgramDir, filepath.Base(name)))
	}
	for _, pattern := range []string{"Husk.*.yaml", "Pulumi.*.yaml"} {
		found, err := filepath.Glob(filepath.Join(project.StackConfigDir, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	wd, err := os.Getwd()
	for i, name := range files {
		if short, relErr := filepath.Rel(wd, name); err == nil && relErr == nil && filepath.IsLocal(short) {
			files[i] = short
		}
	}
	return slices.Compact(files), nil
}

func (a commands) formatFiles(files []string, check bool) error {
	var changed []string
	var failed []error
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		formatted, err := yamlformat.Format(text)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s cannot be formatted: %w", name, err))
			continue
		case bytes.Equal(text, formatted):
			continue
		case !check:
			if err := atomicfile.Write(name, formatted, modeOf(name)); err != nil {
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

// modeOf returns the permissions of a file.
func modeOf(name string) fs.FileMode {
	if info, err := os.Stat(name); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}
