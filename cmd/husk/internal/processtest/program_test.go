package processtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// programs are programs of Pulumi's SDKs. They have a hook that never returns, and a resource that waits for the file out/go
// and has the hook before its deletion.
var programs = map[string]struct {
	file, hook, resource string
	// runtime prepares the directory of the program, and returns the runtime for the project file.
	runtime func(t *testing.T, dir string) string
}{
	"nodejs": {
		file: "index.js",
		hook: `const pulumi = require("@pulumi/pulumi");
const hook = new pulumi.ResourceHook("hangs", () => { console.log("the hook waits"); return new Promise(() => setInterval(() => {}, 1000)); });
`,
		resource: `new pulumi.CustomResource("lab:index:Wait", "first", { begun: "out/begun", until: "out/go" }, { hooks: { beforeDelete: [hook] } });
`,
		runtime: func(t *testing.T, dir string) string {
			require.NoError(t, os.Symlink(sdktest.Node(t), filepath.Join(dir, "node_modules")))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name": "demo", "main": "index.js"}`), 0o644))
			return "nodejs"
		},
	},
	"python": {
		file: "__main__.py",
		hook: `import threading
import pulumi

def hang(args):
    print("the hook waits")
    threading.Event().wait()

hook = pulumi.ResourceHook("hangs", hang)
`,
		resource: `pulumi.CustomResource("lab:index:Wait", "first", {"begun": "out/begun", "until": "out/go"},
    pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_delete=[hook])))
`,
		runtime: func(t *testing.T, _ string) string {
			return "{name: python, options: {virtualenv: " + sdktest.Python(t) + "}}"
		},
	},
}

// TestInterruptsOfPrograms interrupts husk while it runs programs of Pulumi's SDKs, as Ctrl-C does.
func TestInterruptsOfPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts")
	}
	nightly.Skip(t)
	lab := usertest.New(t)
	for name, written := range programs {
		t.Run(name, func(t *testing.T) {
			made := func(t *testing.T) *interruptible {
				p := newInterruptible(t, lab, "")
				require.NoError(t, os.WriteFile(filepath.Join(p.dir, "Husk.yaml"), fmt.Appendf(nil,
					"name: demo\nruntime: %s\nplugins: {providers: [{name: lab, path: lab.wasm, grants: {fs: [\"out:rw\"]}}]}\n", written.runtime(t, p.dir)), 0o644))
				require.NoError(t, os.WriteFile(filepath.Join(p.dir, written.file), []byte(written.hook+written.resource), 0o644))
				return p
			}
			t.Run("once", func(t *testing.T) {
				p := made(t)
				cmd := p.husk("up", "--yes")
				var stderr strings.Builder
				cmd.Stderr = &stderr
				said := p.interrupted(cmd, func(line string) {
					switch {
					case strings.Contains(line, "waiting for out/go"):
						require.NoError(t, cmd.Process.Signal(os.Interrupt))
					case strings.HasPrefix(line, "Stopping: "):
						p.goOn()
					}
				})
				require.Regexp(t, `lab:Wait first +created`, said, "a step that runs ends")
				require.Contains(t, stderr.String(), "error: stopped early; completed steps are recorded, and the next run continues from there\n")
				p.nothingPending()
				out, err := p.husk("up", "--yes").CombinedOutput()
				require.NoError(t, err, string(out))
				require.Regexp(t, `\nDone in .*: nothing changed, 2 up to date\.\n`, string(out))
			})
			t.Run("twice", func(t *testing.T) {
				p := made(t)
				cmd := p.husk("up", "--yes")
				said := p.interrupted(cmd, func(line string) {
					if strings.Contains(line, "waiting for out/go") || strings.HasPrefix(line, "Stopping: ") {
						require.NoError(t, cmd.Process.Signal(os.Interrupt))
					}
				})
				require.Contains(t, said, "\nStopping now: the next run reports what was interrupted.\n")
				p.goOn()
				out, err := p.husk("up", "--yes").CombinedOutput()
				require.NoError(t, err, string(out))
				require.Contains(t, string(out), "warning: lab:Wait first: an earlier run was cut off while creating this resource, which may exist or not")
			})
			t.Run("while a hook hangs", func(t *testing.T) {
				p := made(t)
				p.goOn()
				out, err := p.husk("up", "--yes").CombinedOutput()
				require.NoError(t, err, string(out))
				require.NoError(t, os.WriteFile(filepath.Join(p.dir, written.file), []byte(written.hook), 0o644))
				cmd := p.husk("up", "--yes")
				interrupted := false
				said := p.interrupted(cmd, func(line string) {
					if strings.Contains(line, "the hook waits") && !interrupted {
						interrupted = true
						require.NoError(t, cmd.Process.Signal(os.Interrupt))
					}
				})
				require.True(t, interrupted)
				require.Contains(t, said, "\nStopping: waiting for running steps to finish.")
				require.NotContains(t, said, "Stopping now")
				p.nothingPending()
			})
		})
	}
}
