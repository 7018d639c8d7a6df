package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/trace"
)

const (
	// maxOpen bounds the runs of a tenant that are not final.
	maxOpen = 100_000
	// countedFor is how long their number is taken as known, but for those that this server adds.
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

// selects reports whether a worker with labels takes runs with a selector. An edge worker takes those that ask for it.
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
	role := runapi.Request
	if n.Operation == "preview" {
		role = runapi.Preview
	}
	if err := c.require(role, n.Project); err != nil {
		return nil, err
	}
	var made *record
	err := s.db.step(ctx, func(t *tx) (err error) {
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
	return &made.Run, nil
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
	if !c.may(runapi.Request) && !s.options.PreviewSecrets {
		withheld = 1
	}
	_, err = t.exec("INSERT INTO husk_runs (id, tenant, project, stack, request, bundle, selector, state, previewing, requested_by, requested_person, requested_projects, withheld,"+
		" approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, '', '', 0, '', 0, 0, 0, 0, '', ?, 0, 0)",
		n.ID, c.tenant, n.Project, n.Stack, string(request), n.Bundle, runapi.Selector(n.Labels), previewing, c.name, c.person, string(projects), withheld, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	r, err := t.run(c.tenant, n.ID)
	if err == nil {
		err = t.lockStack(r)
	}
	if err == nil {
		err = t.ready("id = ?", n.ID)
	}
	if err == nil {
		err = t.keep(r)
	}
	return r, err
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
