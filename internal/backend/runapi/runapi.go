// Package runapi has the messages between husk server, husk worker, and the commands that use them: runs of operations on stacks,
// over HTTP in JSON.
package runapi

import (
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/trace"
)

// MaxMessage bounds the message of a run, and each of its options, in bytes.
const MaxMessage = 4096

// EdgeLabel is the label with which runs ask for an edge worker. Its value is the name of the worker.
const EdgeLabel = "edge"

// The operations that a run can have.
var Operations = []string{"up", "preview", "refresh", "destroy"}

// State is how far a run is.
type State string

// The states of a run.
const (
	// Queued runs wait for a worker, and for other runs of their stack.
	Queued State = "queued"
	// Running runs have a worker.
	Running State = "running"
	// Waiting runs have a preview, which somebody else is to approve.
	Waiting State = "waiting"
	// Attention is the state of runs that have lost a worker while it created something: whether that exists is not known.
	Attention State = "attention"
	// These are final.
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	Rejected  State = "rejected"
)

// UnsettledReason is why a run needs [Attention].
const UnsettledReason = "an earlier worker may have created an object without a record"

// IsFinal reports whether a run does not go on.
func (s State) IsFinal() bool {
	return s == Succeeded || s == Failed || s == Cancelled || s == Rejected
}

// Role is the set of rights of a token in its projects.
type Role string

// The roles. Each includes the rights of the roles before it, except [Work].
const (
	Read    Role = "read"    // see stacks, runs, and their logs
	Preview Role = "preview" // request previews
	Request Role = "request" // request runs that change something, and write stacks
	Approve Role = "approve" // approve the runs of others
	Admin   Role = "admin"   // make tokens and schedules, and see the server's status
	Work    Role = "work"    // take runs
)

// Roles are the roles of people, from the least rights to the most.
var Roles = []Role{Read, Preview, Request, Approve, Admin}

// NewRun asks for a run.
type NewRun struct {
	// ID is chosen by who asks, so that a request whose answer is lost can be sent again: 26 random letters and digits.
	ID        string `json:"id"`
	Project   string `json:"project"`
	Stack     string `json:"stack"`
	Operation string `json:"operation"`
	// Bundle is the digest of the project's files, and Directory where the project is in them.
	Bundle    string `json:"bundle"`
	Directory string `json:"directory,omitempty"`
	// Options are flags of the operation, such as --target=URN.
	Options []string `json:"options,omitempty"`
	// Variables are the variables of the run's providers and program, sealed by who asks with the key that the server keeps.
	Variables []byte `json:"variables,omitempty"`
	// Labels are the labels that a worker must have.
	Labels map[string]string `json:"labels,omitempty"`
	// Approval asks for a preview first, which somebody else approves.
	Approval bool `json:"approval,omitempty"`
	// JSON asks for a log of JSON lines, and Colour for one with colours.
	JSON   bool `json:"json,omitempty"`
	Colour bool `json:"colour,omitempty"`
	// Message is the reason for the run.
	Message string `json:"message,omitempty"`
	// Traceparent is the span that asks for the run, as a header traceparent has it, if there is one.
	Traceparent string `json:"traceparent,omitempty"`
}

// Run is one run, as the server has it.
type Run struct {
	NewRun
	State State `json:"state"`
	// Previewing says that the worker makes the preview that is to be approved.
	Previewing bool `json:"previewing,omitempty"`
	// By is the token that asked for it, and Person whose that is: see [Token.Person].
	By         string `json:"by"`
	Person     string `json:"person,omitempty"`
	ApprovedBy string `json:"approvedBy,omitempty"`
	Worker     string `json:"worker,omitempty"`
	// Attempt is 1 for the first worker that has it.
	Attempt int `json:"attempt"`
	// Reason says why a run failed or was refused, if its log does not.
	Reason string `json:"reason,omitempty"`
	// WaitsFor says what keeps a run from going on that has not ended, as far as that is more than a worker that is free.
	WaitsFor []Cause   `json:"waitsFor,omitempty"`
	Made     time.Time `json:"made"`
	Began    time.Time `json:"began,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
}

// Cause is the reason why a run waits.
type Cause struct {
	// For is one of the causes below, and Text says it to people, as what follows "waits for".
	For  string `json:"for"`
	Text string `json:"text"`
}

// The causes for which runs wait.
const (
	// ForWorker and ForLabels wait for a worker that is not connected: any for their project, or one with their labels.
	ForWorker = "worker"
	ForLabels = "labels"
	// ForLimit waits for other runs of its team, or with one of its labels, because no more of them go at once.
	ForLimit = "limit"
	// ForStack waits for another run of its stack, and ForLock for another holder of the stack's lock.
	ForStack = "stack"
	ForLock  = "lock"
	// ForApproval waits for a person who approves it, and ForAttention for one who retries it.
	ForApproval  = "approval"
	ForAttention = "attention"
)

// Causes says to people what the run waits for, and is empty if there is nothing to say.
func (r *Run) Causes() string {
	var texts []string
	for _, cause := range r.WaitsFor {
		texts = append(texts, cause.Text)
	}
	return strings.Join(texts, ", and for ")
}

// Span returns the ID of the span of a run, which the server records and its workers continue, and the ID of the span that asked
// for it.
func (r *Run) Span() (id, parent trace.ID) {
	parent, _ = trace.ParseTraceparent(r.Traceparent)
	return trace.IDOf("husk run "+r.ID, parent), parent
}

// Line is a line of the log of a run.
type Line struct {
	// Number is its place in the log, from 1.
	Number int64 `json:"number"`
	// Stream is "out" or "err" for the run's output, "worker" for lines of its worker, and "server" for lines of the server,
	// which no worker can write.
	Stream string    `json:"stream"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
}

