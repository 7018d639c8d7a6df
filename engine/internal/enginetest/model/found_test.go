package model_test

import (
	"testing"

	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// Scenarios that [TestModel] found to go wrong, as short as they could be made.

// An old copy that was kept depends on what by now depends on its successor. What the
// program leaves out then, and its replaced provider, go in the right order all the same.
func TestCircleOfAnOldCopyKeepsProviders(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "e", Type: enginetest.Strict, Key: 1},
			{Name: "a", Type: enginetest.Plain},
			{Name: "c", Type: enginetest.Plain, After: []int{0, 1}},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "c", Type: enginetest.Plain, Region: true},
			{Name: "a", Type: enginetest.Plain, From: []int{0}},
			{Name: "e", Type: enginetest.Strict, Key: 1},
		}}, Excludes: []string{"e"}, Dependents: true},
		{Do: "up"},
	})
}

// What is left alone since the program now makes it depend on what is excluded keeps what
// it depends on as it is recorded.
func TestExcludedByNewDependencies(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain},
			{Name: "b", Type: enginetest.Plain, After: []int{0}},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "e", Type: enginetest.Plain},
			{Name: "b", Type: enginetest.Plain, After: []int{0}},
		}}, Excludes: []string{"e"}, Dependents: true},
	})
}

// What goes with a replacement, and stays in the state since what is excluded depends on
// it, has gone as planned.
func TestGoneAheadAsPlanned(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "c", Type: enginetest.Plain, Region: true},
			{Name: "e", Type: enginetest.Plain, From: []int{0}, Owner: 1},
			{Name: "b", Type: enginetest.Plain, After: []int{1}},
		}}},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "b", Type: enginetest.Strict},
			{Name: "c", Type: enginetest.Plain, Key: 2, DeleteFirst: true},
			{Name: "d", Type: enginetest.Strict, Key: 1, After: []int{0}, Region: true},
		}}, Excludes: []string{"b"}, Dependents: true},
	})
}

// An old copy that is in no circle goes after what may use it, though old copies of
// others are in one.
func TestOldCopyOutsideOfACircle(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain, Region: true},
			{Name: "b", Type: enginetest.Plain, From: []int{0}},
			{Name: "c", Type: vague, Key: 2},
			{Name: "e", Type: vague, Key: 1, Region: true},
			{Name: "d", Type: enginetest.Strict, Key: 2},
			{Name: "f", Type: enginetest.Single, Key: 1, From: []int{1}, DeleteFirst: true, Retain: true},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "f", Type: enginetest.Single, Alias: "c", Ignore: true, Region: true},
			{Name: "a", Type: enginetest.Plain, Key: 1, From: []int{0}},
			{Name: "b", Type: vague, Key: 1, From: []int{0, 1}, Retain: true},
			{Name: "e", Type: enginetest.Single, Key: 2},
			{Name: "d", Type: enginetest.Strict, From: []int{2, 1}},
		}}, CrashAt: 5},
		{Do: "up", Program: modelProgram{Region: 2}},
	})
}

// Old copies that need each other go before the successor of one of them.
func TestOldCopiesInACircleGoFirst(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain},
			{Name: "f", Type: enginetest.Strict, Key: 1, After: []int{0}},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "f", Type: enginetest.Strict},
			{Name: "a", Type: enginetest.Plain, Key: 2, From: []int{0}},
		}}, Half: []string{"update a"}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain, Key: 2, Alias: "b", Region: true},
		}}},
	})
}

// What an update that was cut off may have taken from its owner does not go with that.
func TestCutOffFromItsOwner(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "d", Type: enginetest.Strict, Key: 2, DeleteFirst: true},
			{Name: "b", Type: vague, Key: 2, Owner: 1, Ignore: true},
			{Name: "a", Type: enginetest.Single, Key: 1},
			{Name: "c", Type: enginetest.Single, Key: 1, DeleteFirst: true},
			{Name: "f", Type: enginetest.Strict, Key: 2},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "f", Type: enginetest.Strict, Key: 1, Retain: true, Ignore: true},
			{Name: "a", Type: vague, Retain: true},
			{Name: "c", Type: vague, Alias: "b", Retain: true},
		}}, CrashAt: 8},
	})
}

