package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postgres is a server of PostgreSQL at its port, where the example looks for it at the end of a tunnel. It stands in for an instance of
// RDS. The provider aws creates the master user with PUT, and drops it with DELETE.
type postgres struct {
	// dir has all its files, and programs its programs.
	dir, programs string
	owner         *syscall.Credential
	server        *exec.Cmd
}

// servePostgres starts a server. It runs as the user postgres if this program runs as root, which PostgreSQL refuses.
func servePostgres(ctx context.Context) (*postgres, error) {
	initdb, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has it
	if err != nil || len(initdb) == 0 {
		return nil, errors.Join(errors.New("PostgreSQL's server is not installed"), err)
	}
	p := &postgres{programs: filepath.Dir(initdb[len(initdb)-1])}
	if p.dir, err = os.MkdirTemp("", "postgres-"); err != nil {
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *postgres) start(ctx context.Context) error {
	certificate, err := selfSigned("localhost")
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"server.crt": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "server.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if err := p.giveAway(); err != nil {
			return err
		}
	}
	data := filepath.Join(p.dir, "data")
	if err := runs(p.command(ctx, "initdb", "--pgdata="+data, "--username=postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")); err != nil {
		return err
	}
	p.server = p.command(ctx, "postgres", "-D", data, "-k", p.dir, "-c", "listen_addresses=localhost", "-c", "ssl=on",
		"-c", "ssl_cert_file=../server.crt", "-c", "ssl_key_file=../server.key")
	p.server.Cancel = func() error { return p.server.Process.Signal(syscall.SIGINT) }
	if err := p.server.Start(); err != nil {
		return err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		if _, err = p.query(ctx, "SELECT 1"); err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
	}
}

// giveAway has the files belong to the user postgres, as whom commands run from then on.
func (p *postgres) giveAway() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	p.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, name := range []string{".", "server.crt", "server.key"} {
		if err := os.Chown(filepath.Join(p.dir, name), int(uid), int(gid)); err != nil {
			return err
		}
	}
	return nil
}

func (p *postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.programs, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, &syscall.SysProcAttr{Credential: p.owner}
	return cmd
}

func (p *postgres) stop() error {
	if p.server != nil && p.server.Process != nil {
		_ = p.server.Cancel() // it may have ended
		_ = p.server.Wait()   // by the signal
	}
	return os.RemoveAll(p.dir)
}

// query sends statements, and returns the rows as text.
func (p *postgres) query(ctx context.Context, statements string) (string, error) {
	out, err := p.command(ctx, "psql", "--host="+p.dir, "--username=postgres", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
		"--set=ON_ERROR_STOP=1", "--command="+statements).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// ServeHTTP creates or drops a master user.
func (p *postgres) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var of struct{ User, Password string }
	err := json.NewDecoder(r.Body).Decode(&of)
	if err == nil && !plainName.MatchString(of.User) {
		err = errors.New("names of users are letters, digits, and underscores")
	}
	if err == nil {
		statement := fmt.Sprintf("CREATE ROLE %s LOGIN CREATEDB CREATEROLE PASSWORD '%s'", of.User, strings.ReplaceAll(of.Password, "'", "''"))
		if r.Method == http.MethodDelete {
			statement = "DROP ROLE " + of.User
		}
		_, err = p.query(r.Context(), statement)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// has returns an error if the number of databases of the example is not number.
func (p *postgres) has(ctx context.Context, number int) error {
	count, err := p.query(ctx, "SELECT COUNT(*) FROM pg_database WHERE datname LIKE 'main%'")
	if err == nil && count != strconv.Itoa(number) {
		err = fmt.Errorf("there are %s databases, and not %d", count, number)
	}
	return err
}
