package wire

import (
	"slices"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// requestSize returns the number of bytes that appendRequest appends.
func requestSize(r *request) int {
	n := stringSize(requestID, clean(r.call.ID)) +
		stringSize(requestTool, clean(r.call.Name)) +
		stringSize(requestArguments, view(r.call.Arguments)) +
		stringSize(requestSession, clean(r.call.Session)) +
		stringSize(requestCaller, clean(r.call.Caller)) +
		stringSize(requestKey, clean(r.call.IdempotencyKey)) +
		boolSize(requestProgress, r.progress) + boolSize(requestAsk, r.ask) + boolSize(requestDeltas, r.deltas)
	if ms := toMilliseconds(tool.Duration(r.timeout)); ms != 0 {
		n += protowire.SizeTag(requestTimeout) + protowire.SizeVarint(uint64(ms))
	}
	return n + stringSize(requestTrace, clean(r.trace.Parent)) + stringSize(requestState, clean(r.trace.State))
}

// appendRequest appends r as an ExecuteRequest. It makes strings valid UTF-8 and
// leaves the arguments as they are.
func appendRequest(b []byte, r *request) []byte {
	b = appendString(b, requestID, clean(r.call.ID))
	b = appendString(b, requestTool, clean(r.call.Name))
	b = appendString(b, requestArguments, view(r.call.Arguments))
	b = appendString(b, requestSession, clean(r.call.Session))
	if ms := toMilliseconds(tool.Duration(r.timeout)); ms != 0 {
		b = protowire.AppendTag(b, requestTimeout, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(ms))
	}
	b = appendBool(b, requestProgress, r.progress)
	b = appendBool(b, requestAsk, r.ask)
	b = appendString(b, requestTrace, clean(r.trace.Parent))
	b = appendString(b, requestState, clean(r.trace.State))
	b = appendBool(b, requestDeltas, r.deltas)
	b = appendString(b, requestCaller, clean(r.call.Caller))
	return appendString(b, requestKey, clean(r.call.IdempotencyKey))
}

// answer is a result or an error, ready to be sent.
type answer struct {
	result  *tool.Result // with valid strings
	failure block        // sent if result is nil
}

// newAnswer returns the answer for err or, if err is nil, for res. Because it reads
// the error's text once and checks all strings, callers can encode the answer any
// number of times: an error's Error method may return a different text on each call,
// and a check for invalid UTF-8 scans the whole text.
func newAnswer(res *tool.Result, err error) answer {
	if err != nil {
		return answer{failure: newFailure(err)}
	}
	for i, c := range res.Content {
		k := newBlock(c)
		if k.valid() {
			continue
		}
		cleaned := *res
		cleaned.Content = slices.Clone(res.Content)
		for ; i < len(cleaned.Content); i++ {
			cleaned.Content[i] = cleanContent(cleaned.Content[i])
		}
		return answer{result: &cleaned}
	}
	return answer{result: res}
}

// size returns the number of bytes that appendTo appends.
func (a *answer) size() int {
	if a.result == nil {
		return a.failure.contentSize()
	}
	return messageSize(responseResult, resultSize(a.result))
}

// appendTo appends the answer as an ExecuteResponse.
func (a *answer) appendTo(b []byte) []byte {
	e := encoder{b: b}
	a.encode(&e)
	return e.b
}

// parts returns the answer as an ExecuteResponse in several parts. Each long text is
// a part that shares the string's memory.
func (a *answer) parts() [][]byte {
	e := encoder{share: true}
	a.encode(&e)
	return append(e.parts, e.b)
}

func (a *answer) encode(e *encoder) {
	if a.result == nil {
		a.failure.encode(e)
		return
	}
	e.b = appendPrefix(e.b, responseResult, resultSize(a.result))
	for _, c := range a.result.Content {
		k := newBlock(c)
		e.b = appendPrefix(e.b, resultContent, k.contentSize())
		k.encode(e)
	}
	e.b = appendString(e.b, resultStructured, view(a.result.Structured))
	e.b = appendBool(e.b, resultIsError, a.result.IsError)
	e.b = appendString(e.b, resultMeta, view(a.result.Meta))
}

// encoder collects the encoded parts of an answer.
type encoder struct {
	b     []byte
	parts [][]byte // the parts before b
	share bool     // make each long string a separate part
}

// text writes a field. It can share the memory of strings, which are immutable, but
// not that of bytes, which the handler may reuse.
func (e *encoder) text(num protowire.Number, s string, bytes bool) {
	if bytes || !e.share || len(s) <= maxCopied {
		e.b = appendString(e.b, num, s)
		return
	}
	e.b = appendPrefix(e.b, num, len(s))
	e.parts = append(e.parts, e.b, unsafe.Slice(unsafe.StringData(s), len(s)))
	e.b = nil
}

func resultSize(res *tool.Result) int {
	n := stringSize(resultStructured, view(res.Structured)) + boolSize(resultIsError, res.IsError) +
		stringSize(resultMeta, view(res.Meta))
	for _, c := range res.Content {
		k := newBlock(c)
		n += messageSize(resultContent, k.contentSize())
	}
	return n
}

// cleanContent returns c with its strings made valid UTF-8.
func cleanContent(c tool.Content) tool.Content {
	switch c := c.(type) {
	case tool.TextContent:
		return tool.TextContent{Text: clean(c.Text), Extra: c.Extra}
	case tool.ImageContent:
		return tool.ImageContent{Data: c.Data, MIMEType: clean(c.MIMEType), Extra: c.Extra}
	case tool.AudioContent:
		return tool.AudioContent{Data: c.Data, MIMEType: clean(c.MIMEType), Extra: c.Extra}
	case tool.ResourceContent:
		return tool.ResourceContent{
			URI: clean(c.URI), MIMEType: clean(c.MIMEType), Text: clean(c.Text), Blob: c.Blob, Extra: c.Extra,
		}
	case tool.ResourceLink:
		return tool.ResourceLink{
			URI: clean(c.URI), Name: clean(c.Name), Description: clean(c.Description), MIMEType: clean(c.MIMEType),
			Extra: c.Extra,
		}
	}
	return c
}

// block is a content block, split into its fields.
type block struct {
	kind   protowire.Number // the field of Content that holds the block; 0: the block cannot be sent
	fields [5]string        // the fields of the block's own message, by number
	bytes  protowire.Number // the field of type bytes; 0: all are strings
	body   protowire.Number // the field that is written even if empty; 0: none
	extra  string           // what the Content says besides the block
	retry  int64            // of an error: how long to wait, in milliseconds
}

func newBlock(c tool.Content) block {
	switch c := c.(type) {
	case tool.TextContent:
		return block{kind: contentText, fields: [5]string{1: c.Text}, extra: c.Extra}
	case tool.ImageContent:
		return block{
			kind: contentImage, fields: [5]string{1: view(c.Data), 2: c.MIMEType}, bytes: mediaData, extra: c.Extra,
		}
	case tool.AudioContent:
		return block{
			kind: contentAudio, fields: [5]string{1: view(c.Data), 2: c.MIMEType}, bytes: mediaData, extra: c.Extra,
		}
	case tool.ResourceContent:
		if c.Blob != nil {
			return block{
				kind: contentResource, fields: [5]string{1: c.URI, 2: c.MIMEType, 4: view(c.Blob)},
				bytes: resourceBlob, body: resourceBlob, extra: c.Extra,
			}
		}
		return block{
			kind: contentResource, fields: [5]string{1: c.URI, 2: c.MIMEType, 3: c.Text},
			body: resourceText, extra: c.Extra,
		}
	case tool.ResourceLink:
		return block{
			kind: contentResourceLink, fields: [5]string{1: c.URI, 2: c.Name, 3: c.Description, 4: c.MIMEType},
			extra: c.Extra,
		}
	}
	return block{}
}

// valid reports whether the block's strings are valid UTF-8.
func (k *block) valid() bool {
	for i, s := range k.fields {
		if protowire.Number(i) != k.bytes && !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// size returns the size of the block's own message.
func (k *block) size() int {
	n := 0
	for i, s := range k.fields {
		n += stringSize(protowire.Number(i), s)
	}
	if k.body != 0 && k.fields[k.body] == "" {
		n += messageSize(k.body, 0)
	}
	if k.retry > 0 {
		n += protowire.SizeTag(errorRetry) + protowire.SizeVarint(uint64(k.retry))
	}
	return n
}

// contentSize returns the size of the Content that holds the block.
func (k *block) contentSize() int {
	if k.kind == 0 {
		return 0
	}
	return messageSize(k.kind, k.size()) + stringSize(contentExtra, k.extra)
}

func (k *block) encode(e *encoder) {
	if k.kind == 0 {
		return
	}
	e.b = appendPrefix(e.b, k.kind, k.size())
	for i, s := range k.fields {
		e.text(protowire.Number(i), s, protowire.Number(i) == k.bytes)
	}
	if k.body != 0 && k.fields[k.body] == "" {
		e.b = appendPrefix(e.b, k.body, 0)
	}
	if k.retry > 0 {
		e.b = protowire.AppendVarint(protowire.AppendTag(e.b, errorRetry, protowire.VarintType), uint64(k.retry))
	}
	e.text(contentExtra, k.extra, false)
}

// The functions below encode the parts of a message. As in all of proto3, a field that
// is empty or false is omitted.

func messageSize(num protowire.Number, n int) int {
	return protowire.SizeTag(num) + protowire.SizeBytes(n)
}

func appendPrefix(b []byte, num protowire.Number, n int) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n))
}

func stringSize(num protowire.Number, s string) int {
	if s == "" {
		return 0
	}
	return messageSize(num, len(s))
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return append(appendPrefix(b, num, len(s)), s...)
}

func boolSize(num protowire.Number, v bool) int {
	if !v {
		return 0
	}
	return protowire.SizeTag(num) + 1
}

func appendBool(b []byte, num protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), 1)
}
