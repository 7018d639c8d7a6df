package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/husk-dev/husk/cmd/husk-server/certificate"
	"github.com/husk-dev/husk/cmd/husk-server/forwarded"
	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
	"github.com/husk-dev/husk/internal/base/hostname"
)

// front is where clients of the server connect.
type front struct {
	listener net.Listener
	url      string
	proxies  forwarded.Proxies
	// metrics returns the metrics of its certificate, nil for none.
	metrics func() []telemetry.Metric
}

func (f flags) listenFront() (*front, error) {
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return nil, fmt.Errorf("--listen %s: it has the form HOST:PORT", f.listen)
	}
	proxies, err := forwarded.Parse(f.proxies)
	if err != nil {
		return nil, fmt.Errorf("--behind-proxy: %w", err)
	}
	at := &front{proxies: proxies}
	scheme := "http"
	var config *tls.Config
	switch encrypted := f.cert != "" || f.key != ""; {
	case encrypted && f.plain:
		return nil, errors.New("--plain-http: the server encrypts, as --tls-cert says: leave one of them out")
	case encrypted:
		files, err := certificate.Open(f.cert, f.key)
		if err != nil {
			return nil, err
		}
		scheme, config, at.metrics = "https", files.Config(), files.Metrics
	case !f.plain && !f.isLocal():
		return nil, fmt.Errorf("--listen %s: anybody on the way could read the tokens: add --tls-cert and --tls-key, or listen at 127.0.0.1 behind a proxy that has a certificate; "+
			"--plain-http is for networks that encrypt, such as a mesh", f.listen)
	}
	if at.listener, err = net.Listen("tcp", f.listen); err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	at.url = scheme + "://" + at.listener.Addr().String()
	if config != nil {
		at.listener = tls.NewListener(at.listener, config)
	}
	return at, nil
}

// listening is a listener with its handler.
type listening struct {
	listener net.Listener
	handler  http.Handler
	// title says what is there, empty for the front.
	title string
}

// listenBeside listens for the server's operator.
func (f flags) listenBeside(s *server.Server) (all []listening, err error) {
	add := func(flag, title, address string, handler http.Handler) {
		if address == "" || err != nil {
			return
		}
		l, listenErr := net.Listen("tcp", address)
		if listenErr != nil {
			err = fmt.Errorf("%s: %w", flag, listenErr)
			for _, one := range all {
				one.listener.Close()
			}
			return
		}
		all = append(all, listening{l, handler, title})
	}
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", s.Metrics())
	add("--metrics", "Metrics", f.metrics, metrics)
	if host, _, splitErr := net.SplitHostPort(f.pprof); f.pprof != "" && (splitErr != nil || !hostname.IsThisMachine(host)) {
		return nil, fmt.Errorf("--pprof %s: profiles show what the server does, without a token: name an address of this machine, such as 127.0.0.1:6060", f.pprof)
	}
	profiles := http.NewServeMux()
	profiles.HandleFunc("GET /debug/pprof/", pprof.Index)
	profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	add("--pprof", "Profiles", f.pprof, profiles)
	return all, err
}
