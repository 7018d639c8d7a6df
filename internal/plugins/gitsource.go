package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/base/gitcommand"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/registry"
)

// A provider in a repository of git is built from source. The lock pins the commit and the digest of the module, so another
// machine builds the same module or reports a difference.

var commitSyntax = lazyregexp.Regexp{Syntax: `^[0-9a-f]{40}([0-9a-f]{24})?$`}

// Fetch returns the file of a module that a lock pins: sources in git are built, and other modules are received.
func (p *Plugins) Fetch(ctx context.Context, client *registry.Client, from registry.Source, locked *lockfile.Provider) (string, error) {
	release := registry.Release{Version: locked.Version, Digest: locked.Digest, Size: locked.Size, Manifest: locked.Manifest}
	path, err := client.Fetch(ctx, from, release)
	if from.Kind != registry.Git || err != nil && !errors.Is(err, registry.ErrNotFound) {
		return path, err
	}
	if err == nil && p.confirm(ctx, client, from, release) == nil {
		return path, nil
	}
	built, _, err := p.BuildCommit(ctx, client, from, locked.Commit)
	if err != nil {
		return "", err
	}
	if built.Digest != locked.Digest {
		return "", fmt.Errorf("%w\nthe commit %s was built: another release of Go makes another module, perhaps", &registry.DigestError{What: from.String(), Want: locked.Digest, Got: built.Digest}, locked.Commit)
	}
	return client.Fetch(ctx, from, release)
}

// BuildCommit builds the provider of a source in git at a commit, or if that is empty at the source's branch or tag, and
// returns it with its commit. The client has the module then.
func (p *Plugins) BuildCommit(ctx context.Context, client *registry.Client, from registry.Source, commit string) (registry.Release, string, error) {
	var none registry.Release
	if err := p.refuseUnsandboxed("it is built from source in git"); err != nil {
		return none, "", err
	}
	if client.Offline() {
		return none, "", fmt.Errorf("%s: %w", from, registry.ErrOffline)
	}
	if commit != "" && !commitSyntax.Get().MatchString(commit) {
		return none, "", fmt.Errorf("husk.lock has the commit %q of %s, which is none: remove the entry, and run husk install", commit, from)
	}
	origin := origin{source: from.String(), from: &from, witnessed: true}
	if err := p.permitSource(origin); err != nil {
		return none, "", err
	}
	// The go command looks for go.mod and go.work above it: nobody else may write there, as others can in the system's temporary
	// directory.
	temporary := p.options.Places.below("tmp")
	if temporary == "" {
		return none, "", errNoCache
	}
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return none, "", err
	}
	dir, err := os.MkdirTemp(temporary, "git-*")
	if err != nil {
		return none, "", err
	}
	defer os.RemoveAll(dir)
	wanted := commit
	if wanted == "" {
		wanted = from.Ref
	}
	over := p.progress.begin(ctx, from.URL, fetching)
	commit, err = gitcommand.CheckOut(ctx, dir, from.URL, wanted)
	if err == nil && p.believes(from) {
		err = belongs(ctx, from, commit)
	}
	over()
	if err != nil {
		return none, "", err
	}
	source, err := confined.Dir{Path: dir}.Real(filepath.Join(dir, filepath.FromSlash(from.Dir)))
	if info, statErr := os.Stat(source); err != nil || statErr != nil || !info.IsDir() {
		return none, "", fmt.Errorf("%s at %s has no directory %q", from.URL, commit, from.Dir)
	}
	built, err := p.buildFrom(ctx, source, origin)
	if err != nil {
		return none, "", fmt.Errorf("building %s: %w", from, err)
	}
	release, err := client.Keep(built.Bytes, built.Manifest.Version)
	if err == nil && p.believes(from) { // or the commit may be anybody's
		err = client.Witness(from, release.Digest)
	}
	return release, commit, err
}

// believes reports whether a policy takes what a repository has without a signature.
func (p *Plugins) believes(from registry.Source) bool {
	return p.admission != nil && slices.ContainsFunc(p.admission.policies, func(policy namedPolicy) bool { return believes(policy.Policy, from.String()) })
}

// confirm returns an error if a policy wants a module to come from a repository, and it is not known to.
func (p *Plugins) confirm(ctx context.Context, client *registry.Client, from registry.Source, release registry.Release) error {
	if p.admission == nil {
		return nil
	}
	for _, policy := range p.admission.policies {
		if !believes(policy.Policy, from.String()) {
			continue
		}
		if err := client.Confirm(ctx, from, release, policy.own); err != nil {
			return err
		}
	}
	return nil
}

// ForeignCommitError says that a commit is not of the branch or tag that a source names.
type ForeignCommitError struct {
	Source, Commit string
}

func (e *ForeignCommitError) Error() string {
	return fmt.Sprintf("the commit %s is not of %s: a server also has the commits of forks and of changes that were only proposed, and a trust policy takes what the repository has\n"+
		"if its tag or branch was moved, run husk update", e.Commit, e.Source)
}

// belongs returns an error unless a commit is in the history of the branch or tag of a source, or of any if the source names a
// commit. Servers hand out more than that: the commits of forks, and of whoever asks for a merge.
func belongs(ctx context.Context, from registry.Source, commit string) error {
	dir, err := os.MkdirTemp("", "husk-git-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	git := gitcommand.In(ctx, dir, "fetching the history of "+from.URL)
	if _, err := git("init", "--quiet", "--bare"); err != nil {
		return err
	}
	asked := []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	if from.Ref == "" {
		asked = []string{"+HEAD:refs/heads/default"}
	}
	if _, err := git(append([]string{"fetch", "--quiet", "--no-tags", "--", from.URL}, asked...)...); err != nil {
		return err
	}
	within := []string{"refs/heads", "refs/tags"}
	if from.Ref != "" && !commitSyntax.Get().MatchString(from.Ref) {
		within = []string{"refs/heads/" + from.Ref, "refs/tags/" + from.Ref}
	}
	const contains = "husk: it contains the commit" // what git warns of is in the text as well
	has, err := git(append([]string{"for-each-ref", "--format=" + contains, "--contains", commit, "--"}, within...)...)
	if err != nil || !slices.Contains(strings.Split(has, "\n"), contains) {
		return &ForeignCommitError{from.String(), commit}
	}
	return nil
}
