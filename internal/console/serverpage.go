package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

// The limits of pages about a server.
const (
	shownServerRuns = 100
	shownLines      = 2000
)

// hasServer reports whether there are pages about a server.
func (s *Server) hasServer() bool { return s.options.Server != nil }

// serverPage shows what the server of the stacks does, or one of its runs.
func (s *Server) serverPage(ctx context.Context, w *workspace.Workspace, rest []string) (*page, error) {
	if !s.hasServer() || len(rest) > 1 {
		return nil, errNotFound
	}
	if len(rest) == 1 {
		return s.serverRun(ctx, w, rest[0])
	}
	client := s.options.Server
	var status runapi.Status
	var runs []runapi.Run
	if _, err := client.Call(ctx, http.MethodGet, "/v1/status", nil, &status); err != nil {
		return nil, err
	}
	if _, err := client.Call(ctx, http.MethodGet, fmt.Sprint("/v1/runs?limit=", shownServerRuns), nil, &runs); err != nil {
		return nil, err
	}
	p := s.newPage(w, "", "server", "Server")
	p.add(section{ID: "about", Parts: []part{s.render("server-status", "div", "", writeStatus(client.URL(), &status))}})
	p.add(section{ID: "workers", Tag: "section", Label: "Workers", Wide: true, Parts: []part{s.render("server-workers", "div", "", writeWorkers(status.Workers))}})
	p.add(section{ID: "runs", Tag: "section", Label: "Runs", Wide: true, Parts: []part{s.render("server-runs", "div", "", writeServerRuns(runs))}})
	return p, nil
}

