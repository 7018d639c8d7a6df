package fakeservice

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// broker is RabbitMQ's management API, for the objects that are declared with it. Objects lie under their paths, with zero bytes
// between the parts: vhosts, and names in them, may have any character.
type broker struct {
	mu      sync.Mutex
	objects map[string]object
}

// collection describes objects of one kind.
type collection struct {
	// fields are the parts of a path behind the kind, as the object has them.
	fields []string
	// defaults are the properties of an object that its declaration leaves out.
	defaults object
	// fixed marks a kind whose objects cannot be declared again with other properties.
	fixed bool
}

var collections = map[string]collection{
	"vhosts": {fields: []string{"name"}, defaults: object{"tracing": false}},
	"users":  {fields: []string{"name"}, defaults: object{"tags": ""}},
	"exchanges": {fields: []string{"vhost", "name"}, fixed: true,
		defaults: object{"type": "direct", "durable": true, "auto_delete": false, "internal": false, "arguments": object{}}},
	"queues": {fields: []string{"vhost", "name"}, fixed: true,
		defaults: object{"durable": true, "auto_delete": false, "exclusive": false, "arguments": object{}}},
	"permissions":       {fields: []string{"vhost", "user"}},
	"topic-permissions": {fields: []string{"vhost", "user", "exchange"}},
	"policies":          {fields: []string{"vhost", "name"}, defaults: object{"apply-to": "all", "priority": 0}},
	"operator-policies": {fields: []string{"vhost", "name"}, defaults: object{"apply-to": "queues", "priority": 0}},
	"parameters":        {fields: []string{"component", "vhost", "name"}},
	"bindings":          {fields: []string{"vhost", "source", "type", "destination", "properties_key"}},
}

// Broker returns RabbitMQ's management API, with the vhost / and its exchanges.
func Broker() http.Handler {
	b := &broker{objects: map[string]object{}}
	b.addVhost("/")
	return authenticated(object{"error": "not_authorized", "reason": "Login failed"}, b)
}

func key(path ...string) string { return strings.Join(path, "\x00") }

func (b *broker) addVhost(name string) {
	b.objects[key("vhosts", name)] = object{"name": name, "tracing": false}
	b.objects[key("permissions", name, User)] = object{"vhost": name, "user": User, "configure": ".*", "write": ".*", "read": ".*"}
	for _, exchange := range []string{"", "amq.direct", "amq.fanout", "amq.topic", "amq.headers"} {
		_, kind, _ := strings.Cut(exchange, ".")
		if kind == "" {
			kind = "direct"
		}
		b.objects[key("exchanges", name, exchange)] = object{
			"vhost": name, "name": exchange, "type": kind, "durable": true, "auto_delete": false, "internal": false, "arguments": object{},
		}
	}
}

