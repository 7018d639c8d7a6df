// Package netoverlay gives the packages net and net/http of modules a network: their connections, lookups, and requests go
// through the host's capabilities, in programs that know nothing of Husk. Package os/exec says that modules start no programs. It
// makes the files that replace files of the local Go's library, for the go command's flag -overlay.
package netoverlay

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/packed"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// The oldest and the newest release of Go whose library is known, as in go1.26.
const (
	oldestRelease = 25
	newestRelease = 26
)

// archive has the files of the directory source.
//
//go:embed source.zip.gz
var archive []byte

// patch is a change of a file of Go's library.
type patch struct {
	file string
	// before is text that the file has once, and after what takes its place.
	before, after string
}

// lookup returns the patch of a method of net.Resolver that looks something up.
func lookup(signature, instead string) patch {
	line := "func (r *Resolver) " + signature + " {\n"
	return patch{"net/lookup_unix.go", line, line + "\tif r.huskAsks() {\n\t\treturn " + instead + "\n\t}\n"}
}

var patches = []patch{
	{
		"net/net_fake.go", "\tif raddr != nil && ctrlCtxFn != nil {\n",
		"\tif fd, ok, err := huskSocket(ctx, net, family, laddr, raddr); ok {\n\t\treturn fd, err\n\t}\n\tif raddr != nil && ctrlCtxFn != nil {\n",
	},
	{
		"net/ipsock.go", "r.lookupIPAddr(ctx, net, host)",
		"r.lookupIPAddr(context.WithValue(ctx, huskPort{}, portnum), net, host)",
	},
	lookup("lookupHost(ctx context.Context, host string) (addrs []string, err error)", "huskLookup(ctx, host)"),
	lookup("lookupIP(ctx context.Context, network, host string) (addrs []IPAddr, err error)", "huskLookupIP(ctx, host)"),
	lookup("lookupCNAME(ctx context.Context, name string) (string, error)", `"", huskNoRecords(name)`),
	lookup("lookupSRV(ctx context.Context, service, proto, name string) (string, []*SRV, error)", `"", nil, huskNoRecords(name)`),
	lookup("lookupMX(ctx context.Context, name string) ([]*MX, error)", "nil, huskNoRecords(name)"),
	lookup("lookupNS(ctx context.Context, name string) ([]*NS, error)", "nil, huskNoRecords(name)"),
	lookup("lookupTXT(ctx context.Context, name string) ([]string, error)", "nil, huskNoRecords(name)"),
	lookup("lookupAddr(ctx context.Context, addr string) ([]string, error)", "nil, huskNoRecords(addr)"),
	{ // which the host has set
		"net/tcpsockopt_stub.go", "func setNoDelay(fd *netFD, noDelay bool) error {\n",
		"func setNoDelay(fd *netFD, noDelay bool) error {\n\tif fd.fakeNetFD == nil && noDelay {\n\t\treturn nil\n\t}\n",
	},
	{
		"net/sockopt_fake.go", "func setKeepAlive(fd *netFD, keepalive bool) error {\n",
		"func setKeepAlive(fd *netFD, keepalive bool) error {\n\tif fd.fakeNetFD == nil && keepalive {\n\t\treturn nil\n\t}\n",
	},
	{
		"net/http/roundtrip.go", "\treturn t.roundTrip(req)\n",
		"\tif t.throughHost(req) {\n\t\treturn t.huskRoundTrip(req)\n\t}\n\treturn t.roundTrip(req)\n",
	},
	{"os/exec/lp_wasm.go", `"executable file not found in $PATH"`, strconv.Quote(noProcesses)},
	{ // of a program with a path, which is not looked up
		"os/exec/exec.go", "func (c *Cmd) Start() error {\n",
		"func (c *Cmd) Start() error {\n\tif c.Err == nil {\n\t\tc.Err = &Error{c.Path, ErrNotFound}\n\t}\n",
	},
}

// noProcesses is the error for a module that starts a program, as exec.ErrNotFound has it.
const noProcesses = "a module in the sandbox of Husk cannot start programs: " +
	"configure the provider to do without this one, or use Pulumi's plugin for it with native: true"

// added are the files that are added.
func added() map[string]string {
	constants := strings.NewReplacer(
		"{{"+".Unavailable}}", strconv.Itoa(int(abi.ErrorKindUnavailable)), "{{"+".FromHost}}", strconv.Itoa(int(abi.ErrorOriginHost)),
	)
	return map[string]string{
		"net/husk_wasip1.go":      constants.Replace(packed.Text(archive, "net.go.txt")),
		"net/http/husk_wasip1.go": constants.Replace(packed.Text(archive, "http.go.txt")),
	}
}

// toolchain is the Go that builds a module.
type toolchain struct{ root, version, cache string }

