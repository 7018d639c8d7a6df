package fakeservice

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
)

// gitea has organizations, and their repositories.
type gitea struct {
	orgs *store
	mu   sync.Mutex
	// repositories are by the path OWNER/NAME.
	repositories map[string]object
	last         int
}

func serveGitea() http.Handler {
	orgs := api{
		path: "/api/v1/orgs", key: "username", list: "/api/v1/admin/orgs", notFound: object{"message": "GetOrgByName"},
		fixed: map[string]any{
			"/api/v1/version": object{"version": "1.25.0"}, "/api/v1/user": object{"id": 1, "login": "root"},
			"/api/v1/orgs/{name}/repos": []any{},
		},
	}
	g := &gitea{orgs: &store{api: orgs, byPath: map[string]object{}}, repositories: map[string]object{}}
	mux := http.NewServeMux()
	g.orgs.handle(mux)
	mux.HandleFunc("POST /api/v1/orgs/{owner}/repos", g.create)
	mux.HandleFunc("GET /api/v1/repositories/{id}", g.read)
	mux.HandleFunc("PATCH /api/v1/repos/{owner}/{name}", g.edit)
	mux.HandleFunc("DELETE /api/v1/repos/{owner}/{name}", g.delete)
	return withToken("Authorization", "token ", object{"message": "unauthorized"}, mux)
}

func (g *gitea) create(w http.ResponseWriter, r *http.Request) {
	var members object
	if !decoded(w, r, &members) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	owner := r.PathValue("owner")
	path := fmt.Sprintf("%s/%s", owner, members["name"])
	if !g.orgs.has("/api/v1/orgs/" + owner) {
		reply(w, http.StatusNotFound, object{"message": "GetOrgByName"})
		return
	}
	if g.repositories[path] != nil {
		reply(w, http.StatusConflict, object{"message": "The repository with the same name already exists."})
		return
	}
	g.last++
	made := object{
		"id": g.last, "owner": object{"id": 1, "login": owner}, "full_name": path, "html_url": "http://gitea.example/" + path,
		"clone_url": "http://gitea.example/" + path + ".git", "ssh_url": "git@gitea.example:" + path + ".git",
		"created_at": "2026-01-30T23:50:00Z", "updated_at": "2026-01-30T23:50:00Z", "permissions": object{"admin": true, "push": true, "pull": true},
		"has_issues": true, "has_wiki": true, "has_pull_requests": true, "has_projects": true, "allow_merge_commits": true,
		"allow_rebase": true, "allow_rebase_explicit": true, "allow_squash_merge": true, "mirror_interval": "",
	}
	maps.Copy(made, members)
	g.repositories[path] = made
	reply(w, http.StatusCreated, made)
}

func (g *gitea) read(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.repositories {
		if fmt.Sprint(one["id"]) == r.PathValue("id") {
			reply(w, http.StatusOK, one)
			return
		}
	}
	reply(w, http.StatusNotFound, object{"message": "GetRepositoryByID"})
}

func (g *gitea) edit(w http.ResponseWriter, r *http.Request) {
	var members object
	if !decoded(w, r, &members) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.found(w, r)
	if found == nil {
		return
	}
	delete(g.repositories, g.path(r))
	maps.Copy(found, members)
	path := fmt.Sprintf("%s/%s", r.PathValue("owner"), found["name"])
	found["full_name"] = path
	g.repositories[path] = found
	reply(w, http.StatusOK, found)
}

func (g *gitea) delete(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.found(w, r) != nil {
		delete(g.repositories, g.path(r))
		reply(w, http.StatusNoContent, nil)
	}
}

func (*gitea) path(r *http.Request) string { return r.PathValue("owner") + "/" + r.PathValue("name") }

// found returns the repository of a request, or replies that there is none.
func (g *gitea) found(w http.ResponseWriter, r *http.Request) object {
	found := g.repositories[g.path(r)]
	if found == nil {
		reply(w, http.StatusNotFound, object{"message": "GetRepositoryByName"})
	}
	return found
}
