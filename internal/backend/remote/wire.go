// Package remote keeps stacks in a server: [Server] lets clients use a backend over HTTP, and [Open] opens one that is
// served. So a runner needs no rights to the database or bucket that the server keeps its stacks in.
//
// Every call is a POST of a CBOR map. If its answer is lost, it is sent again, to any running server: the store shows whether an
// earlier attempt took effect. A lease is in the store, too, under a hash of the secret that its client knows, and ends by the
// clock of the store unless the client says in time that it still wants it.
package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/printable"
)

const (
	// Path is below the URL of a server where the calls are. The name of the call follows.
	Path        = "/v1/state/"
	contentType = "application/cbor"
	// maxBody bounds the body of a call, in bytes: a checkpoint or a module.
	maxBody = 256 << 20
	// maxShort bounds calls that send no checkpoint, record, module, or value, in bytes.
	maxShort = 1 << 20
	// largeAtOnce bounds the calls of more than maxShort that a server reads and does at once.
	largeAtOnce = 4
	// maxModules bounds the modules of a run that ends.
	maxModules = 1000
	// maxKey bounds the key of a stack, encrypted or not, in bytes.
	maxKey = 1 << 10
)

const (
	// beatTime is how often a client says that it still has a lease. Stores end one after 30 seconds.
	beatTime = 10 * time.Second
	// idleTime is how long a connection is kept that nobody uses.
	idleTime = 45 * time.Second
	// attemptHeader is the header of a call that is sent again: an earlier attempt may have taken effect.
	attemptHeader = "Husk-Attempt"
)

// request has the parameters of all calls.
type request struct {
	// Call identifies one that changes something.
	Call  string          `cbor:"call,omitempty"`
	Stack state.StackName `cbor:"stack"`
	Other state.StackName `cbor:"other"`
	// Lease and OtherLease are secrets that the client chose when it took the leases.
	Lease      string       `cbor:"lease,omitempty"`
	OtherLease string       `cbor:"otherLease,omitempty"`
	Holder     state.Holder `cbor:"holder"`
	// Load asks for the state together with the lease.
	Load            bool     `cbor:"load,omitempty"`
	Sequence        uint64   `cbor:"sequence,omitempty"`
	OtherSequence   uint64   `cbor:"otherSequence,omitempty"`
	Content         []byte   `cbor:"content,omitempty"`
	OtherContent    []byte   `cbor:"otherContent,omitempty"`
	Records         [][]byte `cbor:"records,omitempty"`
	ID              string   `cbor:"id,omitempty"`
	ExpectedVersion string   `cbor:"version,omitempty"`
	// Modules are digests.
	Modules []string `cbor:"modules,omitempty"`
	// Token is the token of [backend.WithToken]. Token and OtherToken are the fencing tokens of the leases that a step is taken
	// under, 0 for any: a step that comes late, after another lease, finds no lease with its token.
	Token      uint64 `cbor:"token,omitempty"`
	OtherToken uint64 `cbor:"otherToken,omitempty"`

	// again says that it was sent before.
	again bool
}

// size returns how many bytes the content of the request has.
func (r *request) size() int64 {
	size := len(r.Content) + len(r.OtherContent)
	for _, record := range r.Records {
		size += len(record)
	}
	return int64(size)
}

// about describes the command that makes a call.
func (r *request) about() string {
	var about []string
	for _, one := range []struct{ before, text string }{{"", r.Holder.Command}, {"by ", r.Holder.User}, {"on ", r.Holder.Host}, {"of the provider ", r.ID}} {
		if one.text != "" {
			about = append(about, one.before+one.text)
		}
	}
	if r.Other != (state.StackName{}) {
		about = append(about, "to "+r.Other.String())
	}
	return strings.Join(about, " ")
}

