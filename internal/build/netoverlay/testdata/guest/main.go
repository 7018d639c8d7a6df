// Command guest is a provider that uses the network as any Go program does.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Do is a function's command.
type Do struct {
	What string   `husk:"what"`
	Args []string `husk:"args,optional"`
}

// Done is what came of it.
type Done struct {
	Answer string `husk:"answer"`
}

var actions = map[string]func(context.Context, []string) (string, error){
	"get":    func(ctx context.Context, a []string) (string, error) { return get(ctx, http.DefaultClient, a[0]) },
	"pooled": func(ctx context.Context, a []string) (string, error) { return get(ctx, pooled(), a[0]) },
	// dialled has a function to dial of its own, as for sockets of Unix.
	"dialled": func(ctx context.Context, a []string) (string, error) {
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, a[1])
		}}}
		return get(ctx, client, a[0])
	},
	"trusting": func(ctx context.Context, a []string) (string, error) {
		config, err := trust(a[1])
		if err != nil {
			return "", err
		}
		return get(ctx, &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}, a[0])
	},
	"identified": func(ctx context.Context, a []string) (string, error) {
		config, err := trust(a[1])
		if err != nil {
			return "", err
		}
		certificate, err := tls.X509KeyPair([]byte(a[2]), []byte(a[3]))
		if err != nil {
			return "", err
		}
		config.Certificates = []tls.Certificate{certificate}
		return get(ctx, &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, a[0])
	},
	"put": func(ctx context.Context, a []string) (string, error) {
		size, err := strconv.Atoi(a[1])
		if err != nil {
			return "", err
		}
		var body io.Reader = strings.NewReader(strings.Repeat("x", size))
		if a[2] == "unknown" {
			body = io.MultiReader(body)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, a[0], body)
		if err != nil {
			return "", err
		}
		return answer(http.DefaultClient.Do(request))
	},
	// alternate writes a line of the body after it has read the one before from the response.
	"alternate": func(ctx context.Context, a []string) (string, error) {
		body, line := io.Pipe()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, a[0], body)
		if err != nil {
			return "", err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		lines := bufio.NewReader(response.Body)
		var all []string
		for n := range 3 {
			fmt.Fprintf(line, "%d\n", n)
			text, err := lines.ReadString('\n')
			if err != nil {
				return "", err
			}
			all = append(all, strings.TrimSpace(text))
		}
		line.Close()
		_, err = io.Copy(io.Discard, lines)
		return strings.Join(all, ","), err
	},
	// broken has a body that fails.
	"broken": func(ctx context.Context, a []string) (string, error) {
		body := io.MultiReader(strings.NewReader("begin"), failing{})
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, a[0], body)
		if err != nil {
			return "", err
		}
		return answer(http.DefaultClient.Do(request))
	},
	// many has so many requests at once.
	"many": func(ctx context.Context, a []string) (string, error) {
		return atOnce(a[1], func() (string, error) { return get(ctx, http.DefaultClient, a[0]) })
	},
	"timeout": func(ctx context.Context, a []string) (string, error) {
		client := &http.Client{Timeout: 50 * time.Millisecond}
		_, err := get(ctx, client, a[0])
		var timeout net.Error
		return strconv.FormatBool(errors.As(err, &timeout) && timeout.Timeout()), nil
	},
	"slow head": func(ctx context.Context, a []string) (string, error) {
		_, err := get(ctx, &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond}}, a[0])
		return fmt.Sprint(err), nil
	},
	// cancelled has another goroutine cancel the request.
	"cancelled": func(ctx context.Context, a []string) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err := get(ctx, http.DefaultClient, a[0])
		return strconv.FormatBool(errors.Is(err, context.Canceled)), nil
	},
	"redirected": func(ctx context.Context, a []string) (string, error) {
		r, err := http.Get(a[0])
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		return r.Request.URL.Path, nil
	},
	// echo sends a text over TCP and reads it back.
	"echo": func(ctx context.Context, a []string) (string, error) { return echo(ctx, a[0], a[1]) },
	"echoes": func(ctx context.Context, a []string) (string, error) {
		return atOnce(a[2], func() (string, error) { return echo(ctx, a[0], a[1]) })
	},
	"flood": func(ctx context.Context, a []string) (string, error) {
		size, err := strconv.Atoi(a[1])
		if err != nil {
			return "", err
		}
		return echo(ctx, a[0], strings.Repeat("0123456789abcdef", size/16))
	},
	// addresses are what a connection says of its ends.
	"addresses": func(ctx context.Context, a []string) (string, error) {
		c, err := net.Dial("tcp", a[0])
		if err != nil {
			return "", err
		}
		defer c.Close()
		tcp := c.(*net.TCPConn)
		return fmt.Sprint(tcp.LocalAddr(), " ", tcp.RemoteAddr()), errors.Join(tcp.SetNoDelay(true), tcp.SetKeepAlive(true))
	},
	"tls": func(ctx context.Context, a []string) (string, error) {
		config, err := trust(a[1])
		if err != nil {
			return "", err
		}
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", a[0], config)
		if err != nil {
			return "", err
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.String(), nil
	},
	// deadline is how a read ends before anything arrives.
	"deadline": func(ctx context.Context, a []string) (string, error) {
		c, err := net.Dial("tcp", a[0])
		if err != nil {
			return "", err
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return "", fmt.Errorf("the read ended with %v", err)
		}
		c.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(20 * time.Millisecond)
			c.SetReadDeadline(time.Unix(1, 0))
		}()
		_, err = c.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return "", fmt.Errorf("the second read ended with %v", err)
		}
		return "exceeded", nil
	},
	// wait reads what never comes, in two goroutines.
	"wait": func(ctx context.Context, a []string) (string, error) {
		c, err := net.Dial("tcp", a[0])
		if err != nil {
			return "", err
		}
		defer c.Close()
		go http.Get(a[1])
		_, err = c.Read(make([]byte, 1))
		return fmt.Sprint(err), nil
	},
	// beside counts what another goroutine does while this one waits for the network.
	"beside": func(ctx context.Context, a []string) (string, error) {
		count := 0
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					count++
				}
			}
		}()
		_, err := get(ctx, http.DefaultClient, a[0])
		close(stop)
		<-stopped
		return strconv.FormatBool(count > 5), err
	},
	"lookup": func(ctx context.Context, a []string) (string, error) {
		addrs, err := net.DefaultResolver.LookupHost(ctx, a[0])
		return strings.Join(addrs, " "), err
	},
	"records": func(ctx context.Context, a []string) (string, error) {
		_, txt := net.LookupTXT(a[0])
		_, mx := net.LookupMX(a[0])
		_, addr := net.LookupAddr("192.0.2.1")
		return fmt.Sprint(txt, "; ", mx, "; ", addr), nil
	},
	"dial": func(ctx context.Context, a []string) (string, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, a[0], a[1])
		if err == nil {
			c.Close()
		}
		return "", err
	},
	// inside serves HTTP in the module itself.
	"inside": func(ctx context.Context, a []string) (string, error) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "served ", r.URL.Path) }))
		defer server.Close()
		return get(ctx, http.DefaultClient, server.URL+"/inside")
	},
	"traced": func(ctx context.Context, a []string) (string, error) {
		done := false
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { done = true }})
		_, err := get(ctx, http.DefaultClient, a[0])
		return strconv.FormatBool(done), err
	},
	// times is how long so many requests take, one after the other, in microseconds each.
	"times": func(ctx context.Context, a []string) (string, error) {
		return measured(a[1], func() error { _, err := get(ctx, http.DefaultClient, a[0]); return err })
	},
	"connect times": func(ctx context.Context, a []string) (string, error) {
		return measured(a[1], func() error {
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, "ping"); err != nil {
				return err
			}
			_, err = io.ReadFull(c, make([]byte, 4))
			return err
		})
	},
	"ping times": func(ctx context.Context, a []string) (string, error) {
		c, err := net.Dial("tcp", a[0])
		if err != nil {
			return "", err
		}
		defer c.Close()
		part := make([]byte, 4)
		return measured(a[1], func() error {
			if _, err := c.Write(part); err != nil {
				return err
			}
			_, err := io.ReadFull(c, part)
			return err
		})
	},
}

