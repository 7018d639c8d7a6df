package postgres

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusedError is the error of a server that could not be used, with advice for the user.
type refusedError struct {
	place, reason, advice string
	cause                 error
}

func (e *refusedError) Error() string {
	text := fmt.Sprintf("the backend %s: %s", e.place, e.reason)
	if e.advice != "" {
		text += "; " + e.advice
	}
	return text
}

func (e *refusedError) Unwrap() error { return e.cause }

// refused returns the error of a server that has refused a step, or could not be reached.
func (d *db) refused(err error) error {
	if errors.Is(err, errSchema) { // it says what to do
		return &refusedError{place: d.place, reason: err.Error(), cause: err}
	}
	return &refusedError{d.place, reason(err), d.advice(err), err}
}

// reason returns the message of an error in one line. That of a connection has one line for each address and each way of
// TLS that was tried.
func reason(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Error()
	}
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return err.Error()
	}
	var all []string
	var add func(err error)
	add = func(err error) {
		switch one := err.(type) {
		case *net.OpError, *net.DNSError, *tls.CertificateVerificationError:
		case interface{ Unwrap() []error }:
			for _, each := range one.Unwrap() {
				add(each)
			}
			return
		case interface{ Unwrap() error }:
			if inner := one.Unwrap(); inner != nil {
				add(inner)
				return
			}
		}
		if text := err.Error(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	add(connecting)
	return strings.Join(all, "; ")
}

// noTLS is the message of pgconn for a server that speaks no TLS.
const noTLS = "server refused TLS connection"

// advice says what the user can do about an error, "" if that is not known.
func (d *db) advice(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return d.adviceOn(refused)
	}
	var certificate *tls.CertificateVerificationError
	var otherHost x509.HostnameError
	var name *net.DNSError
	var network *net.OpError
	switch {
	case errors.As(err, &otherHost):
		return "name the host in the URL as its certificate does"
	case errors.As(err, &certificate):
		return "if an authority of your own has signed the certificate, add sslrootcert=FILE to the URL, with the certificate of the authority"
	case errors.As(err, &name):
		return "check the host in the URL"
	case errors.As(err, &network) && network.Op == "dial":
		return "check the host and the port in the URL, and whether the server runs"
	case strings.Contains(err.Error(), noTLS):
		return "if the server speaks no TLS, and nobody else is on the way to it, set sslmode=disable in the URL"
	}
	return ""
}

func (d *db) adviceOn(refused *pgconn.PgError) string {
	switch refused.Code {
	case "28P01":
		return "check the user in the URL, and the password in PGPASSWORD, ~/.pgpass, or the URL"
	case "28000":
		return "check the user in the URL, and who may connect by the server's pg_hba.conf"
	case "3D000":
		return "check the database in the URL, or make it"
	case notPrivileged:
		return fmt.Sprintf("grant the role %s CREATE on the database, with which it makes the tables, or, if they are there, USAGE on the schema %q, and SELECT, INSERT, UPDATE, and DELETE on its tables",
			d.pool.config.User, d.schema)
	case readOnlySession:
		return "this is a replica: name the primary, or all servers, with target_session_attrs=read-write in the URL"
	}
	return ""
}
