package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxBlocks bounds the content blocks of one result: 65,536. An empty block is
// 4 bytes on the wire and up to 100 in memory.
const maxBlocks = 1 << 16

// The wire types of the known fields, as the low bits of a key.
const (
	varint = uint64(protowire.VarintType)
	length = uint64(protowire.BytesType)
)

// field is one field of an encoded message.
type field struct {
	key   uint64 // number << 3 | wire type
	value uint64 // for a varint
	bytes []byte // for a string, bytes or message, with no spare capacity; nil for other types only
}

func (f *field) number() protowire.Number {
	return protowire.Number(f.key >> 3)
}

// fieldKey returns the [field.key] for a number and wire type. Code that switches
// on it treats a known number with another type as an unknown field, as protobuf does.
func fieldKey(num protowire.Number, typ uint64) uint64 {
	return uint64(num)<<3 | typ
}

// consumeField parses the first field of b, which must not be empty, and returns the
// bytes after it. It skips groups, which proto3 does not have, to the nesting depth
// that protowire allows.
func consumeField(b []byte) (f field, rest []byte, err error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, nil, malformed("a field's number", n)
	}
	if num > protowire.MaxValidNumber { // ConsumeTag does not check this
		return field{}, nil, fmt.Errorf("field number %d is not valid", num)
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

// malformed returns the error for protowire's code n. Its text is stable from run
// to run, unlike that of protobuf's own errors.
func malformed(what string, n int) error {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return fmt.Errorf("the message ends within %s", what)
	}
	return fmt.Errorf("%s cannot be read", what)
}

// shortRequest is the size, in bytes, up to which a request's ID shares the
// request's memory.
const shortRequest = 4 << 10

// parseRequest decodes an ExecuteRequest. The arguments, and the ID of a short
// request, share b's memory, so the caller must not modify b afterwards. parseRequest
// calls intern to turn the name of a tool or a caller, or a session's ID, into a string; intern must not
// retain its argument. If intern is nil, parseRequest allocates a new string each time.
func parseRequest(b []byte, intern func([]byte) string) (request, error) {
	if intern == nil {
		intern = func(b []byte) string { return string(b) }
	}
	var r request
	var id, name, session, caller []byte
	// An ID that shares a long request's memory would keep the whole request alive.
	short := len(b) <= shortRequest
	for len(b) > 0 {
		f, rest, err := consumeField(b)
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
		case fieldKey(requestCaller, length):
			caller = f.bytes
		case fieldKey(requestKey, length):
			r.call.IdempotencyKey = string(cleanBytes(f.bytes))
		case fieldKey(requestTimeout, varint):
			r.timeout = time.Duration(fromMilliseconds(int64(f.value)))
		case fieldKey(requestProgress, varint):
			r.progress = protowire.DecodeBool(f.value)
		case fieldKey(requestAsk, varint):
			r.ask = protowire.DecodeBool(f.value)
		case fieldKey(requestDeltas, varint):
			r.deltas = protowire.DecodeBool(f.value)
		case fieldKey(requestTrace, length):
			r.trace.Parent = string(cleanBytes(f.bytes))
		case fieldKey(requestState, length):
			r.trace.State = string(cleanBytes(f.bytes))
		}
	}
	if id = cleanBytes(id); short {
		r.call.ID = view(id)
	} else {
		r.call.ID = string(id)
	}
	r.call.Name, r.call.Session, r.call.Caller = intern(cleanBytes(name)), intern(cleanBytes(session)), intern(cleanBytes(caller))
	return r, nil
}

// parseResponse decodes an ExecuteResponse. The strings and data of the result share
// b's memory, so the caller must not modify b afterwards.
//
// # Errors
//
// parseResponse returns the error that the plugin answered with, or
// [tool.CodeInvalidResult] for an answer that cannot be read.
func parseResponse(b []byte) (tool.Result, error) { return parseLooked(b, len(b)) }

// parseLooked is parseResponse for what is known to be ASCII from an offset on.
func parseLooked(b []byte, ascii int) (tool.Result, error) {
	in := response{ascii: b[ascii:]}
	for len(b) > 0 {
		f, rest, err := consumeField(b)
		if err != nil {
			return tool.Result{}, invalidResult(err.Error())
		}
		b = rest
		switch f.key {
		case fieldKey(responseResult, length):
			in.setOutcome(responseResult)
			err = in.mergeResult(f.bytes)
		case fieldKey(responseError, length):
			in.setOutcome(responseError)
			err = mergeFields(&in.failure, f.bytes, errorShape)
			in.retry = retryAfter(f.bytes, in.retry)
		}
		if err != nil {
			return tool.Result{}, invalidResult(err.Error())
		}
	}
	return in.answer()
}

// response is the part of an ExecuteResponse decoded so far. In protobuf a message
// may be split into several occurrences, which are merged, and a later outcome
// replaces an earlier one.
type response struct {
	outcome protowire.Number // responseResult, responseError, or 0 for none yet
	result  tool.Result      // with its structured value unchecked
	problem string           // what is wrong with result although it can be read
	failure fields
	retry   tool.Duration // of failure
	ascii   []byte        // the end of the message that is known to be ASCII
}

