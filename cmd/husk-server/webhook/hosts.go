package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Event is something that happened to a repository, as its host reports it.
type Event struct {
	// Kind is what happened.
	Kind Kind `json:"kind"`
	// Number is the number of the change request, and Commit the commit that counts. A comment of some hosts does not name that.
	Number int64  `json:"number"`
	Commit string `json:"commit,omitempty"`
	// Fork says that the change comes from another repository, or from somebody who need not be able to write to this one.
	Fork bool `json:"fork,omitempty"`
	// By is the login of whoever did it.
	By string `json:"by"`
	// Command is what a comment asks for: "preview" or "up".
	Command string `json:"command,omitempty"`
	// Repository and Branch are where the change request is to be merged, and Open says that it can be. A comment of some hosts has only the
	// repository.
	Repository string `json:"repository"`
	Branch     string `json:"branch,omitempty"`
	Open       bool   `json:"open,omitempty"`
}

// Kind is a kind of [Event].
type Kind string

// The kinds of events.
const (
	Changed   Kind = "changed"
	Merged    Kind = "merged"
	Commented Kind = "commented"
)

// host is a kind of host.
type host struct {
	// api is the URL of the API, if there is one for all.
	api string
	// event, delivery, and proof are the headers with the kind of event, the ID of the delivery, and the signature or secret of the host.
	event, delivery, proof string
	// repeated is the header with an ID that stays when the host sends a delivery again, if the ID in delivery does not.
	repeated string
	// isProof reports whether the proof is that of a body.
	isProof func(proof string, secret, body []byte) bool
	// parse returns the event of a body, nil if it is none that counts.
	parse func(kind string, body []byte) (*Event, error)
	// authorize adds the token to a request.
	authorize func(header http.Header, token string)
	// status, comment, change, and archive are the paths of calls, with the repository, and a commit or a number.
	status, comment, change, archive string
	// failure is the status of a commit that failed, and contextField the field with the name of a status.
	failure, contextField string
	// unchanged is the text in the 400 response of a host that refuses a status the commit already has, as after an attempt that was cut off.
	// It is empty if the host accepts such a status.
	unchanged string
	// escape has the name of a repository be one segment of a path.
	escape bool
}

var hosts = map[string]host{
	"github": {
		api: "https://api.github.com", event: "X-GitHub-Event", delivery: "X-GitHub-Delivery", proof: "X-Hub-Signature-256",
		isProof:   isPrefixedSignature,
		parse:     parseGitHub,
		authorize: func(header http.Header, token string) { header.Set("Authorization", "Bearer "+token) },
		status:    "/repos/%s/statuses/%s", comment: "/repos/%s/issues/%d/comments", change: "/repos/%s/pulls/%d", archive: "/repos/%s/tarball/%s",
		failure: "failure", contextField: "context",
	},
	"gitea": {
		event: "X-Gitea-Event", delivery: "X-Gitea-Delivery", proof: "X-Gitea-Signature", isProof: isSignature, parse: parseGitHub,
		authorize: func(header http.Header, token string) { header.Set("Authorization", "token "+token) },
		status:    "/repos/%s/statuses/%s", comment: "/repos/%s/issues/%d/comments", change: "/repos/%s/pulls/%d", archive: "/repos/%s/archive/%s.tar.gz",
		failure: "failure", contextField: "context",
	},
	"gitlab": {
		api: "https://gitlab.com/api/v4", event: "X-Gitlab-Event", delivery: "X-Gitlab-Event-UUID", proof: "X-Gitlab-Token", repeated: "Idempotency-Key",
		isProof:   isSecret,
		parse:     parseGitLab,
		authorize: func(header http.Header, token string) { header.Set("PRIVATE-TOKEN", token) },
		status:    "/projects/%s/statuses/%s", comment: "/projects/%s/merge_requests/%d/notes", archive: "/projects/%s/repository/archive.tar.gz?sha=%s",
		failure: "failed", contextField: "name", unchanged: "Cannot transition status", escape: true,
	},
}

type account struct {
	Login    string `json:"login"`
	Username string `json:"username"`
}

type repository struct {
	FullName string `json:"full_name"`
}

