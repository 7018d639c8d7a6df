package e2e_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// mostFrames bounds the functions between the registration of a resource and the code of a module, so that a
// reader can follow them.
const mostFrames = 18

// TestFewFunctionsLeadToAModule compares the functions through which the inputs of a resource pass, from the
// program's call of the monitor to the module's export, with testdata/frames.txt.
func TestFewFunctionsLeadToAModule(t *testing.T) {
	t.Setenv("KIT_TALK", "1")
	seen := &stacks{frames: map[string][]string{}}
	loader := loadModules(t)
	loader.options.Grants.Env = []string{"KIT_TALK"}
	loader.options.Logger = slog.New(seen)
	stack := enginetest.NewStack(t, nil)
	stack.Edit = func(d *enginetest.Deployment) { d.Providers, d.Parallel = loader, 1 }
	stack.Up(func(p *enginetest.Run) error {
		kit, err := asEcho(p)
		if err == nil {
			_, err = p.Custom(echoType, "first", enginetest.Props("value", "one"), kit)
		}
		return err
	})
	var text strings.Builder
	for _, method := range []string{"check", "create"} {
		frames := seen.frames[method]
		require.NotEmpty(t, frames, method)
		require.LessOrEqual(t, len(frames), mostFrames, method)
		text.WriteString(method + "\n\t" + strings.Join(frames, "\n\t") + "\n")
	}
	golden := filepath.Join("testdata", "frames.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String(), "the way to a module changed. If that is intended: go test ./engine/internal/e2e -run Functions -update")
}

// stacks is a slog.Handler for what the kit says. It notes the functions that led to the module, outermost first, by
// method.
type stacks struct{ frames map[string][]string }

func (*stacks) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler. The goroutine of the call waits meanwhile, in a function of the host.
func (s *stacks) Handle(_ context.Context, r slog.Record) error {
	said, ok := strings.CutPrefix(r.Message, "asked ")
	if !ok {
		return nil
	}
	method, _, _ := strings.Cut(said, " ")
	buffer := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		var functions []string
		for line := range strings.Lines(stack) {
			if function, ok := strings.CutPrefix(line, module); ok {
				functions = append(functions, function[:strings.LastIndex(function, "(")])
			}
		}
		slices.Reverse(functions)
		from := slices.Index(functions, "engine.(*callerMonitor).RegisterResource")
		to := slices.Index(functions, "host.(*instance).Call")
		if from >= 0 && to > from {
			s.frames[method] = functions[from : to+1]
		}
	}
	return nil
}

// module is the path of this Go module.
const module = "github.com/husk-dev/husk/"

func (s *stacks) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s *stacks) WithGroup(string) slog.Handler { return s }
