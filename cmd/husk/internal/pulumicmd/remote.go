package pulumicmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/gitcommand"
)

// repository are the flags of a deployment from a repository of git by a worker of the server, as a RemoteWorkspace asks for it.
type repository struct {
	branch, commit, dir string
	installed           bool
	// token, name with password, key, and keyFile are the credentials for it, besides those that git finds itself.
	token, name, password, key, keyFile string
}

// ofRepository has a command take a URL of a repository, and the flags for it.
func (d *deploys) ofRepository(cmd *cobra.Command) {
	cmd.Use += " [URL]"
	flags := cmd.Flags()
	flags.StringVar(&d.branch, "remote-git-branch", "", "")
	flags.StringVar(&d.commit, "remote-git-commit", "", "")
	flags.StringVar(&d.dir, "remote-git-repo-dir", "", "")
	flags.BoolVar(&d.installed, "remote-skip-install-dependencies", false, "")
	for name, value := range map[string]*string{
		"access-token": &d.token, "username": &d.name, "password": &d.password, "ssh-private-key": &d.key, "ssh-private-key-path": &d.keyFile,
	} {
		flags.StringVar(value, "remote-git-auth-"+name, "", "")
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !flags.Changed("remote") {
			if len(args) > 0 {
				return cli.Usagef("%s: a URL goes with --remote. Or clone the repository, and run this there", args[0])
			}
			return run(cmd, args)
		}
		if len(args) == 0 {
			return run(cmd, nil)
		}
		if program := flags.Lookup("run-program"); !d.installed && (program == nil || program.Value.String() != "false") {
			if err := flags.Set("install-dependencies", "true"); err != nil {
				return err
			}
		}
		checkout, err := os.MkdirTemp("", "husk-repository-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(checkout) }() // leftovers are in the directory for temporary files
		if err := d.fetch(cmd.Context(), checkout, args[0]); err != nil {
			return err
		}
		return run(cmd, nil)
	}
}

// own returns the flags of commands of Husk, before Pulumi's are added.
func own(root *cobra.Command) map[*pflag.Flag]bool {
	flags := make(map[*pflag.Flag]bool)
	each(root, func(cmd *cobra.Command) { cmd.Flags().VisitAll(func(flag *pflag.Flag) { flags[flag] = true }) })
	return flags
}

// withhold keeps other flags from the worker of a run, which does not know them, and flags without effect.
func withhold(root *cobra.Command, own map[*pflag.Flag]bool) {
	each(root, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if _, none := flag.Value.(ignored); none || !own[flag] {
				_ = cmd.Flags().SetAnnotation(flag.Name, cli.NotForRuns, []string{"true"}) // it exists
			}
		})
	})
}