// pull is a change request of GitHub and Gitea.
type pull struct {
	Number int64  `json:"number"`
	State  string `json:"state"`
	Merged bool   `json:"merged"`
	Commit string `json:"merge_commit_sha"`
	Head   struct {
		// Ref is the branch. At Gitea it is refs/pull/NUMBER/head for what was pushed to refs/for/BRANCH, which whoever reads may do.
		Ref        string      `json:"ref"`
		Commit     string      `json:"sha"`
		Repository *repository `json:"repo"` // null once the fork is gone
	} `json:"head"`
	Base struct {
		Branch     string     `json:"ref"`
		Repository repository `json:"repo"`
	} `json:"base"`
}

// event returns the event of a change request as it is.
func (p *pull) event(kind Kind) *Event {
	return &Event{
		Kind: kind, Number: p.Number, Commit: p.Head.Commit, Branch: p.Base.Branch, Repository: p.Base.Repository.FullName, Open: p.State == "open",
		Fork: p.Head.Repository == nil || strings.HasPrefix(p.Head.Ref, "refs/") || !strings.EqualFold(p.Head.Repository.FullName, p.Base.Repository.FullName),
	}
}

func parseGitHub(kind string, body []byte) (*Event, error) {
	var said struct {
		Action     string     `json:"action"`
		Pull       *pull      `json:"pull_request"`
		Repository repository `json:"repository"`
		Sender     account    `json:"sender"`
		Issue      struct {
			Number int64           `json:"number"`
			Pull   json.RawMessage `json:"pull_request"`
		} `json:"issue"`
		Comment struct {
			Body string  `json:"body"`
			User account `json:"user"`
		} `json:"comment"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, err
	}
	var e *Event
	switch {
	case kind == "pull_request" && said.Pull != nil && said.Action == "closed" && said.Pull.Merged:
		e = said.Pull.event(Merged)
		e.Commit = said.Pull.Commit
	case kind == "pull_request" && said.Pull != nil && (said.Action == "opened" || said.Action == "reopened" || strings.HasPrefix(said.Action, "synchronize")):
		e = said.Pull.event(Changed)
	case kind == "issue_comment" && said.Action == "created" && len(said.Issue.Pull) > 0 && string(said.Issue.Pull) != "null":
		e = &Event{Kind: Commented, Number: said.Issue.Number, Command: command(said.Comment.Body)}
	default:
		return nil, nil
	}
	e.By, e.Repository = said.Sender.Login, said.Repository.FullName
	if e.Kind == Commented {
		e.By = said.Comment.User.Login
	}
	return e, nil
}

func parseGitLab(kind string, body []byte) (*Event, error) {
	type request struct {
		Number int64 `json:"iid"`
		Last   struct {
			Commit string `json:"id"`
		} `json:"last_commit"`
		Merge  string `json:"merge_commit_sha"`
		Squash string `json:"squash_commit_sha"`
		Source int64  `json:"source_project_id"`
		Target int64  `json:"target_project_id"`
		Branch string `json:"target_branch"`
		State  string `json:"state"`
	}
	var said struct {
		Project struct {
			Path string `json:"path_with_namespace"`
		} `json:"project"`
		User       account `json:"user"`
		Attributes struct {
			request
			Action string `json:"action"`
			Before string `json:"oldrev"`
			Note   string `json:"note"`
			On     string `json:"noteable_type"`
		} `json:"object_attributes"`
		Request *request `json:"merge_request"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, err
	}
	is, e := said.Attributes.request, &Event{Kind: Changed}
	switch action := said.Attributes.Action; {
	case kind == "Note Hook" && said.Request != nil && said.Attributes.On == "MergeRequest" && (action == "" || action == "create"):
		is, e = *said.Request, &Event{Kind: Commented, Command: command(said.Attributes.Note)}
	case kind == "Merge Request Hook" && action == "merge":
		e.Kind = Merged
	case kind != "Merge Request Hook" || action != "open" && action != "reopen" && (action != "update" || said.Attributes.Before == ""): // of its commits
		return nil, nil
	}
	e.Number, e.Commit, e.By, e.Fork, e.Branch, e.Repository, e.Open = is.Number, is.Last.Commit, said.User.Username, is.Source != is.Target, is.Branch, said.Project.Path, is.State == "opened"
	if e.Kind == Merged {
		for _, commit := range []string{is.Squash, is.Merge} {
			if commit != "" {
				e.Commit = commit
			}
		}
	}
	return e, nil
}

