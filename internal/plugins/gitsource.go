package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/registry"
)

// A provider in a repository of git is built from source. The lock pins the commit and the digest of what was built, so that
// another machine builds the same, or says that it does not.

var commitSyntax = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Fetch returns the file of a module that a lock pins: what is in a repository of git is built, and other modules are received.
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
	if commit != "" && !commitSyntax.MatchString(commit) {
		return none, "", fmt.Errorf("husk.lock has the commit %q of %s, which is none: remove the entry, and run husk install", commit, from)
	}
	origin := origin{source: from.String(), from: &from, witnessed: true}
	if err := p.permitSource(origin); err != nil {
		return none, "", err
	}
	dir, err := os.MkdirTemp("", "husk-git-*")
	if err != nil {
		return none, "", err
	}
	defer os.RemoveAll(dir)
	wanted := commit
	if wanted == "" {
		wanted = from.Ref
	}
	over := p.progress.begin(ctx, from.URL, fetching)
	commit, err = checkOut(ctx, dir, from.URL, wanted)
	if err == nil && p.believes(from) {
		err = belongs(ctx, from, commit)
	}
	over()
	if err != nil {
		return none, "", err
	}
	source := filepath.Join(dir, filepath.FromSlash(from.Dir))
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
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
	git := gitIn(ctx, dir, "fetching the history of "+from.URL)
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
	if from.Ref != "" && !commitSyntax.MatchString(from.Ref) {
		within = []string{"refs/heads/" + from.Ref, "refs/tags/" + from.Ref}
	}
	const contains = "husk: it contains the commit" // what git warns of is in the text as well
	has, err := git(append([]string{"for-each-ref", "--format=" + contains, "--contains", commit, "--"}, within...)...)
	if err != nil || !slices.Contains(strings.Split(has, "\n"), contains) {
		return &ForeignCommitError{from.String(), commit}
	}
	return nil
}

// isOfRepository reports whether a variable of the environment is about the repository that git works on. Git sets them for
// hooks, from which husk may be run, and the commands here would change that repository.
func isOfRepository(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
		"GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_IMPLICIT_WORK_TREE", "GIT_QUARANTINE_PATH":
		return true
	}
	return false
}

// isOfCredentials reports whether a variable of the environment has git use credentials for whatever server asks: programs that
// are asked for passwords, certificates of clients, and settings that name no server. Those of credential helpers, of netrc, and
// of settings such as http.https://git.example.com.extraHeader are for servers that the user has named.
func isOfCredentials(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	switch name {
	case "GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_CERT_PASSWORD_PROTECTED", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_HTTP_USER_AGENT":
		return true
	}
	return strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// withoutCredentials are settings of git by which no server gets what is not for it by name.
var withoutCredentials = []string{
	"-c", "core.askPass=", "-c", "http.extraHeader=", "-c", "http.cookieFile=", "-c", "http.sslCert=", "-c", "http.sslKey=", "-c", "http.delegation=none", "-c", "http.emptyAuth=false",
}

// gitIn returns what runs git in a directory, and says in errors what it was for.
func gitIn(ctx context.Context, dir, what string) func(args ...string) (string, error) {
	return func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append(append([]string{
			"-C", dir, "-c", "protocol.ext.allow=never", "-c", "core.hooksPath=" + os.DevNull,
			"-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60", // a server that sends nothing
		}, withoutCredentials...), args...)...)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return isOfRepository(v) || isOfCredentials(v) }), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("a source in git needs the command git, which is not installed: %w", err)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s", what, text)
		}
		return text, nil
	}
}

// checkOut fetches a branch, tag, or commit of a repository into an empty directory, and returns the commit.
func checkOut(ctx context.Context, dir, url, ref string) (string, error) {
	git := gitIn(ctx, dir, fmt.Sprintf("fetching %s from %s", ref, url))
	if _, err := git("init", "--quiet"); err != nil {
		return "", err
	}
	if ref == "" {
		ref = "HEAD"
	}
	if _, err := git("fetch", "--quiet", "--depth", "1", "--no-tags", "--", url, ref); err != nil {
		// Servers without the newer protocol have only whole repositories, and their branches and tags.
		if _, whole := git("fetch", "--quiet", "--", url, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"); whole != nil {
			return "", err
		}
		for _, name := range []string{"refs/tags/" + ref, "refs/remotes/origin/" + ref, ref} {
			if _, known := git("rev-parse", "--verify", "--quiet", name+"^{commit}"); known == nil {
				if _, err := git("checkout", "--quiet", "--detach", name); err != nil {
					return "", err
				}
				return git("rev-parse", "HEAD")
			}
		}
		return "", err
	}
	if _, err := git("checkout", "--quiet", "--detach", "FETCH_HEAD"); err != nil {
		return "", err
	}
	return git("rev-parse", "HEAD")
}