// Who names the speaker of a line, before the line where people read it.
func (l *Line) Who() string {
	if l.Stream == Server {
		return "server"
	}
	return "worker"
}

// The streams of a log.
const (
	Out    = "out"
	Err    = "err"
	Worker = "worker"
	Server = "server"
)

// Ask is a worker's question for a run.
type Ask struct {
	Worker string            `json:"worker"`
	Labels map[string]string `json:"labels,omitempty"`
	// Slots is how many runs the worker takes at once, and Running how many it has.
	Slots   int `json:"slots"`
	Running int `json:"running"`
	// Seconds is how long the server may wait for a run.
	Seconds int `json:"seconds"`
}

// Claim is a run that a worker has taken.
type Claim struct {
	Run
	// Team is whose run it is. Workers of several teams keep the teams' data apart.
	Team string `json:"team"`
	// Token is for the state, the bundle, and the log of the run, as long as the worker has it.
	Token string `json:"token"`
	// Withheld says that no secrets are decrypted for the run: who asked for it may only preview.
	Withheld bool `json:"withheld,omitempty"`
	// Next is the number of the next line of the log.
	Next int64 `json:"next"`
	// StopOnPending says that the run does nothing while it is not known what an earlier worker has made: its options say so as well.
	StopOnPending bool `json:"stopOnPending,omitempty"`
	// Plan is the approved plan, if the approval is of one.
	Plan []byte `json:"plan,omitempty"`
	// BeatSeconds is how often the worker must be heard of.
	BeatSeconds float64 `json:"beatSeconds"`
}

// Beat is a worker's report on a run that it has.
type Beat struct {
	Lines []Line `json:"lines,omitempty"`
}

// Answer is the server's answer to a [Beat].
type Answer struct {
	// Cancel asks the worker to interrupt the run: 1 to stop after the steps that are running, 2 to stop them.
	Cancel int `json:"cancel,omitempty"`
}

// End is how a run ended at a worker.
type End struct {
	// Outcome is Succeeded or Failed, or Queued if the run is to go on elsewhere: at once because the worker stops, or, with a
	// reason, after a while and not for ever. It is Attention if the run has done nothing because an earlier worker may have made
	// an object.
	Outcome State  `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Plan is the plan of a run that needs approval, from its preview.
	Plan []byte `json:"plan,omitempty"`
}

// Report is a run that a worker made on its own, while it may have had no connection.
type Report struct {
	Run
	Lines []Line `json:"lines"`
	// Of is the ID of the server's run whose end this is, if the server may not have heard of that.
	Of string `json:"of,omitempty"`
}

// Unrecorded has the objects that a run made after it was taken from its worker, or while the server could not be reached.
type Unrecorded struct {
	// Run is its ID, and Token the one that the worker had for it.
	Run   string `json:"run"`
	Token string `json:"token"`
	// Lease is the fencing token of the lease of the stack that the run has lost, on whose state the records follow.
	Lease   uint64        `json:"lease"`
	Records []StateRecord `json:"records"`
}

// StateRecord is a record of the journal of a stack.
type StateRecord struct {
	Sequence uint64 `json:"sequence"`
	Record   []byte `json:"record"`
}

// Token is one that the server has issued.
type Token struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	Role   Role   `json:"role"`
	// Projects are those it is for, empty for all. A * stands for any text.
	Projects []string  `json:"projects,omitempty"`
	Made     time.Time `json:"made,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	// Person is who uses it, as far as approval goes. The tokens that somebody issues are that person's.
	Person string `json:"person,omitempty"`
	// By is the token that has issued it, empty for the server's operator.
	By string `json:"by,omitempty"`
	// Used is when it was last used, as of a minute ago, zero if it never was.
	Used time.Time `json:"used,omitzero"`
	// Secret is the token itself, which only the answer that issues it has.
	Secret string `json:"secret,omitempty"`
}

