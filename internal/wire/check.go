package wire

import (
	"fmt"

	"github.com/toolhost/toolhost/internal/mcpmeta"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// CheckResult returns an error if Meta is not an object, or a block's Extra is wrong.
func CheckResult(r tool.Result) error {
	if err := mcpmeta.Check(r.Meta); err != nil {
		return fmt.Errorf("its _meta: %w", err)
	}
	for i, c := range r.Content {
		if err := mcpmeta.CheckExtra(extraOf(c)); err != nil {
			return fmt.Errorf("what block %d says besides its content: %w", i+1, err)
		}
	}
	return nil
}

// extraOf returns what a block says besides its content.
func extraOf(c tool.Content) string {
	switch c := c.(type) {
	case tool.TextContent:
		return c.Extra
	case tool.ImageContent:
		return c.Extra
	case tool.AudioContent:
		return c.Extra
	case tool.ResourceContent:
		return c.Extra
	case tool.ResourceLink:
		return c.Extra
	}
	return ""
}

// ResultSize returns the approximate size of a result, in bytes.
func ResultSize(res tool.Result) int {
	n := len(res.Structured) + len(res.Meta)
	for _, c := range res.Content {
		switch c := c.(type) {
		case tool.TextContent:
			n += len(c.Text) + len(c.Extra)
		case tool.ImageContent:
			n += len(c.Data) + len(c.Extra)
		case tool.AudioContent:
			n += len(c.Data) + len(c.Extra)
		case tool.ResourceContent:
			n += len(c.Text) + len(c.Blob) + len(c.Extra)
		case tool.ResourceLink:
			n += len(c.Extra)
		}
	}
	return n
}
