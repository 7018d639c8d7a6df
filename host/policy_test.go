package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
)

// judge makes a policy pack of hand-written methods; what is not given traps. Real packs
// are tested in examples/policies.
func (m *memory) judge(t *testing.T, bodies map[string]code, options host.PolicyOptions) *host.Policy {
	t.Helper()
	module, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{world: canon.WorldPolicy, bodies: bodies, data: m.data}.wasm())
	require.NoError(t, err)
	require.Equal(t, canon.WorldPolicy, module.World)
	options.Name = "hand"
	p, err := module.NewPolicy(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestAPolicyPackAnswers(t *testing.T) {
	m := newMemory()
	rule := m.text("tags\x1b") + m.text("Have tags.") + "\x02\x03\x00\x00" + m.text("{}")
	violation := m.text("tags") + m.text("add\x1b one") + m.text("tags.owner") + m.text("urn:x")
	p := m.judge(t, map[string]code{
		"handshake": m.returns(words(0) + m.text("house") + m.text("1.0.0") + m.text("sdk") + words(m.put(rule), 1)),
		"configure": m.returns(words(0)),
		"analyze":   m.returns(words(0, m.put(violation), 1)),
		"remediate": m.returns(words(0, m.put(m.text("tags")+words(0, 0, 0)+m.text("cannot")), 1)),
	}, host.PolicyOptions{})
	who, err := p.Handshake(t.Context(), abi.PolicyHandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	require.Equal(t, abi.PolicyHandshakeResponse{Name: "house", Version: "1.0.0", SDK: "sdk", Rules: []abi.PolicyRule{{
		Name: `tags\x1b`, Description: "Have tags.", Level: abi.PolicyLevelRemediate,
		Actions: abi.PolicyActionsRemediate | abi.PolicyActionsAnalyze, ConfigSchema: "{}",
	}}}, who, "what people read cannot write on their terminals")
	require.NoError(t, p.Configure(t.Context(), abi.PolicyConfigureRequest{}))

	judged, err := p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyViolation{{Rule: "tags", Message: `add\x1b one`, Path: "tags.owner", URN: "urn:x"}}, judged.Violations)
	corrected, err := p.Remediate(t.Context(), abi.PolicyRemediateRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyRemediation{{Rule: "tags", Message: "cannot"}}, corrected.Remediations)

	// A trap is an error of the call that met it.
	_, err = p.AnalyzeStack(t.Context(), abi.PolicyAnalyzeStackRequest{})
	require.ErrorContains(t, err, "house 1.0.0: analyze-stack (host): the policy pack crashed: ")
	require.ErrorIs(t, err, abi.ErrCrashed)
	judged, err = p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{})
	require.NoError(t, err)
	require.Len(t, judged.Violations, 1)
}

// A pack that does not end is stopped as a provider is.
func TestAPolicyPackIsStopped(t *testing.T) {
	p := newMemory().judge(t, map[string]code{"analyze": forever + unreachable}, host.PolicyOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Analyze(ctx, abi.PolicyAnalyzeRequest{})
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.NoError(t, p.Cancel(t.Context()), "nothing is held")
	require.NoError(t, p.Close())
	_, err = p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{})
	require.EqualError(t, err, "hand: analyze (host): the policy pack is closed")
}

func TestAnAnswerThatIsNoLevel(t *testing.T) {
	m := newMemory()
	rule := m.text("tags") + m.text("") + "\x04\x01\x00\x00" + m.text("")
	p := m.judge(t, map[string]code{
		"handshake": m.returns(words(0) + m.text("house") + m.text("1.0.0") + m.text("") + words(m.put(rule), 1)),
	}, host.PolicyOptions{})
	_, err := p.Handshake(t.Context(), abi.PolicyHandshakeRequest{})
	require.ErrorContains(t, err, "hand: handshake (host): the policy pack's answer is not what the contract asks for: ")
}

func TestModulesAreUsedAsWhatTheyAre(t *testing.T) {
	h := newHost(t, host.NewConfig())
	load := func(world canon.World) *host.Module {
		module, err := h.LoadBytes(t.Context(), assembly{world: world}.wasm())
		require.NoError(t, err)
		return module
	}
	_, err := load(canon.WorldPolicy).NewProvider(t.Context(), host.ProviderOptions{})
	require.Equal(t, &host.WorldError{Is: canon.WorldPolicy, Wanted: canon.WorldProvider}, err)
	require.EqualError(t, err, "the module is a policy pack, and not a provider")
	_, err = load(canon.WorldProvider).NewPolicy(t.Context(), host.PolicyOptions{})
	require.EqualError(t, err, "the module is a provider, and not a policy pack")
}

func TestAPolicyPackAgreesWithItsManifest(t *testing.T) {
	m := newMemory()
	bodies := map[string]code{"handshake": m.returns(words(0) + m.text("house") + m.text("1.0.0") + m.text("") + words(0, 0))}
	for version, want := range map[string]string{
		"1.0.0": "", "1.1.0": "the policy pack broke the contract: its manifest says house 1.1.0, but it calls itself house 1.0.0",
	} {
		wasm, err := host.AddManifest(assembly{world: canon.WorldPolicy, bodies: bodies, data: m.data}.wasm(), host.Manifest{Name: "house", Version: version})
		require.NoError(t, err)
		module, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		p, err := module.NewPolicy(t.Context(), host.PolicyOptions{})
		require.NoError(t, err)
		_, err = p.Handshake(t.Context(), abi.PolicyHandshakeRequest{})
		require.NoError(t, p.Close())
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
