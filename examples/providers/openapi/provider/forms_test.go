package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/openapi/provider"
)

// takes answers requests with what do returns, as on does. Bodies must be forms of the media type, with fields in any order.
func (s *service) takes(mediaType, pattern string, do func(r *http.Request, form url.Values) (int, any)) {
	s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		form := url.Values{}
		if got, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method != http.MethodGet && r.Method != http.MethodDelete {
			var err error
			switch {
			case got != mediaType:
				err = fmt.Errorf("%s is not taken here", got)
			case mediaType == "multipart/form-data":
				form, err = fieldsOf(multipart.NewReader(r.Body, parameters["boundary"]))
			default:
				var body []byte
				if body, err = io.ReadAll(r.Body); err == nil {
					form, err = url.ParseQuery(string(body))
				}
			}
			if err != nil {
				w.WriteHeader(http.StatusUnsupportedMediaType)
				_ = json.NewEncoder(w).Encode(object{"message": err.Error()})
				return
			}
		}
		if r.Method != http.MethodGet {
			text, _ := url.QueryUnescape(form.Encode())
			s.log = append(s.log, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+text))
		}
		status, answer := do(r, form)
		w.WriteHeader(status)
		if answer != nil {
			_ = json.NewEncoder(w).Encode(answer)
		}
	})
}

func fieldsOf(r *multipart.Reader) (url.Values, error) {
	form := url.Values{}
	for {
		part, err := r.NextPart()
		if err == io.EOF {
			return form, nil
		}
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" || strings.Contains(part.Header.Get("Content-Disposition"), "filename") {
			return nil, fmt.Errorf("%s is a file", part.FormName())
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		form.Add(part.FormName(), string(text))
	}
}

const urlencoded = "application/x-www-form-urlencoded"

