package conformance

import "encoding/json"

// MarshalJSON writes the report for programs. Secrets in cases are in it in plain.
func (r *Report) MarshalJSON() ([]byte, error) {
	type result struct {
		Subject  string         `json:"subject"`
		Kind     SubjectKind    `json:"kind"`
		Check    string         `json:"check"`
		Rule     string         `json:"rule"`
		Status   Status         `json:"status"`
		Tried    int            `json:"tried"`
		Untested bool           `json:"untested,omitempty"`
		Message  string         `json:"message,omitempty"`
		Rerun    map[string]any `json:"rerun,omitempty"`
	}
	document := struct {
		Provider string         `json:"provider"`
		Version  string         `json:"version"`
		SDK      string         `json:"sdk,omitempty"`
		Seed     uint64         `json:"seed"`
		Counts   map[Status]int `json:"counts"`
		Results  []result       `json:"results"`
	}{
		Provider: r.Name, Version: r.Version, SDK: r.SDK, Seed: r.Seed,
		Counts: map[Status]int{}, Results: []result{},
	}
	for _, s := range []Status{OK, Failed, Skipped, NotApplicable} {
		document.Counts[s] = r.Count(s)
	}
	for _, found := range r.Results {
		out := result{
			Subject: found.Subject, Kind: found.Kind, Check: found.Check, Rule: found.Rule,
			Status: found.Status, Tried: found.Tried, Untested: found.Untested, Message: found.Message,
		}
		if found.Status == Failed {
			out.Rerun = r.Rerun(found).Document()
		}
		document.Results = append(document.Results, out)
	}
	return json.Marshal(document)
}
