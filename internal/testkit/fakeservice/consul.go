package fakeservice

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Consul returns the key-value store of Consul's API.
func Consul() http.Handler {
	var mu sync.Mutex
	values := map[string][]byte{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/agent/self", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, object{"Config": object{"Datacenter": "dc1", "NodeName": "consul"}})
	})
	mux.HandleFunc("/v1/kv/{key...}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key, query := r.PathValue("key"), r.URL.Query()
		meant := func(name string) bool { return name == key || query.Has("recurse") && strings.HasPrefix(name, key) }
		switch r.Method {
		case http.MethodPut:
			value, err := io.ReadAll(r.Body)
			if err != nil {
				reply(w, http.StatusBadRequest, err.Error())
				return
			}
			values[key] = value
			reply(w, http.StatusOK, true)
		case http.MethodDelete:
			maps.DeleteFunc(values, func(name string, _ []byte) bool { return meant(name) })
			reply(w, http.StatusOK, true)
		default:
			var found []object
			for _, name := range slices.Sorted(maps.Keys(values)) {
				if meant(name) {
					found = append(found, object{"Key": name, "Value": values[name], "Flags": 0, "CreateIndex": 1, "ModifyIndex": 1, "LockIndex": 0})
				}
			}
			if found == nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			reply(w, http.StatusOK, found)
		}
	})
	return withToken("X-Consul-Token", "", "ACL not found", mux)
}