// AuditEntry is an entry of the audit log of a team: who did something, or was refused it.
type AuditEntry struct {
	// Number counts the entries of all teams.
	Number int64     `json:"number"`
	Time   time.Time `json:"time"`
	// Token did it, and Person is whose that is: see [Token.Person]. Both are empty for the server's operator.
	Token  string `json:"token,omitempty"`
	Person string `json:"person,omitempty"`
	// From is the address of the connection, a proxy's if there is one.
	From string `json:"from,omitempty"`
	// Action is the action, such as "token.issue", or [Refused].
	Action string `json:"action"`
	// Subject is the name of the action's object: a token, a run, a schedule, or a stack. Of a refusal it is the request.
	Subject string `json:"subject"`
	Detail  string `json:"detail,omitempty"`
}

// Refused is the action of an [AuditEntry] for a request that the token did not allow.
const Refused = "refused"

// Schedule repeats a run.
type Schedule struct {
	Name string `json:"name"`
	// Cron says when, in five fields and in UTC.
	Cron string `json:"cron"`
	Run  NewRun `json:"run"`
	By   string `json:"by,omitempty"`
	// Next is zero if the schedule has stopped.
	Next time.Time `json:"next,omitzero"`
	// Last is the ID of its last run.
	Last string `json:"last,omitempty"`
	// Reason says why the schedule has stopped, or why its last time began no run.
	Reason string `json:"reason,omitempty"`
}

// Status is the state of a server.
type Status struct {
	Version string `json:"version"`
	// Database is "sqlite" or "postgres".
	Database string          `json:"database"`
	Runs     map[State]int   `json:"runs"`
	Oldest   float64         `json:"oldestQueuedSeconds"`
	Workers  []WorkerStatus  `json:"workers"`
	Last     map[State]int   `json:"lastHour"`
	Waits    map[string]Wait `json:"waits"`
}

// Wait has quantiles of times of the last hour, in seconds.
type Wait struct {
	Median float64 `json:"p50"`
	P99    float64 `json:"p99"`
}

// WorkerStatus is a worker as the server last heard of it.
type WorkerStatus struct {
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitempty"`
	Slots   int               `json:"slots"`
	Running int               `json:"running"`
	Seen    time.Time         `json:"seen"`
}

// Who describes the owner of a token.
type Who struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	Role   Role   `json:"role"`
	// Person is [Token.Person].
	Person string `json:"person,omitempty"`
}

// Login asks for a token by an identity elsewhere: by a token of OpenID Connect, or by a [DeviceLogin] that was begun.
type Login struct {
	IdentityToken string `json:"identityToken,omitempty"`
	// Issuer and Device identify the login that was begun.
	Issuer string `json:"issuer,omitempty"`
	Device string `json:"device,omitempty"`
	// Team is the team of the wanted token, empty if the identity has only one.
	Team string `json:"team,omitempty"`
}

// LoggedIn is the answer to a [Login]: a token, or how many seconds later to ask again.
type LoggedIn struct {
	Token *Token `json:"token,omitempty"`
	Wait  int    `json:"wait,omitempty"`
}

// DeviceLogin is a login that a person confirms in a browser, on any device. The client names the issuer if there are several.
type DeviceLogin struct {
	Issuer string `json:"issuer,omitempty"`
	// Device is the code with which the client polls the login.
	Device string `json:"device,omitempty"`
	// UserCode is the code that the person enters at URL. WholeURL is URL with the code, empty if the issuer sends none.
	UserCode string `json:"userCode,omitempty"`
	URL      string `json:"url,omitempty"`
	WholeURL string `json:"wholeUrl,omitempty"`
	// Seconds is the lifetime of the codes, and Wait the number of seconds before the first poll.
	Seconds int `json:"seconds,omitempty"`
	Wait    int `json:"wait,omitempty"`
}

// Problem is the body of an answer that refuses something.
type Problem struct {
	Error string `json:"error"`
}
