package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// Server has the runs that hooks begin.
type Server interface {
	// AddTask has [Config.Work] do a task, on any server of the database. It reports whether the task is new: hook, delivery, and step tell
	// tasks apart.
	AddTask(ctx context.Context, t Task) (isNew bool, err error)
	// KeepBundle keeps the files of a project for a run, and returns their digest.
	KeepBundle(ctx context.Context, by Asker, content []byte) (digest string, err error)
	// Ask asks for a run, or returns the run with its ID if the hook has asked for that before.
	Ask(ctx context.Context, by Asker, n runapi.NewRun) (*runapi.Run, error)
	// Look returns a run of a team, and the last lines of its output.
	Look(ctx context.Context, team, run string) (*runapi.Run, string, error)
	// Audit adds an entry to the audit log of a team.
	Audit(ctx context.Context, by Asker, action, subject, detail string) error
}

// Asker is whom a hook asks for a run for.
type Asker struct {
	Team, Name, Person string
	Role               runapi.Role
	// Project is the project of the hook, the only one.
	Project string
	// Stranger says that no secrets are decrypted for the run, whatever the server decrypts for previews.
	Stranger bool
	// From is the address of the host.
	From string
}

// Task is a step of what a hook does about a delivery.
type Task struct {
	Hook     string `json:"hook" river:"unique"`
	Delivery string `json:"delivery" river:"unique"`
	// Step is what was done before.
	Step  Step   `json:"step" river:"unique"`
	Event *Event `json:"event"`
	// Run is the ID of the run, which the body of the delivery determines: nobody has it begin another by sending it again.
	Run  string `json:"run"`
	From string `json:"from"`
}

// Kind names the tasks among those of the server.
func (Task) Kind() string { return "husk_webhook" }

// Step is how far a delivery is.
type Step string

// The steps.
const (
	Received Step = "received"
	// Asked steps have a run, and Told ones have said that it waits for approval.
	Asked Step = "asked"
	Told  Step = "told"
)

