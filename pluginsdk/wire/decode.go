package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxBlocks bounds the content blocks of one result: 65,536. An empty block is
// 4 bytes on the wire and up to 100 in memory.
const maxBlocks = 1 << 16

// The types of wire format that the known fields have, as the low bits of a key.
const (
	varint = uint64(protowire.VarintType)
	length = uint64(protowire.BytesType)
)

// field is one field off a message.
type field struct {
	key   uint64 // its number << 3 | its type
	value uint64 // of a varint
	bytes []byte // of a string, bytes or message, cut off from what follows; nil for other types only
}

func (f *field) number() protowire.Number {
	return protowire.Number(f.key >> 3)
}

// fieldKey is what [field.key] is for a number and type. To switch on it skips
// a known number with another type as an unknown field, as protobuf does.
func fieldKey(num protowire.Number, typ uint64) uint64 {
	return uint64(num)<<3 | typ
}

// cut takes the first field off b, which is not empty. Groups, which proto3
// does not have, are skipped with the nesting that protowire allows.
func cut(b []byte) (f field, rest []byte, err error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, nil, malformed("a field's number", n)
	}
	if num > protowire.MaxValidNumber { // which ConsumeTag lets pass
		return field{}, nil, fmt.Errorf("there is no field number %d", num)
	}
	b = b[n:]
	f.key = fieldKey(num, uint64(typ))
	switch typ {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
		f.bytes = f.bytes[:len(f.bytes):len(f.bytes)]
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return field{}, nil, malformed(fmt.Sprintf("field %d", num), n)
	}
	return f, b[n:], nil
}

// malformed says what protowire's code n means, in words that stay the same
// from run to run, which protobuf's own do not.
func malformed(what string, n int) error {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends within %s", what)
	}
	return fmt.Errorf("%s cannot be read", what)
}

// shortRequest is up to which size, in bytes, a request's strings are views of it.
const shortRequest = 4 << 10

// parseRequest reads an ExecuteRequest. The arguments, and of a short one the ID,
// are a part of b, so b belongs to the request from here on. intern gives the string for a tool's
// name or a session's ID, and keeps nothing of what it is given; nil: a new
// string each time.
func parseRequest(b []byte, intern func([]byte) string) (request, error) {
	if intern == nil {
		intern = func(b []byte) string { return string(b) }
	}
	var r request
	var id, name, session []byte
	// An ID that is part of a long request would keep all of it.
	short := len(b) <= shortRequest
	for len(b) > 0 {
		f, rest, err := cut(b)
		if err != nil {
			return request{}, fmt.Errorf("the request is malformed: %w", err)
		}
		b = rest
		switch f.key {
		case fieldKey(requestID, length):
			id = f.bytes
		case fieldKey(requestTool, length):
			name = f.bytes
		case fieldKey(requestArguments, length):
			r.call.Arguments = orNil(f.bytes)
		case fieldKey(requestSession, length):
			session = f.bytes
		case fieldKey(requestTimeout, varint):
			r.timeout = time.Duration(fromMilliseconds(int64(f.value)))
		case fieldKey(requestProgress, varint):
			r.progress = protowire.DecodeBool(f.value)
		}
	}
	if id = cleanBytes(id); short {
		r.call.ID = view(id)
	} else {
		r.call.ID = string(id)
	}
	r.call.Name, r.call.Session = intern(cleanBytes(name)), intern(cleanBytes(session))
	return r, nil
}

// parseResponse reads an ExecuteResponse and takes b over: the strings and the
// data of the result are parts of it.
//
// # Errors
//
// Those of [Client.Execute] that the plugin's answer gives rise to.
func parseResponse(b []byte) (tool.Result, error) {
	var in response
	for len(b) > 0 {
		f, rest, err := cut(b)
		if err != nil {
			return tool.Result{}, invalidResult(err.Error())
		}
		b = rest
		switch f.key {
		case fieldKey(responseResult, length):
			in.become(responseResult)
			err = in.mergeResult(f.bytes)
		case fieldKey(responseError, length):
			in.become(responseError)
			err = mergeFields(&in.failure, f.bytes, errorShape)
		}
		if err != nil {
			return tool.Result{}, invalidResult(err.Error())
		}
	}
	return in.answer()
}

// response is an ExecuteResponse as far as it has been read. In protobuf a
// message may come in pieces, which add up, and one outcome replaces another.
type response struct {
	outcome protowire.Number // responseResult, responseError or, so far, 0
	result  tool.Result      // its structured value unchecked
	fault   string           // what is wrong with result although it can be read
	failure fields
}

// become starts an outcome afresh where the one so far is another.
func (in *response) become(outcome protowire.Number) {
	if in.outcome != outcome {
		*in = response{outcome: outcome}
	}
}

