package plugin

// LostName is a name that is not served, as another owner has it.
type LostName struct {
	Tool string `json:"tool"`
	// Kind is prompt, resource or template, if it is not the name of a tool but that of a prompt or a
	// URI. Empty: it is a tool's.
	Kind string `json:"kind,omitempty"`
	To   string `json:"to,omitempty"` // a plugin, or another provider; empty: the embedding program
}
