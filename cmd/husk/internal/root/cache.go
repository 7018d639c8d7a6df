package root

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/port/portcache"
)

func (a commands) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Show and prune the cache of compiled modules and of ports"}
	return cli.Group(cmd, nil, a.cacheList(), a.cachePrune())
}

// caches returns the directories of compiled modules, the ones of confined commands last, and the directory of the sources that
// ports are built from.
func caches() (compiled []string, ports string, err error) {
	places, err := plugins.FindPlaces()
	if err == nil && places.Compiled() == "" {
		err = errors.New("no cache directory: set HUSK_CACHE_DIR")
	}
	compiled = []string{places.Compiled()}
	places.Confined = true
	return append(compiled, places.Compiled()), places.Ports(), err
}

type cachedModule struct {
	Name    string    `json:"name,omitempty"`
	Version string    `json:"version,omitempty"`
	World   string    `json:"world"`
	Digest  string    `json:"digest"`
	Bytes   int64     `json:"bytes"`
	Used    time.Time `json:"used"`
}

func (a commands) cacheList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the cached modules with their size and last use, and the size of ports",
		RunE: func(*cobra.Command, []string) error {
			dirs, ports, err := caches()
			if err != nil {
				return err
			}
			var modules []host.CachedModule
			for _, dir := range dirs {
				some, err := host.CachedModules(dir)
				if err != nil {
					return fmt.Errorf("reading the cache of compiled modules: %w", err)
				}
				modules = append(modules, some...)
			}
			list := make([]cachedModule, len(modules))
			for i, m := range modules {
				list[i] = cachedModule{m.Name, m.Version, m.World.String(), m.Digest, m.Bytes, m.Used}
			}
			heading := []string{"MODULE", "VERSION", "SIZE", "USED", "DIGEST"}
			err = cli.WriteList(a.App, list, "No modules in "+dirs[0]+".", heading, func(m cachedModule) []string {
				return []string{cmp.Or(m.Name, "-"), cmp.Or(m.Version, "-"), display.Megabytes(m.Bytes), m.Used.Local().Format(time.DateOnly), m.Digest}
			})
			if err != nil || a.JSON {
				return err
			}
			size, err := portcache.Size(ports)
			if err != nil {
				return fmt.Errorf("reading the cache of ports: %w", err)
			}
			if size > 0 {
				a.Say("Sources and builds of ports: %s in %s.", display.Megabytes(size), ports)
			}
			return nil
		},
	}
}

func (a commands) cachePrune() *cobra.Command {
	var all bool
	days := int(host.KeptUnused / (24 * time.Hour))
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove modules and ports that have not been used for a long time",
		Long: fmt.Sprintf("Remove modules, and what ports were built from, that have not been used for %d days, or all of it with --all.\n"+
			"Husk does so by itself: once a day for modules, and when it ports a provider. A module that was removed is\n"+
			"compiled again on its next use, and what a port needs is fetched again.", days),
		RunE: func(*cobra.Command, []string) error {
			dirs, ports, err := caches()
			if err != nil {
				return err
			}
			since, sincePorts := time.Now().Add(-host.KeptUnused), time.Now().Add(-portcache.KeptUnused)
			if all {
				since = time.Now().Add(time.Hour) // clocks of file systems may be ahead
				sincePorts = since
			}
			var removed int64
			for _, dir := range dirs {
				some, err := host.PruneCache(dir, since)
				if err != nil {
					return fmt.Errorf("removing modules from the cache: %w", err)
				}
				removed += some
			}
			removedPorts, err := portcache.Prune(ports, sincePorts)
			if err != nil {
				return fmt.Errorf("removing ports from the cache: %w", err)
			}
			if a.JSON {
				return a.WriteJSON(map[string]int64{"removedBytes": removed + removedPorts})
			}
			err = a.Printf("Removed %s from %s.\n", display.Megabytes(removed), dirs[0])
			if err == nil && removedPorts > 0 {
				err = a.Printf("Removed %s from %s.\n", display.Megabytes(removedPorts), ports)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all modules and ports")
	return cmd
}
