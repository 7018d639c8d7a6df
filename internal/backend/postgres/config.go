package postgres

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/husk-dev/husk/internal/base/named"
)

// credentialVariables are libpq's variables that hold credentials, or name a file that does.
var credentialVariables = []string{"PGPASSWORD", "PGPASSFILE", "PGSSLCERT", "PGSSLKEY", "PGSSLPASSWORD", "PGSERVICE", "PGSERVICEFILE"}

// ownParameters are the parameters that the URL of a project may have. Others of libpq name files of this machine.
var ownParameters = append([]string{
	"host", "port", "database", "user", "password", "sslmode", "sslnegotiation", "sslsni", "channel_binding", "require_auth",
	"min_protocol_version", "max_protocol_version", "target_session_attrs", "connect_timeout", "application_name", "timezone", "options",
	schemaParameter, maxConnsParameter, idleTimeParameter,
}, othersParameters...)

// configOf returns the configuration of a URL.
func configOf(at named.URL) (*pgconn.Config, error) {
	var config *pgconn.Config
	var err error
	if at.IsOperators() {
		config, err = pgconn.ParseConfig(at.Text())
	} else {
		config, err = parseOwn(at)
	}
	if err != nil {
		return nil, fmt.Errorf("the URL of the backend is not one of PostgreSQL, which has the form postgres://user:password@host:5432/database: %w", err)
	}
	return config, nil
}

// parseOwn returns the configuration of the URL of a project. It has the URL's own settings: none of libpq's variables, and
// none of the user's files with passwords, services, and certificates.
func parseOwn(at named.URL) (*pgconn.Config, error) {
	for _, variable := range credentialVariables {
		at.Withhold(variable)
	}
	if os.Getenv("PGSERVICE") != "" {
		return nil, errors.New("PGSERVICE is set, which libpq applies to every URL: a project has named this one, so unset the variable, or name the URL yourself")
	}
	u, err := url.Parse(at.Text())
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(ownParameters, name) {
			return nil, fmt.Errorf("it has the parameter %q, which is accepted only in a URL that you name yourself, with HUSK_BACKEND_URL or husk login, and the project names this one", name)
		}
	}
	hosts := query.Get("host")
	if hosts == "" {
		hosts = u.Host
	}
	for host := range strings.SplitSeq(hosts, ",") {
		// A socket of this machine lets in who has its user's rights.
		if name, _, _ := strings.Cut(host, ":"); name == "" && !strings.HasPrefix(host, "[") || strings.ContainsAny(host, `/\@`) {
			return nil, fmt.Errorf("it names the host %q, and the URL of a project names a host in the network", host)
		}
	}
	// The URL takes precedence over the environment and the files, so it says everything.
	for name, fallback := range map[string]string{
		"passfile": "", "sslcert": "", "sslkey": "", "sslrootcert": "", "sslpassword": "", "servicefile": "",
		"sslmode": "", "sslsni": "", "sslnegotiation": "", "channel_binding": "", "require_auth": "", "min_protocol_version": "", "max_protocol_version": "",
		"connect_timeout": "0", "target_session_attrs": "any",
	} {
		if query.Get(name) == "" {
			query.Set(name, fallback)
		}
	}
	hasPort := func(host string) bool {
		_, port, err := net.SplitHostPort(host)
		return err == nil && port != ""
	}
	if query.Get("port") == "" && !slices.ContainsFunc(strings.Split(u.Host, ","), hasPort) {
		query.Set("port", "5432")
	}
	if _, has := u.User.Password(); !has && query.Get("password") == "" {
		query.Set("password", "")
	}
	if u.User.Username() == "" && query.Get("user") == "" {
		if me, err := user.Current(); err == nil {
			query.Set("user", me.Username)
		}
	}
	if strings.Trim(u.Path, "/") == "" && query.Get("database") == "" {
		query.Set("database", "")
	}
	given := u.Query()
	u.RawQuery = query.Encode()
	config, err := pgconn.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	for name := range config.RuntimeParams {
		if !given.Has(name) {
			delete(config.RuntimeParams, name)
		}
	}
	return config, nil
}
