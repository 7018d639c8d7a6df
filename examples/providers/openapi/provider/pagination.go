package provider

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// maxPages and maxItems bound a list: what a program can make use of is far smaller.
const (
	maxPages = 1000
	maxItems = 100_000
)

// pagination is how a service returns a list in pages. The responses decide on the form: a link to the
// next page, a cursor, or else the number or offset of a page, up to one that is not full.
type pagination struct {
	// items is the property with the list.
	items string
	// cursor, page, and offset are the parameters for the next page, size that for its length; nil for
	// none.
	cursor, page, offset, size *openapi3.Parameter
}

// The customary names of parameters and properties of pages, as words.
var (
	cursorParameters = []string{"cursor", "page token", "next token", "continuation token", "continuation", "continue", "after", "starting after", "marker", "start cursor"}
	pageParameters   = []string{"page", "page number", "p"}
	offsetParameters = []string{"offset", "skip", "start", "start index"}
	sizeParameters   = []string{"limit", "per page", "page size", "size", "count", "max results", "maxitems"}
	nextFields       = []string{"next cursor", "next page token", "next token", "next", "next page", "next link", "next url", "next uri", "next page url", "next page uri", "cursor", "continuation token", "continue", "next marker"}
	nestedFields     = []string{"meta", "metadata", "pagination", "paging", "page info", "links", "response metadata"}
)

func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(other string) bool { return sameName(other, name) })
}

// paginationOf returns the pagination of an operation whose result has one list; nil for others.
func paginationOf(o *operation, result []schema.Property) *pagination {
	l := &pagination{}
	for _, p := range result {
		if p.Type.Kind != schema.KindArray {
			continue
		}
		if l.items != "" {
			return nil // which of them would be the list?
		}
		l.items = p.Name
	}
	if l.items == "" {
		return nil
	}
	for _, p := range o.parameters {
		if p.In != openapi3.ParameterInQuery {
			continue
		}
		switch {
		case named(cursorParameters, p.Name):
			l.cursor = p
		case named(pageParameters, p.Name) && isNumber(p):
			l.page = p
		case named(offsetParameters, p.Name) && isNumber(p):
			l.offset = p
		case named(sizeParameters, p.Name) && isNumber(p):
			l.size = p
		}
	}
	return l
}

func isNumber(p *openapi3.Parameter) bool {
	return p.Schema != nil && p.Schema.Value != nil && p.Schema.Value.Type.Includes(openapi3.TypeInteger)
}

// takes reports whether a parameter is set for each page, and so is not an argument.
func (l *pagination) takes(p *openapi3.Parameter) bool {
	return l != nil && (p == l.cursor || p == l.page || p == l.offset)
}

// pages calls a function for all pages. The result is the last page's, with all items.
func (f *function) pages(ctx context.Context, m message) (property.Map, error) {
	l := f.list
	var items []property.Value
	seen := map[string]bool{}
	for page := 1; ; page++ {
		got, err := f.client.send(ctx, f.operation, m)
		if err != nil {
			return property.Map{}, err
		}
		result := f.result(got.body)
		onPage, isList := result.Get(l.items).Plain().AsArray()
		if !isList && !result.Get(l.items).Plain().IsNull() {
			return property.Map{}, abi.NewError(abi.ErrorKindInternal, "GET "+got.url.Path+": "+l.items+" in the answer is not a list, as the document says")
		}
		items = append(items, onPage...)
		last := ""
		if len(onPage) > 0 {
			last = fieldPath{"id"}.text(onPage[len(onPage)-1])
		}
		next, err := f.next(&m, got, page, len(onPage), len(items), last)
		if err != nil {
			return property.Map{}, err
		}
		if next == "" || len(onPage) == 0 && next == got.url.String() { // some have a last page that is its own next
			return result.With(l.items, property.Array(items...)), nil
		}
		if seen[next] || page == maxPages || len(items) > maxItems {
			return property.Map{}, abi.NewError(abi.ErrorKindInternal, "GET "+got.url.Path+": the list does not end: "+
				strconv.Itoa(page)+" pages with "+strconv.Itoa(len(items))+" items were read; ask for fewer")
		}
		seen[next] = true
		guest.Log(ctx).Status("GET " + got.url.Path + ": " + strconv.Itoa(len(items)) + " items")
	}
}

