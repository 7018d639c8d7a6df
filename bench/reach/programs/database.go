package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// database is a server of MariaDB at MySQL's port, where the examples look for it. It stands in for RDS: the provider aws has it create
// databases with PUT, and drop them with DELETE.
type database struct {
	server *exec.Cmd
	socket string
}

// serveDatabase starts a server whose files are in a directory.
func serveDatabase(ctx context.Context, dir string) (*database, error) {
	d := &database{socket: filepath.Join(dir, "socket")}
	data := "--datadir=" + filepath.Join(dir, "data")
	if err := runs(exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", "--user=root")); err != nil {
		return nil, err
	}
	d.server = exec.CommandContext(ctx, "mariadbd", "--no-defaults", data, "--socket="+d.socket, "--bind-address=127.0.0.1", "--port=3306",
		"--user=root", "--log-error="+filepath.Join(dir, "log"))
	d.server.Cancel = func() error { return d.server.Process.Signal(syscall.SIGTERM) }
	if err := d.server.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		_, err := d.query(ctx, "SELECT 1")
		if err == nil {
			return d, nil
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return nil, errors.Join(err, d.stop())
		}
	}
}

func (d *database) stop() error {
	_ = d.server.Cancel()
	return d.server.Wait()
}

// query sends statements, and returns the rows as text.
func (d *database) query(ctx context.Context, statements string) (string, error) {
	out, err := exec.CommandContext(ctx, "mariadb", "--no-defaults", "--socket="+d.socket, "--user=root", "--skip-column-names", "--execute="+statements).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mariadb: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// plainName matches what needs no quotes in statements.
var plainName = regexp.MustCompile(`^\w+$`)

// ServeHTTP creates or drops the database that the path ends with, and its user.
func (d *database) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var of struct{ User, Password string }
	name, err := path.Base(r.URL.Path), json.NewDecoder(r.Body).Decode(&of)
	if err == nil && !(plainName.MatchString(name) && plainName.MatchString(of.User) && plainName.MatchString(of.Password)) {
		err = errors.New("names of databases and users, and passwords, are letters, digits, and underscores")
	}
	if err == nil {
		statements := fmt.Sprintf("CREATE DATABASE %[1]s; CREATE USER %[2]s@localhost IDENTIFIED BY '%[3]s'; GRANT ALL ON %[1]s.* TO %[2]s@localhost", name, of.User, of.Password)
		if r.Method == http.MethodDelete {
			statements = fmt.Sprintf("DROP DATABASE %s; DROP USER %s@localhost", name, of.User)
		}
		_, err = d.query(r.Context(), statements)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// filled returns an error unless a table of the examples has three rows.
func (d *database) filled(ctx context.Context) error {
	rows, err := d.query(ctx, "SELECT COUNT(*) FROM hellosql.hello_pulumi")
	if err == nil && rows != "3" {
		err = fmt.Errorf("the table has %s rows, and not 3", rows)
	}
	return err
}

// gone returns an error if the database of the examples is there.
func (d *database) gone(ctx context.Context) error {
	names, err := d.query(ctx, "SHOW DATABASES LIKE 'hellosql'")
	if err == nil && names != "" {
		err = errors.New("the database is still there")
	}
	return err
}
