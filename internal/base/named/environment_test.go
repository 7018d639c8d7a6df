package named_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/named"
)

// What is husk's alone is told by the name of a variable, and a new one of husk's is until somebody says otherwise.
func TestVariablesOfHusk(t *testing.T) {
	for variable, is := range map[string]bool{
		"HUSK_ACCESS_TOKEN": true, "HUSK_SERVER_DATABASE": true, "HUSK_KEY_COMMAND": true, "HUSK_WHATEVER": true, "PULUMI_CONFIG_PASSPHRASE_FILE": true,
		"Husk_Access_Token": true, "HUSK_TRUST_POLICY": false, "HUSK_BACKEND_URL": false, "PULUMI_ACCESS_TOKEN": false, "HTTPS_PROXY": false, "all_proxy": false, "OTEL_EXPORTER_OTLP_HEADERS": false, "AWS_SECRET_ACCESS_KEY": false, "HUSK": false,
	} {
		require.Equal(t, is, named.IsHusks(variable), variable)
		t.Setenv(variable, "value")
		_, gets := named.Lookup(variable)
		require.Equal(t, !is, gets, variable)
		require.Equal(t, is, named.CheckVariable(variable) != nil, variable)
	}
	environment := named.Environment()
	require.Contains(t, environment, "HUSK_TRUST_POLICY=value")
	require.NotContains(t, environment, "HUSK_ACCESS_TOKEN=value")
}

// A proxy and a collector are the user's, and who needs them needs their passwords.
func TestPasswordsOfTheUser(t *testing.T) {
	for variable, value := range map[string]string{
		"HTTPS_PROXY": "http://me:canary@proxy.example:3128", "http_proxy": "http://me:canary@proxy.example:3128", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic canary",
	} {
		t.Setenv(variable, value)
		is, _ := named.Lookup(variable)
		require.Equal(t, value, is, variable)
	}
}

// The URL of the stacks goes to others without a password.
func TestPasswordsOfTheStacks(t *testing.T) {
	for url, want := range map[string]string{
		"file://./.husk": "file://./.husk", "file://~/stacks": "file://~/stacks", "https://husk.example/team?a=b": "https://husk.example/team?a=b",
		"https://:canary@husk.example/team": "https://husk.example/team", "postgres://me:canary@one:1,two:2/db?sslmode=require": "postgres://me@one:1,two:2/db?sslmode=require",
		"postgres://h/db?password=canary&sslmode=require": "postgres://h/db?sslmode=require", "s3://b?AccessKey=canary": "s3://b", "postgres://me:canary%@h/db": "",
		"postgres://h/db?password=canary;1": "", "postgres://h/db?sslmode=require&password=canary%": "",
	} {
		for _, variable := range []string{"HUSK_BACKEND_URL", "PULUMI_BACKEND_URL"} {
			t.Setenv(variable, url)
			is, _ := named.Lookup(variable)
			require.Equal(t, want, is, url)
		}
	}
}
