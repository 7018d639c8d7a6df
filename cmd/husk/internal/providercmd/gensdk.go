package providercmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/plugins"
)

// generator is the program that writes SDKs. It has Pulumi's generators, which are larger than husk.
const generator = "husk-gen-sdk"

// languages are the languages of the generator.
var languages = []string{"go", "nodejs", "python"}

func (a commands) packageGenSDK() *cobra.Command {
	var language, out string
	cmd := &cobra.Command{
		Use: "gen-sdk FILE|NAME", Short: "Write a typed SDK of a package for programs in Go, Node.js, or Python",
		Long: "Write a typed SDK of a package for programs in Go, Node.js, or Python, as Pulumi's generators make it.\n" +
			"The package comes from a module, Go source, or a provider or package of the project. The generators are\n" +
			"in a separate program, husk-gen-sdk, beside husk or in PATH.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if language == "" {
				return cli.Usagef("--language is missing: it is %s", cli.AnyOf(languages))
			}
			program, err := findGenerator()
			if err != nil {
				return err
			}
			project, err := a.projectOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.WithPlugins(cmd.Context(), project, func(p *plugins.Plugins) error {
				text, err := a.schemaOf(cmd.Context(), p, project, args[0])
				if errors.Is(err, abi.ErrUnimplemented) {
					return fmt.Errorf("%s has no schema", args[0])
				}
				if err != nil {
					return err
				}
				if err := generateSDK(cmd.Context(), program, text, language, out); err != nil {
					return err
				}
				if a.JSON {
					return a.WriteJSON(map[string]string{"language": language, "path": out})
				}
				a.Say("Wrote the SDK for %s to %s.", language, out)
				return nil
			})
		},
	}
	cmd.Flags().Var(cli.Choice(&language, languages...), "language", "the language: "+cli.AnyOf(languages))
	cmd.Flags().StringVarP(&out, "output", "o", "sdk", "write the SDK to `DIR`, which must be empty or missing")
	return cmd
}

// findGenerator returns the path of the generator.
func findGenerator() (string, error) {
	name := generator
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the program %s is neither beside husk nor in PATH\n"+
			"install it with: go install github.com/husk-dev/husk/cmd/%[1]s@latest", generator)
	}
	return path, nil
}

// generateSDK has the generator write an SDK.
func generateSDK(ctx context.Context, program string, schema []byte, language, out string) error {
	cmd := exec.CommandContext(ctx, program, "-language", language, "-o", out)
	cmd.Stdin, cmd.Env = bytes.NewReader(schema), named.Environment()
	var told bytes.Buffer
	cmd.Stderr = &told
	if err := cmd.Run(); err != nil {
		message := strings.TrimPrefix(strings.TrimSpace(told.String()), "error: ")
		if message == "" || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		return errors.New(message)
	}
	return nil
}