func (s *Server) serverRun(ctx context.Context, w *workspace.Workspace, id string) (*page, error) {
	var run runapi.Run
	if _, err := s.options.Server.Call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(id), nil, &run); err != nil {
		var refused *runapi.StatusError
		if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
			return nil, errNotFound
		}
		return nil, err
	}
	var lines []runapi.Line
	left := 0
	err := s.options.Server.Follow(ctx, run.ID, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
		if r != nil {
			return false, nil
		}
		if lines = append(lines, *l); len(lines) > shownLines {
			lines, left = lines[1:], left+1
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	p := s.newPage(w, "", "server", fmt.Sprintf("%s of %s/%s", run.Operation, run.Project, run.Stack))
	p.add(section{ID: "about", Parts: []part{s.render("run-facts", "div", "panel", writeServerRun(&run, s.MayDeploy()))}})
	p.add(section{ID: "log", Tag: "section", Label: "Log", Parts: []part{s.render("run-log", "div", "", writeLog(lines, left))}})
	return p, nil
}

func seconds(s float64) string { return duration(time.Duration(s * float64(time.Second))) }

func writeStatus(place string, status *runapi.Status) func(*markup) {
	return func(m *markup) {
		m.f(`<p class="faint"><code>%s</code>, husk server %s on %s</p>`, display.Escape(place), status.Version, status.Database)
		m.f(`<dl class="facts"><dt>Queued</dt><dd>%v`, status.Runs[runapi.Queued])
		if status.Oldest > 0 {
			m.f(`, the oldest for %s`, seconds(status.Oldest))
		}
		last := status.Last
		m.f(`</dd><dt>Running</dt><dd>%v</dd><dt>To be approved</dt><dd>%v</dd>`, status.Runs[runapi.Running], status.Runs[runapi.Waiting])
		if n := status.Runs[runapi.Attention]; n > 0 {
			m.f(`<dt class="error">Need attention</dt><dd>%v</dd>`, n)
		}
		m.f(`<dt>In the last hour</dt><dd>%v succeeded, %v failed, %v cancelled or rejected</dd>`,
			last[runapi.Succeeded], last[runapi.Failed], last[runapi.Cancelled]+last[runapi.Rejected])
		for _, row := range []struct{ title, key string }{{"Wait for a worker", "queued"}, {"Time of a run", "running"}} {
			m.f(`<dt>%s</dt><dd>median %s, p99 %s</dd>`, row.title, seconds(status.Waits[row.key].Median), seconds(status.Waits[row.key].P99))
		}
		m.f(`</dl>`)
	}
}

func writeWorkers(workers []runapi.WorkerStatus) func(*markup) {
	return func(m *markup) {
		if len(workers) == 0 {
			m.f(`<h2>Workers</h2><p>There are none: <code>husk worker</code> begins one.</p>`)
			return
		}
		m.plainTable("Workers", []string{"Name", "#Runs", "#Slots", "Labels", "Last seen"}, func() {
			for _, w := range workers {
				m.head(display.Escape(w.Name))
				m.numbers(w.Running, w.Slots)
				m.f(`<td>%s</td><td>%s</td></tr>`, display.Escape(strings.ReplaceAll(strings.TrimSpace(runapi.Selector(w.Labels)), "\n", ", ")), timed(w.Seen))
			}
		})
	}
}

func writeServerRuns(runs []runapi.Run) func(*markup) {
	return func(m *markup) {
		if len(runs) == 0 {
			m.f(`<h2>Runs</h2><p>There are none: <code>husk up --remote</code> has a worker do one.</p>`)
			return
		}
		m.plainTable("Runs", []string{"Requested", "State", "Operation", "Stack", "By", "Worker", "#Took"}, func() {
			for i := range runs {
				r := &runs[i]
				m.head(made(func(m *markup) { m.f(`<a href="%s">%s</a>`, "/server/"+url.PathEscape(r.ID), timed(r.Made)) }))
				took := ""
				if !r.Ended.IsZero() && !r.Began.IsZero() {
					took = duration(r.Ended.Sub(r.Began))
				}
				state := made(func(m *markup) {
					m.f(`%s`, resultState(serverState(r.State)))
					if causes := r.Causes(); causes != "" {
						m.f(`<br><span class="faint">waits for %s</span>`, display.Escape(causes))
					}
				})
				m.f(`<td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td class="n">%s</td></tr>`, state, r.Operation,
					display.Escape(r.Project+"/"+r.Stack), display.Escape(r.By), display.Escape(r.Worker), took)
			}
		})
	}
}

// serverState is the word for the state of a run.
func serverState(state runapi.State) string {
	if state == runapi.Waiting {
		return "waiting for approval"
	}
	if state == runapi.Attention {
		return "needs attention"
	}
	return string(state)
}

// decisions are the decisions that a run's page offers in its state: their names in the API, with the texts of the buttons.
func decisions(state runapi.State) [][2]string {
	cancel := [2]string{"cancel", "Cancel"}
	switch state {
	case runapi.Queued:
		return [][2]string{cancel}
	case runapi.Running:
		return [][2]string{{"cancel", "Cancel after the running steps"}}
	case runapi.Waiting:
		return [][2]string{{"approve", "Approve"}, {"reject", "Reject"}}
	case runapi.Attention:
		return [][2]string{{"retry", "Try again"}, cancel}
	}
	return nil
}

// serveDecision sends a decision about a run to the server, and leads to the run's page. The server says who may decide.
func (s *Server) serveDecision(w http.ResponseWriter, r *http.Request) {
	id, decision := r.PathValue("run"), r.PostFormValue("decision")
	path := "/v1/runs/" + url.PathEscape(id) + "/" + decision
	switch decision {
	case "approve", "reject", "retry":
	case "cancel":
		path += "?call=" + url.QueryEscape(id) // pressed twice, it is one call, and stops no running step
	default:
		s.writePage(w, r, http.StatusBadRequest, s.errorPage(fmt.Errorf("there is no decision %q", decision)))
		return
	}
	if _, err := s.options.Server.Call(r.Context(), http.MethodPost, path, nil, nil); err != nil {
		s.writePage(w, r, http.StatusConflict, s.errorPage(err))
		return
	}
	http.Redirect(w, r, "/server/"+url.PathEscape(id), http.StatusSeeOther)
}

func writeServerRun(r *runapi.Run, mayDecide bool) func(*markup) {
	return func(m *markup) {
		m.f(`<p>%s</p><dl class="facts">`, resultState(serverState(r.State)))
		fact := func(title string, value any) { m.f(`<dt>%s</dt><dd>%s</dd>`, title, value) }
		fact("Run", r.ID)
		if causes := r.Causes(); causes != "" {
			fact("Waits for", display.Escape(causes))
		}
		fact("Requested", made(func(m *markup) { m.f(`%s by %s`, timed(r.Made), display.Escape(r.By)) }))
		if r.Message != "" {
			fact("For", display.Escape(r.Message))
		}
		if r.ApprovedBy != "" {
			fact("Approved by", display.Escape(r.ApprovedBy))
		}
		if r.Worker != "" {
			fact("Worker", display.Escape(r.Worker))
		}
		if r.Attempt > 1 {
			fact("Attempts", r.Attempt)
		}
		if !r.Began.IsZero() {
			fact("Began", timed(r.Began))
		}
		if !r.Ended.IsZero() {
			fact("Ended", timed(r.Ended))
		}
		m.f(`</dl>`)
		if r.Reason != "" {
			m.f(`<p class="error">%s</p>`, display.Escape(r.Reason))
		}
		if r.State == runapi.Waiting && !mayDecide {
			m.f(`<p><code>husk remote approve %s</code>, or <code>reject</code>, answers it.</p>`, r.ID)
		}
		if r.State == runapi.Attention {
			m.f(`<p>Look for it, and take it over: <code>husk refresh --adopt-pending-creates</code>. Then <code>husk remote retry %s</code>, or <code>cancel</code>.</p>`, r.ID)
		}
		if offered := decisions(r.State); mayDecide && len(offered) > 0 {
			m.f(`<form method="post" action="/server/%s">`, url.PathEscape(r.ID))
			for _, one := range offered {
				m.f(`<button name="decision" value="%s" id="%s">%s</button> `, one[0], one[0], one[1])
			}
			m.f("</form>")
		}
		m.f(`<p><a href="/server">All runs</a></p>`)
	}
}

func writeLog(lines []runapi.Line, left int) func(*markup) {
	return func(m *markup) {
		m.f(`<h2>Log</h2>`)
		if left > 0 {
			m.f(`<p class="faint">%s before these, which <code>husk remote log</code> shows, left out.</p>`, plural(left, "line"))
		}
		var text strings.Builder
		for _, l := range lines {
			text.WriteString(l.Who() + " | " + display.Escape(display.WithoutColour(l.Text)) + "\n")
		}
		if text.Len() == 0 {
			m.f(`<p class="faint">There is nothing yet.</p>`)
			return
		}
		m.value("value log", strings.TrimSuffix(text.String(), "\n"))
	}
}
