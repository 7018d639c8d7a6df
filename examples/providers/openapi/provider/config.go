package provider

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Names of configuration keys.
const (
	keyBaseURL    = "baseUrl"
	keyMaxRetries = "maxRetries"
	keyHeaders    = "headers"
	keyToken      = "token"
	keyUsername   = "username"
	keyPassword   = "password"
	keyAPIKey     = "apiKey"
)

func (a *api) config() schema.Object {
	text := &schema.Type{Kind: schema.KindString}
	limit := float64(maxRetriesLimit)
	var none float64
	base := schema.Property{Name: keyBaseURL, Type: text, Required: true, Description: "Where the service is, for example https://api.example.org/v1."}
	if a.server != "" {
		base.Required, base.Default = false, property.String(a.server)
	}
	list := []schema.Property{
		base,
		{
			Name: keyHeaders, Type: &schema.Type{Kind: schema.KindMap, Element: text}, Secret: true,
			Description: "Headers that are sent with each request, such as those that credentials of other kinds need.",
		},
		{
			Name: keyMaxRetries, Type: &schema.Type{Kind: schema.KindInteger}, Default: property.Number(defaultRetries), Minimum: &none, Maximum: &limit,
			Description: "How often a request is sent again that the service could not answer in time or had too many of (status 429 or 503).",
		},
	}
	for _, key := range slices.Sorted(maps.Keys(a.auth.keys)) {
		list = append(list, schema.Property{Name: key, Type: text, Secret: key != keyUsername, Description: a.auth.keys[key]})
	}
	slices.SortFunc(list, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	return schema.Object{Description: "How the service is reached.", Properties: list}
}

// auth is how a service knows its users.
type auth struct {
	schemes map[string]*scheme
	// keys are the configuration keys, with their descriptions.
	keys map[string]string
	// values are the configured ones.
	values map[string]string
}

type scheme struct {
	*openapi3.SecurityScheme
	// keys are the configuration keys that it needs.
	keys []string
}

func newAuth(declared openapi3.SecuritySchemes) *auth {
	a := &auth{schemes: map[string]*scheme{}, keys: map[string]string{}}
	apiKeys := 0
	for _, ref := range declared {
		if ref.Value != nil && ref.Value.Type == "apiKey" {
			apiKeys++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		s := declared[name].Value
		if s == nil {
			continue
		}
		var keys []string
		switch basic := strings.EqualFold(s.Scheme, "basic"); {
		case s.Type == "http" && basic:
			keys = []string{keyUsername, keyPassword}
		case s.Type == "http" && strings.EqualFold(s.Scheme, "bearer"), s.Type == "oauth2", s.Type == "openIdConnect":
			keys = []string{keyToken}
		case s.Type == "apiKey" && apiKeys == 1:
			keys = []string{keyAPIKey}
		case s.Type == "apiKey":
			keys = []string{lowerCamel(append(wordsOf(name), "key"))}
		default:
			continue
		}
		a.schemes[name] = &scheme{s, keys}
		for _, key := range keys {
			a.keys[key] = strings.TrimSpace(strings.TrimSuffix(keyDescription(key)+" "+s.Description, " "))
		}
	}
	return a
}

func keyDescription(key string) string {
	switch key {
	case keyToken:
		return "The token that is sent as bearer."
	case keyUsername:
		return "The user's name."
	case keyPassword:
		return "The user's password."
	}
	return "The key that the service knows its user by."
}

// authorize adds credentials to a request: the first alternative that is configured as a whole.
func (c *client) authorize(request *http.Request, o *operation) error {
	a := c.auth
	var wanted []string
	for _, alternative := range o.security {
		missing, known := a.missing(alternative)
		if known && len(missing) == 0 {
			for _, name := range slices.Sorted(maps.Keys(alternative)) {
				a.apply(request, a.schemes[name])
			}
			return nil
		}
		if known {
			wanted = append(wanted, c.pkg+":"+strings.Join(missing, " and "+c.pkg+":"))
		}
	}
	switch {
	case len(o.security) == 0 || len(wanted) == 0 && len(c.headers) > 0:
		return nil
	case len(wanted) == 0:
		return guest.InvalidArgument("", o.method+" "+o.path+" needs credentials of a kind that is not supported; give them as "+c.pkg+":"+keyHeaders)
	}
	return guest.InvalidArgument("", o.method+" "+o.path+" needs credentials: set "+strings.Join(wanted, " or "))
}

// missing returns the keys of an alternative without a value. known is false if a scheme is not
// supported.
func (a *auth) missing(alternative openapi3.SecurityRequirement) (missing []string, known bool) {
	for _, name := range slices.Sorted(maps.Keys(alternative)) {
		s := a.schemes[name]
		if s == nil {
			return nil, false
		}
		for _, key := range s.keys {
			if a.values[key] == "" {
				missing = append(missing, key)
			}
		}
	}
	return missing, true
}

func (a *auth) apply(request *http.Request, s *scheme) {
	switch key := s.keys[0]; {
	case key == keyUsername:
		text := a.values[keyUsername] + ":" + a.values[keyPassword]
		request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
	case key == keyToken:
		request.Header.Set("Authorization", "Bearer "+a.values[keyToken])
	case s.In == "query":
		q := request.URL.Query()
		q.Set(s.Name, a.values[key])
		request.URL.RawQuery = q.Encode()
	case s.In == "cookie":
		request.AddCookie(&http.Cookie{Name: s.Name, Value: a.values[key]})
	default:
		request.Header.Set(s.Name, a.values[key])
	}
}

func (c *client) configure(config property.Map, server string) error {
	text := func(name string) string {
		s, _ := config.Get(name).Plain().AsString()
		return s
	}
	base := text(keyBaseURL)
	if base == "" {
		base = server
	}
	u, err := url.Parse(strings.TrimRight(base, "/"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return guest.InvalidArgument(keyBaseURL, "it must be an absolute URL, such as https://api.example.org/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return guest.InvalidArgument(keyBaseURL, "it must be a URL without a user, a query, or a fragment")
	}
	c.base = u
	retries, _ := config.Get(keyMaxRetries).Plain().AsNumber()
	c.retries = int(retries)
	c.headers = http.Header{}
	headers, _ := config.Get(keyHeaders).Plain().AsObject()
	for name, value := range headers.All() {
		if s, ok := value.Plain().AsString(); ok {
			c.headers.Set(name, s)
		}
	}
	c.auth.values = map[string]string{}
	for key := range c.auth.keys {
		c.auth.values[key] = text(key)
	}
	return nil
}