func TestTelephony(t *testing.T) {
	const base = "/2026-04-01/Accounts/{account}/Queues"
	s := newService()
	fill := func(o object, form url.Values) {
		for field, name := range map[string]string{"FriendlyName": "friendly_name", "Attributes": "attributes"} {
			if form.Has(field) {
				o[name] = form.Get(field)
			}
		}
		if form.Has("MaxSize") {
			o["max_size"], _ = strconv.Atoi(form.Get("MaxSize"))
		}
		if form.Has("StatusEvents") {
			o["status_events"] = slices.DeleteFunc(form["StatusEvents"], func(text string) bool { return text == "" })
		}
	}
	known := func(r *http.Request) string { return strings.TrimSuffix(r.PathValue("sid"), ".json") }
	refused := func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user != "AC1" || password != "t0ken" || r.PathValue("account") != "AC1"
	}
	s.takes(urlencoded, "POST "+base+".json", func(r *http.Request, form url.Values) (int, any) {
		if refused(r) {
			return 401, object{"code": 20003, "message": "Authenticate", "more_info": "https://calls.example.org/errors/20003", "status": 401}
		}
		if form.Get("MaxSize") == "5001" {
			return 400, object{"code": 22003, "message": "MaxSize is too large", "status": 400}
		}
		sid := fmt.Sprintf("QU%d", s.id())
		s.objects[sid] = object{"sid": sid, "account_sid": "AC1", "max_size": 100, "uri": "/Queues/" + sid + ".json"}
		fill(s.objects[sid], form)
		return 201, s.objects[sid]
	})
	s.takes(urlencoded, "GET "+base+"/{sid}", func(r *http.Request, _ url.Values) (int, any) { return s.found(known(r)) })
	s.takes(urlencoded, "POST "+base+"/{sid}", func(r *http.Request, form url.Values) (int, any) {
		fill(s.objects[known(r)], form)
		return s.found(known(r))
	})
	s.takes(urlencoded, "DELETE "+base+"/{sid}", func(r *http.Request, _ url.Values) (int, any) { return s.remove(known(r), 204) })
	s.takes(urlencoded, "GET "+base+".json", func(r *http.Request, _ url.Values) (int, any) {
		all := slices.Sorted(maps.Keys(s.objects))
		page, _ := strconv.Atoi(r.URL.Query().Get("Page"))
		answer := object{"page": page, "next_page_uri": nil, "queues": []any{s.objects[all[page]]}}
		if page < len(all)-1 {
			answer["next_page_uri"] = fmt.Sprintf("%s?Page=%d&PageToken=P%s", r.URL.Path, page+1, all[page])
		}
		return 200, answer
	})
	p := s.open(t, "telephony.yaml", "", "", pt.Object{"username": "AC1", "password": "t0ken"})
	const queue = "test:index:Queue"
	inputs := pt.Object{"AccountSid": "AC1", "FriendlyName": "front & back", "StatusEvents": []any{"join", "leave"}, "Recorded": true,
		"Attributes": pt.Object{"tier": 1, "name": "a"}, "Region": "eu"}
	r := p.Create(queue, inputs)
	require.Equal(t, "AC1/QU1", r.ID)
	require.Equal(t, []string{`POST /2026-04-01/Accounts/AC1/Queues.json Attributes={"name":"a","tier":1}&FriendlyName=front & back&Recorded=true&Region=eu&` +
		`StatusEvents=join&StatusEvents=leave`}, s.sent())
	require.Equal(t, "front & back", r.Text("FriendlyName"), "it is one property, whatever the answer calls it")
	for _, absent := range []string{"friendly_name", "account_sid", "max_size"} {
		require.False(t, r.State.Has(absent), absent)
	}
	require.Equal(t, "QU1", r.Text("sid"))
	r = unchanged(t, p, r, inputs)

	changed := pt.With(inputs, pt.Object{"FriendlyName": "front", "MaxSize": 7})
	delete(changed, "StatusEvents")
	require.Equal(t, []string{"FriendlyName update", "MaxSize update"}, p.Diff(r, pt.With(inputs, pt.Object{"FriendlyName": "front", "MaxSize": 7})))
	r = p.Update(r, changed)
	require.Equal(t, []string{"POST /2026-04-01/Accounts/AC1/Queues/QU1.json FriendlyName=front&MaxSize=7&StatusEvents="}, s.sent(), "only what has changed")
	r = unchanged(t, p, r, changed)
	require.Equal(t, []string{"Region update-replace"}, p.Diff(r, pt.With(changed, pt.Object{"Region": "us"})))
	s.change("QU1", func(o object) { o["friendly_name"] = "other" })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"FriendlyName update"}, p.Diff(drifted, changed))

	imported, err := p.TryImport(queue, "AC1/QU1")
	require.NoError(t, err)
	require.Equal(t, property.String("other"), imported.Inputs.Get("FriendlyName"))
	require.Equal(t, property.String("AC1"), imported.Inputs.Get("AccountSid"))

	_, err = p.TryCreate(queue, pt.With(inputs, pt.Object{"MaxSize": 5001}))
	require.ErrorContains(t, err, "/2026-04-01/Accounts/AC1/Queues.json: 400 Bad Request: MaxSize is too large")
	_, err = p.TryCreate(queue, pt.With(inputs, pt.Object{"AccountSid": "AC2"}))
	require.ErrorContains(t, err, "401 Unauthorized: Authenticate")

	p.Create(queue, pt.Object{"AccountSid": "AC1", "FriendlyName": "second", "StatusEvents": []any{}})
	p.Create(queue, pt.Object{"AccountSid": "AC1", "FriendlyName": "third"})
	list, _ := p.Invoke("test:index:listQueue", pt.Object{"AccountSid": "AC1"}).Get("queues").AsArray()
	require.Len(t, list, 3, "of three pages")
	s.sent()
	p.Delete(r)
	require.Equal(t, []string{"DELETE /2026-04-01/Accounts/AC1/Queues/QU1.json"}, s.sent())
	_, exists := p.Refresh(r)
	require.False(t, exists)
}

