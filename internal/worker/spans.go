package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/base/otlp"
	"github.com/husk-dev/husk/internal/base/trace"
)

const (
	spansFile = "spans.json"
	// maxSpans bounds the spans of a run that are sent on, and maxRequest one line of them, in bytes. A line has up to some
	// hundred spans of a kilobyte.
	maxSpans, maxRequest = 64 << 20, 8 << 20
)

// spans returns the function that sends the spans of runs, as --trace says, nil for none. Runs write them into files of their
// own, and the worker sends them on: the credentials of a collector are not for runs, nor are the spans of others.
func spans(destination string) (send otlp.Send, close func() error, err error) {
	switch destination {
	case "":
		return nil, func() error { return nil }, nil
	case trace.OTLP:
		send, err = otlp.Open(os.Getenv, otlp.Traces)
		return send, func() error { return nil }, err
	}
	file, err := os.OpenFile(destination, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return func(_ context.Context, request []byte) error {
		_, err := file.Write(append(request, '\n'))
		return err
	}, file.Close, nil
}

// sendSpans sends the spans that a run has left in its home.
func (w *worker) sendSpans(home string) error {
	if w.send == nil {
		return nil
	}
	file, err := confined.Dir{Path: home}.Open(filepath.Join(home, spansFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has not got that far
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxRequest)
	for size := 0; lines.Scan(); {
		if size += len(lines.Bytes()); size > maxSpans {
			return fmt.Errorf("they have more than %d MiB", maxSpans>>20)
		}
		if err := w.send(context.Background(), append([]byte(nil), lines.Bytes()...)); err != nil {
			return err
		}
	}
	return lines.Err()
}
