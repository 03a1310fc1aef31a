package escape

// An Outcome is how an attempt has ended.
type Outcome string

// The outcomes.
const (
	// Done says that the attempt had its effect.
	Done Outcome = "done"
	// Denied says that it had none.
	Denied Outcome = "denied"
	// Unavailable says that this kernel does not have what it takes.
	Unavailable Outcome = "unavailable"
	// Inconclusive says that the attempt itself went wrong.
	Inconclusive Outcome = "inconclusive"
)

// An Answer is what the probe says about one attempt.
type Answer struct {
	Outcome Outcome `json:"outcome"`
	// Errno names the error of the system, such as EPERM; empty: there is none.
	Errno string `json:"errno,omitempty"`
	// Note says more, for people.
	Note string `json:"note,omitempty"`
	// Found is what was read, or what a program printed; see [Proof].
	Found string `json:"found,omitempty"`
	// Listens is the TCP address at which the probe can be reached, if it has to be.
	Listens string `json:"listens,omitempty"`
	// PID is the process that the attempt has left, as the probe numbers it, and Left what
	// it has left besides; 0 and empty: nothing.
	PID  int `json:"pid,omitempty"`
	Left int `json:"left,omitempty"`
}

func (a Answer) String() string {
	s := string(a.Outcome)
	for _, more := range []string{a.Errno, a.Note} {
		if more != "" {
			s += " (" + more + ")"
		}
	}
	return s
}