func TestBilling(t *testing.T) {
	s := newService()
	fill := func(o object, form url.Values) {
		for name, values := range form {
			path := strings.FieldsFunc(name, func(r rune) bool { return r == '[' || r == ']' })
			set(o, path, values[0])
		}
		if o["balance"] != nil {
			o["balance"], _ = strconv.Atoi(fmt.Sprint(o["balance"]))
		}
		if metadata, ok := o["metadata"].(object); ok {
			maps.DeleteFunc(metadata, func(_ string, v any) bool { return v == "" })
		}
		delete(o, "currency")
	}
	s.takes(urlencoded, "POST /v1/customers", func(_ *http.Request, form url.Values) (int, any) {
		if form.Get("balance") == "-1" {
			return 402, object{"error": object{"type": "card_error", "message": "Nobody pays", "param": "balance"}}
		}
		id := fmt.Sprintf("cus_%d", s.id())
		s.objects[id] = object{"id": id, "object": "customer", "tax_exempt": "none"}
		fill(s.objects[id], form)
		return 200, s.objects[id]
	})
	s.takes(urlencoded, "GET /v1/customers/{id}", func(r *http.Request, _ url.Values) (int, any) {
		if _, answer := s.found(r.PathValue("id")); answer.(object)["id"] != nil {
			return 200, answer
		}
		return 404, object{"error": object{"type": "invalid_request_error", "message": "No such customer"}}
	})
	s.takes(urlencoded, "POST /v1/customers/{id}", func(r *http.Request, form url.Values) (int, any) {
		fill(s.objects[r.PathValue("id")], form)
		return s.found(r.PathValue("id"))
	})
	s.takes(urlencoded, "DELETE /v1/customers/{id}", func(r *http.Request, _ url.Values) (int, any) {
		id := r.PathValue("id")
		s.objects[id] = object{"deleted": true, "id": id, "object": "customer"}
		return s.found(id)
	})
	var asked []string
	s.takes(urlencoded, "GET /v1/customers", func(r *http.Request, _ url.Values) (int, any) {
		text, _ := url.QueryUnescape(r.URL.RawQuery)
		asked = append(asked, text)
		all := slices.Sorted(maps.Keys(s.objects))
		from := 0
		if after := r.URL.Query().Get("starting_after"); after != "" {
			from = slices.Index(all, after) + 1
		}
		return 200, object{"object": "list", "url": "/v1/customers", "has_more": from < len(all)-1, "data": []any{s.objects[all[from]]}}
	})
	p := s.open(t, "billing.yaml", "", "", pt.Object{"token": "sk"})
	const customer = "test:index:Customer"
	inputs := pt.Object{
		"name": "Ann", "balance": 5, "currency": "eur", "address": pt.Object{"city": "Delft"}, "metadata": pt.Object{"a": "1", "b c": "2"},
		"contacts": []any{pt.Object{"email": "a@example.org", "roles": []any{"owner", "payer"}}, pt.Object{"email": "b@example.org"}},
	}
	r := p.Create(customer, inputs)
	require.Equal(t, "cus_1", r.ID)
	require.Equal(t, []string{"POST /v1/customers address[city]=Delft&balance=5&contacts[0][email]=a@example.org&contacts[0][roles][0]=owner&" +
		"contacts[0][roles][1]=payer&contacts[1][email]=b@example.org&currency=eur&metadata[a]=1&metadata[b c]=2&name=Ann"}, s.sent())
	require.Equal(t, "none", r.Text("tax_exempt"))
	r = unchanged(t, p, r, inputs)

	changed := pt.With(inputs, pt.Object{"metadata": pt.Object{"b c": "3"}})
	delete(changed, "name")
	r = p.Update(r, changed)
	require.Equal(t, []string{"POST /v1/customers/cus_1 metadata[a]=&metadata[b c]=3&name="}, s.sent(), "what is no longer there is emptied")
	r = unchanged(t, p, r, changed)
	require.Equal(t, []string{"currency update-replace"}, p.Diff(r, pt.With(changed, pt.Object{"currency": "usd"})))
	s.change("cus_1", func(o object) { o["address"].(object)["city"] = "Gouda" })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"address.city update"}, p.Diff(drifted, changed))
	imported, err := p.TryImport(customer, "cus_1")
	require.NoError(t, err)
	require.Equal(t, pt.Of(pt.Object{"b c": "3"}), imported.Inputs.Get("metadata"))

	_, err = p.TryCreate(customer, pt.Object{"balance": -1})
	require.ErrorContains(t, err, "402 Payment Required: balance: Nobody pays")
	p.Create(customer, pt.Object{"name": "Bea"})
	p.Create(customer, pt.Object{"name": "Cas"})
	list, _ := p.Invoke("test:index:getCustomers", pt.Object{"created": pt.Object{"gte": 1, "lt": 2}}).Get("data").AsArray()
	require.Len(t, list, 3)
	require.Equal(t, []string{"created[gte]=1&created[lt]=2", "created[gte]=1&created[lt]=2&starting_after=cus_1", "created[gte]=1&created[lt]=2&starting_after=cus_2"}, asked)

	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(t, exists, "it answers that it was deleted")
	imported, err = p.TryImport(customer, "cus_1")
	require.NoError(t, err)
	require.Empty(t, imported.ID)
}

