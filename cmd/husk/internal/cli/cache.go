package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a *app) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Show and prune the cache of compiled modules"}
	return group(cmd, nil, a.cacheList(), a.cachePrune())
}

// compiledModules returns the directory of the cache.
func compiledModules() (string, error) {
	places, err := plugins.FindPlaces()
	if err == nil && places.Compiled() == "" {
		err = errors.New("no cache directory: set HUSK_CACHE_DIR")
	}
	return places.Compiled(), err
}

type cachedModule struct {
	Name    string    `json:"name,omitempty"`
	Version string    `json:"version,omitempty"`
	World   string    `json:"world"`
	Digest  string    `json:"digest"`
	Bytes   int64     `json:"bytes"`
	Used    time.Time `json:"used"`
}

func (a *app) cacheList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the cached modules with their size and last use",
		RunE: func(*cobra.Command, []string) error {
			dir, err := compiledModules()
			if err != nil {
				return err
			}
			modules, err := host.CachedModules(dir)
			if err != nil {
				return fmt.Errorf("reading the cache of compiled modules: %w", err)
			}
			list := make([]cachedModule, len(modules))
			for i, m := range modules {
				list[i] = cachedModule{m.Name, m.Version, m.World.String(), m.Digest, m.Bytes, m.Used}
			}
			heading := []string{"MODULE", "VERSION", "SIZE", "USED", "DIGEST"}
			return writeList(a, list, "No modules in "+dir+".", heading, func(m cachedModule) []string {
				return []string{cmp.Or(m.Name, "-"), cmp.Or(m.Version, "-"), megabytes(m.Bytes), m.Used.Local().Format(time.DateOnly), m.Digest}
			})
		},
	}
}

func (a *app) cachePrune() *cobra.Command {
	var all bool
	days := int(host.KeptUnused / (24 * time.Hour))
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove modules that have not been used for a long time",
		Long: fmt.Sprintf("Remove modules that have not been used for %d days, or all modules with --all. Husk prunes unused modules by\n"+
			"itself once a day. A module that was removed is compiled again on its next use.", days),
		RunE: func(*cobra.Command, []string) error {
			dir, err := compiledModules()
			if err != nil {
				return err
			}
			since := time.Now().Add(-host.KeptUnused)
			if all {
				since = time.Now().Add(time.Hour) // clocks of file systems may be ahead
			}
			removed, err := host.PruneCache(dir, since)
			if err != nil {
				return fmt.Errorf("removing modules from the cache: %w", err)
			}
			if a.json {
				return a.writeJSON(map[string]int64{"removedBytes": removed})
			}
			return a.printf("Removed %s from %s.\n", megabytes(removed), dir)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all modules")
	return cmd
}
