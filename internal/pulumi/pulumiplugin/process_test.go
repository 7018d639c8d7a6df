//go:build unix

package pulumiplugin_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/named/namedtest"
	"github.com/husk-dev/husk/internal/pulumi/pulumiplugin"
)

// childVariable makes a process of this test the one that a plugin starts. It keeps a connection to an address, by which the
// test sees its end.
const childVariable = "HUSK_PLUGIN_CHILD"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == policyPack {
		servePolicyPack()
		return
	}
	address := os.Getenv(childVariable)
	if address == "" {
		os.Exit(m.Run())
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	connection, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	fmt.Println(1) // where nobody listens
	<-interrupted
	if len(os.Args) > 2 {
		select {} // it ignores the interrupt
	}
	fmt.Fprintln(connection, "interrupted")
}

// A plugin may be a script that starts another process. That one ends with it.
func TestCloseEndsWhatAPluginHasStarted(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, script := range map[string]string{
		"ends":                         `"` + self + `" "$1"`,
		"ignores interrupts":           `"` + self + `" "$1" stubborn`,
		"is behind its parent":         `"` + self + `" "$1" stubborn &` + "\nwait",
		"has let go of its output":     `trap 'exit 0' INT; "` + self + `" "$1" stubborn >/dev/null 2>&1 &` + "\necho 1; while :; do sleep 0.1; done",
		"goes on when its parent ends": `"` + self + `" "$1" stubborn &` + "\nexit 1",
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			program := filepath.Join(t.TempDir(), "pulumi-resource-all")
			text := fmt.Sprintf("#!/bin/sh\nexport %s=%s\n%s\n", childVariable, listener.Addr(), script)
			require.NoError(t, os.WriteFile(program, []byte(text), 0o700))
			p, err := pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program, Log: func(abi.LogEntry) {}})
			require.NoError(t, err)
			child, err := listener.Accept()
			require.NoError(t, err)
			defer child.Close()
			closed := make(chan error, 1)
			go func() { closed <- p.Close() }()
			t.Parallel() // all wait side by side; before, a program that another one starts would have the file open, and it could not be run
			require.NoError(t, <-closed)
			require.NoError(t, child.SetReadDeadline(time.Now().Add(time.Minute)))
			line, err := bufio.NewReader(child).ReadString('\n')
			if name == "ends" {
				require.NoError(t, err)
				require.Equal(t, "interrupted\n", line)
				return
			}
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			if err != io.EOF {
				require.ErrorIs(t, err, syscall.ECONNRESET)
			}
		})
	}
}

// A plugin has the credentials of its cloud, and none of husk's own, by whatever name.
func TestAPluginHasNoCredentialsOfHusk(t *testing.T) {
	namedtest.Set(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "pulumi-resource-all")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nenv >environment\necho 1\nexec sleep 1000\n"), 0o700))
	o := pulumiplugin.Options{Name: "all", Program: program, Dir: dir, Log: func(abi.LogEntry) {}, EnvVarMappings: map[string]string{"VAULT_TOKEN": "MINE"}}
	p, err := pulumiplugin.Start(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	text, err := os.ReadFile(filepath.Join(dir, "environment"))
	require.NoError(t, err)
	environment := "\n" + string(text)
	require.Contains(t, environment, "\nMINE="+namedtest.Canary)
	for name := range namedtest.Credentials {
		require.Equal(t, !named.IsHusks(name), strings.Contains(environment, "\n"+name+"="), name)
	}
	for name := range namedtest.Credentials {
		o.EnvVarMappings = map[string]string{name: "MINE"}
		if named.IsHusks(name) {
			_, err := pulumiplugin.Start(t.Context(), o)
			require.ErrorContains(t, err, "envVarMappings: the environment variable "+name+" is for husk alone")
		}
	}
}