func (in *response) mergeResult(b []byte) error {
	for len(b) > 0 {
		f, rest, err := cut(b)
		if err != nil {
			return err
		}
		b = rest
		switch f.key {
		case fieldKey(resultContent, length):
			kind, parts, err := parseContent(f.bytes)
			if err != nil {
				return err
			}
			in.add(kind, &parts)
		case fieldKey(resultStructured, length):
			in.result.Structured = orNil(f.bytes)
		case fieldKey(resultIsError, varint):
			in.result.IsError = protowire.DecodeBool(f.value)
		}
	}
	return nil
}

// add puts a block behind the content so far. The first fault ends the
// collecting, as nobody will see the rest, nor should it take memory.
func (in *response) add(kind protowire.Number, parts *fields) {
	n := len(in.result.Content)
	switch {
	case in.fault != "":
	case kind == 0:
		in.fault = fmt.Sprintf("content block %d: unknown kind", n)
	case n == maxBlocks:
		in.fault = fmt.Sprintf("more than %d content blocks", maxBlocks)
	default:
		in.result.Content = append(in.result.Content, parts.content(kind))
	}
}

// answer is what the response says, once all of it has been read.
func (in *response) answer() (tool.Result, error) {
	switch {
	case in.outcome == responseError:
		code, message, hint := cleanView(in.failure[errorCode]), cleanView(in.failure[errorMessage]), cleanView(in.failure[errorHint])
		return tool.Result{}, claimed(tool.Code(code), message, hint)
	case in.outcome == 0:
		return tool.Result{}, &tool.Error{
			Code: tool.CodeInvalidResult, Stage: tool.StageExecute,
			Message: "the plugin answered with neither a result nor an error", Hint: reportToAuthor,
		}
	case in.fault != "":
		return tool.Result{}, invalidResult(in.fault)
	case len(in.result.Structured) > 0:
		if !json.Valid(in.result.Structured) {
			return tool.Result{}, invalidResult("the structured result is not JSON")
		}
		in.result.Structured = cleanBytes(in.result.Structured) // json.Valid lets bad bytes pass within strings
	}
	return in.result, nil
}

// fields are those of a message that has at most four, strings and bytes, by
// number. One that was not there is nil, one that was there and is empty is not.
type fields [5][]byte

// shape tells which fields a message has.
type shape struct {
	last  protowire.Number // its fields are 1 to last
	oneof bool             // 3 and 4 replace one another
}

var errorShape = shape{last: errorHint}

var contentShapes = [...]shape{
	contentText:         {last: 1},
	contentImage:        {last: 2},
	contentAudio:        {last: 2},
	contentResource:     {last: 4, oneof: true},
	contentResourceLink: {last: 4},
}

// mergeFields reads a message into what earlier pieces of it left.
func mergeFields(into *fields, b []byte, s shape) error {
	for len(b) > 0 {
		f, rest, err := cut(b)
		if err != nil {
			return err
		}
		b = rest
		num := f.number()
		if f.bytes == nil || num > s.last {
			continue
		}
		into[num] = f.bytes
		if s.oneof && num >= resourceText {
			into[resourceText+resourceBlob-num] = nil
		}
	}
	return nil
}

// parseContent reads a Content, as its kind, 0 for an unknown one, and the parts
// of its block.
func parseContent(b []byte) (kind protowire.Number, parts fields, err error) {
	for len(b) > 0 {
		f, rest, err := cut(b)
		if err != nil {
			return 0, fields{}, err
		}
		b = rest
		num := f.number()
		if f.bytes == nil || int(num) >= len(contentShapes) {
			continue
		}
		if kind != num { // one kind replaces another
			kind, parts = num, fields{}
		}
		if err := mergeFields(&parts, f.bytes, contentShapes[kind]); err != nil {
			return 0, fields{}, err
		}
	}
	return kind, parts, nil
}

// content is the block that p are the parts of.
func (p *fields) content(kind protowire.Number) tool.Content {
	switch kind {
	case contentText:
		return tool.TextContent{Text: cleanView(p[1])}
	case contentImage:
		return tool.ImageContent{Data: orNil(p[mediaData]), MIMEType: cleanView(p[2])}
	case contentAudio:
		return tool.AudioContent{Data: orNil(p[mediaData]), MIMEType: cleanView(p[2])}
	case contentResource:
		return tool.ResourceContent{URI: cleanView(p[1]), MIMEType: cleanView(p[2]), Text: cleanView(p[resourceText]), Blob: p[resourceBlob]}
	default:
		return tool.ResourceLink{URI: cleanView(p[1]), Name: cleanView(p[2]), Description: cleanView(p[3]), MIMEType: cleanView(p[4])}
	}
}