// What an update that was cut off may have made use of another resource goes before that.
func TestCutOffBeforeItsNewDependency(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "d", Type: enginetest.Single, Key: 1},
			{Name: "c", Type: enginetest.Plain},
			{Name: "b", Type: enginetest.Strict},
			{Name: "f", Type: vague, Key: 1, Alias: "a", From: []int{1}},
			{Name: "e", Type: enginetest.Strict, Key: 2, Retain: true},
		}}},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "d", Type: enginetest.Strict, Key: 2, Alias: "e", DeleteFirst: true, Ignore: true},
			{Name: "c", Type: enginetest.Plain, Key: 1, From: []int{0}, DeleteFirst: true},
			{Name: "b", Type: enginetest.Strict, Key: 2, Retain: true},
			{Name: "a", Type: enginetest.Strict, Key: 1, After: []int{0, 1}, DeleteFirst: true, Retain: true, Region: true},
		}}, Judged: true, CrashAt: 7},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "f", Type: vague, Key: 2, Ignore: true},
			{Name: "a", Type: enginetest.Strict, Key: 1, After: []int{0}},
		}}},
	})
}

// An object of two resources is not deleted with one of them while the other is protected.
func TestProtectedObjectOfTwoResources(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "c", Type: enginetest.File, Protect: true, Path: "y"},
			{Name: "e", Type: enginetest.File, Key: 2, Path: "y"},
		}}},
		{Do: "destroy"},
	})
}

// An object of two resources is not deleted with one of them while the other is kept for what uses it.
func TestKeptObjectOfTwoResources(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.File, Path: "y"},
			{Name: "e", Type: enginetest.Plain, After: []int{0}, Protect: true},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "c", Type: enginetest.File, Path: "y"},
			{Name: "b", Type: enginetest.Plain, After: []int{0}, Read: "ext1"},
		}}},
		{Do: "up"},
	})
}

// What a refresh runs the program for is read by the provider that made it, though the program
// now wants it to be of another one, or configures it for another region.
func TestRefreshReadsWithTheRecordedProvider(t *testing.T) {
	for _, program := range []modelProgram{
		{Resources: []modelResource{{Name: "a", Type: enginetest.Strict}}},
		{Region: 1, Resources: []modelResource{{Name: "a", Type: enginetest.Strict, Region: true}}},
		{OtherRegion: 1, Resources: []modelResource{{Name: "a", Type: enginetest.Strict, Other: true}}},
	} {
		runScenario(t, scenario{
			{Do: "up", Program: modelProgram{Resources: []modelResource{{Name: "a", Type: enginetest.Strict, Region: true}}}},
			{Do: "refresh", Program: program, RunProgram: true},
			{Do: "up", Program: program},
		})
	}
}

// What is read and depends on what is left out is left out, and does not end the preview.
func TestReadAfterWhatIsNotSelected(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain},
			{Name: "d", Type: enginetest.Strict, From: []int{0}},
			{Name: "e", Type: enginetest.Plain, After: []int{1}, Read: "ext2"},
		}}, Excludes: []string{"a"}},
	})
}

// What was deleted ahead of its replacement is no longer about to be deleted once the
// replacement is there: its object may be another resource's, which goes.
func TestReplacementTakesOverTheObjectOfWhatGoes(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "c", Type: enginetest.Declared, DeleteFirst: true, Path: "q"},
			{Name: "d", Type: enginetest.Declared, Path: "p"},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "d", Type: enginetest.Declared, DeleteFirst: true, Path: "q"},
		}}},
	})
}

// What was imported and is replaced is not imported again.
func TestReplacedImport(t *testing.T) {
	imported := modelProgram{Resources: []modelResource{{Name: "f", Type: enginetest.Plain, Import: true}}}
	runScenario(t, scenario{
		{Do: "up", Program: imported},
		{Do: "up", Program: imported, Replace: []string{"f"}},
		{Do: "up", Program: imported},
	})
}

// What is kept for a resource that failed is not what the run has brought to its goal: it may use
// old copies.
func TestWhatIsKeptMayUseOldCopies(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "a", Type: enginetest.Strict, Region: true},
			{Name: "f", Type: enginetest.Strict, From: []int{0}},
			{Name: "b", Type: enginetest.Plain, From: []int{1}, Protect: true, Import: true},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Strict, Region: true},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "b", Type: enginetest.Plain, Region: true},
		}}, ContinueOnError: true, Half: []string{"create b"}},
	})
}

