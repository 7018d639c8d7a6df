package pulumicmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/workspace"
)

// copyConfig returns the command that copies the configuration of the stack, or one key of it, to another stack.
func (a *answers) copyConfig() *cobra.Command {
	var to string
	var isPath bool
	cmd := &cobra.Command{
		Use: "copy [KEY]", Aliases: []string{"cp"}, Short: "Copy the configuration, or one key of it, to another stack",
		RunE: a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error {
			if to == "" {
				return cli.Usagef("missing --dest: name the stack to copy to")
			}
			if len(args) == 0 {
				return copyAll(ctx, w, c, to)
			}
			key, part, err := stackcmd.ConfigKey(w.Project, args[0], isPath)
			if err != nil {
				return cli.Usage(err)
			}
			whole, found := c.Get(key)
			v, hasPart := part.Get(whole)
			if !found || !hasPart {
				return fmt.Errorf("the configuration key %s is not set in the stack %s", args[0], c.Stack)
			}
			return copies(w, c, to, func(into *workspace.Config) error { return copyValue(ctx, c, into, key, part, v) })
		}),
	}
	cmd.Flags().StringVarP(&to, "dest", "d", "", "the stack to copy to")
	cmd.Flags().BoolVar(&isPath, "path", false, "KEY is a path into a list or object")
	return cmd
}

// copyAll copies a configuration to another stack.
func copyAll(ctx context.Context, w *workspace.Workspace, from *workspace.Config, to string) error {
	return copies(w, from, to, func(into *workspace.Config) error {
		for _, key := range from.Keys() {
			v, _ := from.Get(key)
			if err := copyValue(ctx, from, into, key, nil, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// copies changes the configuration of another stack.
func copies(w *workspace.Workspace, from *workspace.Config, to string, do func(into *workspace.Config) error) error {
	if to == from.Stack {
		return cli.Usagef("the stack %s has this configuration: name another one", to)
	}
	into, err := w.Config(to)
	if err != nil {
		return err
	}
	if err := do(into); err != nil {
		return err
	}
	return into.Save()
}

// copyValue copies a value, or a part of one. Secrets are encrypted with the other stack's key.
func copyValue(ctx context.Context, from, into *workspace.Config, key string, path property.Path, v property.Value) error {
	below := func(s property.Segment, v property.Value) error {
		return copyValue(ctx, from, into, key, append(slices.Clone(path), s), v)
	}
	if inner, is := v.AsSecret(); is {
		ciphertext, _ := inner.AsString()
		text, err := from.Decrypt(ctx)(ciphertext)
		if err != nil {
			return err
		}
		return into.Put(ctx, key, path, text, true)
	}
	list, isList := v.AsArray()
	object, isObject := v.AsObject()
	if len(list) > 0 || object.Len() > 0 {
		into.RemoveAt(key, path)
		for i, element := range list {
			if err := below(property.Index(i), element); err != nil {
				return err
			}
		}
		for name, part := range object.All() {
			if err := below(property.Key(name), part); err != nil {
				return err
			}
		}
		return nil
	}
	text, err := program.ConfigText(v)
	if err != nil {
		return err
	}
	if len(path) > 0 && (isList || isObject || !isWritten(v, text)) {
		return fmt.Errorf("%s has a part that a command line cannot say, %s: copy it in the files of the stacks", key, text)
	}
	return into.Put(ctx, key, path, text, false)
}

// isWritten reports whether a part of a value is what its text makes of it: a whole number or a truth value, or else text.
func isWritten(v property.Value, text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	_, isText := v.AsString()
	return isText != (err == nil || text == "true" || text == "false")
}
