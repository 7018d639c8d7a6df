// Command exact compares what programs do as they are with what they do as a host runs them: with
// functions rewritten, fuel taken, and in part. Nothing but the time that they take may differ.
//
// The programs are the tests of packages of Go's standard library, which do most of what Go can, and
// programs in C, if there is a compiler: that of Zig, which the package ziglang of PyPI has too. Random
// functions are tested by the packages relooper and equivalence.
//
//	go run ./bench/exact [-short] [-std sort,strconv] [-zig "python3 -m ziglang"]
//
// It ends with an error where anything differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// packages are those of the standard library whose tests run in a module, by default and if it is to
// be short.
const (
	packages = "bufio,bytes,compress/flate,compress/gzip,container/heap,container/list,context,crypto/aes,crypto/sha256," +
		"encoding/base64,encoding/binary,encoding/csv,encoding/gob,encoding/hex,encoding/json,encoding/xml,errors,fmt," +
		"go/ast,go/parser,go/printer,go/scanner,hash/crc32,hash/maphash,html/template,io,maps,math,math/big,math/bits," +
		"math/cmplx,math/rand,mime,net/url,path,reflect,regexp,regexp/syntax,slices,sort,strconv,strings,sync," +
		"text/scanner,text/tabwriter,text/template,text/template/parse,time,unicode,unicode/utf16,unicode/utf8"
	fewPackages = "sort,strconv,text/scanner,unicode/utf8"
)

func main() {
	short := flag.Bool("short", false, "take fewer packages and levels of optimization")
	std := flag.String("std", packages, "packages of the standard library, with commas; none to leave them out")
	zig := flag.String("zig", "", "command of Zig, which compiles C (default: zig, or python3 -m ziglang, if there is either)")
	flag.Parse()
	compiled := levels
	if *short {
		compiled = levels[:1]
		if *std == packages {
			*std = fewPackages
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := &comparison{begun: time.Now()}
	c.c(ctx, strings.Fields(*zig), compiled)
	if *std != "none" {
		for pkg := range strings.SplitSeq(*std, ",") {
			c.tests(ctx, pkg)
		}
	}
	if err := c.end(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "exact:", err)
		os.Exit(1)
	}
}

type comparison struct {
	begun       time.Time
	differences int
	failures    []error
}

func (c *comparison) tell(what, format string, args ...any) {
	fmt.Printf("%-28s %s\n", what, fmt.Sprintf(format, args...))
}

func (c *comparison) differs(what, format string, args ...any) {
	c.differences++
	c.tell(what, "DIFFERS: "+format, args...)
}

func (c *comparison) failed(what string, err error) {
	c.failures = append(c.failures, fmt.Errorf("%s: %w", what, err))
	c.tell(what, "not compared: %v", err)
}

func (c *comparison) end(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	fmt.Printf("%d differences, in %s\n", c.differences, time.Since(c.begun).Round(time.Second))
	err := errors.Join(c.failures...)
	if c.differences > 0 {
		err = errors.Join(fmt.Errorf("%d differences", c.differences), err)
	}
	return err
}