// With --refresh, what the program makes a dependent of a target is read as well.
func TestNewDependentOfATargetIsRefreshed(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "e", Type: enginetest.Plain},
			{Name: "a", Type: enginetest.Strict},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Strict, Key: 1},
			{Name: "e", Type: enginetest.Plain, Key: 1, After: []int{0}},
		}}, RefreshFirst: true, Lose: []string{"e"}, Targets: []string{"a"}, Dependents: true},
	})
}

// A refresh reads what the program has something else in place of.
func TestRefreshReadsWhatTheProgramReadsElsewhere(t *testing.T) {
	managed := modelProgram{Resources: []modelResource{{Name: "a", Type: enginetest.Plain, Key: 2}}}
	runScenario(t, scenario{
		{Do: "up", Program: managed},
		{Do: "refresh", Program: modelProgram{Resources: []modelResource{{Name: "a", Type: enginetest.Plain, Read: "ext1"}}}, RunProgram: true, Drift: []string{"a"}},
		{Do: "up", Program: managed},
	})
}

// A resource is gone, and an old copy of it waits to be deleted, which names the dependents of
// the resource in turn.
func TestWhatIsGoneIsNoOldCopy(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Group},
			{Name: "e", Type: enginetest.Strict, Key: 2, DeleteFirst: true},
			{Name: "c", Type: vague, Owner: 2},
			{Name: "b", Type: enginetest.Single, After: []int{2}, Protect: true},
		}}},
		{Do: "destroy"},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "d", Type: enginetest.Plain, Read: "ext2"},
			{Name: "c", Type: vague, Region: true},
			{Name: "e", Type: enginetest.Strict, Key: 2, After: []int{1}, Protect: true},
		}}, Half: []string{"create d"}},
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "c", Type: enginetest.Plain, Key: 1, Retain: true},
			{Name: "e", Type: enginetest.Strict},
		}}, RefreshFirst: true, Lose: []string{"c"}},
	})
}

// What is gone is deleted by nobody, and what named it can be.
func TestDependentsOfWhatIsGoneCanBeDeleted(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Strict},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Group},
			{Name: "e", Type: enginetest.Strict},
			{Name: "c", Type: vague, Owner: 2},
			{Name: "b", Type: enginetest.Single, After: []int{2}, Protect: true},
		}}, Judged: true},
		{Do: "destroy", Program: modelProgram{Resources: []modelResource{
			{Name: "f", Type: enginetest.Group, Key: 2, Protect: true},
			{Name: "d", Type: enginetest.File, Path: "x"},
		}}, RunProgram: true},
		{Do: "destroy"},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "d", Type: enginetest.Plain, Read: "ext2"},
			{Name: "c", Type: vague, Region: true},
			{Name: "e", Type: enginetest.Strict, Key: 2, After: []int{1}, Protect: true},
		}}},
		{Do: "refresh", RunProgram: true, Lose: []string{"c"}},
	})
}

// What names a resource that the program read, and imports by now, is no part of the imported object.
func TestOwnerThatWasReadBefore(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain, Read: "ext1"},
			{Name: "d", Type: enginetest.Plain, Owner: 1, Protect: true, Region: true},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Plain, Key: 2, Region: true, Import: true},
		}}},
	})
}

// What uses a component uses all its parts, also one that is excluded.
func TestDependentOfAnExcludedPart(t *testing.T) {
	program := modelProgram{Resources: []modelResource{
		{Name: "a", Type: enginetest.Group},
		{Name: "f", Type: enginetest.Strict, Parent: 1},
		{Name: "b", Type: enginetest.File, Key: 2, After: []int{0}, Path: "y"},
		{Name: "c", Type: enginetest.Plain, Key: 1},
	}}
	runScenario(t, scenario{{Do: "up", Program: program, Excludes: []string{"f"}, Dependents: true}})
	runScenario(t, scenario{{Do: "up", Program: program, Excludes: []string{"f"}}})
	runScenario(t, scenario{{Do: "up", Program: program, Targets: []string{"a", "b"}}})
	runScenario(t, scenario{{Do: "up", Program: program, Targets: []string{"f"}, Dependents: true}})
}

// What was made from an old copy that is left means that one, also when a refresh finds the successor gone.
func TestOldCopyWhoseSuccessorIsGone(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "d", Type: enginetest.Plain, Key: 1},
			{Name: "b", Type: vague, Key: 1, From: []int{0}, Protect: true},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "d", Type: enginetest.Plain, Read: "ext1"},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "d", Type: enginetest.Plain, Key: 1},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "d", Type: enginetest.Plain, Key: 1},
		}}, RefreshFirst: true, Lose: []string{"d"}},
	})
}