// next changes a message to that for the next page. It returns an identification of the page; empty for
// none. last is the ID of the last item that was read.
func (f *function) next(m *message, got *answer, page, onPage, total int, last string) (string, error) {
	l := f.list
	if link := nextLink(got.header); link != "" {
		return m.follow(got, link)
	}
	cursor, present := nextCursor(got.body)
	switch {
	case strings.Contains(cursor, "://") || strings.HasPrefix(cursor, "/") || strings.HasPrefix(cursor, "?"):
		return m.follow(got, cursor)
	case cursor != "" && l.cursor != nil:
		m.query.Set(l.cursor.Name, cursor)
		return "cursor " + cursor, nil
	case l.cursor != nil && hasMore(got.body):
		if last == "" {
			return "", abi.NewError(abi.ErrorKindInternal, "GET "+got.url.Path+": there is more of the list than the answer has, but its last item has no id to go on from")
		}
		m.query.Set(l.cursor.Name, last)
		return "item " + last, nil
	case present || l.cursor != nil || m.page != nil || got.header.Get("Link") != "":
		return "", nil // there would have been something about a next page
	}
	size := 1 // if it is not known, an empty page is the last
	if l.size != nil {
		if n, err := strconv.Atoi(m.query.Get(l.size.Name)); err == nil {
			size = n
		}
	}
	switch {
	case onPage < max(size, 1):
		return "", nil
	case l.page != nil:
		if first, ok := l.page.Schema.Value.Default.(float64); ok && first == 0 {
			page--
		}
		m.query.Set(l.page.Name, strconv.Itoa(page+1))
		return "page " + strconv.Itoa(page+1), nil
	case l.offset != nil:
		m.query.Set(l.offset.Name, strconv.Itoa(total))
		return "offset " + strconv.Itoa(total), nil
	}
	return "", nil
}

// follow asks for the page of a link within the service, because credentials are for nobody else.
func (m *message) follow(got *answer, link string) (string, error) {
	u, err := got.url.Parse(link)
	if err != nil {
		return "", abi.NewError(abi.ErrorKindInternal, "GET "+got.url.Path+": the next page is at \""+link+"\", which is not a URL")
	}
	if u.Scheme != got.url.Scheme || u.Host != got.url.Host {
		return "", abi.NewError(abi.ErrorKindInternal, "GET "+got.url.Path+": the next page is said to be at "+u.Scheme+"://"+u.Host+u.Path+", which is another service")
	}
	m.page = u
	return u.String(), nil
}

// nextLink returns the link to the next page in the header Link (RFC 8288).
func nextLink(header http.Header) string {
	for _, value := range header.Values("Link") {
		for value != "" {
			begin, end := strings.IndexByte(value, '<'), strings.IndexByte(value, '>')
			if begin < 0 || end < begin {
				break
			}
			link := value[begin+1 : end]
			value = value[end+1:]
			parameters := value
			if at := strings.IndexByte(value, '<'); at >= 0 {
				parameters = value[:at]
			}
			for part := range strings.FieldsFuncSeq(parameters, func(r rune) bool { return r == ';' || r == ',' }) {
				name, rel, _ := strings.Cut(strings.TrimSpace(part), "=")
				if strings.EqualFold(name, "rel") && slices.Contains(strings.Fields(strings.Trim(rel, `"`)), "next") {
					return link
				}
			}
		}
	}
	return ""
}

// hasMore reports whether an answer says that the list goes on, without saying where.
func hasMore(body property.Value) bool {
	m, _ := body.AsObject()
	for name, v := range m.All() {
		if more, _ := v.AsBool(); more && sameName(name, "has more") {
			return true
		}
	}
	return false
}

// nextCursor returns the URL or cursor of the next page. present is true for an empty field, too.
func nextCursor(body property.Value) (cursor string, present bool) {
	m, ok := body.AsObject()
	if !ok {
		return "", false
	}
	for _, candidate := range nextFields {
		for name, v := range m.All() {
			if text, ok := v.AsString(); (ok || v.IsNull()) && sameName(name, candidate) {
				return text, true
			}
		}
	}
	for name, v := range m.All() {
		if named(nestedFields, name) {
			if cursor, present = nextCursor(v); present {
				return cursor, true
			}
		}
	}
	return "", false
}
