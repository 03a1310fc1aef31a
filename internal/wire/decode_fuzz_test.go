package wire

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// reference decodes with protobuf's own code, but replaces invalid UTF-8 as the codec
// does, instead of rejecting the message. It uses the same messages in proto2, which does
// not check strings.
var reference = func() protoreflect.FileDescriptor {
	file := protodesc.ToFileDescriptorProto(pluginv1.File_toolhost_plugin_v1_plugin_proto)
	file.Syntax = proto.String("proto2")
	fd, err := protodesc.NewFile(file, nil)
	if err != nil {
		panic(err)
	}
	return fd
}()

func referenceDecode(t *testing.T, b []byte, into proto.Message) error {
	t.Helper()
	err := proto.Unmarshal(b, into)
	if err == nil {
		return nil
	}
	lenient := dynamicpb.NewMessage(reference.Messages().ByName(into.ProtoReflect().Descriptor().Name()))
	if proto.Unmarshal(b, lenient) != nil {
		return err
	}
	cleanMessage(lenient)
	again := require.Must(proto.Marshal(lenient))(t)
	require.NoError(t, proto.Unmarshal(again, into))
	return nil
}

func cleanMessage(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				cleanMessage(v.List().Get(i).Message())
			}
		case fd.Message() != nil:
			cleanMessage(v.Message())
		case fd.Kind() == protoreflect.StringKind:
			m.Set(fd, protoreflect.ValueOfString(clean(v.String())))
		}
		return true
	})
}

// nested returns groups within groups, which no message here has.
func nested(num protowire.Number, depth int) []byte {
	var b []byte
	for range depth {
		b = protowire.AppendTag(b, num, protowire.StartGroupType)
	}
	for range depth {
		b = protowire.AppendTag(b, num, protowire.EndGroupType)
	}
	return b
}

// tricky returns encodings that a decoder may get wrong, for any of the messages.
func tricky() [][]byte {
	tag := protowire.AppendTag
	return [][]byte{
		nil,
		{0}, {0x08}, {0x0a}, {0x0a, 0x01}, {0x0a, 0x80}, {0x0a, 0x80, 0x00},
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, // a length of 2^64-1
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},       // of 2^63-1
		bytes.Repeat([]byte{0x80}, 11), append(bytes.Repeat([]byte{0xff}, 9), 2),
		{0x8a, 0x80, 0x00, 0x00}, // the key 0x0a in three bytes
		{0x02, 0x00}, {0x07}, {0x0e, 0x00}, {0x0f, 0x00}, {0x0c}, {0x0b}, {0x0b, 0x14},
		{0x0d, 1, 2, 3}, {0x0d, 1, 2, 3, 4}, {0x09, 1, 2, 3, 4, 5, 6, 7, 8}, {0x28, 0x01, 0x2d, 1, 2, 3, 4},
		append(tag(nil, protowire.MaxValidNumber, protowire.VarintType), 1),
		append(protowire.AppendVarint(nil, uint64(protowire.MaxValidNumber+1)<<3), 1),
		append(protowire.AppendVarint(nil, math.MaxInt32<<3), 1),
		append(protowire.AppendVarint(nil, 1<<35|0x0a), 0),
		nested(1, 1), nested(1, 3), nested(9, 20),
		append(tag(nil, 9, protowire.StartGroupType),
			append([]byte{0x0a, 0x01, 0xff}, tag(nil, 9, protowire.EndGroupType)...)...),
		append(tag(nil, 9, protowire.StartGroupType), tag(nil, 8, protowire.EndGroupType)...),
	}
}

func lengthField(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), bytes.Join(parts, nil))
}

func FuzzDecodeRequest(f *testing.F) {
	seed(f, &pluginv1.ExecuteRequest{
		Id: "c1", Tool: "fs.read", ArgumentsJson: []byte(`{"p":1}`), Session: "s", Caller: "cli", IdempotencyKey: "k", TimeoutMs: 1500, Progress: true,
	})
	seed(f, &pluginv1.ExecuteRequest{TimeoutMs: -1})
	seed(f, &pluginv1.ExecuteRequest{TimeoutMs: math.MaxInt64, Tool: "é"})
	for _, b := range tricky() {
		f.Add(b)
	}
	for num := protowire.Number(1); num <= 4; num++ { // the last wins, even if it is empty
		f.Add(append(lengthField(num, []byte("a\xff")), lengthField(num, []byte("b"))...))
		f.Add(append(lengthField(num, []byte("a")), lengthField(num)...))
	}
	f.Add([]byte{0x28, 1, 0x28, 0, 0x30, 1, 0x30, 0x80, 0x80, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p pluginv1.ExecuteRequest
		wantErr := referenceDecode(t, b, &p)
		want := request{
			call: tool.Call{
				ID: p.GetId(), Name: p.GetTool(), Arguments: p.GetArgumentsJson(), Session: p.GetSession(), Caller: p.GetCaller(),
				IdempotencyKey: p.GetIdempotencyKey(),
			},
			timeout:  time.Duration(fromMilliseconds(p.GetTimeoutMs())),
			progress: p.GetProgress(),
		}
		for _, intern := range []func([]byte) string{nil, func(b []byte) string { return string(b) }} {
			got, err := parseRequest(bytes.Clone(b), intern)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%v, protobuf says %v", err, wantErr)
			}
			if err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, want %+v", got, want)
			}
			if err != nil && !reflect.DeepEqual(got, request{}) {
				t.Fatalf("%+v together with an error", got)
			}
		}
	})
}

