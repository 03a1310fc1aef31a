package gotest

// Result is what tests did. Tests that have subtests are not counted: the subtests are.
type Result struct {
	Passed, Failed, Skipped int
	Packages                int // that ended
	Cached                  int // packages whose earlier result still holds
	WithoutTests            int // packages
	Failures                []Failure
	Skips                   []Skip
	Unbuilt                 []string // packages that do not compile, or whose imports do not
	Unfinished              []string // packages
	Output                  string   // of tests that passed, if it was asked for
	Depth                   int      // of the deepest subtest that began; 1: a test
}

// Failure is a test that failed, or a package that failed without one.
type Failure struct {
	Package  string  `json:"package"`
	Test     string  `json:"test,omitempty" jsonschema:"empty: the package failed outside of its tests"`
	Kind     string  `json:"kind" jsonschema:"fail, panic, timeout, race, exit (the test binary ended itself) or unfinished"`
	Position string  `json:"position,omitempty" jsonschema:"FILE:LINE of the first failure, from the workspace's root"`
	Message  string  `json:"message,omitempty" jsonschema:"the first failure in one line"`
	Output   string  `json:"output,omitempty" jsonschema:"what the test printed"`
	Stack    string  `json:"stack,omitempty" jsonschema:"goroutines of the workspace's code, if the test crashed or timed out"`
	Seconds  float64 `json:"seconds,omitempty"`
	Failed   int     `json:"failed,omitempty" jsonschema:"how often it failed"`
	Passed   int     `json:"passed,omitempty" jsonschema:"how often it passed after that, if it ran several times"`
}

// Skip is a test that was skipped.
type Skip struct {
	Package string `json:"package"`
	Test    string `json:"test"`
	Reason  string `json:"reason,omitempty"`
}