// What goes ahead with a part of the component that it uses may itself be in use by what is updated.
func TestUserOfAComponentGoesAheadWithAPart(t *testing.T) {
	program := func(key int) modelProgram {
		return modelProgram{Resources: []modelResource{
			{Name: "a", Type: enginetest.Group},
			{Name: "b", Type: enginetest.Single, Key: key, Parent: 1},
			{Name: "c", Type: enginetest.Strict, Key: 1, After: []int{0}, Region: true},
			{Name: "d", Type: enginetest.File, Key: 2, From: []int{2}, Path: "x", Parent: 1},
		}}
	}
	runScenario(t, scenario{{Do: "up", Program: program(2)}, {Do: "up", Program: program(1)}})
}

// A provider that cannot compare does not say that a user has to go ahead with what it uses.
func TestUserThatCannotBeCompared(t *testing.T) {
	program := func(key int) modelProgram {
		return modelProgram{Resources: []modelResource{
			{Name: "b", Type: enginetest.Group},
			{Name: "d", Type: enginetest.Single, Key: key, Parent: 1},
			{Name: "c", Type: enginetest.Strict, Key: 1, After: []int{0}, Region: true},
		}}
	}
	runScenario(t, scenario{{Do: "up", Program: program(1)}, {Do: "up", Program: program(2), Fail: []string{"diff c"}, Answer: unimplemented}})
}

// A creation that was cut off had made its object over the recorded one, so the state did not say how that was, and the next update did nothing.
func TestReadAfterACreationOverTheRecordedObject(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Key: 1},
			{Name: "d", Type: "test:index:Plain", After: []int{0}, Read: "ext1"},
			{Name: "a", Type: "test:index:File", Key: 1, Path: "x"},
			{Name: "c", Type: "test:index:Declared", Path: "p"},
		}}},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Key: 1, Retain: true, Protect: true},
			{Name: "d", Type: "test:index:Plain", After: []int{0}, Read: "ext1"},
			{Name: "a", Type: "test:index:File", Path: "x"},
			{Name: "c", Type: "test:index:Declared", Path: "p"},
		}}, CrashAt: 9},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Key: 1, DeleteFirst: true, Retain: true, Protect: true},
			{Name: "d", Type: "test:index:Plain", After: []int{0}, Read: "ext1"},
			{Name: "a", Type: "test:index:File", Key: 1, DeleteFirst: true, Path: "x"},
			{Name: "c", Type: "test:index:Declared", Path: "p"},
		}}},
	})
}

// What is deleted with a component, and is used by a part, closed a circle with all users of the component: one part was deleted ahead of them.
func TestOwnedByAComponentWhosePartUsesIt(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 2, OtherRegion: 1, Resources: []modelResource{
			{Name: "d", Type: "proj:index:Group", Key: 1},
			{Name: "b", Type: "test:index:Single", DeleteFirst: true, Region: true, Parent: 1},
			{Name: "f", Type: "test:index:Strict", After: []int{0}, Retain: true},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "f", Type: "test:index:Plain", Key: 1, Alias: "c"},
			{Name: "a", Type: "test:index:Vague"},
			{Name: "b", Type: "test:index:Single"},
			{Name: "e", Type: "test:index:Plain", Retain: true, Ignore: true},
		}}},
		{Do: "destroy", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "b", Type: "test:index:Single", Key: 1},
		}}, CrashAt: 1},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "f", Type: "proj:index:Group", Key: 2},
			{Name: "c", Type: "test:index:Single", Key: 1, Owner: 1, Region: true},
			{Name: "d", Type: "test:index:Vague"},
			{Name: "a", Type: "test:index:Plain", From: []int{1, 0}, Parent: 1},
			{Name: "e", Type: "test:index:File", After: []int{0}, Path: "y"},
			{Name: "b", Type: "test:index:Strict", From: []int{4}, Retain: true, Ignore: true, Parent: 1},
		}}, Judged: true},
	})
}

