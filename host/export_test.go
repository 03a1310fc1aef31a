package host

// What the tests look at, and no embedder needs.

const SearchTool = searchTool

func (h *Host) Names() []string { return h.names() }
