package figures_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/bench/internal/figures"
)

func TestExponentIsThatOfThePower(t *testing.T) {
	sizes := []int{10, 1_000, 10_000, 100_000}
	for _, exponent := range []float64{0, 0.5, 1, 2} {
		var costs []float64
		for _, size := range sizes {
			costs = append(costs, 7*math.Pow(float64(size), exponent))
		}
		require.InDelta(t, exponent, figures.Exponent(sizes, costs), 1e-9)
	}
}

func TestMedianIsTheMiddleOne(t *testing.T) {
	values := []float64{9, 1, 5}
	require.Equal(t, 5.0, figures.Median(values))
	require.Equal(t, []float64{9, 1, 5}, values)
}

func TestGoals(t *testing.T) {
	for _, test := range []struct {
		name   string
		figure figures.Figure
		met    bool
	}{
		{"nothing is asked", figures.Of("f", 3, "s", 0), true},
		{"below the largest", figures.Of("f", 3, "s", 4), true},
		{"above the largest", figures.Of("f", 5, "s", 4), false},
		{"above the smallest", figures.AtLeast("f", 5, "x", 4), true},
		{"below the smallest", figures.AtLeast("f", 3, "x", 4), false},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.met, test.figure.Met) })
	}
}

func TestReports(t *testing.T) {
	all := []figures.Figure{figures.Of("time", 1.5, "s", 2), figures.AtLeast("faster", 3, "x", 4)}

	var table bytes.Buffer
	require.NoError(t, figures.Print(&table, all, false))
	require.Equal(t, "time           1.50 s  goal at most 2, met: true\n"+
		"faster         3.00 x  goal at least 4, met: false\n", table.String())

	var text bytes.Buffer
	require.NoError(t, figures.Print(&text, all, true))
	var got map[string][]map[string]any
	require.NoError(t, json.Unmarshal(text.Bytes(), &got))
	require.Equal(t, map[string]any{"name": "time", "value": 1.5, "unit": "s", "goal": 2.0, "met": true}, got["figures"][0])
}
