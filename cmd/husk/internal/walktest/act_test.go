package walktest

import "slices"

// act is what a walk does once: it changes the world, the program, and the provider, runs husk, and lets things fail meanwhile.
// It is plain data, so that a walk that failed can be repeated without some of its acts.
type act struct {
	Do      string // up, refresh, destroy, settle, or lost login
	Program program
	// Version is that of the provider.
	Version int
	// Preview has an update previewed before, and Plan has it keep to the plan of that.
	Preview, Plan bool     `json:",omitempty"`
	Flags         []string `json:",omitempty"`
	// Targets, Excludes, and Replace are names of resources.
	Targets, Excludes, Replace []string `json:",omitempty"`
	// Faults are how calls of the provider fail.
	Faults []fault `json:",omitempty"`
	// Lose and Drift are the resources whose objects vanish or change before.
	Lose, Drift []string `json:",omitempty"`
	// Kill is the request of the provider at which husk is killed, counted from 1, before it is done or, with Late, after. With
	// Pause, husk is killed after so many milliseconds instead.
	Kill  int  `json:",omitempty"`
	Late  bool `json:",omitempty"`
	Pause int  `json:",omitempty"`
	// Left are so many bytes, and one, that are left on the disk of the state.
	Left     int `json:",omitempty"`
	Parallel int
}

// narrow reports whether the act leaves out resources.
func (a act) narrow() bool { return len(a.Targets)+len(a.Excludes) > 0 }

// drawActs draws a walk. disks says that disks may be full.
func drawActs(r random, disks bool) (acts []act) {
	p, version := drawProgram(r), 1
	for range 3 + r.IntN(12) {
		a := act{Do: pick(r, []string{"up", "up", "up", "up", "up", "refresh", "destroy", "settle", "lost login"}), Version: version, Parallel: pick(r, []int{1, 1, 4})}
		if !r.oneIn(4) {
			p = p.edit(r)
		}
		if r.oneIn(10) {
			version = 1 + r.IntN(2)
			a.Version = version
		}
		a.Program = p.clone()
		a.draw(r, disks)
		acts = append(acts, a)
	}
	return acts
}

func (a *act) draw(r random, disks bool) {
	all := slices.Clone(names)
	for _, res := range a.Program.Resources {
		all = append(all, res.parts()...)
	}
	some := func() []string { return []string{pick(r, all)} }
	if a.Do == "settle" || a.Do == "lost login" {
		return
	}
	if r.oneIn(4) {
		a.Lose = some()
	}
	if r.oneIn(4) {
		a.Drift = some()
	}
	switch a.Do {
	case "up":
		a.Flags = append(a.Flags, "--update-on-import")
		if r.oneIn(6) || len(a.Lose)+len(a.Drift) > 0 && r.oneIn(2) {
			a.Flags = append(a.Flags, "--refresh")
		}
		if r.oneIn(10) {
			a.Replace = some()
		}
	case "refresh", "destroy":
		if r.oneIn(3) {
			a.Flags = append(a.Flags, "--run-program")
		}
	}
	if a.Do == "destroy" && r.oneIn(2) || a.Do == "up" && r.oneIn(8) {
		a.Flags = append(a.Flags, "--ignore-protect")
	}
	if r.oneIn(6) {
		if r.oneIn(2) {
			a.Targets = append(some(), some()...)
			if r.oneIn(2) {
				a.Flags = append(a.Flags, "--target-dependents")
			}
		} else {
			a.Excludes = some()
		}
	}
	switch r.IntN(8) {
	case 0, 1:
		methods := map[string][]string{"up": {"create", "create", "update", "delete", "delete", "read"}, "refresh": {"read"}, "destroy": {"delete"}}[a.Do]
		for range 1 + r.IntN(3) {
			f := fault{Method: pick(r, methods), Name: pick(r, append(all, "", "", "")), How: pick(r, before)}
			if how := pick(r, after); r.oneIn(2) && f.Method != "read" {
				if f.Method == "create" || f.Method == "update" && how != "nameless" || how == "lost" || how == "crash" {
					f.How = how
				}
			}
			a.Faults = append(a.Faults, f)
		}
		if r.oneIn(2) && a.Do != "refresh" {
			a.Flags = append(a.Flags, "--continue-on-error")
		}
	case 2:
		a.Kill, a.Late = 1+r.IntN(8), r.oneIn(2)
	case 3:
		a.Pause = 20 + r.IntN(400)
	case 4:
		if disks {
			a.Left = 1 + r.IntN(30_000)
		}
	default:
		a.Preview = a.Do == "up"
		a.Plan = a.Preview && r.oneIn(3)
	}
}
