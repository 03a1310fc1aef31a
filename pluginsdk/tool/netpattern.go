package tool

import "github.com/toolhost/toolhost/internal/grant"

// checkNet checks the form of an entry of [Needs.Net]. What it means, such as that anyone can have a name below
// co.uk, a host knows, which refuses that when the plugin describes itself.
func checkNet(entry string) error {
	if entry == Any {
		return nil
	}
	_, err := grant.ParseHosts(entry)
	return err
}

// normalNet is an entry in the form in which entries are compared.
func normalNet(entry string) string {
	if entry == Any {
		return entry
	}
	h, _ := grant.ParseHosts(entry) // it has been checked
	return h.String()
}

func netCovers(wide, narrow string) bool {
	if wide == Any || narrow == Any {
		return wide == Any
	}
	w, err := grant.ParseHosts(wide)
	n, err2 := grant.ParseHosts(narrow)
	return err == nil && err2 == nil && w.Covers(n)
}
