package postgres_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// TestServersThatCannotBeUsed tries URLs that are wrong in one thing. The error is one line, says what the server or the
// network said, and what to change.
func TestServersThatCannotBeUsed(t *testing.T) {
	s := postgrestest.Start(t, "ssl=on")
	s.Execute(t, "postgres", `CREATE ROLE reader LOGIN PASSWORD 'reader'; REVOKE CREATE ON DATABASE postgres FROM PUBLIC; CREATE SCHEMA mine`)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, []byte(s.CACertificate), 0o600))
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
	plain := postgrestest.Start(t, "ssl=off")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := listener.Addr().String()
	require.NoError(t, listener.Close())
	at := func(server *postgrestest.Server, user, password, host, database string) string {
		return fmt.Sprintf("postgres://%s:%s@%s:%d/%s", user, password, host, server.Port, database)
	}
	for name, c := range map[string]struct {
		url  string
		want []string
	}{
		"nobody listens":       {"postgres://u@" + nobody + "/x", []string{"connect: connection refused; check the host and the port in the URL, and whether the server runs"}},
		"no such host":         {"postgres://u@nowhere.invalid/x", []string{"nowhere.invalid", "check the host in the URL"}},
		"wrong password":       {at(s, "postgres", "wrong", "127.0.0.1", "postgres") + "?sslmode=disable", []string{"password authentication failed", "PGPASSWORD"}},
		"no password":          {at(s, "postgres", "", "127.0.0.1", "postgres") + "?sslmode=disable", []string{"password"}},
		"no such database":     {at(s, "postgres", s.Password, "127.0.0.1", "missing") + "?sslmode=disable", []string{`database "missing" does not exist`, "check the database in the URL, or make it"}},
		"no rights":            {at(s, "reader", "reader", "127.0.0.1", "postgres") + "?sslmode=disable", []string{"permission denied", `may not make the tables of husk in the schema "husk"`, "grant it CREATE on the database"}},
		"no rights in schema":  {at(s, "reader", "reader", "127.0.0.1", "postgres") + "?sslmode=disable&schema=mine", []string{"permission denied", `USAGE on the schema "mine"`}},
		"unknown authority":    {at(s, "postgres", s.Password, "localhost", "postgres") + "?sslmode=verify-full", []string{"certificate", "add sslrootcert=FILE to the URL"}},
		"certificate of other": {at(s, "postgres", s.Password, "127.0.0.1", "postgres") + "?sslmode=verify-full&sslrootcert=" + authority, []string{"certificate", "name the host in the URL as its certificate does"}},
		"no TLS":               {at(plain, "postgres", plain.Password, "127.0.0.1", "postgres") + "?sslmode=require", []string{"server refused TLS connection", "set sslmode=disable in the URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := postgres.Open(t.Context(), named.ByOperator(c.url, "the test"), t.TempDir())
			require.NoError(t, err)
			defer b.Close()
			err = b.Check(t.Context())
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.True(t, strings.HasPrefix(err.Error(), "the backend postgres://"), err)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), s.Password)
		})
	}
	b, err := postgres.Open(t.Context(), named.ByOperator(at(s, "postgres", s.Password, "localhost", "postgres")+"?sslmode=verify-full&sslrootcert="+authority, "the test"), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Check(t.Context()), "what the advice names is what helps")
}
