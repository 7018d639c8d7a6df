package hostile_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host"
)

// leads is where the names of *.test lead. Those that are missing lead where own.test does.
var leads = map[string][]string{
	"loop": {"127.0.0.1"}, "loop8": {"127.9.9.9"}, "mapped": {"::ffff:127.0.0.1"}, "six": {"::1"},
	"zero": {"0.0.0.0"}, "unspecified": {"::"},
	"ten": {"10.0.0.1"}, "docker": {"172.17.0.1"}, "home": {"192.168.1.1"}, "carrier": {"100.64.0.1"}, "ula": {"fd00::1"}, "site": {"fec0::1"},
	"aws": {"169.254.169.254"}, "task": {"169.254.170.2"}, "azure": {"168.63.129.16"}, "alibaba": {"100.100.100.200"}, "oracle": {"192.0.0.192"},
	"aws6": {"fd00:ec2::254"}, "google6": {"fd20:ce::254"}, "azuremapped": {"::ffff:168.63.129.16"}, "azurenat64": {"64:ff9b::a83f:8110"},
	"link6": {"fe80::1"}, "multicast": {"224.0.0.1"}, "multicast6": {"ff02::1"}, "relay": {"192.88.99.1"},
	"broadcast": {"255.255.255.255"}, "future": {"240.0.0.1"}, "testnet": {"192.0.2.1"}, "benchmark": {"198.18.0.1"}, "discard": {"100::1"},
	"documentation": {"2001:db8::1"}, "segment": {"5f00::1"},
	"nat64": {"64:ff9b::7f00:1"}, "nat64private": {"64:ff9b::a00:1"}, "localnat64": {"64:ff9b:1::7f00:1"}, "sixtofour": {"2002:7f00:1::"},
	"teredo": {"2001:0:7f00:1::"}, "compatible": {"::7f00:1"}, "siit": {"::ffff:0:7f00:1"}, "isatap": {"2a00::5efe:7f00:1"},
	"both": {"10.0.0.1", "127.0.0.1"}, "twice": {"127.0.0.1", "127.0.0.1"}, "a.many": {"127.0.0.1"}, "b.many": {"127.0.0.1", "::1"},
	"pods": {"169.254.170.23"}, "pods6": {"fd00:ec2::23"}, "scaleway6": {"fd00:42::42"}, "link": {"169.254.0.1"}, "eight": {"127.255.255.254"},
	"all": {"0.255.0.1"}, "low": {"::2"}, "dns64": {"64:ff9b::c000:aa"}, "sixtofourcloud": {"2002:a9fe:a9fe::1"},
	"teredocloud": {"2001:0:a9fe:a9fe::5601:5601"}, "compatiblecloud": {"::169.254.169.254"}, "isataplocal": {"2a00::200:5efe:a9fe:a9fe"},
	"siitcloud": {"::ffff:0:169.254.169.254"}, "nat64own": {"64:ff9b:1:abcd::a00:1"}, "documentation4": {"198.51.100.7"},
	"documentation2": {"203.0.113.9"}, "newdocs": {"3fff:1::1"}, "orchid": {"2001:20::1"}, "as112": {"2001:4:112::1"}, "dummy": {"100:0:0:1::1"},
	"ssdp": {"239.255.255.250"}, "ietf": {"192.0.0.171"}, "goodbad": {"93.184.216.34", "127.0.0.1"}, "firstbad": {"10.0.0.1", "93.184.216.34"},
	// Each question about it has another answer.
	"rebind": {"10.0.0.1", "127.0.0.1"},
}

// serveNames answers the questions of the resolver of the process.
func serveNames(t *testing.T) {
	var own []string
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			own = append(own, p.Addr().String())
		}
	}
	var asked atomic.Uint64
	answers := func(name string) []string {
		name = strings.TrimSuffix(strings.ToLower(name), ".")
		switch list, known := leads[strings.TrimSuffix(name, ".test")]; {
		case name == "rebind.test":
			return list[asked.Add(1)/2%2:][:1]
		case known:
			return list
		case strings.HasSuffix(name, "localhost"):
			return []string{"127.0.0.1"}
		}
		return own
	}
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			for answerName(theirs, answers) == nil {
			}
		}()
		return ours, nil
	}}
}

