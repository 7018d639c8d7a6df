package host

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// Grants are what an operator lets a provider use beside computing, its log, clocks,
// and random numbers. The zero value grants nothing.
type Grants struct {
	FS []FSGrant
	// Withheld are files and directories of the host, by their paths, that are in no granted
	// directory unless that is one of them or lies in one: what belongs to the host itself. A * in
	// the last name of a path stands for any text. The provider finds none of it, and can put
	// nothing in its place.
	Withheld []string
	// Env are the names of environment variables that the provider sees, where they
	// are set.
	Env []string
	// HTTP are the services that the provider may send requests to.
	HTTP []HTTPGrant
	// TCP are the hosts and ports that the provider may connect to.
	TCP []TCPGrant
	// KV is the provider's store, nil for none. See [NewStore].
	KV abi.KV
	// HowToGrant makes the line, or lines, of an error that tell the user how to grant what
	// was refused. The error that the provider gets is what the user reads in the end. Where
	// it is nil, the error names only what to add. It may be called concurrently.
	HowToGrant func(Refusal) string
}

// With returns the grants and more. Of two stores it has the first, and so of what tells how
// to grant.
func (g Grants) With(more Grants) Grants {
	sum := Grants{
		FS:       slices.Concat(g.FS, more.FS),
		Withheld: slices.Concat(g.Withheld, more.Withheld),
		Env:      slices.Concat(g.Env, more.Env),
		HTTP:     slices.Concat(g.HTTP, more.HTTP),
		TCP:      slices.Concat(g.TCP, more.TCP),
		KV:       g.KV,
	}
	if sum.KV == nil {
		sum.KV = more.KV
	}
	if sum.HowToGrant = g.HowToGrant; sum.HowToGrant == nil {
		sum.HowToGrant = more.HowToGrant
	}
	return sum
}

// FSGrant gives a provider a directory and all that is in it, but for what another grant gives it
// (of several the most specific decides, by whatever path a file is reached) and for what is
// withheld. Neither `..` nor symbolic links lead out of it.
type FSGrant struct {
	// HostPath is the directory. One that is granted read-write need not exist; the
	// provider can make it then.
	HostPath string
	// GuestPath is where the provider sees it: an absolute, clean path with forward slashes.
	GuestPath string
	ReadWrite bool
	// Within is a directory above HostPath. No symbolic link is followed from there to it: who may
	// write in Within could put one there that leads elsewhere. Where it is empty, all are.
	Within string
}

// ProjectGrant grants a directory as a project file names it: relative to the project's
// directory, or absolute. The provider then finds it under the same path that the
// program uses, as its working directory stands for the project's. One that is relative must not
// be, or lie behind, a symbolic link in the project.
func ProjectGrant(projectDir, dir string, readWrite bool) (FSGrant, error) {
	projectDir, err := filepath.Abs(projectDir)
	if err != nil {
		return FSGrant{}, err
	}
	g := FSGrant{ReadWrite: readWrite}
	if filepath.IsAbs(dir) {
		g.HostPath = filepath.Clean(dir)
		g.GuestPath = path.Join("/", filepath.ToSlash(g.HostPath))
		return g, nil
	}
	g.HostPath = filepath.Join(projectDir, dir)
	g.GuestPath = path.Join(wasi.WorkingDirectory, filepath.ToSlash(dir))
	if filepath.IsLocal(dir) {
		g.Within = projectDir
	}
	return g, nil
}

// mounts answers the granted directories as the file system takes them.
func (g Grants) mounts() []wasi.Mount {
	mounts := make([]wasi.Mount, len(g.FS))
	for i, grant := range g.FS {
		mounts[i] = wasi.Mount(grant)
	}
	return mounts
}

// environment answers the environment of a guest, and the granted variables in it.
func (g Grants) environment() (env, granted []string, _ error) {
	size := 0
	for _, name := range g.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, nil, fmt.Errorf("%q is not the name of an environment variable", name)
		}
		if value, ok := os.LookupEnv(name); ok {
			env, granted = append(env, name+"="+value), append(granted, name)
			size += len(name) + len(value) + 2
		}
	}
	if size > maxEnvironment {
		return nil, nil, fmt.Errorf("the granted environment variables take %d bytes, at most %d are possible", size, maxEnvironment)
	}
	if len(g.FS) > 0 {
		env = append(env, "PWD="+wasi.WorkingDirectory)
	}
	return env, granted, nil
}