// answer has the results of all calls.
type answer struct {
	Failure  *failure           `cbor:"failure,omitempty"`
	Stacks   []state.StackName  `cbor:"stacks,omitempty"`
	Contents *contents          `cbor:"contents,omitempty"`
	Token    uint64             `cbor:"token,omitempty"`
	Names    []string           `cbor:"names,omitempty"`
	Backups  []state.BackupInfo `cbor:"backups,omitempty"`
	Records  [][]byte           `cbor:"records,omitempty"`
	Content  []byte             `cbor:"content"`
	Version  string             `cbor:"version,omitempty"`
	Is       bool               `cbor:"is,omitempty"`
	// Updates says that Records are the history of the stack, which is sent with its state.
	Updates bool `cbor:"updates,omitempty"`
	// NoRecord is why the record of a run that has ended is not stored.
	NoRecord *failure `cbor:"noRecord,omitempty"`
	// NoSpace is why no space can be set aside for the next records.
	NoSpace *failure `cbor:"noSpace,omitempty"`
}

// nameSize is the size of each of many elements besides its text, in bytes.
const nameSize = 64

// size returns how many bytes the content of the answer has.
func (a *answer) size() int64 {
	size := int64(len(a.Content))
	records := func(all [][]byte) {
		for _, record := range all {
			size += int64(len(record)) + nameSize
		}
	}
	if c := a.Contents; c != nil {
		size += int64(len(c.State.Checkpoint))
		records(c.State.Records)
		for _, lost := range c.State.Lost {
			size += int64(len(lost.Record)) + nameSize
		}
	}
	records(a.Records)
	for _, name := range a.Names {
		size += int64(len(name)) + nameSize
	}
	for _, stack := range a.Stacks {
		size += int64(len(stack.Project)+len(stack.Name)) + nameSize
	}
	return size
}

// contents is a [state.Contents] whose damages can be sent.
type contents struct {
	State            state.Contents `cbor:"state"`
	CheckpointDamage *failure       `cbor:"checkpointDamage,omitempty"`
	Damage           *failure       `cbor:"damage,omitempty"`
}

// failure is an error of the store.
type failure struct {
	Kind    string `cbor:"kind,omitempty"`
	Message string `cbor:"message"`
	// Stack and Holder are the fields of a [state.LockedError].
	Stack  state.StackName `cbor:"stack"`
	Holder state.Holder    `cbor:"holder"`
	// File and the following fields belong to a [state.CorruptError] or a [state.NoSpaceError].
	File    string `cbor:"file,omitempty"`
	Offset  int64  `cbor:"offset,omitempty"`
	Reason  string `cbor:"reason,omitempty"`
	Journal bool   `cbor:"journal,omitempty"`
	Remedy  string `cbor:"remedy,omitempty"`
	Saved   bool   `cbor:"saved,omitempty"`
}

// The kinds of errors that are more than a message and a sentinel.
const (
	kindLocked  = "locked"
	kindCorrupt = "corrupt"
	kindNoSpace = "no-space"
)

// kinds are the errors that clients tell apart.
var kinds = []struct {
	name string
	err  error
}{
	{kindLocked, state.ErrLocked},
	{kindCorrupt, state.ErrCorrupt},
	{kindNoSpace, state.ErrNoSpace},
	{"stack-name", state.ErrStackName},
	{"stack-not-found", state.ErrStackNotFound},
	{"stack-exists", state.ErrStackExists},
	{"fenced", state.ErrFenced},
	{"sequence", state.ErrSequence},
	{"no-backup", state.ErrNoBackup},
	{"unsupported", state.ErrUnsupported},
	{"changed", backend.ErrChanged},
	{"newer-schema", backend.ErrNewerSchema},
	{"not-found", fs.ErrNotExist},
	{"no-keys", errors.ErrUnsupported},
}

// hidden returns a function that removes the server's paths from a text: its place, and any other absolute path.
func hidden(place string) func(text string) string {
	return func(text string) string {
		if place != "" {
			text = strings.ReplaceAll(text, place, "the server")
		}
		return absolutePath.Get().ReplaceAllString(text, "${1}a file of the server")
	}
}

// absolutePath is a path of this machine, which no text for clients needs. The text before it is not part of a URL or a name.
var absolutePath = lazyregexp.Regexp{Syntax: `(^|[\s"'(\[=` + "`" + `])(?:file:)?(?:/|[A-Za-z]:[\\/]|\\\\)[^\s"')\],;` + "`" + `]+`}

