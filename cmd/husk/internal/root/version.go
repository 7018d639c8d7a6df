package root

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/internal/run/stackrun"
)

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: stackrun.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

// String returns the build in one line, without the name of the program.
func (b build) String() string {
	commit := ""
	if b.Commit != "" {
		commit = ", commit " + b.Commit
	}
	return fmt.Sprintf("%s (%s %s%s)", b.Version, b.Go, b.Platform, commit)
}

func (a commands) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of Husk",
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if a.JSON {
				return a.WriteJSON(b)
			}
			return a.Printf("husk %s\n", b)
		},
	}
}
