// Command release makes the files of a release of Husk: archives for all platforms, packages for Linux distributions,
// images for containers, a bill of materials, checksums, and a signature of them. The same commit and version make the same bytes.
//
//	go run -C release . -version v1.2.0 -key husk.key -o /tmp/dist
//
// The programs are the same as go install makes from the version: the release program serves the module from a directory, as a
// module proxy would.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/host/trust"
)

func main() {
	var o options
	var platforms, key string
	flag.StringVar(&o.Version, "version", "", "the version, such as v1.2.0")
	flag.StringVar(&o.Revision, "revision", "HEAD", "the commit that is released")
	flag.StringVar(&o.Dir, "o", "", "the directory for the files, which must be empty or missing")
	flag.StringVar(&platforms, "platforms", strings.Join(allPlatforms, ","), "the platforms, separated by commas")
	flag.StringVar(&key, "key", "", "the file of the private key that signs; HUSK_KEY_PASSPHRASE has its passphrase")
	flag.Parse()
	o.Platforms = strings.Split(platforms, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, key, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, key string, rest []string) error {
	if len(rest) > 0 || o.Version == "" || o.Dir == "" {
		return errors.New("usage: go run -C release . -version VERSION -o DIR [-key FILE]")
	}
	if key != "" {
		text, err := os.ReadFile(key)
		if err != nil {
			return fmt.Errorf("reading the private key: %w", err)
		}
		k, err := trust.ParsePrivateKey(text, []byte(os.Getenv("HUSK_KEY_PASSPHRASE")))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		o.Key = &k
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}
	o.Dir = dir
	o.Log = os.Stderr
	return release(ctx, o)
}