// The object of a creation that was cut off has the ID of one that is gone, and counted as recorded: a fault of the model.
func TestPendingCreationInThePlaceOfWhatIsGone(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: "test:index:Plain", Key: 1, Ignore: true, Region: true},
			{Name: "d", Type: "test:index:Declared", Key: 1, From: []int{0}, Path: "q"},
		}}},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: "test:index:Plain", Key: 1, Ignore: true, Region: true},
			{Name: "d", Type: "test:index:Declared", Key: 1, From: []int{0}, Protect: true, Path: "q"},
		}}, Replace: []string{"d"}, Fail: []string{"create d", "update a"}, Half: []string{"update d", "update d"}, Answer: "misled", Upgrade: 1},
		{Do: "up", Program: modelProgram{Region: 1}},
		{Do: "up", Program: modelProgram{Region: 1}},
		{Do: "import", Program: modelProgram{Region: 1}},
		{Do: "up", Program: modelProgram{Region: 1}},
	})
}

// A resource leaves its parent while another has its former name: a fault of the model, which took that for no reason to refuse.
func TestFormerNamesOfTwo(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "c", Type: "test:index:Declared", Key: 1, Path: "q"},
			{Name: "e", Type: "test:index:Single", Region: true},
			{Name: "b", Type: "test:index:File", Alias: "d", DeleteFirst: true, Path: "x"},
			{Name: "a", Type: "test:index:Single", Protect: true},
		}}, Upgrade: 1},
		{Do: "import", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "a", Type: "test:index:File", Key: 1, Path: "x"},
			{Name: "b", Type: "test:index:File", Key: 1, Ignore: true, Path: "x"},
		}}, Upgrade: 1},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "f", Type: "proj:index:Group", Key: 2, Protect: true},
			{Name: "b", Type: "test:index:Single", Key: 2, Alias: "a", Owner: 1, Protect: true, Parent: 1},
		}}, RefreshFirst: true},
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "f", Type: "proj:index:Group", Key: 2, Protect: true},
			{Name: "b", Type: "test:index:Single", Key: 2, Alias: "a", Owner: 1, Protect: true, Was: 1, Moved: true},
		}}, Upgrade: 2},
	})
}

// An excluded part stays recorded below its former component. The users of its new one have to name the part, or it could go ahead of them.
func TestExcludedPartOfAnotherComponent(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "c", Type: "proj:index:Group"},
			{Name: "a", Type: "test:index:Single", Key: 1, Protect: true, Region: true, Parent: 1},
			{Name: "e", Type: "test:index:Strict", Key: 1, After: []int{0}, Owner: 2, Ignore: true, Region: true},
		}}, Fail: []string{"update a", "create e"}, Answer: "not found", Upgrade: 2},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "b", Type: "proj:index:Group"},
			{Name: "e", Type: "test:index:Single", Key: 1, Alias: "a", Owner: 1, Ignore: true, Parts: 1, Protect: true, Parent: 1},
			{Name: "d", Type: "test:index:Strict", After: []int{0}, DeleteFirst: true, Ignore: true},
		}}, Excludes: []string{"a"}},
	})
}

// An object is lost, and another one placed under its ID, which has other parts.
func TestAnotherObjectInThePlaceOfALostOne(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Ignore: true, Parts: 1, Region: true, Import: true},
		}}},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Key: 1, Ignore: true, Parts: 1, Region: true, Import: true},
		}}, RefreshFirst: true, Lose: []string{"b"}},
	})
}

// A creation that was cut off has each update read a resource, whose object is another one's, too.
func TestPendingCreationOfASharedObject(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "b", Type: "proj:index:Group", Key: 1},
			{Name: "d", Type: "test:index:Single", Parent: 1},
		}}, Upgrade: 2},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "e", Type: "test:index:Single", Key: 2},
			{Name: "b", Type: "test:index:Strict", Region: true},
			{Name: "c", Type: "test:index:Declared", Key: 1, Path: "q"},
		}}},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "e", Type: "test:index:Single"},
			{Name: "b", Type: "test:index:Strict", Region: true},
			{Name: "c", Type: "test:index:Declared", Key: 1, Path: "q"},
		}}, Upgrade: 2},
		{Do: "up", Program: modelProgram{Region: 2, OtherRegion: 1, Resources: []modelResource{
			{Name: "a", Type: "test:index:Strict", Region: true},
		}}, Judged: true, Excludes: []string{"other", "f"}},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "f", Type: "test:index:Declared", Key: 1, Path: "p"},
			{Name: "a", Type: "test:index:Declared", Key: 1, Parts: 1, Path: "p"},
			{Name: "c", Type: "test:index:File", Path: "y"},
			{Name: "b", Type: "test:index:Single"},
			{Name: "d", Type: "test:index:Plain", Key: 1},
		}}, RefreshFirst: true, Lose: []string{"a"}, CrashAt: 7},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "f", Type: "test:index:Declared", Key: 1, Path: "p"},
			{Name: "a", Type: "test:index:Declared", Key: 1, Parts: 1, Protect: true, Path: "p"},
			{Name: "c", Type: "test:index:File", Path: "y"},
			{Name: "b", Type: "test:index:Single", Key: 2},
			{Name: "d", Type: "test:index:Plain", Key: 1},
		}}, Judged: true, Upgrade: 2},
	})
}

