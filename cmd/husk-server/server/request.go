package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/trace"
)

const (
	// maxOpen bounds the runs of a tenant that are not final.
	maxOpen = 100_000
	// countedFor is how long their known number counts as up to date, apart from the ones that this server adds.
	countedFor = 5 * time.Second
)

// counted is a number of runs, and when they were counted.
type counted struct {
	count int
	at    time.Time
}

var labelPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)

// labelsIn calls yield for each label of a selector, as NAME=VALUE.
func labelsIn(selector string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(selector) {
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// selects reports whether a worker with labels takes runs with a selector. An edge worker takes runs that ask for it.
func selects(selector string, labels map[string]string) bool {
	if name, edge := labels[runapi.EdgeLabel]; edge && !slices.Contains(slices.Collect(labelsIn(selector)), runapi.EdgeLabel+"="+name) {
		return false
	}
	for label := range labelsIn(selector) {
		name, value, _ := strings.Cut(label, "=")
		if is, ok := labels[name]; !ok || is != value {
			return false
		}
	}
	return true
}

func checkLabels(labels map[string]string) error {
	const most = 32
	if len(labels) > most {
		return refusef(http.StatusBadRequest, "there are %d labels, and at most %d are allowed", len(labels), most)
	}
	for name, value := range labels {
		if !labelPattern.MatchString(name) || !labelPattern.MatchString(value) {
			return refusef(http.StatusBadRequest, "the label %q=%q: names and values have letters, digits, and \"._-/\", and at most 63 of them", name, value)
		}
	}
	return nil
}

func checkNewRun(n *runapi.NewRun) error {
	if err := n.Check(); err != nil {
		return refusef(http.StatusBadRequest, "%v", err)
	}
	if !n.Changes() && n.Approval {
		return refusef(http.StatusBadRequest, "a preview changes nothing, and needs no approval")
	}
	if _, ok := trace.ParseTraceparent(n.Traceparent); !ok && n.Traceparent != "" {
		return refusef(http.StatusBadRequest, "%q is not a traceparent", n.Traceparent)
	}
	return checkLabels(n.Labels)
}

// request queues a run. One with the same ID that the caller has queued before is returned.
func (s *Server) request(ctx context.Context, c *caller, n runapi.NewRun) (*runapi.Run, error) {
	if n.ID == "" {
		n.ID = rand.Text()
	}
	if err := checkNewRun(&n); err != nil {
		return nil, err
	}
	if err := c.require(roleFor(n.Operation), n.Project); err != nil {
		return nil, err
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = s.roomForRequest(ctx, c.tenant, len(text))
	}
	if err != nil {
		return nil, err
	}
	var made *record
	err = s.db.step(ctx, func(t *tx) (err error) {
		if made, err = t.known(c, n.ID); made != nil || err != nil {
			if made != nil && made.By != c.name {
				return refusef(http.StatusConflict, "the ID of the run is in use: choose another")
			}
		} else {
			made, err = s.queue(t, c, n)
		}
		if err != nil {
			return err
		}
		return s.explain(t, made)
	})
	if err != nil {
		return nil, err
	}
	s.madeWay(ctx, made)
	return &made.Run, nil
}

const (
	// openOfStrangers are the open runs of a stack that webhooks have asked for strangers, such as previews of changes from forks.
	openOfStrangers = " FROM husk_runs WHERE tenant = ? AND project = ? AND stack = ? AND state IN ('queued', 'running', 'waiting') AND withheld = 1 AND requested_by LIKE 'webhook %'"
	// maxStrangers bounds them: each may be long, and the next begins once it has ended.
	maxStrangers = 100
)

// makeWay cancels the runs of strangers on the stack of r, and returns them. Such runs change nothing, and can be repeated.
func (t *tx) makeWay(c *caller, r *record) (cancelled []*record, err error) {
	open, err := t.texts("SELECT id"+openOfStrangers+" AND cancel < ?", r.tenant, r.Project, r.Stack, mostCancel)
	for _, id := range open {
		var one *record
		if one, err = t.run(r.tenant, id); err == nil {
			err = t.cancel(c, one, mostCancel)
		}
		if err == nil {
			err = t.decided(c, one, "cancel")
		}
		if err != nil {
			return nil, err
		}
		cancelled = append(cancelled, one)
	}
	return cancelled, err
}

// roomForStranger returns an error if too many runs of strangers are open on the stack of r, which is locked.
func (t *tx) roomForStranger(r *record) error {
	var open int
	if err := t.row("SELECT count(*)"+openOfStrangers, r.tenant, r.Project, r.Stack).Scan(&open); err != nil {
		return err
	}
	if open >= maxStrangers {
		return tryLaterf(http.StatusTooManyRequests, "%d runs of strangers are waiting already for %s/%s", open, r.Project, r.Stack)
	}
	return nil
}

// madeWay calls [Server.ended] for the runs that [tx.makeWay] cancelled for r.
func (s *Server) madeWay(ctx context.Context, r *record) {
	for _, one := range r.cancelled {
		s.ended(ctx, one)
	}
}

// queue adds a run that was checked. The server may want an approval that who asks, or has asked for a schedule, does not.
func (s *Server) queue(t *tx, c *caller, n runapi.NewRun) (*record, error) {
	if s.options.RequireApproval && n.Changes() {
		n.Approval = true
	}
	if err := s.roomForRun(t, c.tenant); err != nil {
		return nil, err
	}
	if err := t.hasBundle(c.tenant, n.Bundle); err != nil {
		return nil, err
	}
	request, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	projects, err := json.Marshal(append([]string{}, c.projects...))
	if err != nil {
		return nil, err
	}
	previewing, withheld := 0, 0
	if n.Approval {
		previewing = 1
	}
	if c.stranger || !c.may(runapi.Request) && !s.options.PreviewSecrets {
		withheld = 1
	}
	stack := &record{tenant: c.tenant, Run: runapi.Run{NewRun: runapi.NewRun{Project: n.Project, Stack: n.Stack}}}
	if err := t.lockStack(stack); err != nil {
		return nil, err
	}
	var cancelled []*record
	if c.stranger {
		err = t.roomForStranger(stack)
	} else {
		cancelled, err = t.makeWay(c, stack)
	}
	if err != nil {
		return nil, err
	}
	_, err = t.exec("INSERT INTO husk_runs (id, tenant, project, stack, request, bundle, selector, state, previewing, requested_by, requested_person, asker, asked_with, requested_projects, withheld,"+
		" approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, '', '', 0, '', 0, 0, 0, 0, '', ?, 0, 0)",
		n.ID, c.tenant, n.Project, n.Stack, string(request), n.Bundle, runapi.Selector(n.Labels), previewing, c.name, c.person, identity.PersonKey(c.person), cmp.Or(c.hash, byWebhook), string(projects), withheld, millis(t.Now()))
	if err != nil {
		return nil, err
	}
	r, err := t.run(c.tenant, n.ID)
	if err != nil {
		return nil, err
	}
	r.cancelled = cancelled
	if err := t.ready("id = ?", n.ID); err != nil {
		return nil, err
	}
	return r, t.keep(r)
}

// roomForRun returns an error if a tenant has too many runs that are not final. They are counted at times, as there may be many, and before
// one is refused.
func (s *Server) roomForRun(t *tx, tenant string) error {
	s.mu.Lock()
	known := s.open[tenant]
	s.mu.Unlock()
	if known.count++; known.count > maxOpen || time.Since(known.at) > countedFor {
		if err := t.row("SELECT count(*) FROM husk_runs WHERE tenant = ? AND state IN ('queued', 'running', 'waiting')", tenant).Scan(&known.count); err != nil {
			return err
		}
		if known.count >= maxOpen {
			return refusef(http.StatusTooManyRequests, "%d runs of %s are waiting already", known.count, tenant)
		}
		known.count++
		known.at = time.Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[tenant] = known
	return nil
}
