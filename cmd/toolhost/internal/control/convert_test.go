package control

import (
	"github.com/toolhost/toolhost/internal/journal"
	"reflect"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// filled returns a value in which nothing is zero that a message can have.
func filled(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem())
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		filled(t, one)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), one)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a": 1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(t, v.Index(0))
		filled(t, v.Index(1))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 5)))
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i)
			if d := v.Field(i); name.Type == reflect.TypeFor[tool.Duration]() {
				d.SetInt(int64(time.Second))
			} else if name.Type != reflect.PointerTo(v.Type()) && name.IsExported() && name.Tag.Get("json") != "-" {
				filled(t, d)
			}
		}
	default:
		t.Errorf("no value for %s", v.Type())
	}
}

// What the host says comes back from its message as it was: no field is forgotten in the contract.
func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]any{
		{&State{}, &daemonv1.State{}, &State{}},
		{&plugin.SandboxStatus{}, &daemonv1.Sandbox{}, &plugin.SandboxStatus{}},
		{&journal.Entry{}, &daemonv1.Line{}, &journal.Entry{}},
		{&fleet.HostStatus{}, &daemonv1.FleetHost{}, &fleet.HostStatus{}},
		{&fleet.ToolStatus{}, &daemonv1.FleetTool{}, &fleet.ToolStatus{}},
		{&fleet.ReplicaStatus{}, &daemonv1.FleetReplica{}, &fleet.ReplicaStatus{}},
		{&approval.Question{}, &daemonv1.Approval{}, &approval.Question{}},
		{&SessionInfo{}, &daemonv1.Session{}, &SessionInfo{}},
		{&Waiting{}, &daemonv1.WaitingFile{}, &Waiting{}},
		{&host.Metadata{}, &daemonv1.Metadata{}, &host.Metadata{}},
		{&tool.Error{}, &daemonv1.Fault{}, &tool.Error{}},
		{&tool.Definition{}, &daemonv1.Definition{}, &tool.Definition{}},
		{&tool.Question{}, &daemonv1.ToolQuestion{}, &tool.Question{}},
	} {
		filled(t, reflect.ValueOf(c[0]).Elem())
		convert(c[1], c[0])
		convert(c[2], c[1])
		if !reflect.DeepEqual(c[0], c[2]) {
			t.Errorf("%T comes back as\n%+v, not\n%+v", c[0], c[2], c[0])
		}
	}
	call := durable.Call{ID: "x", TTL: 1, Submitted: time.Unix(1, 1), Error: &tool.Error{Code: "c", Message: "m"}}
	var sent daemonv1.DurableCall
	var back durable.Call
	convert(&sent, &call)
	if convert(&back, &sent); !reflect.DeepEqual(call, back) {
		t.Errorf("the call comes back as %+v, not %+v", back, call)
	}
	request := policy.Request{Call: tool.Call{ID: "x", Arguments: []byte("{}"), Session: "s"}, Definition: tool.Definition{Safety: tool.Cautious}, Via: "mcp"}
	var asked daemonv1.ApprovalRequest
	var again policy.Request
	convert(&asked, &request)
	if convert(&again, &asked); !reflect.DeepEqual(request, again) {
		t.Errorf("the request comes back as %+v, not %+v", again, request)
	}
}