// The same, as another version of the provider comes.
func TestPendingCreationOfASharedObjectAndAnotherVersion(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "d", Type: "test:index:File", Key: 2, Path: "y"},
			{Name: "a", Type: "test:index:Strict", Key: 2},
		}}, CrashAt: 6, Late: true},
		{Do: "up", Program: modelProgram{Region: 2, Resources: []modelResource{
			{Name: "d", Type: "test:index:File", Key: 1, Path: "y"},
			{Name: "f", Type: "test:index:File", Key: 2, With: []int{0}, Path: "y"},
		}}, Upgrade: 2},
	})
}

// An update fails halfway, and its provider tells no state. What uses the resource gets the outputs that were known before.
func TestHalfAnUpdateWithoutAState(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "a", Type: "test:index:Vague", Alias: "c", Region: true},
			{Name: "b", Type: "test:index:Plain", Key: 2, Owner: 1, Region: true},
		}}, Judged: true, Dependents: true},
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "a", Type: "test:index:Vague", Alias: "c", Region: true},
			{Name: "b", Type: "test:index:Plain", Key: 2, Owner: 1, Region: true},
		}}, ContinueOnError: true, RefreshFirst: true, Fail: []string{"update a"}, Half: []string{"create a"}, Answer: "nameless"},
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "a", Type: "test:index:Vague", Alias: "c", Protect: true, Region: true},
			{Name: "b", Type: "test:index:Plain", Key: 2, Owner: 1, Region: true},
		}}, Targets: []string{"b"}},
	})
}

// An import leaves an old copy, with which its owner's replacement takes a protected resource along.
func TestProtectedResourceOfAnOldCopy(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Region: 1, Resources: []modelResource{
			{Name: "f", Type: "test:index:Declared", Key: 2, Path: "p"},
			{Name: "b", Type: "test:index:Plain", Key: 2, Owner: 1, Region: true},
			{Name: "a", Type: "test:index:Plain", Key: 2, Owner: 2, Ignore: true, Protect: true},
		}}},
		{Do: "up", Program: modelProgram{Region: 1, OtherRegion: 1, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Key: 1, Region: true, Import: true},
			{Name: "f", Type: "test:index:Declared", Protect: true, Path: "p"},
		}}},
	})
}

// A read that is selected would come to depend on a resource that is left as it is, and depends on the read.
func TestCircleThroughARead(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "e", Type: "test:index:Plain", Read: "ext1"},
			{Name: "b", Type: "test:index:Plain", From: []int{0}, Region: true},
		}}},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "b", Type: "test:index:Plain", Region: true},
			{Name: "e", Type: "test:index:Plain", After: []int{0}, Read: "ext1"},
		}}, Targets: []string{"e"}},
	})
}

// What an update reads there may need a replacement, which protection refuses.
func TestPendingCreationOfAProtectedSharedObject(t *testing.T) {
	runScenario(t, scenario{
		{Do: "up", Program: modelProgram{Resources: []modelResource{
			{Name: "a", Type: "proj:index:Group"},
			{Name: "b", Type: "test:index:Single", Parent: 1},
		}}},
		{Do: "up", Program: modelProgram{OtherRegion: 1}, Judged: true, CrashAt: 1, Late: true},
		{Do: "up", Program: modelProgram{OtherRegion: 1}},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "d", Type: "test:index:Plain"},
			{Name: "b", Type: "test:index:Declared", Path: "q"},
			{Name: "c", Type: "test:index:Declared", Key: 1, Path: "q"},
		}}, Judged: true, CrashAt: 7, Late: true},
		{Do: "up", Program: modelProgram{OtherRegion: 1, Resources: []modelResource{
			{Name: "d", Type: "test:index:Plain"},
			{Name: "b", Type: "test:index:Declared", Protect: true, Path: "q"},
			{Name: "c", Type: "test:index:Declared", Key: 1, Path: "q"},
		}}},
	})
}
