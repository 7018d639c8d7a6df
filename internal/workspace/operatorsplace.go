package workspace

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/backend"
)

// OperatorsPlace is where the stacks of a project that is not trusted are: where the environment or husk login says, before the
// project is opened.
type OperatorsPlace struct {
	// Scheme is the scheme of the URL, empty if nobody has named one.
	Scheme string
	// Host is the host of the URL, and Directory where its files are; empty for none.
	Host, Directory string
	// Files are the files that parameters of the URL name: passwords, certificates, and services of PostgreSQL.
	Files []string
}

// fileParameters are the parameters of URLs that name files.
var fileParameters = []string{"passfile", "servicefile", "sslcert", "sslkey", "sslrootcert"}

// FindOperatorsPlace returns the place that the operator has named.
func FindOperatorsPlace() (p OperatorsPlace, err error) {
	text := ""
	if at := chosenByOperator(); at != nil {
		text = at.Text()
	} else if text, err = loginURL(); err != nil {
		return p, err
	}
	p.Scheme = backend.Scheme(text)
	switch p.Scheme {
	case "":
	case fileScheme:
		p.Directory, err = backendDir(text, BackendVariable, ".")
	default:
		if u, err := url.Parse(text); err == nil {
			query := u.Query()
			p.Host = cmp.Or(query.Get("host"), u.Hostname())
			for _, name := range fileParameters {
				p.Files = append(p.Files, query[name]...)
			}
		}
	}
	return p, err
}

// OwnFiles returns the paths in this user's configuration directory that husk needs for a run: files that it reads, and
// directories in which it also writes, which are made. compiles says that modules are compiled into a cache, which has a key
// there.
func OwnFiles(compiles bool) (read, write []string, err error) {
	keys := secrets.SystemKeys(nil)
	read = keys.Files()
	file, err := loginFile()
	if err != nil {
		return read, nil, nil // without such a directory there is none of it
	}
	dir := filepath.Dir(file)
	read = append(read, file)
	trusted := filepath.Join(dir, "trusted-modules")
	if err := os.MkdirAll(trusted, 0o700); err != nil {
		return nil, nil, err
	}
	write = append(write, trusted)
	has := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	cacheKey, witnessKey := filepath.Join(dir, "cache.key"), filepath.Join(dir, "witness.key")
	_, err = keys.Passphrase()
	if errors.Is(err, secrets.ErrNoKey) && !slices.ContainsFunc(keys.Files(), has) || compiles && !has(cacheKey) {
		write = append(write, dir) // a key is made there
	}
	return append(read, cacheKey, witnessKey), write, nil
}