func (b *broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var path []string
	for part := range strings.SplitSeq(strings.TrimPrefix(r.URL.EscapedPath(), "/api/"), "/") {
		name, err := url.PathUnescape(part)
		if err != nil {
			refuse(w, http.StatusBadRequest, "bad_request", err.Error())
			return
		}
		path = append(path, name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := collections[path[0]]
	switch {
	case path[0] == "overview" && r.Method == http.MethodGet:
		reply(w, http.StatusOK, object{"management_version": "4.1.0", "rabbitmq_version": "4.1.0", "product_name": "RabbitMQ"})
		return
	case path[0] == "vhost-limits" && r.Method == http.MethodGet: // none has limits
		reply(w, http.StatusOK, []object{})
		return
	case !ok:
		refuse(w, http.StatusNotFound, "Object Not Found", "Not Found")
		return
	}
	if path[0] == "bindings" && len(path) > 2 { // /bindings/VHOST/e/SOURCE/q/DESTINATION/PROPERTIES
		path = slices.Delete(path, 2, 3)
	}
	full := len(path) == len(c.fields)+1
	switch {
	case r.Method == http.MethodGet && full:
		if found := b.objects[key(path...)]; found != nil {
			reply(w, http.StatusOK, found)
			return
		}
		refuse(w, http.StatusNotFound, "Object Not Found", "Not Found")
	case r.Method == http.MethodGet:
		b.list(w, path, c)
	case r.Method == http.MethodPut && full, r.Method == http.MethodPut && path[0] == "topic-permissions":
		b.put(w, r, path, c)
	case r.Method == http.MethodPost && path[0] == "bindings" && len(path) == len(c.fields):
		b.bind(w, r, path)
	case r.Method == http.MethodDelete:
		b.delete(w, path)
	default:
		refuse(w, http.StatusMethodNotAllowed, "Method Not Allowed", r.Method)
	}
}

func refuse(w http.ResponseWriter, status int, problem, reason string) {
	reply(w, status, object{"error": problem, "reason": reason})
}

// under reports whether the key of an object begins with a path.
func under(of string, path []string) bool { return strings.HasPrefix(of+"\x00", key(path...)+"\x00") }

func (b *broker) list(w http.ResponseWriter, path []string, c collection) {
	if at := slices.Index(c.fields, "vhost"); at >= 0 && len(path) > at+1 && b.objects[key("vhosts", path[at+1])] == nil {
		refuse(w, http.StatusNotFound, "Object Not Found", "Not Found")
		return
	}
	all := []object{}
	for _, of := range slices.Sorted(maps.Keys(b.objects)) {
		if under(of, path) {
			all = append(all, b.objects[of])
		}
	}
	if path[0] == "topic-permissions" && len(path) > 2 && len(all) == 0 {
		refuse(w, http.StatusNotFound, "Object Not Found", "Not Found")
		return
	}
	reply(w, http.StatusOK, all)
}

// put declares the object at a path.
func (b *broker) put(w http.ResponseWriter, r *http.Request, path []string, c collection) {
	var body object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", "not_json")
		return
	}
	if path[0] == "topic-permissions" {
		exchange, _ := body["exchange"].(string)
		path = append(path, exchange)
	}
	declared := maps.Clone(c.defaults)
	if declared == nil {
		declared = object{}
	}
	for name, value := range body {
		if value != nil {
			declared[name] = value
		}
	}
	for i, field := range c.fields {
		declared[field] = path[i+1]
		switch {
		case field == "vhost" && b.objects[key("vhosts", path[i+1])] == nil:
			refuse(w, http.StatusNotFound, "Object Not Found", "vhost_not_found")
			return
		case field == "user" && path[i+1] != User && b.objects[key("users", path[i+1])] == nil:
			refuse(w, http.StatusBadRequest, "bad_request", "no_such_user")
			return
		}
	}
	if path[0] == "users" {
		if declared["password"] == nil && declared["password_hash"] == nil {
			refuse(w, http.StatusBadRequest, "bad_request", "either 'password' or 'password_hash' must be set")
			return
		}
		delete(declared, "password") // it is never told
		declared["password_hash"], declared["hashing_algorithm"] = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", "rabbit_password_hashing_sha256"
		tags, _ := declared["tags"].(string)
		declared["tags"] = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' })
	}
	before := b.objects[key(path...)]
	if before != nil && c.fixed {
		for name := range c.defaults {
			was, _ := json.Marshal(before[name])
			if is, _ := json.Marshal(declared[name]); string(was) != string(is) {
				refuse(w, http.StatusBadRequest, "bad_request", "inequivalent arg '"+name+"' for "+path[0]+" '"+path[2]+"' in vhost '"+path[1]+"'")
				return
			}
		}
	}
	if before == nil && path[0] == "vhosts" {
		b.addVhost(path[1])
	}
	b.objects[key(path...)] = declared
	if before != nil {
		reply(w, http.StatusNoContent, nil)
		return
	}
	reply(w, http.StatusCreated, nil)
}

// bind declares a binding, whose properties its place in the service tells.
func (b *broker) bind(w http.ResponseWriter, r *http.Request, path []string) {
	var body struct {
		RoutingKey string `json:"routing_key"`
		Arguments  object `json:"arguments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", "not_json")
		return
	}
	kind := map[string]string{"q": "queue", "e": "exchange"}[path[3]]
	if kind == "" || b.objects[key("exchanges", path[1], path[2])] == nil || b.objects[key(kind+"s", path[1], path[4])] == nil {
		refuse(w, http.StatusNotFound, "Object Not Found", "Not Found")
		return
	}
	properties := body.RoutingKey
	if properties == "" {
		properties = "~"
	}
	if len(body.Arguments) > 0 {
		properties += "~" + "9mnXsgM"
	}
	b.objects[key(append(path, properties)...)] = object{
		"vhost": path[1], "source": path[2], "destination": path[4], "destination_type": kind, "routing_key": body.RoutingKey,
		"arguments": body.Arguments, "properties_key": properties,
	}
	w.Header().Set("Location", url.PathEscape(path[4])+"/"+url.PathEscape(properties))
	reply(w, http.StatusCreated, nil)
}

// delete deletes an object, and the objects in it or bound to it.
func (b *broker) delete(w http.ResponseWriter, path []string) {
	gone := 0
	for of, object := range b.objects {
		inVhost := path[0] == "vhosts" && object["vhost"] == path[1]
		ofUser := path[0] == "users" && object["user"] == path[1]
		bound := len(path) == 3 && object["vhost"] == path[1] && (path[0] == "exchanges" && object["source"] == path[2] ||
			object["destination"] == path[2] && object["destination_type"] == strings.TrimSuffix(path[0], "s"))
		if under(of, path) {
			gone++
		} else if !inVhost && !ofUser && !bound {
			continue
		}
		delete(b.objects, of)
	}
	if gone == 0 {
		refuse(w, http.StatusNotFound, "Object Not Found", "Not Found")
		return
	}
	reply(w, http.StatusNoContent, nil)
}
