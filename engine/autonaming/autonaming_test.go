package autonaming_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/autonaming"
)

var names = autonaming.Names{
	Organization: "organization", Project: "shop", Stack: "dev",
	Config: func(key string) (abi.ConfigEntry, bool) {
		entry, ok := map[string]abi.ConfigEntry{
			"shop:region": {Value: "eu"},
			"aws:zone":    {Value: "a"},
			"shop:token":  {Value: "hunter2", Secret: true},
		}[key]
		return entry, ok
	},
}

const bucket = "aws:s3/bucket:Bucket"

func TestPropose(t *testing.T) {
	propose := func(name string) *autonaming.Proposal {
		return &autonaming.Proposal{Autonaming: abi.Autonaming{ProposedName: name, Mode: abi.AutonamingModePropose}, Fixed: true}
	}
	specific := func(p *autonaming.Proposal) *autonaming.Proposal {
		p.Specific = true
		return p
	}
	verbatim := &autonaming.Proposal{Autonaming: abi.Autonaming{ProposedName: "logs", Mode: abi.AutonamingModeEnforce}, Fixed: true}
	for name, test := range map[string]struct {
		policy string
		want   *autonaming.Proposal
	}{
		"nothing":    {`{}`, nil},
		"default":    {`{"mode": "default"}`, nil},
		"verbatim":   {`{"mode": "verbatim"}`, verbatim},
		"disabled":   {`{"mode": "disabled"}`, &autonaming.Proposal{Autonaming: abi.Autonaming{Mode: abi.AutonamingModeDisable}, Fixed: true}},
		"a pattern":  {`{"pattern": "${organization}/${project}-${stack}-${name}!"}`, propose("organization/shop-dev-logs!")},
		"configured": {`{"pattern": "${config.region}${config.aws:zone}"}`, propose("eua")},
		"enforced": {`{"pattern": "x${name}", "enforce": true}`,
			&autonaming.Proposal{Autonaming: abi.Autonaming{ProposedName: "xlogs", Mode: abi.AutonamingModeEnforce}, Fixed: true}},
		"not enforced":            {`{"pattern": "x${name}", "enforce": false}`, propose("xlogs")},
		"another provider's":      {`{"providers": {"gcp": {"mode": "disabled"}}}`, nil},
		"the provider's":          {`{"mode": "disabled", "providers": {"aws": {"pattern": "p"}}}`, specific(propose("p"))},
		"the provider's default":  {`{"mode": "disabled", "providers": {"aws": {"mode": "default"}}}`, nil},
		"the resource's":          {`{"providers": {"aws": {"mode": "disabled", "resources": {"aws:s3/bucket:Bucket": {"pattern": "r"}}}}}`, specific(propose("r"))},
		"another resource's":      {`{"pattern": "g", "providers": {"aws": {"resources": {"aws:s3/x:X": {"mode": "disabled"}}}}}`, specific(propose("g"))},
		"a name with expressions": {`{"pattern": "$-{name}-$"}`, propose("$-{name}-$")},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := autonaming.Parse(test.policy, names)
			require.NoError(t, err)
			require.Equal(t, test.want, policy.Propose(bucket, "logs", nil))
		})
	}
	var none *autonaming.Policy
	require.Nil(t, none.Propose(bucket, "logs", nil))
}

func TestRandomNames(t *testing.T) {
	for pattern, form := range map[string]string{
		"${name}-${hex(7)}":      `^logs-[0-9a-f]{7}$`,
		"${alphanum(40)}":        `^[a-z0-9]{40}$`,
		"${string(3)}${num(20)}": `^[a-z]{3}[0-9]{20}$`,
		"${uuid}":                `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	} {
		policy, err := autonaming.Parse(`{"pattern": "`+pattern+`"}`, names)
		require.NoError(t, err)
		one, two := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		first := policy.Propose(bucket, "logs", one)
		require.Regexp(t, form, first.ProposedName)
		require.False(t, first.Fixed)
		require.Equal(t, first, policy.Propose(bucket, "logs", one), "the seed decides")
		require.NotEqual(t, first, policy.Propose(bucket, "logs", two))
	}
}

func TestParseRefuses(t *testing.T) {
	for policy, want := range map[string]string{
		`{"mode": "other"}`:                          `configuration pulumi:autonaming: unknown mode "other": there are default, verbatim, and disabled`,
		`{"mode": "verbatim", "enforce": true}`:      `a mode excludes pattern and enforce`,
		`{"enforce": true}`:                          `enforce needs a pattern`,
		`{"pattern": ""}`:                            `the pattern is empty`,
		`{"pattern": "${nam}"}`:                      `unknown expression ${nam}: there are ${name}, `,
		`{"pattern": "${name"}`:                      `the pattern has a ${ without a }: ${name`,
		`{"pattern": "${hex(0)}"}`:                   `${hex(0)}: the number of characters must be from 1 to 256`,
		`{"pattern": "${hex(9999999999999999999)}"}`: `must be from 1 to 256`,
		`{"pattern": "${hex(7}"}`:                    `unknown expression ${hex(7}`,
		`{"pattern": "${config.none}"}`:              `the configuration key shop:none is not set`,
		`{"pattern": "${config.token}"}`:             `the configuration key shop:token is secret, and names are not`,
		`{"providers": {"aws": {"mode": "x"}}}`:      `configuration pulumi:autonaming.providers.aws: unknown mode "x"`,
		`{"providers": {"aws": {"resources": {"aws:s3/bucket:Bucket": {}}}}}`:            `configuration pulumi:autonaming.providers.aws.resources["aws:s3/bucket:Bucket"]: give it a mode or a pattern`,
		`{"providers": {"aws": {"resources": {"aws:s3/bucket:Bucket": {"enforce":1}}}}}`: `configuration pulumi:autonaming: line 1, column 73: "enforce" is a number, and is to be a boolean`,
		`{"modes": "verbatim"}`: `configuration pulumi:autonaming: there is no member "modes" here`,
		`{} {}`:                 `there is more after the end of the JSON`,
		``:                      `configuration pulumi:autonaming: it is empty`,
	} {
		_, err := autonaming.Parse(policy, names)
		require.ErrorContains(t, err, want, policy)
	}
}

// Whatever a policy says, reading it ends, and a name that it proposes is the same
// each time.
func FuzzParse(f *testing.F) {
	f.Add(`{"pattern": "${name}-${hex(7)}-${uuid}"}`)
	f.Add(`{"mode": "verbatim", "providers": {"aws": {"resources": {"aws:s3/bucket:Bucket": {"mode": "disabled"}}}}}`)
	f.Add(`{"pattern": "${config.region}${"}`)
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := autonaming.Parse(text, names)
		if err != nil {
			return
		}
		require.Equal(t, policy.Propose(bucket, "logs", []byte("s")), policy.Propose(bucket, "logs", []byte("s")))
	})
}