// referenceResponse returns the answer as [Client.Execute] does.
func referenceResponse(t *testing.T, b []byte) (tool.Result, error) {
	t.Helper()
	var p pluginv1.ExecuteResponse
	if err := referenceDecode(t, b, &p); err != nil {
		return tool.Result{}, &tool.Error{Code: tool.CodeInvalidResult, Message: err.Error()}
	}
	return responseFromProto(&p)
}

func FuzzDecodeResponse(f *testing.F) {
	for _, r := range answers() {
		f.Add(appendResponse(nil, &r, nil))
	}
	seed(f, &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Error{
		Error: &pluginv1.Error{Code: "crashed", Message: "m", Hint: "h"},
	}})
	for _, b := range tricky() {
		f.Add(b)
		for _, outcome := range []protowire.Number{responseResult, responseError} {
			f.Add(lengthField(outcome, b))
		}
		f.Add(lengthField(responseResult, lengthField(resultContent, b)))
		for kind := contentText; kind <= contentResourceLink; kind++ {
			f.Add(lengthField(responseResult, lengthField(resultContent, lengthField(kind, b))))
		}
	}
	for _, b := range pieces() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want, wantErr := referenceResponse(t, b)
		got, err := parseResponse(bytes.Clone(b))
		if wantErr == nil {
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%#v, %v, want %#v", got, err, want)
			}
			return
		}
		if !reflect.DeepEqual(got, tool.Result{}) {
			t.Fatalf("%#v together with the error %v", got, err)
		}
		var e *tool.Error
		if !errors.As(err, &e) || e.Code != tool.CodeOf(wantErr) || e.Stage != callstage.Execute {
			t.Fatalf("%#v, want %v", err, wantErr)
		}
		if e.Code != tool.CodeInvalidResult && !reflect.DeepEqual(err, wantErr) {
			t.Fatalf("%#v, want %#v", err, wantErr)
		}
	})
}

// pieces returns responses in which a message occurs twice.
func pieces() [][]byte {
	text := func(s string) []byte {
		return lengthField(resultContent, lengthField(contentText, lengthField(1, []byte(s))))
	}
	structured := func(s string) []byte { return lengthField(resultStructured, []byte(s)) }
	join := func(b ...[]byte) []byte { return bytes.Join(b, nil) }
	failure := lengthField(responseError, lengthField(errorCode, []byte("canceled")), lengthField(errorHint, []byte("h")))
	content := func(b ...[]byte) []byte { return lengthField(responseResult, lengthField(resultContent, b...)) }
	resource := func(b ...[]byte) []byte { return content(lengthField(contentResource, b...)) }
	return [][]byte{
		join(lengthField(responseResult, text("a")), lengthField(responseResult, text("b"), structured("1"))),
		join(lengthField(responseResult, text("a"), structured("{")), lengthField(responseResult, structured("1"))),
		join(lengthField(responseResult, text("a"), structured("1"), []byte{0x18, 1}),
			lengthField(responseResult, structured(""), []byte{0x18, 0})),
		join(lengthField(responseResult, text("a")), failure),
		join(lengthField(responseResult, text("a")), failure, lengthField(responseResult, structured("2"))),
		join(failure, lengthField(responseError, lengthField(errorMessage, []byte("m")), lengthField(errorCode))),
		join(failure, lengthField(responseResult), failure),
		join(content(), failure, lengthField(responseResult, text("x"))), // an unknown kind that is dropped
		join(content([]byte{0x0a}), failure),                             // one that cannot be read
		join(lengthField(responseResult, text("a")), []byte{0x10, 0x01}), // the error's number on a varint
		content(lengthField(contentText, lengthField(1, []byte("a"))), lengthField(contentText)),
		content(lengthField(contentText, lengthField(1, []byte("a"))),
			lengthField(contentImage, lengthField(2, []byte("m")))),
		content(lengthField(contentImage, lengthField(1, []byte("d"))),
			lengthField(contentAudio, lengthField(2, []byte("m")))),
		content(lengthField(contentImage, lengthField(1, []byte("d"))),
			lengthField(contentImage, lengthField(2, []byte("m")))),
		content(lengthField(contentText, lengthField(1, []byte("a"))), []byte{0x10, 0x01}, lengthField(9, []byte("?"))),
		content(lengthField(contentText, lengthField(1, []byte("a")), []byte{0x08, 0x01})), // the text's number on a varint
		resource(lengthField(4, []byte("b")), []byte{0x18, 0x01, 0x20, 0x01}),
		resource(lengthField(3, []byte("t")), lengthField(4, []byte("b"))),
		resource(lengthField(4, []byte("b")), lengthField(3, []byte("t"))),
		resource(lengthField(4, []byte("b")), lengthField(3)),
		resource(lengthField(3, []byte("t")), lengthField(4)),
		resource(lengthField(3, []byte("t")), lengthField(4), lengthField(1, []byte("u"))),
		content(lengthField(contentResource, lengthField(4)), lengthField(contentResource, lengthField(1, []byte("u")))),
		content(lengthField(contentResource, lengthField(4)), lengthField(contentResource, lengthField(3, []byte("\xff")))),
		lengthField(responseResult, structured("\"\xff\""), text("\xff\xff a \xc3")),
		lengthField(responseError, lengthField(errorCode, []byte("\xff")), lengthField(errorMessage, []byte("\xff")),
			lengthField(errorHint, []byte("\xff"))),
	}
}
