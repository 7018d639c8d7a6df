package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

var errNotFound = errors.New("there is no such page")

// page is a page in a browser: sections of parts. A part is the unit in which a page is brought up to date.
type page struct {
	Project, Stack string
	Title, Tab     string
	Sections       []section
	MayDeploy      bool
	HasServer      bool
	Version        string
	// Path is the path of the page, with its query.
	Path string
}

// section groups parts. New ones are added at its end.
type section struct {
	ID, Tag, Label string
	// Wide marks what a small screen scrolls sideways.
	Wide  bool
	Parts []part
}

// part has the HTML of one element.
type part struct {
	ID      string `json:"id"`
	Section string `json:"section"`
	HTML    raw    `json:"html"`
	version string
}

func moment(t time.Time) string { return t.Local().Format(time.DateTime) }

func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

func amount(n uint64) string {
	if text := display.Amount(n, ""); text != "" {
		return strings.TrimSpace(text)
	}
	return "0"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s *Server) newPage(w *workspace.Workspace, stack, tab, title string) *page {
	return &page{Project: w.Project.Name, Stack: stack, Tab: tab, Title: title, MayDeploy: s.MayDeploy(), HasServer: s.hasServer(), Version: s.options.Version}
}

// add adds a section.
func (p *page) add(sec section) {
	if sec.Tag == "" {
		sec.Tag = "div"
	}
	for i := range sec.Parts {
		sec.Parts[i].Section = sec.ID
	}
	p.Sections = append(p.Sections, sec)
}

// render returns an element with the markup that a function writes, without secrets.
func (s *Server) render(id, tag, class string, write func(*markup)) part {
	inner := s.options.Secrets.In(string(made(write)))
	sum := sha256.Sum256([]byte(inner))
	version := hex.EncodeToString(sum[:8])
	return part{
		ID: id, version: version,
		HTML: made(func(m *markup) {
			m.f(`<%s id="%s" class="%s" data-v="%s">%s</%s>`, tag, id, class, version, raw(inner), tag)
		}),
	}
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	p, err := s.page(r.Context(), r.URL)
	status := http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
		missing := (*workspace.NoStackError)(nil)
		if errors.Is(err, errNotFound) || errors.Is(err, runlog.ErrNoRecord) || errors.As(err, &missing) {
			status = http.StatusNotFound
		}
		p = s.errorPage(err)
	}
	s.writePage(w, r, status, p)
}

// errorPage returns a page about what went wrong.
func (s *Server) errorPage(err error) *page {
	p := &page{Title: "Error", MayDeploy: s.MayDeploy(), Version: s.options.Version}
	p.add(section{ID: "error", Parts: []part{s.render("error-text", "div", "panel", writeError(err.Error()))}})
	return p
}

func (s *Server) writePage(w http.ResponseWriter, r *http.Request, status int, p *page) {
	if status == http.StatusOK {
		p.Path = r.URL.RequestURI() // an error is not kept up to date
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, string(made(p.write))) // a browser that went away needs nothing
}
