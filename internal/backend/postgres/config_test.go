package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/named/namedtest"
)

// The configuration of a project's URL has nothing of the environment and of the user's files.
func TestAProjectsURLIsAllThereIs(t *testing.T) {
	namedtest.Set(t)
	for name, value := range map[string]string{
		"PGHOST": "other.example", "PGPORT": "1", "PGDATABASE": "other", "PGUSER": "other", "PGAPPNAME": "other", "PGOPTIONS": "-c other=1", "PGTZ": "other", "PGCONNECT_TIMEOUT": "1",
	} {
		t.Setenv(name, value)
	}
	config, err := configOf(named.ByProject("postgres://me:secret@db.example/stacks?sslmode=require&application_name=mine", ""))
	require.NoError(t, err)
	require.Equal(t, []any{"db.example", uint16(5432), "stacks", "me", "secret"}, []any{config.Host, config.Port, config.Database, config.User, config.Password})
	require.Equal(t, map[string]string{"application_name": "mine"}, config.RuntimeParams)
	require.Empty(t, config.TLSConfig.Certificates)
	require.Nil(t, config.TLSConfig.RootCAs)
	require.Zero(t, config.ConnectTimeout)

	config, err = configOf(named.ByProject("postgres://db.example:6432,other.example:6433/?sslmode=require", ""))
	require.NoError(t, err)
	require.Equal(t, []any{"db.example", uint16(6432), "", ""}, []any{config.Host, config.Port, config.Database, config.Password})
	require.NotEqual(t, "other", config.User)
	require.Len(t, config.Fallbacks, 1)

	operators, err := configOf(named.ByOperator("postgres://me@db.example/stacks?sslmode=require", ""))
	require.NoError(t, err)
	require.Equal(t, namedtest.Canary, operators.Password)
	require.Len(t, operators.TLSConfig.Certificates, 1)
}