// answerName answers one question of a resolver, as DNS over a stream has it (RFC 1035, 4.2.2).
func answerName(conn net.Conn, addresses func(name string) []string) error {
	var size uint16
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return err
	}
	query := make([]byte, size)
	if _, err := io.ReadFull(conn, query); err != nil {
		return err
	}
	const header, isA, isAAAA = 12, 1, 28
	end := header + bytes.IndexByte(query[header:], 0) + 1
	var labels []string
	for at := header; query[at] != 0; at += int(query[at]) + 1 {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
	}
	answer := slices.Concat(query[:2], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[header:end+4])
	for _, text := range addresses(strings.Join(labels, ".")) {
		addr := netip.MustParseAddr(text)
		if kind := binary.BigEndian.Uint16(query[end:]); kind == isA && addr.Is4() || kind == isAAAA && addr.Is6() {
			answer[7]++
			answer = append(answer, 0xc0, header, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(addr.AsSlice())))
			answer = append(answer, addr.AsSlice()...)
		}
	}
	_, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	return err
}

// raw is what the server answers below /raw, byte for byte. It does not close the connection
// where "..." is at the end, and repeats the rest for ever from "*" on.
var raw = map[string]string{
	"switch":             "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n...",
	"switch-websocket":   "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\ndata...",
	"switch-h2c":         "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00...",
	"switch-without":     "HTTP/1.1 101 Switching Protocols\r\n\r\n...",
	"continue":           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nafter it",
	"early-hints":        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nafter it",
	"processing":         "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nafter it",
	"hints-for-ever":     "*HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
	"headers-for-ever":   "HTTP/1.1 200 OK\r\n*X: y\r\n",
	"header-for-ever":    "HTTP/1.1 200 OK\r\nX: *y",
	"two-lengths":        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	"negative-length":    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab",
	"length-and-chunked": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
	"bad-chunk":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	"short":              "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab",
	"http9":              "HTTP/9.9 200 OK\r\nContent-Length: 8\r\n\r\nafter it",
	"no-response":        "",
	"garbage":            "\x16\x03\x01\x00\x05hello",
	"trailers":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n8\r\nafter it\r\n0\r\nX: y\r\nHost: evil\r\n\r\n",
	"alt-svc":            "HTTP/1.1 200 OK\r\nAlt-Svc: h2=\"127.0.0.1:1\"; ma=86400\r\nContent-Length: 8\r\n\r\nafter it",
	"upgrade-insecure":   "HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 8\r\n\r\nafter it",
	"second-response":    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond",
}

// serveAttempts is the server that requests are sent to.
func serveAttempts(t *testing.T) (port string) {
	closed := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isRaw := strings.CutPrefix(r.URL.Path, "/raw/")
		if status, ok := strings.CutPrefix(name, "status-"); ok && isRaw {
			raw := "HTTP/1.1 " + status + " X\r\nContent-Length: 0\r\n\r\n"
			writeRaw(w, raw, closed)
			return
		}
		if isRaw {
			writeRaw(w, raw[name], closed)
			return
		}
		if status, ok := strings.CutPrefix(r.URL.Path, "/redirect/"); ok {
			code, _ := strconv.Atoi(status)
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(code)
			io.WriteString(w, "moved to "+w.Header().Get("Location"))
			return
		}
		text := r.Method + " " + r.RequestURI + " " + r.Host
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			if strings.HasPrefix(name, "X") || name == "Authorization" {
				text += " " + name + "=" + strings.Join(r.Header[name], ",")
			}
		}
		io.WriteString(w, text)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener)
	t.Cleanup(func() {
		close(closed)
		server.Close()
	})
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func writeRaw(w http.ResponseWriter, text string, closed <-chan struct{}) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	text, open := strings.CutSuffix(text, "...")
	once, again, repeats := strings.Cut(text, "*")
	_, err = io.WriteString(conn, once)
	for again = strings.Repeat(again, 100); repeats && err == nil; {
		_, err = io.WriteString(conn, again)
	}
	if open {
		go func() {
			<-closed
			conn.Close()
		}()
		io.Copy(io.Discard, conn)
	}
}

// attempt is one line of inputs/network.txt.
type attempt struct{ what, outcome string }

