// Package tool defines the types that all of toolhost shares: tools, calls, results and
// errors. It contains nothing about processes or protocols.
//
// Start with [Provider], the interface of every source of tools, on both sides of the
// connection to a plugin, and with [Definition], which describes a tool. [NewSet] makes a
// Provider from functions:
//
//	hello := func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("hello"), nil }
//	set, err := tool.NewSet(tool.Tool{
//		Definition: tool.Definition{Name: "hello", Description: "Says hello.", Safety: tool.Safe}, Handler: hello,
//	})
//	if err != nil {
//		return err
//	}
//	result, err := set.Execute(ctx, tool.Call{Name: "hello"})
//	fmt.Println(result.Text())
//	return err
package tool
