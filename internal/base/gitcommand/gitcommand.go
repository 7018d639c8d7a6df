// Package gitcommand runs git for repositories that others name: without hooks, without questions, and without credentials that
// are not for the server by name.
package gitcommand

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/named"
)

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

// withoutCredentials are settings of git by which a server gets only credentials that name it. http.sslCert and http.sslKey are not
// among them: git reads the file of an empty name, and a server can do nothing elsewhere with the certificate of a client.
var withoutCredentials = []string{
	"-c", "core.askPass=", "-c", "http.extraHeader=", "-c", "http.cookieFile=", "-c", "http.delegation=none", "-c", "http.emptyAuth=false",
}

// waitDelay is the time to wait for git after it was killed, because the program that it has started for a protocol keeps its output open.
const waitDelay = time.Second

// Password returns the variables with which git authenticates at the server of a URL, and at no other, with a name and a password or token.
func Password(url, name, password string) []string {
	return []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http." + url + ".extraHeader",
		"GIT_CONFIG_VALUE_0=Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password)),
	}
}

// Key returns the variables with which git authenticates with the private key in a file.
func Key(path string) []string {
	quoted := "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	return []string{"GIT_SSH_COMMAND=ssh -o BatchMode=yes -o IdentitiesOnly=yes -i " + quoted}
}

// In returns a function that runs git in a directory, with variables beside those of the environment. Its errors begin with what.
func In(ctx context.Context, dir, what string, variables ...string) func(args ...string) (string, error) {
	return func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append(append([]string{
			"-C", dir, "-c", "protocol.ext.allow=never", "-c", "core.hooksPath=" + os.DevNull,
			"-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60", // a server that sends nothing
		}, withoutCredentials...), args...)...)
		cmd.Env = append(slices.DeleteFunc(named.Environment(), func(v string) bool { return isOfRepository(v) || isOfCredentials(v) }), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1")
		cmd.Env = append(cmd.Env, variables...)
		cmd.WaitDelay = waitDelay
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("a source in git needs the command git, which is not installed: %w", err)
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s", what, text)
		}
		return text, nil
	}
}

// CheckOut fetches a branch, tag, or commit of a repository into an empty directory, and returns the commit. The variables are as in [In].
func CheckOut(ctx context.Context, dir, url, ref string, variables ...string) (string, error) {
	if ref == "" {
		ref = "HEAD"
	}
	git := In(ctx, dir, fmt.Sprintf("fetching %s from %s", ref, url), variables...)
	if _, err := git("init", "--quiet"); err != nil {
		return "", err
	}
	if _, err := git("fetch", "--quiet", "--depth", "1", "--no-tags", "--", url, ref); err != nil {
		// Servers without the newer protocol have only whole repositories, and their branches and tags.
		if _, whole := git("fetch", "--quiet", "--", url, "+HEAD:refs/remotes/origin/HEAD", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"); whole != nil {
			return "", err
		}
		for _, name := range []string{"refs/tags/" + ref, "refs/remotes/origin/" + strings.TrimPrefix(ref, "refs/heads/"), ref} {
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
