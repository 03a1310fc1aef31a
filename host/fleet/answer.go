package fleet

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// answerKey is the key of a result's _meta under which a host answers with an error, which the
// wire would cut to what a plugin may say, and with what else the caller's host has to know.
const (
	answerKey  = "toolhost.fleet/answer"
	onlyAnswer = `{"` + answerKey + `":` // with which a _meta begins that has nothing else, as nearly all
)

// answer is what a host says of a call besides its result.
type answer struct {
	Error *failure `json:"error,omitempty"`
	// Reset says that the text that was streamed is not that of the result.
	Reset bool `json:"reset,omitempty"`
	// Phases say where the time went.
	Phases *policy.Phases `json:"phases,omitempty"`
}

// failure is a [tool.Error] from one host to another.
type failure struct {
	tool.Error
	Unsent bool `json:"unsent,omitempty"`
}

func (a answer) result(res tool.Result) tool.Result {
	if text, ok := a.quick(append(make([]byte, 0, quickAnswer), onlyAnswer...)); ok && len(res.Meta) == 0 {
		text = append(text, '}')
		res.Meta = text
		return res
	}
	text, err := json.Marshal(a)
	if err != nil {
		return res
	}
	if len(res.Meta) == 0 {
		res.Meta = slices.Concat([]byte(onlyAnswer), text, []byte("}"))
		return res
	}
	meta := map[string]json.RawMessage{}
	_ = json.Unmarshal(res.Meta, &meta) // the chain has checked it
	meta[answerKey] = text
	res.Meta, _ = json.Marshal(meta)
	return res
}

// failed returns the result that stands for an error.
func failed(err error) tool.Result { return answer{}.failed(err) }

func (a answer) failed(err error) tool.Result {
	e := fault.Sent(err)
	a.Error = &failure{*e, e.Unsent}
	return a.result(tool.Result{IsError: true})
}

// phases returns what the other host says of a call's phases there, if that can be: its times are those of
// its own clock, and what it says of a third host is not passed on.
func (a answer) phases(took time.Duration) *policy.Phases {
	p := a.Phases
	if p == nil {
		return nil
	}
	p.On, p.There = "", nil
	for _, d := range timesOf(p) {
		*d = min(max(*d, 0), tool.Duration(took))
	}
	for _, n := range countsOf(p) {
		*n = max(*n, 0)
	}
	return p
}

// timesOf and countsOf return the phases that a host says of its own chain, which have these names in JSON.
var (
	timeNames  = [...]string{"asked", "retried", "started", "handshake", "queued", "sent", "ran", "checked"}
	countNames = [...]string{"ahead", "own", "bytes_in", "bytes_out", "estimated_tokens"}
)

func timesOf(p *policy.Phases) [len(timeNames)]*tool.Duration {
	return [...]*tool.Duration{&p.Asked, &p.Retried, &p.Started, &p.Handshake, &p.Queued, &p.Sent, &p.Ran, &p.Checked}
}

func countsOf(p *policy.Phases) [len(countNames)]*int {
	return [...]*int{&p.Ahead, &p.Own, &p.BytesIn, &p.BytesOut, &p.EstimatedTokens}
}

const (
	quickBegin  = `{"phases":{"`
	quickEnd    = `}}`
	quickAnswer = 256 // bytes, which nearly all fit
)

// quick appends the JSON of an answer that says no more than phases, as nearly all do: each call has one, for which
// encoding/json takes as long as the chain. It returns false for others.
func (a answer) quick(b []byte) ([]byte, bool) {
	p := a.Phases
	if a.Error != nil || a.Reset || p == nil || p.On != "" || p.There != nil {
		return nil, false
	}
	b = append(b, quickBegin...)
	begin := len(b)
	for i, d := range timesOf(p) {
		if *d != 0 {
			b = append(append(b, timeNames[i]...), `":"`...)
			b = append(append(b, time.Duration(*d).String()...), `","`...)
		}
	}
	for i, n := range countsOf(p) {
		if *n != 0 {
			b = append(append(b, countNames[i]...), `":`...)
			b = append(strconv.AppendInt(b, int64(*n), 10), `,"`...)
		}
	}
	if len(b) == begin {
		return nil, false
	}
	return append(b[:len(b)-len(`,"`)], quickEnd...), true
}

