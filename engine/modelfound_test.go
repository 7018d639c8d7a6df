package engine_test

import "testing"

// Scenarios that [TestModel] found to go wrong, as short as they could be made.

// An old copy that was kept depends on what by now depends on its successor. What the
// program leaves out then, and its replaced provider, go in the right order all the same.
func TestCircleOfAnOldCopyKeepsProviders(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "e", Type: strict, Key: 1},
			{Name: "a", Type: plain},
			{Name: "c", Type: plain, After: []int{0, 1}},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "c", Type: plain, Region: true},
			{Name: "a", Type: plain, From: []int{0}},
			{Name: "e", Type: strict, Key: 1},
		}}, Excludes: []string{"e"}, Dependents: true},
		{Do: "up"},
	})
}

// What is left alone since the program now makes it depend on what is excluded keeps what
// it depends on as it is recorded.
func TestExcludedByNewDependencies(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: plain},
			{Name: "b", Type: plain, After: []int{0}},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "e", Type: plain},
			{Name: "b", Type: plain, After: []int{0}},
		}}, Excludes: []string{"e"}, Dependents: true},
	})
}