// set sets a value at a path, whose numbers are indexes.
func set(o object, path []string, text string) {
	for i, name := range path[:len(path)-1] {
		if list, ok := o[name].([]any); ok || i < len(path)-1 && isIndex(path[i+1]) {
			at, _ := strconv.Atoi(path[i+1])
			for len(list) <= at {
				list = append(list, object{})
			}
			o[name] = list
			if i+2 == len(path) {
				list[at] = text
				return
			}
			set(list[at].(object), path[i+2:], text)
			return
		}
		inner, ok := o[name].(object)
		if !ok {
			inner = object{}
			o[name] = inner
		}
		o = inner
	}
	o[path[len(path)-1]] = text
}

func isIndex(text string) bool { _, err := strconv.Atoi(text); return err == nil }

func TestChat(t *testing.T) {
	s := newService()
	find := func(id string) (int, any) {
		if o := s.objects[id]; o != nil {
			return 200, object{"ok": true, "channel": o}
		}
		return 200, object{"ok": false, "error": "channel_not_found"}
	}
	s.takes(urlencoded, "POST /api/conversations.create", func(_ *http.Request, form url.Values) (int, any) {
		if form.Get("name") == "Bad" {
			return 200, object{"ok": false, "error": "invalid_name", "detail": "only lower case"}
		}
		id := fmt.Sprintf("C%d", s.id())
		s.objects[id] = object{"id": id, "name": form.Get("name"), "is_private": form.Get("is_private") == "true", "is_archived": false}
		return find(id)
	})
	s.takes(urlencoded, "GET /api/conversations.info", func(r *http.Request, _ url.Values) (int, any) { return find(r.URL.Query().Get("channel")) })
	s.takes(urlencoded, "POST /api/conversations.rename", func(_ *http.Request, form url.Values) (int, any) {
		s.objects[form.Get("channel")]["name"] = form.Get("name")
		return find(form.Get("channel"))
	})
	s.takes(urlencoded, "POST /api/conversations.archive", func(_ *http.Request, form url.Values) (int, any) {
		if s.objects[form.Get("channel")]["is_archived"] == true {
			return 200, object{"ok": false, "error": "already_archived"}
		}
		s.objects[form.Get("channel")]["is_archived"] = true
		return 200, object{"ok": true}
	})
	s.takes(urlencoded, "GET /api/conversations.list", func(r *http.Request, _ url.Values) (int, any) {
		all := slices.Sorted(maps.Keys(s.objects))
		at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		next := ""
		if at+1 < len(all) {
			next = strconv.Itoa(at + 1)
		}
		return 200, object{"ok": true, "channels": []any{s.objects[all[at]]}, "response_metadata": object{"next_cursor": next}}
	})
	overrides := func(gone string) string {
		return `{"resources": {"Channel": {"create": "conversations_create", "read": "conversations_info", "update": "conversations_rename",
			"delete": "POST /conversations.archive", "id": {"channel": "id"}, "gone": ` + gone + `}}}`
	}
	p := s.open(t, "chat.json", "/api", overrides(`{"is_archived": true}`), pt.Object{"token": "xoxb"})
	const channel = "test:index:Channel"
	inputs := pt.Object{"name": "shop", "is_private": true, "user_ids": []any{"U1", "U2"}}
	r := p.Create(channel, inputs)
	require.Equal(t, "C1", r.ID)
	require.Equal(t, []string{"POST /api/conversations.create is_private=true&name=shop&user_ids=U1,U2"}, s.sent())
	r = unchanged(t, p, r, inputs)
	changed := pt.With(inputs, pt.Object{"name": "store"})
	r = p.Update(r, changed)
	require.Equal(t, []string{"POST /api/conversations.rename channel=C1&name=store"}, s.sent())
	require.Equal(t, []string{"is_private update-replace"}, p.Diff(r, pt.With(changed, pt.Object{"is_private": false})))
	s.change("C1", func(o object) { o["name"] = "other" })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"name update"}, p.Diff(drifted, changed))
	imported, err := p.TryImport(channel, "C1")
	require.NoError(t, err)
	require.Equal(t, property.String("other"), imported.Inputs.Get("name"))
	_, err = p.TryCreate(channel, pt.Object{"name": "Bad"})
	require.ErrorContains(t, err, "/api/conversations.create: 200 OK, but ok is false: invalid_name: only lower case")
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	p.Create(channel, pt.Object{"name": "second"})
	list, _ := p.Invoke("test:index:conversationsList", nil).Get("channels").AsArray()
	require.Len(t, list, 2)
	s.sent()
	p.Delete(r)
	require.Equal(t, []string{"POST /api/conversations.archive channel=C1"}, s.sent())
	_, exists := p.Refresh(r)
	require.False(t, exists)

	// Without the user's word for it, an error does not say that something is gone.
	_, err = p.TryImport(channel, "C9")
	require.ErrorContains(t, err, "channel_not_found")
	told := s.open(t, "chat.json", "/api", overrides(`{"error": "channel_not_found"}`), pt.Object{"token": "xoxb"})
	imported, err = told.TryImport(channel, "C9")
	require.NoError(t, err)
	require.Empty(t, imported.ID)
}

