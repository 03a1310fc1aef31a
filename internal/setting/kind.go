package setting

import "sync"

// Kind is what texts of some settings have in common. A tag names it: is:"path".
type Kind struct {
	// Title says what it is, for errors: "expected " + Title.
	Title   string
	Pattern string // empty: any
	// Not is a pattern of what it is not. NotTitle says so; empty: Title does.
	Not, NotTitle        string
	MinLength, MaxLength int // in characters; 0: no bound
	// Minimum and Maximum bound a number, or what Form is for; empty: nothing does.
	Minimum, Maximum string
	Form             string   // see [Forms]
	Secret           bool     // it is not shown
	Also             []string // types of JSON that are taken for text
	Words            []Word   // that stand for a value
	Enum             []string // it is one of these
	// MinItems and MaxItems bound a list, MaxItems also a mapping of names.
	MinItems, MaxItems int
	Example            string // of names
}

// kinds are the kinds of texts, by the names that tags have.
var kinds = sync.OnceValue(func() map[string]Kind {
	return map[string]Kind{
		"path":    {Title: "a path", MinLength: 1, Form: FilePath},
		"rawpath": {Title: "a path", MinLength: 1}, // in which variables are replaced later
		"time": {
			Title: "a time such as 30s or 10m", Pattern: `^(` + period + `){1,6}$`, Form: "go-duration",
			Minimum: "1ms", Maximum: "24h",
		},
		"size": {
			Title: "a size such as 64MiB; units are B, KiB, MiB and GiB", Pattern: `^[0-9]{1,18} ?(B|KiB|MiB|GiB)$`,
			Form: "byte-size",
		},
		"rate": {
			Title:   "a rate such as 10/1m, or unlimited: calls, a slash, and a period of up to 24h",
			Pattern: `^[0-9]{1,9}/(s|m|h|(` + period + `){1,6})$`, Form: "rate",
			Words: []Word{{"unlimited", []byte(`{"calls":0,"period":"0s"}`)}},
		},
		"capability": {
			Title:   "a capability such as exec or fs:read: a word, or two with a colon between them",
			Pattern: `^` + word + `(:` + word + `)?$`,
		},
		"tool": {Title: "a tool's name, of 1 to 128 letters, digits, _, . and -", Pattern: toolName},
		"tools": {
			Title:   "a tool's name or a pattern such as fs.*, of 1 to 128 letters, digits, _, ., - and *",
			Pattern: `^[A-Za-z0-9_.*-]{1,128}$`,
		},
		"asker": {
			Title: "one or more of client, terminal and queue, each once",
			Enum:  []string{"client", "terminal", "queue"}, MinItems: 1, MaxItems: 3,
		},
		"safety":   {Enum: []string{"safe", "cautious", "moderate", "dangerous"}},
		"identity": {MinLength: 1, MaxLength: 1024},

		// Names of mappings.
		"plugin_name": {
			Title:   "a plugin's name has 1 to 64 letters, digits, _, . and -, and begins with a letter or digit",
			Pattern: `^` + hostName + `$`, Example: "example",
		},
		"server_name": {
			Title:   "a server's name has 1 to 64 letters, digits, _ and -, and begins with a letter or digit",
			Pattern: `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`, Example: "files",
		},
		"tool_name": {
			Title: "a tool's name has 1 to 128 letters, digits, _, . and -", Pattern: toolName,
			Example: "example.delete",
		},
		"caller_name": {
			Title: "a caller's name has 1 to 64 letters, digits, _, . and -, such as cli", Pattern: callerName,
			Example: "cli",
		},
		"publisher_name": {
			Title: "a publisher's name has 1 to 64 letters, digits, _, . and -", Pattern: callerName, Example: "acme",
		},
		"peer_name": {
			Title:   "a host's name has 1 to 64 letters, digits, _, . and -, and begins with a letter or digit",
			Pattern: `^` + hostName + `$`, Example: "partner",
		},
		"peer_caller": {
			Title:   "a host's name, a host's and a caller's with a slash between them, or *",
			Pattern: `^(\*|` + hostName + `(/[A-Za-z0-9_.-]{1,64})?)$`, Example: "partner",
		},
		"label_name": {
			Title: "a label's name has 1 to 64 characters", Pattern: `^[^\s=\x00-\x1f\x7f-\x{9f}]{1,64}$`,
			Example: "region",
		},
		"header_name": {
			Title: "the name of a header has 1 to 128 letters, digits, _ and -", Pattern: `^[A-Za-z0-9_-]{1,128}$`,
			Example: "Authorization",
		},
		"variable_name": {
			Title:   "a variable's name has 1 to 128 letters, digits and _, and does not begin with a digit",
			Pattern: variable, Not: handshake, Example: "API_TOKEN",
			NotTitle: "the names TOOLHOST_PLUGIN and PLUGIN_... belong to the handshake between host and plugin",
		},

		// Variables.
		"variable": {
			Title: `text, {from_env: NAME} or {from_file: PATH}; "" is an empty text`, Secret: true,
			Also: []string{"string", "number", "boolean"},
		},
		"from_env": {Title: "a variable's name, of letters, digits and _", Pattern: `^[A-Za-z0-9_]{1,128}$`, Secret: true},

		// Of sandboxes.
		"sandbox_read": {
			Title: "a path, or one of the words workspace and any", Pattern: visible, Not: `^(none|declared|cache)$`,
			Form: FilePath, Words: itself("workspace", "any"),
		},
		"sandbox_write": {
			Title: "a path, or one of the words workspace, cache and any", Pattern: visible, Not: undecided,
			Form: FilePath, Words: itself("workspace", "cache", "any"),
		},
		"sandbox_net": {
			Title: `a host with a port such as api.example.com:443 or "*.example.com:443", or any`, MinLength: 1,
			MaxLength: 300, Not: undecided,
		},
		"sandbox_exec": {
			Title: "a program, by its name or path, or any", Pattern: visible, Not: `^(none|declared|\.|\.\.|~)$`,
			Form: Program,
		},
		"sandbox_env": {
			Title:   "a variable's name, of letters, digits and _, and none of the handshake: TOOLHOST_PLUGIN and PLUGIN_...",
			Pattern: variable, Not: handshake, Secret: true,
		},

		// Of publishers.
		"minisign": {
			Title:   "a public key of minisign: the line of minisign.pub that begins with RW",
			Pattern: `^RW[A-Za-z0-9+/]{54}$`,
		},
		"source": {Title: "a source such as oci://ghcr.io/acme/*", Pattern: `^[^\s\[\]\\?]+$`, MaxLength: 2000},
		"need":   {Title: "a path, a host with a port, a program, or a word", MinLength: 1, MaxLength: 4096},

		// Of MCP.
		"loopback": {Title: "a loopback address with a port such as 127.0.0.1:9464", Pattern: `^(` + loopback + `):[0-9]{1,5}$`},
		"address": {
			Title:   "an address with a port, such as 127.0.0.1:7411 or :7411",
			Pattern: `^([A-Za-z0-9.-]{0,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}$`,
		},
		"endpoint": {
			Title:   "a URL such as https://tools.example.com/mcp, without a query",
			Pattern: `^https?://[A-Za-z0-9.:\[\]-]{1,253}/[A-Za-z0-9._~/-]{1,253}$`,
		},
		"host": {
			Title:   "the name or address of a host, without a port",
			Pattern: `^([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]{2,45})$`,
		},
		"origin": {
			Title:   "an origin such as https://app.example.com: a scheme, a host, perhaps a port, and no slash at the end",
			Pattern: `^[a-z][a-z0-9+.-]{0,31}://[a-z0-9.:\[\]-]{1,253}$`,
		},
		"issuer": {
			Title:   "a URL such as https://login.example.com, by https unless its host is of this machine's loopback",
			Pattern: `^(https://[A-Za-z0-9.:\[\]-]{1,253}|http://(localhost|` + loopback + `)(:[0-9]{1,5})?)(/[A-Za-z0-9._~%/-]{0,253})?$`,
		},
		"claim":   {Title: "the name of a claim, such as sub or client_id", Pattern: `^[A-Za-z0-9_:/.-]{1,256}$`},
		"program": {Title: "a program", MinLength: 1},
		"url":     {Title: "a URL that begins with http:// or https://", Pattern: `^(https?://|\$\{)`, Secret: true},
		"collector": {
			Title: "a URL such as http://127.0.0.1:4318, without a user and a query", Pattern: `^https?://[A-Za-z0-9.:\[\]-]{1,253}(/[A-Za-z0-9._~/-]{0,253})?$`,
		},
		"client": {Title: "the identifier of a client", MinLength: 1},
		"scope":  {Title: "a scope", Pattern: `^[!#-\[\]-~]{1,256}$`},
		"server_tool": {
			Title: "the name of a tool or a pattern such as read_*, of 1 to 128 characters", Pattern: `^\S{1,128}$`,
		},

		// Of a fleet.
		"servers": {
			Title:   "a URL such as tls://nats.example.com:4222, or several with commas between them; nats, tls, ws and wss are known",
			Pattern: `^` + server + `(,` + server + `)*$`, MaxLength: 4096, Secret: true,
		},
		"host_name": {
			Title:   "a host's name of 1 to 64 letters, digits, _, . and -, which begins with a letter or digit",
			Pattern: `^` + hostName + `$`,
		},
		"prefix": {Title: "a prefix of 1 to 64 letters, digits, _, . and -", Pattern: callerName},
		"host_key": {
			Title:   "the public half of a host's key, which toolhost fleet key prints there: U and 55 more letters and digits",
			Pattern: `^U[A-Z2-7]{55}$`,
		},
		"version": {
			Title:   "newest, a version of the plugin such as 1.4.0, or sha256: and at least 8 digits of a definition's digest",
			Pattern: `^[A-Za-z0-9][A-Za-z0-9_.+:-]{0,127}$`,
		},
		"label": {Title: "a text of 1 to 64 characters", MinLength: 1, MaxLength: 64, Also: []string{"number", "boolean"}},
	}
})

// Parts of patterns.
const (
	period     = `[0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h)`
	word       = `[a-z][a-z0-9_-]{0,31}`
	hostName   = `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`
	callerName = `^[A-Za-z0-9_.-]{1,64}$`
	toolName   = `^[A-Za-z0-9_.-]{1,128}$`
	variable   = `^[A-Za-z_][A-Za-z0-9_]{0,127}$`
	handshake  = `^(TOOLHOST_PLUGIN$|PLUGIN_)`
	visible    = `^[^\x00-\x1f\x7f-\x{9f}]+$`
	undecided  = `^(none|declared)$`
	loopback   = `127(\.[0-9]{1,3}){3}|\[::1\]`
	server     = `(nats|tls|wss?)://[^\s,/]+/?`
)

// itself are words that stand for themselves.
func itself(names ...string) (out []Word) {
	for _, name := range names {
		out = append(out, Word{name, []byte(`"` + name + `"`)})
	}
	return out
}