// attempts expands a line.
func attempts(t *testing.T, line string) (all []attempt) {
	what, outcome, ok := strings.Cut(line, " => ")
	require.True(t, ok, "the line has no outcome: %s", line)
	list, outcomes := alternatives(what), alternatives(outcome)
	if len(outcomes) == 1 {
		outcomes = slices.Repeat(outcomes, len(list))
	}
	require.Len(t, outcomes, len(list), line)
	for i, what := range list {
		all = append(all, attempt{what, strings.TrimSpace(outcomes[i])})
	}
	return all
}

func alternatives(text string) (all []string) {
	before, rest, ok := strings.Cut(text, "{")
	choices, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{text}
	}
	for choice := range strings.SplitSeq(choices, "|") {
		for _, end := range alternatives(after) {
			all = append(all, before+choice+end)
		}
	}
	return all
}

// asked is an attempt as inputs/send.wat and inputs/connect.wat take it.
func (a attempt) asked(t *testing.T) (text string, tcp bool) {
	if address, ok := strings.CutPrefix(a.what, "connect "); ok {
		return address, true
	}
	method, rest, ok := strings.Cut(a.what, ` "`)
	require.True(t, ok, a.what)
	text, rest = method+"\x1e", `"`+rest
	for n := 0; rest != ""; n++ {
		name := ""
		if n > 0 {
			name, rest, ok = strings.Cut(strings.TrimPrefix(rest, " "), `: "`)
			require.True(t, ok, a.what)
			rest = `"` + rest
			text += unquoted(t, `"`+name+`"`) + "\x1f"
		}
		value, err := strconv.QuotedPrefix(rest)
		require.NoError(t, err, a.what)
		text += unquoted(t, value) + "\x1e"
		rest = rest[len(value):]
	}
	return text, false
}

func unquoted(t *testing.T, quoted string) string {
	text, err := strconv.Unquote(quoted)
	require.NoError(t, err, quoted)
	return text
}

// granted reads a line of grants.
func granted(t *testing.T, line string) (g host.Grants) {
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "tcp":
			i++
			granted, err := grant.ParseTCP(words[i])
			require.NoError(t, err)
			g.TCP = append(g.TCP, granted)
		case "with":
			i++
			last := &g.HTTP[len(g.HTTP)-1]
			bound, err := last.WithHeader(words[i], "host's")
			require.NoError(t, err)
			*last = bound
		default:
			url, methods, limited := strings.Cut(strings.TrimSuffix(words[i], "]"), "[")
			var list []string
			if limited {
				list = strings.Split(methods, ",")
			}
			granted, err := grant.ParseHTTP(url, list...)
			require.NoError(t, err)
			g.HTTP = append(g.HTTP, granted)
		}
	}
	return g
}

// TestNetworkAttempts sends what inputs/network.txt lists from inside of modules.
func TestNetworkAttempts(t *testing.T) {
	serveNames(t)
	port := serveAttempts(t)
	text, err := os.ReadFile(filepath.Join(corpus, "inputs", "network.txt"))
	require.NoError(t, err)
	h := newHost(t, host.NewConfig())
	send, connect := assemble(t, "inputs/send.wat"), assemble(t, "inputs/connect.wat")
	var overHTTP, overTCP *host.Provider
	number := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "PORT", port)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") || line == "#" {
			continue
		}
		if grants, ok := strings.CutPrefix(line, "grant"); ok {
			options := host.ProviderOptions{Grants: granted(t, grants)}
			overHTTP, overTCP = provide(t, h, send, options), provide(t, h, connect, options)
			continue
		}
		for _, a := range attempts(t, line) {
			number++
			t.Run(fmt.Sprint(number), func(t *testing.T) {
				asked, tcp := a.asked(t)
				p := overHTTP
				if tcp {
					p = overTCP
				}
				response, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: asked})
				kind, want, _ := strings.Cut(a.outcome, " ")
				got := "answers"
				message := response.Provider
				if err != nil {
					e := abi.AsError(err)
					got, message = e.Kind.String()+":", e.Message
				}
				require.Equal(t, kind, got, "%s\n%s", a.what, message)
				require.Contains(t, message, want, a.what)
			})
		}
	}
	const least = 256
	require.GreaterOrEqual(t, number, least)
}
