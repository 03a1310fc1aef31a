package wire

import (
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// length returns how many bytes appendRequest appends, or somewhat more. Text that is not UTF-8 can
// become three times as long.
func (r *request) length() int {
	const rest = 60 // tags and lengths, the timeout and the flags
	return rest + len(r.call.ID) + len(r.call.Name) + len(r.call.Arguments) + len(r.call.Session) + len(r.call.Caller) +
		len(r.call.IdempotencyKey) + len(r.trace.Parent) + len(r.trace.State)
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

// answer is a result or an error that is to be sent.
type answer struct {
	result  *tool.Result
	failure block // sent if result is nil
}

// newAnswer returns the answer for err or, if err is nil, for res. It reads the error's text, which
// may be another one each time, once.
func newAnswer(res *tool.Result, err error) answer {
	if err != nil {
		return answer{failure: newFailure(err)}
	}
	return answer{result: res}
}

// length returns how many bytes appendTo appends, or somewhat more. Text that is not UTF-8 can become
// three times as long.
func (a *answer) length() int {
	if a.result == nil {
		return a.failure.length()
	}
	n := 30 + len(a.result.Structured) + len(a.result.Meta) // with the tags and lengths
	for _, c := range a.result.Content {
		k := newBlock(c)
		n += k.length()
	}
	return n
}

// appendTo appends the answer as an ExecuteResponse.
func (a *answer) appendTo(b []byte) []byte {
	e := encoder{b: b}
	a.encode(&e)
	return e.b
}

// parts returns the answer as an ExecuteResponse in several parts, and its size. Each long text is
// a part that shares the string's memory.
func (a *answer) parts() (parts [][]byte, size int) {
	e := encoder{share: true}
	a.encode(&e)
	return append(e.parts, e.b), e.size()
}

func (a *answer) encode(e *encoder) {
	if a.result == nil {
		a.failure.encode(e)
		return
	}
	result := e.open(responseResult)
	for _, c := range a.result.Content {
		k := newBlock(c)
		content := e.open(resultContent)
		k.encode(e)
		e.close(content)
	}
	e.bytes(resultStructured, view(a.result.Structured))
	e.b = appendBool(e.b, resultIsError, a.result.IsError)
	e.bytes(resultMeta, view(a.result.Meta))
	e.close(result)
}

// encoder collects the encoded parts of an answer.
type encoder struct {
	b     []byte
	parts [][]byte // the parts before b
	done  int      // bytes in parts
	share bool     // make each long string a separate part
}

func (e *encoder) size() int { return e.done + len(e.b) }

// gap is where the length of a message is missing, before what is encoded of it.
type gap struct{ part, at, size int }

// open begins a message, whose length close fills in.
func (e *encoder) open(num protowire.Number) gap {
	e.b = protowire.AppendTag(e.b, num, protowire.BytesType)
	return gap{len(e.parts), len(e.b), e.size()}
}

func (e *encoder) close(g gap) {
	var room [binary.MaxVarintLen64]byte
	length := protowire.AppendVarint(room[:0], uint64(e.size()-g.size)) //nolint:gosec // a length
	if g.part == len(e.parts) {
		e.b = slices.Insert(e.b, g.at, length...)
		return
	}
	e.parts[g.part] = slices.Insert(e.parts[g.part], g.at, length...)
	e.done += len(length)
}

// text writes a field. It can share the memory of a string, which is immutable.
func (e *encoder) text(num protowire.Number, s string) {
	if !e.share || len(s) <= maxCopied {
		e.b = appendString(e.b, num, s)
		return
	}
	e.b = appendPrefix(e.b, num, len(s))
	e.parts = append(e.parts, e.b, unsafe.Slice(unsafe.StringData(s), len(s)))
	e.done += len(e.b) + len(s)
	e.b = nil
}

// bytes writes a field whose memory the handler may use again. What is long is copied once, into a part of its own, which
// close does not move.
func (e *encoder) bytes(num protowire.Number, s string) {
	if e.share && len(s) > maxCopied {
		s = strings.Clone(s)
	}
	e.text(num, s)
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

// length returns how many bytes encode appends, or somewhat more.
func (k *block) length() int {
	n := 50 + len(k.extra) // with the tags and lengths of block and content, and retry
	for _, s := range k.fields {
		n += len(s)
	}
	return n
}

func (k *block) encode(e *encoder) {
	if k.kind == 0 {
		return
	}
	own := e.open(k.kind)
	for i, s := range k.fields {
		switch num := protowire.Number(i); {
		case s == "":
		case num == k.bytes:
			e.bytes(num, s)
		case e.share && len(s) > maxCopied: // the host checks it, too, and while it arrives
			e.text(num, s)
		default:
			e.text(num, clean(s))
		}
	}
	if k.body != 0 && k.fields[k.body] == "" {
		e.b = appendPrefix(e.b, k.body, 0)
	}
	if k.retry > 0 {
		e.b = protowire.AppendVarint(protowire.AppendTag(e.b, errorRetry, protowire.VarintType), uint64(k.retry))
	}
	e.close(own)
	e.text(contentExtra, k.extra)
}

// The functions below encode the parts of a message. As in all of proto3, a field that
// is empty or false is omitted.

func appendPrefix(b []byte, num protowire.Number, n int) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n))
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return append(appendPrefix(b, num, len(s)), s...)
}

func appendBool(b []byte, num protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), 1)
}