// failureOf describes an error of the store in a place, which clients do not get to know.
func failureOf(err error, place string) *failure {
	if err == nil {
		return nil
	}
	hide := hidden(place)
	told := func(err error) string {
		var network *net.OpError
		var name *net.DNSError
		if errors.As(err, &network) || errors.As(err, &name) || errors.Is(err, backend.ErrUnreachable) {
			slog.Error("what keeps the stacks cannot be reached", "error", err)
			return "the server cannot reach what keeps the stacks: its log says why"
		}
		return hide(fmt.Sprint(err))
	}
	out := &failure{Message: told(err)}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			out.Kind = k.name
			break
		}
	}
	var locked *state.LockedError
	var corrupt *state.CorruptError
	var space *state.NoSpaceError
	switch {
	case errors.As(err, &locked):
		out.Stack, out.Holder = locked.Stack, locked.Holder
	case errors.As(err, &corrupt):
		out.File, out.Offset, out.Reason = hide(corrupt.File), corrupt.Offset, hide(corrupt.Reason)
		out.Journal, out.Remedy = corrupt.Journal, hide(corrupt.Remedy)
		if corrupt.Cause != nil {
			out.Reason += ": " + told(corrupt.Cause)
		}
	case errors.As(err, &space):
		out.File, out.Saved, out.Reason = hide(space.File), space.Saved, told(space.Cause)
	}
	return out
}

// storeError is an error of the store that a server has.
type storeError struct {
	message string
	kind    error
}

func (e *storeError) Error() string { return e.message }
func (e *storeError) Unwrap() error { return e.kind }

// err returns the error that a failure describes, nil for none. Its texts come from another machine.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	f.clean()
	switch {
	case f.Kind == kindLocked && f.Stack.Name != "":
		return &state.LockedError{Stack: f.Stack, Holder: f.Holder}
	case f.Kind == kindCorrupt && f.File != "":
		return f.damage()
	case f.Kind == kindNoSpace && f.File != "":
		return &state.NoSpaceError{File: f.File + " of the server", Saved: f.Saved, Cause: errors.New(f.Reason)}
	}
	for _, k := range kinds {
		if k.name == f.Kind {
			return &storeError{f.Message, k.err}
		}
	}
	return &storeError{f.Message, nil}
}

// clean has the texts control no terminal, and their lines pass for none of this command.
func (f *failure) clean() {
	for _, text := range []*string{&f.Message, &f.File, &f.Reason, &f.Remedy, &f.Holder.Host, &f.Holder.User, &f.Holder.Command, &f.Stack.Project, &f.Stack.Name} {
		*text = strings.ReplaceAll(printable.Text(*text), "\n", "\n  ")
	}
}

// damage returns a failure as what it describes, nil for none.
func (f *failure) damage() *state.CorruptError {
	if f == nil {
		return nil
	}
	f.clean()
	return &state.CorruptError{File: f.File, Offset: f.Offset, Reason: f.Reason, Journal: f.Journal, Remedy: f.Remedy}
}

// sent returns contents that can be sent, without the place of the store.
func sent(c *state.Contents, place string) *contents {
	if c == nil {
		return nil
	}
	out := &contents{State: *c}
	if c.CheckpointDamage != nil {
		out.CheckpointDamage = failureOf(c.CheckpointDamage, place)
	}
	if c.Damage != nil {
		out.Damage = failureOf(c.Damage, place)
	}
	s := &out.State
	s.CheckpointDamage, s.Damage = nil, nil
	hide := hidden(place)
	for _, text := range []*string{&s.CheckpointFile, &s.JournalFile, &s.CheckpointRemedy, &s.JournalRemedy} {
		*text = hide(*text)
	}
	return out
}

// received returns contents as they were before they were sent.
func (c *contents) received() *state.Contents {
	if c == nil {
		return nil
	}
	out := c.State
	out.CheckpointDamage, out.Damage = c.CheckpointDamage.damage(), c.Damage.damage()
	for _, text := range []*string{&out.CheckpointFile, &out.JournalFile, &out.CheckpointRemedy, &out.JournalRemedy} {
		*text = printable.Line(*text)
	}
	return &out
}

// decoder reads messages. It refuses unknown fields, nested values, and repeated keys.
var decoder = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels: 8, MaxArrayElements: 1 << 20, TagsMd: cbor.TagsForbidden, TimeTag: cbor.DecTagIgnored,
		IndefLength: cbor.IndefLengthForbidden,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

var encoder = func() cbor.UserBufferEncMode {
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()