func measured(times string, do func() error) (string, error) {
	n, err := strconv.Atoi(times)
	if err != nil {
		return "", err
	}
	begun := time.Now()
	for range n {
		if err := do(); err != nil {
			return "", err
		}
	}
	return strconv.Itoa(int(time.Since(begun).Microseconds()) / n), nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// pooled is the client that HashiCorp's go-cleanhttp makes.
func pooled() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, DualStack: true}).DialContext,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: 1 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   -1,
	}}
}

func trust(pem string) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("that is no certificate")
	}
	return &tls.Config{RootCAs: roots}, nil
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	return answer(client.Do(request))
}

func answer(response *http.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if len(body) > 1000 {
		return fmt.Sprint(response.StatusCode, " ", len(body), " bytes"), nil
	}
	return fmt.Sprintf("%d %s%s", response.StatusCode, body, response.Trailer.Get("X-Sum")), nil
}

func echo(ctx context.Context, address, text string) (string, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, text)
		wrote <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
	}()
	back, err := io.ReadAll(c)
	if err := errors.Join(err, <-wrote); err != nil {
		return "", err
	}
	if !bytes.Equal(back, []byte(text)) {
		return "", errors.New("something else came back")
	}
	if len(back) > 1000 {
		return fmt.Sprint(len(back), " bytes"), nil
	}
	return string(back), nil
}

// atOnce does the same so many times at once, and returns the one answer that all have.
func atOnce(times string, do func() (string, error)) (string, error) {
	n, err := strconv.Atoi(times)
	if err != nil {
		return "", err
	}
	answers, errs := make([]string, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i], errs[i] = do() })
	}
	all.Wait()
	for _, other := range answers {
		if other != answers[0] {
			errs = append(errs, fmt.Errorf("%q is not %q", other, answers[0]))
		}
	}
	return answers[0], errors.Join(errs...)
}

func do(ctx context.Context, d Do) (Done, error) {
	act, ok := actions[d.What]
	if !ok {
		return Done{}, errors.New("no action " + d.What)
	}
	text, err := act(ctx, d.Args)
	return Done{text}, err
}

func main() {
	guest.Serve(guest.Provider{
		Name:      "net",
		Version:   "1.0.0",
		Functions: []guest.Function{guest.FunctionOf("net:index:do", do)},
	})
}
