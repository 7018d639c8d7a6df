package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/tcp"
)

// Config is the provider's configuration.
type Config struct {
	Host           string `husk:"host" doc:"The name or address of the server. Grant the provider this host and port under grants: tcp."`
	Port           int    `husk:"port,default=5432,min=1,max=65535" doc:"The server's port."`
	Username       string `husk:"username,default=postgres" doc:"The role to log in as. It needs the rights to make what the program declares."`
	Password       string `husk:"password,optional,secret" doc:"The role's password."`
	Database       string `husk:"database,default=postgres" doc:"The database to connect to for what belongs to none."`
	SSLMode        string `husk:"sslmode,default=verify-full,oneof=disable|require|verify-full" doc:"Whether connections are encrypted (require), and to the right server (verify-full)."`
	CACertificate  string `husk:"caCertificate,optional" doc:"The certificates, in PEM, that verify-full trusts. It is needed for that, as a module knows no authorities."`
	ConnectTimeout int    `husk:"connectTimeout,default=30,min=1,max=300" doc:"How many seconds a connection may take to make."`
}

// server connects to the configured server. Each operation has its own connection, because it runs in
// its own instance.
type server struct {
	config *pgx.ConnConfig
}

func (s *server) configure(c Config) error {
	// What is not set here would come from the environment.
	config, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return err
	}
	config.Host, config.Port, config.Fallbacks = c.Host, uint16(c.Port), nil
	config.User, config.Password, config.Database = c.Username, c.Password, c.Database
	config.ConnectTimeout = time.Duration(c.ConnectTimeout) * time.Second
	config.DialFunc, config.LookupFunc = tcp.DialContext, tcp.LookupHost
	// Names are quoted by the standard, and nothing is looked up in schemas that others can write to.
	config.RuntimeParams = map[string]string{
		"application_name": "husk", "standard_conforming_strings": "on", "search_path": "pg_catalog",
	}
	// Statements are prepared for one connection, which makes few of them.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	switch c.SSLMode {
	case "require":
		// This protects from those who only listen, and is what libpq means by it.
		config.TLSConfig = &tls.Config{InsecureSkipVerify: true}
	case "verify-full":
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(c.CACertificate)) {
			return guest.InvalidArgument("caCertificate", "has no certificate in PEM, which sslmode verify-full needs to know the server by")
		}
		config.TLSConfig = &tls.Config{ServerName: c.Host, RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	s.config = config
	return nil
}

// user returns the role of the provider, which owns what is given to no other.
func (s *server) user() string {
	if s.config == nil {
		return ""
	}
	return s.config.User
}

// in calls do with a connection to a database, the configured one if it is empty.
func (s *server) in(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	if s.config == nil {
		return errors.New("the provider is not configured: set postgresql:host")
	}
	config := s.config.Copy()
	if database != "" {
		config.Database = database
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(context.WithoutCancel(ctx)))
}

// within calls do in a transaction. The server drops it if cancelling closes the connection.
func (s *server) within(ctx context.Context, database string, options pgx.TxOptions, do func(pgx.Tx) error) error {
	return s.in(ctx, database, func(conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, options)
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return err
		}
		// Nobody would know what became of a commit that was cancelled.
		return tx.Commit(context.WithoutCancel(ctx))
	})
}

func (s *server) run(ctx context.Context, database string, statements ...string) error {
	return s.within(ctx, database, pgx.TxOptions{}, func(tx pgx.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// execute runs a statement that cannot be in a transaction, to its end.
func (s *server) execute(ctx context.Context, statement string) error {
	return s.in(ctx, "", func(conn *pgx.Conn) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := conn.Exec(context.WithoutCancel(ctx), statement)
		return err
	})
}

// find reads the only row of a query. The error is guest.NotFound with the text for no row.
func (s *server) find(ctx context.Context, database, missing, query string, args []any, into ...any) error {
	err := s.in(ctx, database, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(into...) })
	if errors.Is(err, pgx.ErrNoRows) || isCode(err, invalidCatalogName) {
		return guest.NotFound(missing)
	}
	return err
}

// Codes of errors (PostgreSQL, appendix A).
const (
	undefinedObject    = "42704"
	invalidCatalogName = "3D000"
	invalidSchemaName  = "3F000"
)

// isCode reports whether the server answered an error with one of the codes.
func isCode(err error, codes ...string) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if failure.Code == code {
			return true
		}
	}
	return false
}

// longestName is that of a name in bytes. The server would cut longer ones off.
const longestName = 63

// checkName refuses a name that the server would cut off.
func checkName(name string) []guest.CheckFailure {
	if len(name) <= longestName {
		return nil
	}
	return []guest.CheckFailure{{Path: "name", Reason: "has " + strconv.Itoa(len(name)) + " bytes, and PostgreSQL takes at most " + strconv.Itoa(longestName)}}
}

func name(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// text quotes text. Strings conform to the standard in every connection; the server takes no NUL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
