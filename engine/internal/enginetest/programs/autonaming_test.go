package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	. "github.com/husk-dev/husk/engine/internal/enginetest"
)

// named has one resource, whose name the policy decides. It returns what its provider
// was offered last.
func named(t *testing.T, policy string) (*Stack, func() *abi.Autonaming) {
	cloud := NewCloud()
	cloud.Types["test:index:Thing"] = Type{Replace: []string{"size"}}
	var offered *abi.Autonaming
	cloud.Checked = func(req abi.CheckRequest) { offered = req.Autonaming }
	s := NewStack(t, cloud)
	s.Config = []abi.ConfigEntry{{Key: "pulumi:autonaming", Value: policy}}
	return s, func() *abi.Autonaming { return offered }
}

func sized(size int, options ...func(*abi.ResourceOptions)) Program {
	return func(p *Run) error {
		_, err := p.Custom("test:index:Thing", "logs", Props("size", size), options...)
		return err
	}
}

func TestNamesAreProposedToProviders(t *testing.T) {
	s, offered := named(t, `{"pattern": "${project}-${stack}-${name}-${hex(7)}"}`)
	s.Preview(sized(1))
	require.Equal(t, abi.AutonamingModePropose, offered().Mode)
	require.Regexp(t, `^proj-dev-logs-[0-9a-f]{7}$`, offered().ProposedName)
	s.Up(sized(1))
	s.Up(sized(2))
	require.Equal(t, []string{"create-replacement logs", "delete-replaced logs"}, s.Steps())
	s.Config = nil
	s.Up(sized(2))
	require.Nil(t, offered())
}

// Two resources of one name cannot exist at once.
func TestFixedNamesDeleteBeforeTheyReplace(t *testing.T) {
	s, offered := named(t, `{"mode": "verbatim"}`)
	s.Up(sized(1))
	require.Equal(t, &abi.Autonaming{ProposedName: "logs", Mode: abi.AutonamingModeEnforce}, offered())
	s.Up(sized(2))
	require.Equal(t, []string{"delete-replaced logs", "create-replacement logs"}, s.Steps())
	no := false
	s.Up(sized(3, func(o *abi.ResourceOptions) { o.DeleteBeforeReplace = &no }))
	require.Equal(t, []string{"create-replacement logs", "delete-replaced logs"}, s.Steps())
}

func TestProvidersThatNameByThemselves(t *testing.T) {
	s, offered := named(t, `{"mode": "verbatim"}`)
	features := abi.FeaturesSecrets | abi.FeaturesPreview
	s.Cloud.Features = &features
	s.Up(sized(1))
	require.Nil(t, offered())
	require.Empty(t, s.Warnings())
	s.Config[0].Value = `{"providers": {"test": {"mode": "verbatim"}}}`
	s.Up(sized(2))
	require.Equal(t, []string{"create-replacement logs", "delete-replaced logs"}, s.Steps())
	require.Equal(t, []string{"pulumi:autonaming has a rule for this resource, but its provider names it by itself"}, s.Warnings())
}

func TestPolicyThatCannotBeRead(t *testing.T) {
	s, _ := named(t, `{"mode": "verbatm"}`)
	_, err := s.Try(Up, sized(1))
	require.ErrorContains(t, err, `configuration pulumi:autonaming: unknown mode "verbatm"`)
	require.Zero(t, s.Snapshot().Len())
	_, err = s.Try(Destroy, nil)
	require.NoError(t, err, "nothing is named there")
}
