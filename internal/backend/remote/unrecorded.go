package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/intake"
)

// UnrecordedVariable is the environment variable with the name of a file for the records that the server does not take, since
// the lease has ended or the server cannot be reached for long: who has set it hands them in later.
const UnrecordedVariable = "HUSK_UNRECORDED"

// Unrecorded is a record that the server has not taken under the lease of a stack.
type Unrecorded struct {
	Stack state.StackName `json:"stack"`
	// Token is the lease's token: the record fits the state as long as nobody has taken another lease.
	Token    uint64 `json:"token"`
	Sequence uint64 `json:"sequence"`
	Record   []byte `json:"record"`
}

// write adds the record to a file, as a line of JSON that is on disk when it returns.
func (u Unrecorded) write(name string) error {
	text, err := json.Marshal(u)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = file.Write(append(text, '\n')); err == nil {
			err = file.Sync()
		}
		if err != nil {
			err = errors.Join(err, file.Truncate(end)) // later records must not be lost with it
		}
	}
	return errors.Join(err, file.Close())
}

// maxUnrecorded bounds the records that one run leaves, in bytes, and MaxUnrecorded their number: each is decoded, and is a
// transaction of the server's. They are the records of steps that were under way at once.
const (
	maxUnrecorded = 64 << 20
	MaxUnrecorded = 1 << 16
)

// ReadUnrecorded reads what the process of a run has left. A cut off last line belongs to an unconfirmed record. With an error,
// it returns the records before the fault.
func ReadUnrecorded(in io.Reader) (all []Unrecorded, err error) {
	lines := bufio.NewReader(io.LimitReader(in, maxUnrecorded))
	for size := 0; ; {
		line, err := lines.ReadBytes('\n')
		size += len(line)
		switch {
		case errors.Is(err, io.EOF) && size == maxUnrecorded:
			return all, fmt.Errorf("the records that the run has left have %d MiB or more", maxUnrecorded>>20)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		case len(all) == MaxUnrecorded:
			return all, fmt.Errorf("the run has left more than %d records", MaxUnrecorded)
		}
		var one Unrecorded
		if err := intake.AnswerJSON(line, &one); err != nil {
			return all, fmt.Errorf("a record that the run has left: %w", err)
		}
		all = append(all, one)
	}
}

// keptError says that a record is kept on this machine, or that nothing begins any more. It is a [state.NoSpaceError] to those
// who decide what they do next.
type keptError struct {
	*state.NoSpaceError
	why error
}

func (e *keptError) Error() string {
	return fmt.Sprintf("%v; nothing more begins, and what was done is kept here until the server takes it", e.why)
}

func (e *keptError) Unwrap() []error { return []error{e.NoSpaceError, e.why} }