// fetch checks the repository out into an empty directory, and has the project in it be that of the command. Unless it lists providers
// itself, it gets those of the project file of Husk that is beside the process or above, with the lock beside that.
func (d *deploys) fetch(ctx context.Context, checkout, url string) error {
	variables, end, err := d.credentials(url)
	if err != nil {
		return err
	}
	_, err = gitcommand.CheckOut(ctx, checkout, url, cmp.Or(d.commit, d.branch), variables...)
	if err = errors.Join(err, end()); err != nil {
		return err
	}
	dir := cmp.Or(d.dir, ".")
	repository, err := os.OpenRoot(checkout)
	if err != nil {
		return err
	}
	defer repository.Close()
	files, err := repository.OpenRoot(dir) // which a link leads out of the repository no more than ..
	if err != nil {
		return cli.Usagef("--remote-git-repo-dir %s: is no directory of %s", dir, url)
	}
	defer files.Close()
	root := d.RootOf(filepath.Join(checkout, dir))
	project, err := program.LoadProject(ctx, root)
	if none := (*program.NoProjectError)(nil); errors.As(err, &none) {
		return fmt.Errorf("%s has no project file in %s: --remote-git-repo-dir names the directory that has one", url, dir)
	}
	if err != nil {
		return err
	}
	d.Dir = project.Dir
	d.FindProjectAnew()
	if len(project.Providers) > 0 {
		return nil
	}
	beside, err := filepath.Abs(cmp.Or(os.Getenv("PWD"), "."))
	if err != nil {
		return err
	}
	file, ours, err := settings(beside)
	if err != nil || file == "" {
		return err
	}
	name := filepath.Base(program.FindFile(root))
	theirs, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	text, err := provided(theirs, ours, func(path string) (string, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		return filepath.Rel(project.Dir, path)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	put := func(name string, text []byte) error {
		if err := files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be a link to another
			return err
		}
		return files.WriteFile(name, text, 0o600)
	}
	lock, err := os.ReadFile(filepath.Join(filepath.Dir(file), program.LockFile))
	if err == nil {
		err = put(program.LockFile, lock)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return put(name, text)
}

// credentials returns the variables that give git the credentials for a repository, and a function that removes their files.
func (d *deploys) credentials(url string) (variables []string, end func() error, err error) {
	for _, secret := range []string{d.token, d.password, d.key} {
		if secret != "" {
			d.Secrets.Learn(secret)
		}
	}
	end = func() error { return nil }
	withKey := d.key != "" || d.keyFile != ""
	switch {
	case d.token != "" && (withKey || d.name != "" || d.password != ""), withKey && d.name != "", d.key != "" && d.keyFile != "":
		return nil, nil, cli.Usagef("--remote-git-auth-…: give an access token, a name with a password, or a private key")
	case withKey && d.password != "":
		return nil, nil, cli.Usagef("--remote-git-auth-password: husk does not unlock private keys: add the key to ssh-agent, and leave these flags out")
	case d.token != "":
		return gitcommand.Password(url, "git", d.token), end, nil // servers take any name beside a token
	case d.keyFile != "":
		path, err := filepath.Abs(d.keyFile)
		return gitcommand.Key(path), end, err
	case d.key != "":
		dir, err := os.MkdirTemp("", "husk-key-")
		if err != nil {
			return nil, nil, err
		}
		file := filepath.Join(dir, "key")
		end = func() error { return os.RemoveAll(dir) }
		if err := os.WriteFile(file, []byte(strings.TrimSpace(d.key)+"\n"), 0o600); err != nil {
			return nil, nil, errors.Join(err, end())
		}
		return gitcommand.Key(file), end, nil
	case d.name != "" || d.password != "":
		return gitcommand.Password(url, d.name, d.password), end, nil
	}
	return nil, end, nil
}

// provided returns the text of a project file with the plugins of another, whose paths are changed by elsewhere.
func provided(text, other []byte, elsewhere func(path string) (string, error)) ([]byte, error) {
	var project, from map[string]any
	if err := errors.Join(yaml.Unmarshal(text, &project), yaml.Unmarshal(other, &from)); err != nil {
		return nil, err
	}
	plugins, _ := from["plugins"].(map[string]any)
	for _, all := range plugins {
		list, _ := all.([]any)
		for _, one := range list {
			plugin, _ := one.(map[string]any)
			path, is := plugin["path"].(string)
			if !is {
				continue
			}
			var err error
			if plugin["path"], err = elsewhere(path); err != nil {
				return nil, err
			}
		}
	}
	own, _ := project["plugins"].(map[string]any)
	if own == nil { // so that errors name the lines of the repository
		if more, err := yaml.Marshal(map[string]any{"plugins": plugins}); err != nil || yaml.Unmarshal(slices.Concat(text, []byte("\n"), more), new(map[string]any)) == nil {
			return slices.Concat(text, []byte("\n"), more), err
		}
		own = make(map[string]any)
	}
	for kind, list := range plugins {
		if _, is := own[kind]; !is {
			own[kind] = list
		}
	}
	project["plugins"] = own
	return yaml.Marshal(project)
}