// quickAnswerOf reads what quick has written. It returns false for anything else.
func quickAnswerOf(text []byte) (answer, bool) {
	text, begins := bytes.CutPrefix(text, []byte(quickBegin))
	text, ends := bytes.CutSuffix(text, []byte(quickEnd))
	if !begins || !ends {
		return answer{}, false
	}
	p := new(policy.Phases)
	times, counts := timesOf(p), countsOf(p)
	for one := range bytes.SplitSeq(text, []byte(`,"`)) {
		name, value, _ := bytes.Cut(one, []byte(`":`))
		var err error
		if i := slices.Index(timeNames[:], string(name)); i >= 0 && len(value) > 2 && value[0] == '"' && value[len(value)-1] == '"' {
			var d time.Duration
			d, err = time.ParseDuration(string(value[1 : len(value)-1]))
			*times[i] = tool.Duration(d)
		} else if i := slices.Index(countNames[:], string(name)); i >= 0 {
			*counts[i], err = strconv.Atoi(string(value))
		} else {
			return answer{}, false
		}
		if err != nil {
			return answer{}, false
		}
	}
	return answer{Phases: p}, true
}

// withoutAnswer removes what a tool has no business to say.
func withoutAnswer(res tool.Result) tool.Result {
	res, _ = answerOf(res)
	return res
}

// answerOf takes the host's word out of a result.
func answerOf(res tool.Result) (tool.Result, answer) {
	if text, ok := bytes.CutPrefix(res.Meta, []byte(onlyAnswer)); ok {
		if a, is := quickAnswerOf(text[:len(text)-min(len(text), 1)]); is {
			res.Meta = nil
			return res, a
		}
	} else if len(res.Meta) == 0 {
		return res, answer{}
	}
	return slowAnswerOf(res)
}

// slowAnswerOf is answerOf for what is not quick.
func slowAnswerOf(res tool.Result) (tool.Result, answer) {
	var a answer
	meta := map[string]json.RawMessage{}
	if bytes.Contains(res.Meta, []byte("toolhost.fleet")) || bytes.Contains(res.Meta, []byte(`\u`)) {
		_ = json.Unmarshal(res.Meta, &meta) // what is not an object has no answer
	}
	text, there := meta[answerKey]
	if !there {
		return res, a
	}
	if json.Unmarshal(text, &a) != nil {
		a = answer{}
	}
	delete(meta, answerKey)
	res.Meta, _ = json.Marshal(meta)
	if len(meta) == 0 {
		res.Meta = nil
	}
	return res, a
}

// answered returns the result, or the error that stands in it.
func answered(res tool.Result) (tool.Result, error) {
	res, a := answerOf(res)
	if a.Error != nil {
		return tool.Result{}, a.Error.clean()
	}
	return res, nil
}

// clean returns the error as this host can show it, whatever the other one has sent.
func (f *failure) clean() *tool.Error {
	e := fault.Received(&f.Error)
	e.Unsent = f.Unsent
	return e
}

// ofHost returns an error that says which host it comes from, unless it is the tool's own. Others may have the
// error that it is given: it is that of all who wait for a line.
func ofHost(from *tool.Error, host string) *tool.Error {
	e := *from
	switch e.Code {
	case tool.CodeToolFailed, tool.CodeInvalidArguments:
	default:
		e.Message = "host " + host + ": " + e.Message
	}
	if e.OperatorHint != "" {
		e.OperatorHint = "on host " + host + ": " + e.OperatorHint
	}
	return &e
}
