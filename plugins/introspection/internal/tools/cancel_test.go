package tools

import (
	"context"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestCancelled(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"go.mod": "module example.com/m\n", "a.go": "package m\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.call(t, ctx, "list_package_symbols", listIn{Package: "."}); tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("a call cancelled before ended with %v", err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	b := fresh(t, shop)
	var group sync.WaitGroup
	for _, symbol := range []string{"Item", "Item", "Coin.Cents", "a/money.Coin", "Red", "fmt.Println", "Item.Add", "Fine"} {
		group.Go(func() { b.symbolOf(t, symbol, "") })
		group.Go(func() { b.listingOf(t, "goods", true) })
	}
	group.Wait()
}
