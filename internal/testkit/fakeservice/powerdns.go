package fakeservice

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// recordSet is a set of records in PowerDNS's API, and in a change of a zone.
type recordSet struct {
	Name    string           `json:"name"`
	Type    string           `json:"type"`
	TTL     int              `json:"ttl"`
	Records []map[string]any `json:"records"`
	Change  string           `json:"changetype,omitempty"`
}

// zone is a zone in PowerDNS's API.
type zone struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Kind        string      `json:"kind"`
	Account     string      `json:"account"`
	SOAEditAPI  string      `json:"soa_edit_api"`
	Nameservers []string    `json:"nameservers,omitempty"`
	Sets        []recordSet `json:"rrsets"`
}

// PowerDNS returns the API of PowerDNS's authoritative server, without zones.
func PowerDNS() http.Handler {
	const collection, one = "/api/v1/servers/localhost/zones", "/api/v1/servers/localhost/zones/{zone}"
	var mu sync.Mutex
	zones := map[string]*zone{}
	mux := http.NewServeMux()
	about := object{"type": "Server", "id": "localhost", "daemon_type": "authoritative", "version": "4.9.0"}
	mux.HandleFunc("GET /api/v1/servers", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, []any{about}) })
	mux.HandleFunc("GET /api/v1/servers/localhost", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, about) })
	mux.HandleFunc("POST "+collection, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		made := new(zone)
		if !decoded(w, r, made) {
			return
		}
		if !strings.HasSuffix(made.Name, ".") {
			reply(w, http.StatusUnprocessableEntity, object{"error": "DNS Name '" + made.Name + "' is not canonical"})
			return
		}
		if zones[made.Name] != nil {
			reply(w, http.StatusConflict, object{"error": "Domain '" + made.Name + "' already exists"})
			return
		}
		made.ID = made.Name
		if len(made.Nameservers) > 0 {
			set := recordSet{Name: made.Name, Type: "NS", TTL: 3600}
			for _, server := range made.Nameservers {
				set.Records = append(set.Records, object{"content": server})
			}
			made.Nameservers, made.Sets = nil, []recordSet{set}
		}
		zones[made.Name] = made
		reply(w, http.StatusCreated, made)
	})
	mux.HandleFunc(one, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		found := zones[r.PathValue("zone")]
		if found == nil {
			reply(w, http.StatusNotFound, object{"error": "Not Found"})
			return
		}
		switch r.Method {
		case http.MethodGet:
			reply(w, http.StatusOK, found)
			return
		case http.MethodDelete:
			delete(zones, found.Name)
		case http.MethodPut:
			if !decoded(w, r, found) {
				return
			}
		case http.MethodPatch:
			var changes zone
			if !decoded(w, r, &changes) {
				return
			}
			for _, set := range changes.Sets {
				found.Sets = slices.DeleteFunc(found.Sets, func(s recordSet) bool { return s.Name == set.Name && s.Type == set.Type })
				if set.Change == "REPLACE" {
					set.Change = ""
					found.Sets = append(found.Sets, set)
				}
			}
		}
		reply(w, http.StatusNoContent, nil)
	})
	return withToken("X-Api-Key", "", object{"error": "Unauthorized"}, mux)
}
