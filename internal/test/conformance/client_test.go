package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The suite runs a client for each scenario, with these variables and the URL of its server.
const (
	scenarioVariable = "MCP_CONFORMANCE_SCENARIO"
	contextVariable  = "MCP_CONFORMANCE_CONTEXT"
)

// mounted is the name under which a client mounts the suite's server.
const mounted = "suite"

// beClient mounts the suite's server and does what a scenario wants of a client. The suite
// judges what its server saw; most scenarios expect that some calls are refused.
func beClient(scenario, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var given struct {
		Calls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if text := os.Getenv(contextVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return fmt.Errorf("%s: %w", contextVariable, err)
		}
	}
	config := mcpclient.Config{
		Name: mounted, URL: url, Safety: func(string) tool.Safety { return tool.Safe },
		Questions: mcpclient.Questions{Sampling: true},
	}
	if strings.HasPrefix(scenario, "auth/") {
		dir, err := os.MkdirTemp("", "th-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		config.OAuth = mcpclient.OAuth{
			ClientID: given.ClientID, ClientSecret: given.ClientSecret, MetadataURL: metadataURL, Dir: dir,
		}
		return beAuthorized(ctx, config)
	}
	c, err := mount(ctx, config)
	if err != nil {
		return err
	}
	defer c.close()
	answer := `{}`
	if scenario == "sep-2322-client-request-state" {
		answer = `{"confirmed":true}`
	}
	ctx = tool.WithAsker(ctx, func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{Action: tool.Accept, Content: json.RawMessage(answer)}, nil
	})
	switch scenario {
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
		return nil
	case "tools_call":
		return c.call(ctx, "add_numbers", `{"a":5,"b":3}`)
	case "elicitation-sep1034-client-defaults":
		return c.call(ctx, "test_client_elicitation_defaults", `{}`)
	case "sse-retry":
		return c.call(ctx, "test_reconnection", `{}`)
	case "json-schema-2020-12-preservation":
		return c.echoSchema(ctx, "json_schema_2020_12_tool")
	case "sep-2322-client-request-state", "http-invalid-tool-headers":
		for _, t := range c.host.Tools(host.Filter{}) {
			_ = c.call(ctx, strings.TrimPrefix(t.Name, mounted+"."), `{"region":"us-west1"}`)
		}
		return nil
	case "http-custom-headers":
		for _, call := range given.Calls {
			_ = c.call(ctx, call.Name, string(call.Arguments))
		}
		return nil
	case "http-standard-headers":
		return c.useAll(ctx)
	}
	return fmt.Errorf("unknown scenario %q", scenario)
}

// metadataURL is the client that the suite's authorization servers know.
const metadataURL = "https://conformance-test.local/client-metadata.json"

// maxLogins is how often a person would log in before giving up.
const maxLogins = 2

// beAuthorized logs in, and again when the server wants more, and calls a tool.
func beAuthorized(ctx context.Context, config mcpclient.Config) (err error) {
	for range maxLogins {
		err = login(ctx, config)
		if err != nil && issuerToAdd(err) != "" { // the line to add, as an operator does who knows the issuer
			config.OAuth.Issuer = issuerToAdd(err)
			err = login(ctx, config)
		}
		if err != nil {
			return err
		}
		if err = callOnce(ctx, config); err == nil {
			return nil
		}
	}
	return err
}

// issuerToAdd returns the issuer in the line that an error says to add; empty: there is none.
func issuerToAdd(err error) string {
	_, line, _ := strings.Cut(err.Error(), `oauth: {issuer: "`)
	issuer, _, _ := strings.Cut(line, `"}`)
	return issuer
}

func login(ctx context.Context, config mcpclient.Config) error {
	u, err := mcpclient.New(config)
	if err != nil {
		return err
	}
	return u.Login(ctx, mcpclient.LoginOptions{Timeout: limit, OpenBrowser: func(page, _ string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		go func() { // the suite's page asks nothing and leads back, which the client awaits
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		return nil
	}})
}

func callOnce(ctx context.Context, config mcpclient.Config) error {
	c, err := mount(ctx, config)
	if err != nil {
		return err
	}
	defer c.close()
	return c.call(ctx, "test-tool", `{}`)
}

// client is a host with one server.
type client struct {
	host     *host.Host
	upstream *mcpclient.Upstream
}

func mount(ctx context.Context, config mcpclient.Config) (*client, error) {
	u, err := mcpclient.New(config)
	if err != nil {
		return nil, err
	}
	h, err := host.New()
	if err != nil {
		return nil, err
	}
	if _, err := h.Mount(ctx, plugin.Server{Name: mounted, Connector: u, Identity: config.URL}); err != nil {
		fmt.Fprintln(os.Stderr, err) // some scenarios have tools that are refused
	}
	c := &client{h, u}
	if err := h.StartPlugin(ctx, mounted); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) close() { _ = c.host.Close(context.Background()) }

func (c *client) call(ctx context.Context, name, arguments string) error {
	res, err := c.host.Session().Execute(ctx, tool.Call{Name: mounted + "." + name, Arguments: json.RawMessage(arguments)})
	if err == nil && res.IsError {
		err = errors.New(res.Text())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err
}

// echoSchema sends a tool's schema back, as the host has it.
func (c *client) echoSchema(ctx context.Context, name string) error {
	t, ok := c.host.Get(mounted + "." + name)
	if !ok {
		return fmt.Errorf("no tool %s", name)
	}
	return c.call(ctx, "json_schema_echo", fmt.Sprintf(`{"schema":%s}`, t.InputSchema))
}

// useAll calls a tool, reads a resource and gets a prompt.
func (c *client) useAll(ctx context.Context) error {
	for _, t := range c.host.Tools(host.Filter{}) {
		_ = c.call(ctx, strings.TrimPrefix(t.Name, mounted+"."), `{}`)
	}
	s, err := mcpserver.New(c.host, mcpserver.Options{
		Session:   func(context.Context, mcpserver.Client) (*host.Session, error) { return c.host.Session(), nil },
		Upstreams: func() []mcpserver.Upstream { return []mcpserver.Upstream{c.upstream} },
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	here, there := mcp.NewInMemoryTransports()
	go func() { _ = s.Run(ctx, there) }() // until it is closed
	through, err := mcp.NewClient(&mcp.Implementation{Name: "conformance"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return err
	}
	for r, listErr := range through.Resources(ctx, nil) {
		if err = listErr; err != nil {
			break
		}
		if _, err := through.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	for p, listErr := range through.Prompts(ctx, nil) {
		if listErr != nil {
			return errors.Join(err, listErr)
		}
		if _, err := through.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return err
}
