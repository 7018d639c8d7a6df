package deploycmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/host"
)

// auditLog writes each use of a capability to a file, one JSON object on a line.
type auditLog struct {
	file    *os.File
	secrets *redact.Secrets

	mu  sync.Mutex
	err error // the first error that lost a line
}

// openAuditLog appends to a file, or makes one that only its owner can read.
func openAuditLog(path string, secrets *redact.Secrets) (*auditLog, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--audit-log: %w", err)
	}
	return &auditLog{file: file, secrets: secrets}, nil
}

// write writes a line without known secrets. It is safe for concurrent use.
func (l *auditLog) write(u host.AuditEvent) {
	line, err := json.Marshal(redact.Copy(l.secrets, u))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if l.err == nil {
		l.err = err
	}
}

// close returns an error if the log is incomplete.
func (l *auditLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, l.file.Close()); err != nil {
		return fmt.Errorf("the audit log %s is incomplete: %w", l.file.Name(), err)
	}
	return nil
}
