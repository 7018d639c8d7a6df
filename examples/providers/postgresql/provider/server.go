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
	// Parameters that are not set here would come from the environment.
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
		// This protects from eavesdroppers only, as in libpq.
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

// user returns the role of the provider, which owns objects without another owner.
func (s *server) user() string {
	if s.config == nil {
		return ""
	}
	return s.config.User
}

// database returns the database that is given, or the configured one.
func (s *server) database(given string) string {
	if given != "" || s.config == nil {
		return given
	}
	return s.config.Database
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
	return errors.Join(explained(do(conn)), conn.Close(context.WithoutCancel(ctx)))
}

// explanation is an error of the server with its details, for example the objects that depend on a role.
type explanation struct {
	*pgconn.PgError
	text string
}

func (e explanation) Error() string { return e.PgError.Error() + ": " + e.text }
func (e explanation) Unwrap() error { return e.PgError }

func explained(err error) error {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || failure.Detail == "" && failure.Hint == "" {
		return err
	}
	text := strings.ReplaceAll(failure.Detail, "\n", ", ")
	if failure.Hint != "" {
		text = strings.TrimSpace(text + " " + failure.Hint)
	}
	return explanation{failure, text}
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
	return s.within(ctx, database, pgx.TxOptions{}, func(tx pgx.Tx) error { return executeAll(ctx, tx, statements...) })
}

func executeAll(ctx context.Context, tx pgx.Tx, statements ...string) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// as calls do with the rights of a role. A provider that is not a superuser, and lacks these rights, becomes a member of the role
// meanwhile, if it may.
func (s *server) as(ctx context.Context, tx pgx.Tx, role string, do func() error) error {
	// Since version 16 each role that makes another a member does so for itself.
	has, member := true, false
	err := tx.QueryRow(ctx, `
		SELECT pg_has_role(current_user, r.oid, 'USAGE'), EXISTS (
			SELECT FROM pg_auth_members m JOIN pg_roles me ON me.oid = m.member WHERE m.roleid = r.oid AND me.rolname = current_user
				AND (current_setting('server_version_num')::int < 160000 OR m.grantor = m.member))
		FROM pg_roles r WHERE r.rolname = $1`, role).Scan(&has, &member)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if has {
		return do()
	}
	if _, err := tx.Exec(ctx, "GRANT "+name(role)+" TO CURRENT_USER"); err != nil {
		return err
	}
	if err := do(); err != nil || member {
		return err
	}
	_, err = tx.Exec(ctx, "REVOKE "+name(role)+" FROM CURRENT_USER")
	return err
}

// execute runs a statement that cannot be in a transaction, to its end.
func (s *server) execute(ctx context.Context, database, statement string, args ...any) error {
	return s.in(ctx, database, func(conn *pgx.Conn) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := conn.Exec(context.WithoutCancel(ctx), statement, args...)
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
	undefinedTable     = "42P01"
	undefinedColumn    = "42703"
	undefinedFunction  = "42883"
	invalidCatalogName = "3D000"
	invalidSchemaName  = "3F000"
	syntaxError        = "42601"
	invalidText        = "22P02"
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

// longestName is the longest length of a name, in bytes. The server would cut longer ones off.
const longestName = 63

// checkName refuses a name that the server would cut off.
func checkName(name string) []guest.CheckFailure {
	if len(name) <= longestName {
		return nil
	}
	return []guest.CheckFailure{{Path: "name", Reason: "has " + strconv.Itoa(len(name)) + " bytes, and PostgreSQL takes at most " + strconv.Itoa(longestName)}}
}

// name quotes a name, qualified by the names before it.
func name(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// grantee returns a role as GRANT has it.
func grantee(role string) string {
	if role == "public" {
		return "PUBLIC"
	}
	return name(role)
}

// texts quotes a list of texts.
func texts(list []string) string {
	quoted := make([]string, len(list))
	for n, item := range list {
		quoted[n] = text(item)
	}
	return strings.Join(quoted, ", ")
}

// names quotes a list of names.
func names(list []string) string {
	quoted := make([]string, len(list))
	for n, item := range list {
		quoted[n] = name(item)
	}
	return strings.Join(quoted, ", ")
}

// text quotes text. Strings conform to the standard in every connection; the server takes no NUL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
