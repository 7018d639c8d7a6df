package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

type moduleUse struct {
	URN    urn.URN `json:"urn"`
	Module string  `json:"module"`
	// Kept reports whether the module is beside the state.
	Kept bool `json:"kept"`
}

func (a commands) stateModule() *cobra.Command {
	cmd := &cobra.Command{
		Use: "module [URN [FILE|DIGEST]]", Short: "Show the modules of the providers in the state, or replace one",
		Long: "The module that created a resource also reads, changes, and deletes it. If that module is\n" +
			"faulty, replace it with a file, which is then kept beside the state, or with another module\n" +
			"that is already kept there.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			if len(args) == 2 {
				return a.setModule(ctx, w, stack, args[0], args[1])
			}
			snapshot, _, err := w.Read(ctx, stack, true)
			if err != nil {
				return err
			}
			chosen, err := edit.Resolve(snapshot, args...)
			if err != nil {
				return err
			}
			uses := []moduleUse{}
			for _, r := range snapshot.Resources() {
				if digest := engine.ModuleOf(r); r.IsProvider() && (len(args) == 0 || slices.Contains(chosen, r.URN)) {
					kept, err := w.HasModule(ctx, digest)
					if err != nil {
						return err
					}
					uses = append(uses, moduleUse{r.URN, digest, kept})
				}
			}
			if len(args) == 1 && len(uses) == 0 {
				return fmt.Errorf("the state has no provider %s", args[0])
			}
			if a.JSON {
				return a.WriteJSON(uses)
			}
			for _, u := range uses {
				module := u.Module
				switch {
				case module == "":
					module = "names no module"
				case !u.Kept:
					module += " (not kept)"
				}
				if err := a.Printf("%s\n  %s\n", u.URN, module); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	a.AddLimits(cmd.Flags())
	return cmd
}

func (a commands) setModule(ctx context.Context, w *workspace.Workspace, stack, word, module string) error {
	var u urn.URN
	trust, err := plugins.OpenStateModules(w.Project, nil)
	if err != nil {
		return err
	}
	o, err := a.PluginOptions()
	if err != nil {
		return err
	}
	o.Modules, o.Shared, o.Events = w.ModulesDir(), w.SharedModules(), nil
	// The plugins stay open until the state names the module. Otherwise another run could collect it.
	p, err := plugins.Open(ctx, w.Project, o)
	if err != nil {
		return err
	}
	err = w.Edit(ctx, stack, "state module", func(st *state.Stack) (*state.Snapshot, error) {
		digest, name, err := keptModule(ctx, p, module)
		if err != nil {
			return nil, err
		}
		if u, err = edit.ResolveOne(st.Snapshot(), word); err != nil {
			return nil, err
		}
		return edit.Change(st.Snapshot(), u, func(r *state.Resource) (*state.Resource, error) {
			if !r.IsProvider() {
				return nil, fmt.Errorf("%s is not a provider: it uses the module of %s", u, r.Provider)
			}
			spec, err := engine.SpecOf(r)
			if err != nil {
				return nil, err
			}
			if name != "" && name != spec.Name {
				return nil, fmt.Errorf("%s is of the provider %s, and %s is the provider %s", u, spec.Name, module, name)
			}
			// A user who names a module trusts it.
			return engine.WithModule(r, digest), trust.Add(digest, spec.Name)
		})
	})
	if err = errors.Join(err, p.Close(ctx)); err != nil {
		return err
	}
	a.Say("Replaced the module of %s.", u)
	a.collectModules(ctx, w)
	return nil
}

// keptModule keeps a module beside the state. It returns the module's digest, and the name of its
// provider, empty if the module was kept before.
func keptModule(ctx context.Context, p *plugins.Plugins, module string) (digest, name string, err error) {
	if strings.HasPrefix(module, plugins.DigestPrefix) {
		there, err := p.KeepOn(ctx, module)
		if err == nil && !there {
			err = fmt.Errorf("the module %s is not kept beside the state: name the file that it is in", module)
		}
		return module, "", err
	}
	if _, err := os.Stat(module); errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("there is no module %s: must be a .wasm file, a directory of source, or sha256: and a digest", module)
	}
	m, err := p.Module(ctx, "", module)
	if err != nil {
		return "", "", err
	}
	return m.Info().Digest, m.Name, p.Keep(m)
}
