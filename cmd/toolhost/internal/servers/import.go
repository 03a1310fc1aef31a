package servers

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
)

// Moved is what becomes of servers when they are moved into a configuration: secrets stay where
// they are, and the configuration refers to variables.
type Moved struct {
	// Variables are to be set, each with a text that says to what.
	Variables []Wanted
	values    map[string]string
}

// Wanted is a variable that has to be set.
type Wanted struct {
	Name string `json:"name"`
	// For says what its value is, without telling it.
	For string `json:"for"`
}

// Server returns a server as the configuration is to have it.
func (m *Moved) Server(e Entry) config.Server {
	s := e.Server.Detached(func(name, id string) {
		m.want(name, "", fmt.Sprintf("what ${input:%s} in %s stands for", id, e.From))
	})
	hide := func(what string, prefixed bool) config.Hide {
		return func(name, secret string) string {
			wanted := config.VariableFor(name)
			if prefixed {
				wanted = config.VariableFor(e.Name, name)
			}
			return "${" + m.want(wanted, secret, strings.TrimSpace(what+" "+name)+" of the server at "+e.From) + "}"
		}
	}
	s.Env = s.Env.Replace(hide("the variable", false))
	s.Headers = s.Headers.Replace(hide("the secret in the header", true))
	s.OAuth.ClientSecret = s.OAuth.ClientSecret.Replace(hide("the", true))
	s.Args = s.Args.Replace(hide("the argument", true))
	s.URL = config.Address(s.URL.Replace(hide("the part of the url:", true)))
	return s
}

// want notes a variable, under another name if it has another value already.
func (m *Moved) want(name, value, what string) string {
	if m.values == nil {
		m.values = map[string]string{}
	}
	unique := name
	for i := 2; ; i++ {
		known, ok := m.values[unique]
		if !ok {
			m.values[unique] = value
			m.Variables = append(m.Variables, Wanted{unique, what})
			return unique
		}
		if known == value {
			return unique
		}
		unique = fmt.Sprintf("%s_%d", name, i)
	}
}
