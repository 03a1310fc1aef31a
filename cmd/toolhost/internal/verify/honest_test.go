package verify_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// honest is a plugin with no SDK under it, so that each of its parts can be replaced by a faulty
// one. The zero value keeps the protocol.
type honest struct {
	pluginv1.UnimplementedToolPluginServer
	about     func(*pluginv1.DescribeResponse)
	configure func(*pluginv1.ConfigureRequest) error
	execute   func(context.Context, *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error)
	preview   func(*pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error)
	listen    func() net.Listener
	line      func(address string) string
	stopped   func()
	options   []grpc.ServerOption
	register  func(*grpc.Server)
	byHand    bool // it does not look at the cookie
	stream    func(pluginv1.ToolPlugin_StreamServer, *honest) error
}

const (
	echoTool  = "faulty.echo"
	inputText = `{"type":"object","properties":{"text":{"type":"string","description":"a text"}},"required":["text"],"additionalProperties":false}`
	lineTool  = "faulty.line"
)

func described() *pluginv1.DescribeResponse {
	return &pluginv1.DescribeResponse{
		Name: "faulty", Version: "1.0.0", Sdk: "none", Needs: &pluginv1.Needs{},
		Tools: []*pluginv1.ToolDefinition{
			{
				Name: echoTool, Description: "Returns a text.", Safety: "safe", InputSchemaJson: []byte(inputText), Idempotent: true,
				OutputSchemaJson: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
			},
			{Name: lineTool, Description: "Returns a line.", Safety: "safe"},
		},
	}
}

// Describe implements the service.
func (h *honest) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	out := described()
	if h.stream != nil {
		out.Features = append(out.Features, "stream")
	}
	if h.about != nil {
		h.about(out)
	}
	return out, nil
}

// Configure implements the service.
func (h *honest) Configure(_ context.Context, in *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	if h.configure != nil {
		return &pluginv1.ConfigureResponse{}, h.configure(in)
	}
	return &pluginv1.ConfigureResponse{}, nil
}

// Execute implements the service.
func (h *honest) Execute(ctx context.Context, in *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	if h.execute != nil {
		return h.execute(ctx, in)
	}
	return answer(in), nil
}

// Preview implements the service.
func (h *honest) Preview(_ context.Context, in *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	if h.preview == nil {
		return nil, status.Error(codes.Unimplemented, "Preview")
	}
	return h.preview(in)
}

// Stream implements the service.
func (h *honest) Stream(s pluginv1.ToolPlugin_StreamServer) error {
	if h.stream == nil {
		return status.Error(codes.Unimplemented, "Stream")
	}
	return h.stream(s, h)
}

func refusal(code, message string) *pluginv1.ExecuteResponse {
	return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Error{Error: &pluginv1.Error{Code: code, Message: message}}}
}

func text(s string, structured []byte) *pluginv1.ExecuteResponse {
	return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Result{Result: &pluginv1.Result{
		Content:        []*pluginv1.Content{{Block: &pluginv1.Content_Text{Text: &pluginv1.Text{Text: s}}}},
		StructuredJson: structured,
	}}}
}

// answer is how the honest tools answer.
func answer(in *pluginv1.ExecuteRequest) *pluginv1.ExecuteResponse {
	var args struct {
		Text *string `json:"text"`
	}
	arguments := in.GetArgumentsJson()
	if len(arguments) == 0 {
		arguments = []byte(`{}`)
	}
	switch in.GetTool() {
	case echoTool:
		if err := json.Unmarshal(arguments, &args); err != nil || args.Text == nil {
			return refusal("invalid_arguments", "text is missing")
		}
		structured, _ := json.Marshal(map[string]string{"text": *args.Text}) // a string is always JSON
		return text(*args.Text, structured)
	case lineTool:
		return text("a line", nil)
	}
	return refusal("not_found", "there is no such tool")
}