// RefusedError is the answer to a delivery that is refused.
type RefusedError struct {
	Status int
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

func refusef(status int, format string, args ...any) error {
	return &RefusedError{status, fmt.Sprintf(format, args...)}
}

// MaxBody bounds the body of a delivery, in bytes.
const MaxBody = 2 << 20

// maxDelivery bounds the ID of a delivery, in bytes.
const maxDelivery = 100

// Receive checks a delivery, and adds the task that it asks for. It reports whether there is one that is new.
func (c *Config) Receive(ctx context.Context, s Server, name string, header http.Header, body []byte, from string) (isNew bool, err error) {
	h := c.Hook(name)
	if h == nil {
		return false, refusef(http.StatusNotFound, "there is no hook %.80q", name)
	}
	if !h.host.isProof(header.Get(h.host.proof), h.secret, body) {
		return false, refusef(http.StatusUnauthorized, "the delivery has no valid %s: give the host the secret of the hook %s", h.host.proof, name)
	}
	delivery := cmp.Or(header.Get(h.host.repeated), header.Get(h.host.delivery))
	if delivery == "" || len(delivery) > maxDelivery {
		return false, refusef(http.StatusBadRequest, "the delivery has no %s", h.host.delivery)
	}
	e, err := h.host.parse(header.Get(h.host.event), body)
	if err != nil {
		return false, refusef(http.StatusBadRequest, "the body of the delivery cannot be understood: %v", err)
	}
	if e == nil || e.Kind == Commented && e.Command == "" || e.Branch != "" && e.Branch != h.Branch {
		return false, nil
	}
	if !strings.EqualFold(e.Repository, h.Repository) {
		return false, refusef(http.StatusForbidden, "the hook %s is for the repository %s, and not for %.200q", name, h.Repository, e.Repository)
	}
	sum := sha256.Sum256(append([]byte(name+"\x00"), body...))
	return s.AddTask(ctx, Task{Hook: name, Delivery: delivery, Step: Received, Event: e, Run: base32.StdEncoding.EncodeToString(sum[:])[:26], From: from})
}

func (h *Hook) asker(p *Person, from string) Asker {
	return Asker{Team: h.Team, Name: "webhook " + h.Name, Person: p.Person, Role: p.Role, Project: h.Project, From: from}
}

// soon and late are after which time a run is looked at again that goes on, and one that waits for a person.
var soon, late = 5 * time.Second, time.Minute

// Work does a task. It returns after which time the task is to be done again, 0 if it is done. A [RefusedError] is final.
func (c *Config) Work(ctx context.Context, s Server, t Task) (again time.Duration, err error) {
	h := c.Hook(t.Hook)
	if h == nil {
		return 0, refusef(http.StatusNotFound, "there is no hook %q any more", t.Hook)
	}
	if t.Step == Received {
		return 0, h.begin(ctx, s, t)
	}
	run, output, err := s.Look(ctx, h.Team, t.Run)
	if err != nil {
		return 0, err
	}
	switch {
	case run.State.IsFinal():
		return 0, h.report(ctx, t, run, output)
	case t.Step == Told || run.State == runapi.Attention:
		return late, nil
	case run.State != runapi.Waiting:
		return soon, nil
	}
	if err := h.comment(ctx, t.Event.Number, fmt.Sprintf("`%s` of `%s/%s` at %s would change this, and waits for the approval of another person than %s: `husk remote approve %s`\n\n%s",
		run.Operation, run.Project, run.Stack, t.Event.Commit, run.Person, run.ID, fenced(output))); err != nil {
		return 0, err
	}
	t.Step = Told
	_, err = s.AddTask(ctx, t)
	return 0, err
}

// GiveUp sets the status of a commit to failure, because its task is not tried again.
func (c *Config) GiveUp(ctx context.Context, t Task, reason string) error {
	h := c.Hook(t.Hook)
	if h == nil || !commitPattern.MatchString(t.Event.Commit) {
		return nil // it has no status of the hook
	}
	return h.setStatus(ctx, t.Event.Commit, "failure", reason)
}

// begin asks for the run of an event, if whoever has caused it may.
func (h *Hook) begin(ctx context.Context, s Server, t Task) error {
	e := t.Event
	if err := h.look(ctx, e); err != nil {
		return err
	}
	if !commitPattern.MatchString(e.Commit) {
		return refusef(http.StatusBadRequest, "%.80q is not a commit", e.Commit)
	}
	by, operation, why := h.rights(e)
	by.From = t.From
	if why == "" && e.Kind == Commented && (!e.Open || e.Branch != h.Branch) {
		why = "the change request is not open, or not for the branch " + h.Branch
	}
	subject := fmt.Sprintf("%s of %s/%s", operation, h.Project, h.Stack)
	if why != "" {
		if err := s.Audit(ctx, by, runapi.Refused, subject, fmt.Sprintf("%s by %s, !%d: %s", e.Kind, e.By, e.Number, why)); err != nil {
			return err
		}
		if e.Kind == Commented {
			return nil // strangers have nothing written
		}
		return h.setStatus(ctx, e.Commit, "failure", "not run: "+why)
	}
	if err := h.setStatus(ctx, e.Commit, "pending", operation+" waits for a worker"); err != nil {
		return err
	}
	content, err := h.pack(ctx, e.Commit)
	var bad *projectError
	if errors.As(err, &bad) {
		return h.setStatus(ctx, e.Commit, "failure", bad.Error())
	}
	if err != nil {
		return err
	}
	digest, err := s.KeepBundle(ctx, by, content)
	if err != nil {
		return err
	}
	n := runapi.NewRun{
		ID: t.Run, Project: h.Project, Stack: h.Stack, Operation: operation, Bundle: digest, Labels: h.Labels,
		Approval: operation != "preview" && !h.WithoutApproval, Message: fmt.Sprintf("%s at %s, change request %d of %s by %s", h.Repository, e.Commit, e.Number, h.Host, e.By),
	}
	if e.Fork && operation == "preview" {
		n.Labels = h.ForkLabels
	}
	run, err := s.Ask(ctx, by, n)
	if err != nil {
		return err
	}
	if err := s.Audit(ctx, by, "webhook."+operation, run.ID, n.Message); err != nil {
		return err
	}
	t.Step, t.Run = Asked, run.ID
	_, err = s.AddTask(ctx, t)
	return err
}

// rights returns for whom an event asks for which operation, and why not. What comes from a fork is code of a stranger, whoever comments
// on it, until it is merged.
func (h *Hook) rights(e *Event) (by Asker, operation, why string) {
	p := h.person(e.By)
	known := p != nil
	if !known {
		p = &Person{Person: h.Host + ":" + e.By}
	}
	by, operation = h.asker(p, ""), "preview"
	if e.Kind == Merged || e.Command == "up" {
		operation = "up"
	}
	fromFork := e.Fork && e.Kind != Merged
	switch {
	case operation == "up" && fromFork:
		return by, operation, "a change from a fork is merged before it is run"
	case operation == "up" && (!known || p.Role != runapi.Request):
		return by, operation, e.By + " is not among the people of the hook with the role request"
	case e.Kind == Commented && !known:
		return by, operation, e.By + " is not among the people of the hook"
	case fromFork && len(h.ForkLabels) == 0:
		return by, operation, "the hook has no workers for forks (forkLabels)"
	case fromFork:
		by.Stranger, by.Role = true, runapi.Preview
	case e.Kind != Commented: // whoever may push to the repository
		by.Role = runapi.Request
	}
	return by, operation, ""
}

// report tells how a run has ended.
func (h *Hook) report(ctx context.Context, t Task, run *runapi.Run, output string) error {
	status := "failure"
	if run.State == runapi.Succeeded {
		status = "success"
	}
	text := fmt.Sprintf("%s %s", run.Operation, run.State)
	if err := h.comment(ctx, t.Event.Number, fmt.Sprintf("`%s` of `%s/%s` at %s has %s (run `%s`). %s\n\n%s", run.Operation, run.Project, run.Stack, t.Event.Commit, run.State, run.ID, plain(run.Reason), fenced(output))); err != nil {
		return err
	}
	return h.setStatus(ctx, t.Event.Commit, status, text)
}

// plain returns a text without what comments of hosts give a meaning to, such as the name of a person.
func plain(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("@#`<>[]!", c) {
			return ' '
		}
		return c
	}, text)
}

// fenced returns a text as a comment shows it, in which it cannot end its fence.
func fenced(text string) string {
	const longest = "````````````````" // hosts refuse long comments
	text = strings.ReplaceAll(text, longest, strings.Repeat("'", len(longest)))
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