// toolchainOf returns the Go that the command uses for source in a directory.
func toolchainOf(ctx context.Context, command, source string) (toolchain, error) {
	cmd := exec.CommandContext(ctx, command, "env", "GOROOT", "GOVERSION", "GOMODCACHE")
	cmd.Dir, cmd.Env = source, named.Environment()
	output, err := processgroup.Output(ctx, cmd)
	if ctx.Err() != nil {
		return toolchain{}, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return toolchain{}, fmt.Errorf("asking the go command for its version: %s", strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return toolchain{}, fmt.Errorf("asking the go command for its version: %w", err)
	}
	lines := strings.Split(strings.ReplaceAll(string(output), "\r", ""), "\n")
	if len(lines) < 3 {
		return toolchain{}, fmt.Errorf("asking the go command for its version: it answered %q", output)
	}
	return toolchain{lines[0], lines[1], lines[2]}, nil
}

// check returns an error if the release is not known.
func (t toolchain) check() error {
	rest, _ := strings.CutPrefix(t.version, "go1.")
	number, _, _ := strings.Cut(rest, ".")
	number, _, _ = strings.Cut(number, "rc")
	release, err := strconv.Atoi(number)
	if err == nil && oldestRelease <= release && release <= newestRelease {
		return nil
	}
	return t.unknown(fmt.Sprintf("it is known for Go 1.%d to 1.%d", oldestRelease, newestRelease))
}

// UnsupportedGoError is a Go whose library is not as it is known.
type UnsupportedGoError struct {
	// Version is Go's version, for example go1.26.8, and Root the directory of its installation.
	Version, Root string
	// Reason says why it is refused.
	Reason string
}

func (e *UnsupportedGoError) Error() string {
	return fmt.Sprintf("the network of modules cannot be built with %s in %s: %s; set GOTOOLCHAIN=go1.%d.0 for the build",
		e.Version, e.Root, e.Reason, newestRelease)
}

func (t toolchain) unknown(why string) error { return &UnsupportedGoError{t.version, t.root, why} }

// Network has the files and flags that give a build's module its network.
type Network struct {
	// Files replace or join files of Go's library, by path, as the flag -overlay has it.
	Files map[string]string
	// Command is the go command that builds, with the variables Env.
	Command string
	Env     []string
	// Root is where that Go is installed.
	Root string
}

// New returns the network for the source in a directory, with the Go that the command uses there. It writes files
// to the directory dir, which must stay. The functions more return other files for the library of a Go, by their names
// below src. It fails with an *[UnsupportedGoError] if it, or one of these, does not know that Go.
func New(ctx context.Context, command, source, dir string, more ...func(root string) (map[string]string, error)) (*Network, error) {
	t, err := toolchainOf(ctx, command, source)
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	texts, err := t.texts()
	if err != nil {
		return nil, err
	}
	for _, other := range more {
		files, err := other(t.root)
		if err != nil {
			return nil, t.unknown(err.Error())
		}
		maps.Copy(texts, files)
	}
	n := &Network{Files: make(map[string]string, len(texts)), Command: command, Root: t.root}
	root := t.root
	if t.isDownloaded() {
		// The go command replaces no file in the cache of modules, and takes the path for where it is.
		root = filepath.Join(dir, "goroot")
		if err := link(t.root, root); err != nil {
			return nil, fmt.Errorf("making a link to Go's library for the network of modules: %w", err)
		}
		n.Command, n.Env = filepath.Join(root, "bin", "go"), []string{"GOROOT=" + root, "GOTOOLCHAIN=local"}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(texts[name]), 0o600); err != nil {
			return nil, fmt.Errorf("writing the network of modules: %w", err)
		}
		n.Files[filepath.Join(root, "src", filepath.FromSlash(name))] = path
	}
	return n, nil
}

// isDownloaded reports whether Go is in the cache of modules, where the go command puts one that source asks for.
func (t toolchain) isDownloaded() bool {
	inside, err := filepath.Rel(t.cache, t.root)
	return err == nil && filepath.IsLocal(inside)
}

// link makes a link to a directory, in place of another link.
func link(to, at string) error {
	if now, err := os.Readlink(at); err == nil && now == to {
		return nil
	}
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(to, at)
}

// texts returns the contents of the files by their names below src.
func (t toolchain) texts() (map[string]string, error) {
	texts := added()
	for _, p := range patches {
		text, read := texts[p.file]
		if !read {
			data, err := os.ReadFile(filepath.Join(t.root, "src", filepath.FromSlash(p.file)))
			if err != nil {
				return nil, t.unknown(err.Error())
			}
			text = string(data)
		}
		if strings.Count(text, p.before) != 1 {
			return nil, t.unknown(fmt.Sprintf("its %s does not have %q exactly once", p.file, strings.TrimSpace(p.before)))
		}
		texts[p.file] = strings.Replace(text, p.before, p.after, 1)
	}
	return texts, nil
}