func socketDir() string { return os.Getenv("PLUGIN_UNIX_SOCKET_DIR") }

func listen(path string) net.Listener {
	l, err := net.Listen("unix", path) //nolint:noctx // it lives as long as the process
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return l
}

// serve is the plugin from its beginning to its end.
func (h *honest) serve() {
	if os.Getenv("TOOLHOST_PLUGIN") == "" && !h.byHand {
		fmt.Fprintln(os.Stderr, "this is a plugin of toolhost")
		os.Exit(2)
	}
	if h.listen == nil {
		h.listen = func() net.Listener { return listen(filepath.Join(socketDir(), "s")) }
	}
	if h.line == nil {
		h.line = func(address string) string { return "1|1|unix|" + address + "|grpc\n" }
	}
	if h.stopped == nil {
		h.stopped = func() { os.Exit(0) }
	}
	if h.options == nil {
		h.options = []grpc.ServerOption{grpc.MaxRecvMsgSize(64 << 20)}
	}
	l := h.listen()
	g := grpc.NewServer(h.options...)
	pluginv1.RegisterToolPluginServer(g, h)
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Shutdown",
		Handler: func(_ any, _ context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			h.stopped()
			return &emptypb.Empty{}, nil
		},
	}}}, struct{}{})
	if h.register != nil {
		h.register(g)
	}
	_, _ = io.WriteString(os.Stdout, h.line(l.Addr().String()))
	_ = g.Serve(l)
}

// frames is an honest stream.
type frames struct {
	answersCancelled bool // or else leaves cancelled calls without a result
	packetIsFrame    bool // takes each packet for a frame
	skipsUnknown     bool // or else ends the stream at a kind that it does not know
	twice            bool // answers each call twice
}

var honestFrames = frames{answersCancelled: true, skipsUnknown: true}

func (f frames) serve(s pluginv1.ToolPlugin_StreamServer, h *honest) error {
	var buf []byte
	parts := map[uint32][]byte{}
	canceled := map[uint32]bool{}
	var mu sync.Mutex
	send := func(kind byte, number uint32, payload []byte) {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
		b = binary.LittleEndian.AppendUint32(append(b, kind, 0, 0, 0), number)
		mu.Lock()
		defer mu.Unlock()
		_ = s.Send(&pluginv1.Packet{Data: append(b, payload...)})
	}
	result := func(number uint32, out *pluginv1.ExecuteResponse) {
		payload, _ := proto.Marshal(out) // it is made here
		send(2, number, payload)
		if f.twice {
			send(2, number, payload)
		}
	}
	for {
		in, err := s.Recv()
		if err != nil {
			return err // the host has closed the stream
		}
		if buf = append(buf, in.GetData()...); f.packetIsFrame {
			buf = in.GetData()
		}
		for len(buf) >= 12 {
			size, kind, flags, number := int(binary.LittleEndian.Uint32(buf)), buf[4], buf[5], binary.LittleEndian.Uint32(buf[8:])
			head := 12
			if flags&1 != 0 {
				head += 8
			}
			if len(buf) < head+size {
				break
			}
			payload := bytes.Clone(buf[head : head+size])
			buf = buf[head+size:]
			switch kind {
			case 1:
				req := &pluginv1.ExecuteRequest{}
				_ = proto.Unmarshal(append(parts[number], payload...), req)
				delete(parts, number)
				out, _ := h.Execute(s.Context(), req)
				result(number, out)
			case 3:
				parts[number] = append(parts[number], payload...)
				send(4, number, binary.LittleEndian.AppendUint32(nil, uint32(size)))
			case 6:
				if parts[number] != nil && f.answersCancelled {
					result(number, refusal("canceled", "cancelled"))
				}
				delete(parts, number)
				canceled[number] = true
			default:
				if !f.skipsUnknown {
					return status.Error(codes.Internal, "an unknown frame")
				}
			}
		}
	}
}