// setOutcome resets the response if its outcome so far differs from outcome.
func (in *response) setOutcome(outcome protowire.Number) {
	if in.outcome != outcome {
		*in = response{outcome: outcome, ascii: in.ascii}
	}
}

func (in *response) mergeResult(b []byte) error {
	for len(b) > 0 {
		f, rest, err := consumeField(b)
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
		case fieldKey(resultMeta, length):
			in.result.Meta = orNil(f.bytes)
		}
	}
	return nil
}

// add appends a block to the content. After the first problem it discards all
// further blocks: they would never be shown, and should not take memory.
func (in *response) add(kind protowire.Number, parts *fields) {
	n := len(in.result.Content)
	switch {
	case in.problem != "":
	case kind == 0:
		in.problem = fmt.Sprintf("content block %d: unknown kind", n)
	case n == maxBlocks:
		in.problem = fmt.Sprintf("more than %d content blocks", maxBlocks)
	default:
		in.result.Content = append(in.result.Content, in.content(kind, parts))
	}
}

// answer returns the result or error of a response that has been decoded completely.
func (in *response) answer() (tool.Result, error) {
	switch {
	case in.outcome == responseError:
		f := &in.failure
		return tool.Result{}, claimed(
			tool.Code(cleanView(f[errorCode])), cleanView(f[errorMessage]), cleanView(f[errorHint]), in.retry)
	case in.outcome == 0:
		return tool.Result{}, tool.Errorf(tool.CodeInvalidResult, "the plugin answered with neither a result nor an error").
			At(callstage.Execute).Fix(reportToAuthor)
	case in.problem != "":
		return tool.Result{}, invalidResult(in.problem)
	case len(in.result.Structured) > 0:
		if !json.Valid(in.result.Structured) {
			return tool.Result{}, invalidResult("the structured result is not JSON")
		}
		in.result.Structured = cleanBytes(in.result.Structured) // json.Valid accepts invalid UTF-8 in strings
	}
	if err := CheckResult(in.result); err != nil {
		return tool.Result{}, invalidResult(err.Error())
	}
	return in.result, nil
}

// fields holds the string and bytes fields of a message with at most four of them, by
// number. An absent field is nil; one that is present but empty is not. At contentExtra are
// those of a Content.
type fields [contentExtra + 1][]byte

// shape describes which fields a message has.
type shape struct {
	last  protowire.Number // the fields are numbered 1 to last
	oneof bool             // fields 3 and 4 replace each other
}

var errorShape = shape{last: errorHint}

var contentShapes = [...]shape{
	contentText:         {last: 1},
	contentImage:        {last: 2},
	contentAudio:        {last: 2},
	contentResource:     {last: 4, oneof: true},
	contentResourceLink: {last: 4},
}

// mergeFields decodes a message and merges it into the fields decoded earlier.
func mergeFields(into *fields, b []byte, s shape) error {
	for len(b) > 0 {
		f, rest, err := consumeField(b)
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

// parseContent decodes a Content into its kind, which is 0 if unknown, and the fields
// of its block.
func parseContent(b []byte) (kind protowire.Number, parts fields, err error) {
	for len(b) > 0 {
		f, rest, err := consumeField(b)
		if err != nil {
			return 0, fields{}, err
		}
		b = rest
		num := f.number()
		if f.bytes != nil && num == contentExtra {
			parts[contentExtra] = f.bytes
		}
		if f.bytes == nil || int(num) >= len(contentShapes) {
			continue
		}
		if kind != num { // one kind replaces another
			kind, parts = num, fields{contentExtra: parts[contentExtra]}
		}
		if err := mergeFields(&parts, f.bytes, contentShapes[kind]); err != nil {
			return 0, fields{}, err
		}
	}
	return kind, parts, nil
}

// text is [cleanView] for a part of the message, which is not looked at if it begins in what is known to be ASCII.
func (in *response) text(b []byte) string {
	begin, ascii := uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(unsafe.Pointer(unsafe.SliceData(in.ascii)))
	if begin >= ascii && begin-ascii < uintptr(len(in.ascii)) {
		return view(b)
	}
	return cleanView(b)
}

// content returns the block of a kind that has the fields p.
func (in *response) content(kind protowire.Number, p *fields) tool.Content {
	extra := view(p[contentExtra])
	switch kind {
	case contentText:
		return tool.TextContent{Text: in.text(p[1]), Extra: extra}
	case contentImage:
		return tool.ImageContent{Data: orNil(p[mediaData]), MIMEType: cleanView(p[2]), Extra: extra}
	case contentAudio:
		return tool.AudioContent{Data: orNil(p[mediaData]), MIMEType: cleanView(p[2]), Extra: extra}
	case contentResource:
		return tool.ResourceContent{
			URI: cleanView(p[1]), MIMEType: cleanView(p[2]),
			Text: in.text(p[resourceText]), Blob: p[resourceBlob], Extra: extra,
		}
	default:
		return tool.ResourceLink{
			URI: cleanView(p[1]), Name: cleanView(p[2]),
			Description: cleanView(p[3]), MIMEType: cleanView(p[4]), Extra: extra,
		}
	}
}