func TestMail(t *testing.T) {
	const form = "multipart/form-data"
	s := newService()
	fill := func(o object, fields url.Values) {
		if fields.Has("expression") {
			o["expression"] = fields.Get("expression")
		}
		if fields.Has("priority") {
			o["priority"], _ = strconv.Atoi(fields.Get("priority"))
		}
		if fields.Has("actions") {
			o["actions"] = fields["actions"]
		}
		if text := fields.Get("options"); text != "" {
			var options object
			_ = json.Unmarshal([]byte(text), &options)
			o["options"] = options
		}
	}
	s.takes(form, "POST /v3/routes", func(_ *http.Request, fields url.Values) (int, any) {
		if fields.Get("expression") == "?" {
			return 400, object{"message": "Expression is invalid"}
		}
		id := fmt.Sprintf("r%d", s.id())
		s.objects[id] = object{"id": id, "priority": 0}
		fill(s.objects[id], fields)
		return 200, object{"message": "Route has been created", "route": s.objects[id]}
	})
	s.takes(form, "GET /v3/routes/{id}", func(r *http.Request, _ url.Values) (int, any) {
		status, o := s.found(r.PathValue("id"))
		return status, object{"route": o}
	})
	s.takes(form, "PUT /v3/routes/{id}", func(r *http.Request, fields url.Values) (int, any) {
		fill(s.objects[r.PathValue("id")], fields)
		return s.found(r.PathValue("id"))
	})
	s.takes(form, "DELETE /v3/routes/{id}", func(r *http.Request, _ url.Values) (int, any) { return s.remove(r.PathValue("id"), 200) })
	s.takes(form, "GET /v3/routes", func(r *http.Request, _ url.Values) (int, any) {
		page := r.URL.Query().Get("page")
		items := []any{}
		if page == "" {
			for _, id := range slices.Sorted(maps.Keys(s.objects)) {
				items = append(items, s.objects[id])
			}
		}
		return 200, object{"items": items, "paging": object{"next": "http://" + r.Host + "/v3/routes?page=last", "previous": ""}}
	})
	s.takes(form, "POST /v4/domains", func(_ *http.Request, fields url.Values) (int, any) {
		s.objects[fields.Get("name")] = object{"id": "d1", "name": fields.Get("name"), "web_scheme": "http"}
		return 200, object{"message": "Domain DNS records have been created", "domain": s.objects[fields.Get("name")], "sending_dns_records": []any{}}
	})
	s.takes(form, "GET /v4/domains/{name}", func(r *http.Request, _ url.Values) (int, any) {
		status, o := s.found(r.PathValue("name"))
		return status, object{"domain": o, "sending_dns_records": []any{object{"name": "a", "value": "v=spf1"}}}
	})
	s.takes(form, "DELETE /v4/domains/{name}", func(r *http.Request, _ url.Values) (int, any) { return s.remove(r.PathValue("name"), 200) })
	p := s.open(t, "mail.yaml", "", "", pt.Object{"username": "api", "password": "key"})
	const route = "test:index:Route"
	inputs := pt.Object{"expression": "match(\"a\")", "priority": 1, "actions": []any{"forward(\"a\")", "stop()"}, "options": pt.Object{"strict": true}}
	r := p.Create(route, inputs)
	require.Equal(t, "r1", r.ID)
	require.Equal(t, []string{`POST /v3/routes actions=forward("a")&actions=stop()&expression=match("a")&options={"strict":true}&priority=1`}, s.sent())
	r = unchanged(t, p, r, inputs)
	changed := pt.With(inputs, pt.Object{"priority": 2})
	r = p.Update(r, changed)
	require.Equal(t, []string{`PUT /v3/routes/r1 actions=forward("a")&actions=stop()&expression=match("a")&options={"strict":true}&priority=2`}, s.sent())
	r = unchanged(t, p, r, changed)
	imported, err := p.TryImport(route, "r1")
	require.NoError(t, err)
	require.Equal(t, property.String("match(\"a\")"), imported.Inputs.Get("expression"))
	_, err = p.TryCreate(route, pt.Object{"expression": "?"})
	require.ErrorContains(t, err, "400 Bad Request: Expression is invalid")
	list, _ := p.Invoke("test:index:listRoutes", nil).Get("items").AsArray()
	require.Len(t, list, 1, "the last page has itself for the next")
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(t, exists)

	domain := p.Create("test:index:Domain", pt.Object{"name": "mail.example.org"})
	require.Equal(t, "mail.example.org", domain.ID)
	require.Equal(t, pt.Of([]any{pt.Object{"name": "a", "value": "v=spf1"}}), domain.State.Get("sending_dns_records"), "what is beside it is its own, too")
	require.False(t, domain.State.Has("message"))
	require.Equal(t, []string{"name update-replace"}, p.Diff(domain, pt.Object{"name": "post.example.org"}))
	p.Delete(domain)

	pkg := parsed(t, schemaOf(t, p))
	require.Nil(t, pkg.Resource(route).Inputs.Property("attachment"), "no property holds a file")
	require.Nil(t, pkg.Resource("test:index:Import"), "it needs a file")
}

