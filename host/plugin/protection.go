package plugin

// Protection is one thing that keeps plugins from doing harm, and whether this
// system has it.
type Protection struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	// Detail says what it is good for; where it is missing, why and what follows.
	Detail string `json:"detail"`
}

// Protections tells which protections this system has, always in the same order.
func Protections() []Protection {
	return append([]Protection{
		{"own pipes", true, "output is read at a bounded rate, sanitised, and never parsed by go-plugin"},
		{"environment", true, "a plugin sees a short list of the host's variables and an empty standard input"},
	}, systemProtections()...)
}
