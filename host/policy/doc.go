// Package policy has the types with which an embedding program controls and
// observes calls: an [Approver] decides on calls, a [Rule] says which calls
// need approval, and [Hooks] are notified of calls.
//
//	h, err := host.New(host.WithHooks(policy.Hooks{After: func(e policy.Event) { log.Print(e.Call.Name, " has run") }}))
//	if err != nil {
//		return err
//	}
//	defer func() { _ = h.Close(ctx) }()
//	s := h.Session(host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
//		log.Print("denied: ", r.Call.Name, " ", string(r.Call.Arguments))
//		return policy.Decision{Verdict: policy.Deny, Reason: "not today"}, nil
//	})))
//	fmt.Println(s.Call(ctx, tool.Call{Name: "fs.delete", Arguments: []byte(`{"path": "old"}`)}).Content)
package policy