// What a form has no way to write is an error at its place, before anything is sent.
func TestFormsThatCannotBeWritten(t *testing.T) {
	s := newService()
	s.takes(urlencoded, "POST /things", func(_ *http.Request, form url.Values) (int, any) {
		s.objects["1"] = object{"id": "1"}
		return 200, s.objects["1"]
	})
	s.takes(urlencoded, "GET /things/{id}", func(r *http.Request, _ url.Values) (int, any) { return s.found(r.PathValue("id")) })
	file := written(t, "things.yaml", `
openapi: 3.0.0
info: {title: Things, version: 1.0.0}
paths:
  /things:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            encoding: {lines: {style: form, explode: false}, place: {style: form, explode: true}, point: {style: form, explode: false}, tags: {style: pipeDelimited, explode: false}}
            schema: {type: object, properties: {lines: {type: array, items: {}}, place: {type: object}, point: {type: object}, tags: {type: array, items: {type: string}}, raw: {type: array, items: {type: object}}}}
      responses: {'201': {description: Made, content: {application/json: {schema: &thing {type: object, properties: {id: {type: string}}}}}}}
  /things/{thingId}:
    parameters: [{name: thingId, in: path, required: true, schema: {type: string}}]
    get: {responses: {'200': {description: It, content: {application/json: {schema: *thing}}}}}
    delete: {responses: {'204': {description: Gone}}}
`)
	p := pt.New(t, provider.New())
	parameterize(t, p, args(file, "test"))
	require.NoError(t, configure(p, pt.Object{"baseUrl": s.serve(t)}))
	p.Create("test:index:Thing", pt.Object{"lines": []any{"a", 1}, "place": pt.Object{"x": 1, "y": true}, "point": pt.Object{"x": 1}, "tags": []any{"a", "b"},
		"raw": []any{pt.Object{"a": 1}, pt.Object{"a": 2}}})
	require.Equal(t, []string{`POST /things lines=a,1&point=x,1&raw={"a":1}&raw={"a":2}&tags=a|b&x=1&y=true`}, s.sent())
	for at, inputs := range map[string]pt.Object{
		"lines[1]": {"lines": []any{"a", []any{"b"}}}, "place.x": {"place": pt.Object{"x": pt.Object{"y": 1}}}, "point.x": {"point": pt.Object{"x": []any{1}}},
	} {
		_, err := p.TryCreate("test:index:Thing", inputs)
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.ErrorContains(t, err, at+": the service takes only text, numbers, and bools here")
	}
	require.Empty(t, s.sent())
}