// commandPattern matches the line of a comment that asks for something, which must be its first.
var commandPattern = regexp.MustCompile(`^\s*(?:/husk|husk) (preview|up)\s*(?:\n|$)`)

func command(comment string) string {
	if found := commandPattern.FindStringSubmatch(strings.ReplaceAll(comment, "\r", "")); found != nil {
		return found[1]
	}
	return ""
}

// commitPattern matches a commit, by SHA-1 or SHA-256.
var commitPattern = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

const (
	// callTime bounds a call of a host's API, and maxAnswer its answer, in bytes, but for an archive.
	callTime  = 30 * time.Second
	maxAnswer = 4 << 20
)

// APIError is the answer of a host that refuses a call.
type APIError struct {
	Status int
	Text   string
}

// IsFinal reports whether the same call fails again.
func (e *APIError) IsFinal() bool {
	return e.Status/100 == 4 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

func (e *APIError) Error() string {
	return fmt.Sprintf("the host answers %d to the hook's token: %.300s", e.Status, e.Text)
}

// call calls the API of the hook's host. The caller closes the answer.
func (h *Hook) call(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	var body io.Reader
	if in != nil {
		content, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.API+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "husk-server")
	h.host.authorize(req.Header, string(h.token))
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer>>10))
		return nil, errors.Join(&APIError{resp.StatusCode, string(text)}, resp.Body.Close())
	}
	return resp.Body, nil
}

// client sends a host's own token nowhere else: Go keeps only Authorization from other hosts, and not from other ports and subdomains.
var client = &http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
	const most = 5
	if len(via) > most || req.URL.Scheme != via[0].URL.Scheme {
		return errors.New("the host redirects too often, or to another protocol")
	}
	if req.URL.Host != via[0].URL.Host {
		req.Header.Del("PRIVATE-TOKEN")
		req.Header.Del("Authorization")
	}
	return nil
}}

func (h *Hook) path(format string, of any) string {
	name := h.Repository
	if h.host.escape {
		name = url.PathEscape(name)
	}
	return fmt.Sprintf(format, name, of)
}

// send sends something to the host, and reads its answer into a value, unless that is nil.
func (h *Hook) send(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	body, err := h.call(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err == nil && out != nil {
		err = json.Unmarshal(content, out)
	}
	return err
}

// setStatus sets the status of a commit: "pending", "success", or "failure".
func (h *Hook) setStatus(ctx context.Context, commit, is, text string) error {
	const most = 140 // characters, at GitHub
	if is == "failure" {
		is = h.host.failure
	}
	if all := []rune(text); len(all) > most {
		text = string(all[:most-1]) + "…"
	}
	err := h.send(ctx, http.MethodPost, h.path(h.host.status, commit), map[string]string{"state": is, "description": text, h.host.contextField: "husk/" + h.Name}, nil)
	var refused *APIError
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest && h.host.unchanged != "" && strings.Contains(refused.Text, h.host.unchanged) {
		return nil
	}
	return err
}

func (h *Hook) comment(ctx context.Context, number int64, text string) error {
	return h.send(ctx, http.MethodPost, h.path(h.host.comment, number), map[string]string{"body": text}, nil)
}

// look completes the event of a comment with the change request as it is, if the host has not sent that.
func (h *Hook) look(ctx context.Context, e *Event) error {
	if e.Commit == "" {
		var is pull
		if err := h.send(ctx, http.MethodGet, h.path(h.host.change, e.Number), nil, &is); err != nil {
			return err
		}
		found := is.event(e.Kind)
		e.Commit, e.Fork, e.Branch, e.Open = found.Commit, found.Fork, found.Branch, found.Open
	}
	return nil
}

// archive returns the files of a commit, as a tar file compressed by gzip.
func (h *Hook) archive(ctx context.Context, commit string) (io.ReadCloser, error) {
	return h.call(ctx, http.MethodGet, h.path(h.host.archive, commit), nil)
}
